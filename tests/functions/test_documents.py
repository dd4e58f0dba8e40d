"""Documents over HTTP."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from ragdrop.domain.tenants import key_hash
from tests.functions.conftest import EXAMPLE_BUCKET, Deployment

KEY = "demo/handbook/pump.md"
PATH = "/documents/handbook/pump.md"


def request(
    deployment: Deployment, method: str, path: str, query: dict[str, str] | None = None, body: str | None = None
) -> tuple[int, Any]:
    return deployment.send(method, path, body, **(query or {}))


def test_a_put_goes_into_the_bucket_and_is_pending_until_its_event_arrived(deployment: Deployment) -> None:
    status, put = request(deployment, "PUT", PATH, body="The pump is red.")
    assert status == 202
    assert put["status"] == "pending"
    assert deployment.s3.get_object(Bucket=EXAMPLE_BUCKET, Key=KEY)["Body"].read() == b"The pump is red."

    assert request(deployment, "GET", PATH, {"version": put["version_id"]})[1]["status"] == "pending"
    deployment.reconcile(KEY)
    status, record = request(deployment, "GET", PATH, {"version": put["version_id"]})
    assert (status, record["status"], record["live_version_id"]) == (200, "indexed", put["version_id"])


def test_a_version_that_was_replaced_before_its_event_arrived_is_pending_like_the_one_that_replaced_it(
    deployment: Deployment,
) -> None:
    _, replaced = request(deployment, "PUT", PATH, body="The pump is red.")
    _, latest = request(deployment, "PUT", PATH, body="The pump is blue.")

    for put in (replaced, latest):
        assert request(deployment, "GET", PATH, {"version": put["version_id"]})[1]["status"] == "pending"


def test_a_new_version_is_pending_while_the_old_one_answers(deployment: Deployment) -> None:
    deployment.put_object(KEY, "The pump is red.")
    _, put = request(deployment, "PUT", PATH, body="The pump is blue.")

    assert request(deployment, "GET", PATH, {"version": put["version_id"]})[1]["status"] == "pending"
    assert deployment.post("query", {"query": "pump"})[1]["results"][0]["text"] == "The pump is red."


def test_a_base64_put_keeps_unicode_names_bytes_and_metadata(deployment: Deployment) -> None:
    status, put = deployment.call("query", deployment.event("put-document-base64"))

    assert (status, put["path"]) == (202, "team/Übergabe example.md")
    stored = deployment.s3.get_object(Bucket=EXAMPLE_BUCKET, Key=put["key"])
    assert "blue door" in stored["Body"].read().decode()
    assert stored["Metadata"] == {"tags": "example", "ragdrop-by": key_hash(deployment.key)[:12]}


def test_the_parsed_text_and_spans_of_it_can_be_read(deployment: Deployment) -> None:
    deployment.put_object(KEY, "# Pump\n\nThe pump is réd.")

    assert request(deployment, "GET", PATH, {"content": "1"})[1]["text"] == "# Pump\n\nThe pump is réd."
    assert request(deployment, "GET", PATH, {"span": "20-24"})[1]["text"] == "réd."


@pytest.mark.parametrize("span", ["-5-3", "1-2-3", "5", "5-", "a-b", "\u0660-\u0665", "0-5\n"])
def test_what_is_no_span_is_refused(deployment: Deployment, span: str) -> None:
    deployment.put_object(KEY, "The pump is red.")

    for path, field in ((PATH, "span"), (f"{PATH}/original/pages/1", "span"), (f"{PATH}/tables", "rows")):
        status, body = request(
            deployment, "GET", path, {field: span, **({"range": "A1:B2"} if field == "rows" else {})}
        )
        assert (status, body["error"]["details"]["field"]) == (400, field)


def test_a_delete_answers_with_a_receipt_and_the_document_is_gone_at_once(deployment: Deployment) -> None:
    deployment.put_object(KEY, "The pump is red.")

    status, receipt = request(deployment, "DELETE", PATH)

    assert (status, receipt["status"], receipt["chunks_removed"]) == (200, "deleted", None)
    assert receipt["restorable_until"]
    assert deployment.post("query", {"query": "pump"})[1]["results"] == []
    assert request(deployment, "GET", PATH)[1]["status"] == "deleted"


def test_a_list_takes_a_content_type_in_any_case(deployment: Deployment) -> None:
    deployment.put_object(KEY, "The pump is red.")

    status, body = request(deployment, "GET", "/documents", {"content_type": "Documentation"})

    assert (status, [document["key"] for document in body["documents"]]) == (200, [KEY])


def test_the_receipt_of_a_delete_names_the_delete_marker_and_so_does_a_second_one(deployment: Deployment) -> None:
    deployment.put_object(KEY, "The pump is red.")

    first = request(deployment, "DELETE", PATH)[1]["version_id"]
    second = request(deployment, "DELETE", PATH)[1]["version_id"]

    [marker] = deployment.s3.list_object_versions(Bucket=EXAMPLE_BUCKET, Prefix=KEY)["DeleteMarkers"]
    assert first == second == marker["VersionId"]


def test_the_receipt_of_a_purge_names_the_delete_marker_that_came_first(deployment: Deployment) -> None:
    deployment.put_object(KEY, "The pump is red.")
    marker = request(deployment, "DELETE", PATH)[1]["version_id"]

    assert marker is not None
    assert request(deployment, "DELETE", PATH, {"purge": "1"})[1]["version_id"] == marker


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({}, "/documents/handbook/100%2520%20sure.md"),  # a REST API of AWS leaves the path as it was sent
        ({"version": "1.0"}, "/documents/handbook/100%20 sure.md"),  # the emulator decodes it, and states a version
    ],
)
def test_a_percent_sign_in_a_name_survives(deployment: Deployment, fields: dict[str, str], sent: str) -> None:
    deployment.put_object("demo/handbook/100%20 sure.md", "The pump is red.")

    event = deployment.event("search", httpMethod="GET", path=sent, body=None, **fields)
    status, record = deployment.call("query", event)

    assert (status, record["path"]) == (200, "100%20 sure.md")


@pytest.mark.parametrize("decoded", [False, True])
def test_names_that_differ_in_an_escape_alone_are_two_documents(deployment: Deployment, decoded: bool) -> None:
    names = [
        "100%.md",
        "100%25.md",
        "a+b.md",
        "a b.md",
        "a%2Bb.md",
        "x%23y.md",
        "x#y.md",
        "q?.md",
        "q%3F.md",
        "e;&=.md",
    ]
    for name in names:
        path = f"/documents/handbook/{name if decoded else quote(name)}"
        fields = {"version": "1.0"} if decoded else {}
        event = deployment.event("put-document-base64", httpMethod="PUT", path=path, **fields)
        status, accepted = deployment.call("query", event)
        assert (status, accepted["path"]) == (202, name)

    stored = deployment.s3.list_objects_v2(Bucket=EXAMPLE_BUCKET, Prefix="demo/handbook/")["Contents"]
    assert sorted(each["Key"].removeprefix("demo/handbook/") for each in stored) == sorted(names)


def test_what_never_was_is_404(deployment: Deployment) -> None:
    for method in ("GET", "DELETE"):
        status, body = request(deployment, method, "/documents/handbook/never.md")
        assert (status, body["error"]["code"]) == (404, "DOCUMENT_NOT_FOUND")


def test_a_path_that_climbs_is_refused(deployment: Deployment) -> None:
    status, body = request(deployment, "GET", "/documents/handbook/a/../../other/x.md")

    assert status == 400
    assert body["error"]["details"]["field"] == "path"


def test_documents_are_listed_by_path_in_pages(deployment: Deployment) -> None:
    for name in ("b", "a", "c"):
        deployment.put_object(f"demo/handbook/{name}.md", f"Text {name}.")

    _, first = request(deployment, "GET", "/documents", {"limit": "2"})
    _, second = request(deployment, "GET", "/documents", {"limit": "2", "cursor": first["cursor"]})

    assert [found["path"] for found in first["documents"] + second["documents"]] == ["a.md", "b.md", "c.md"]
    assert second["cursor"] is None


def test_a_body_over_4_mb_is_refused_with_the_limit(deployment: Deployment) -> None:
    status, body = request(deployment, "PUT", PATH, body="x" * (4 * 1024 * 1024 + 1))

    assert (status, body["error"]["code"]) == (413, "DOCUMENT_TOO_LARGE")
    assert body["error"]["details"]["limit_bytes"] == 4 * 1024 * 1024


def test_a_reader_may_not_write(deployment: Deployment) -> None:
    deployment.key, _ = deployment.handlers["query"].app.operate.operator.create_key("demo", "reader")

    status, body = request(deployment, "PUT", PATH, body="x")

    assert (status, body["error"]["code"]) == (403, "FORBIDDEN")


def test_an_unknown_parameter_is_refused(deployment: Deployment) -> None:
    status, body = request(deployment, "GET", "/documents", {"colour": "red"})

    assert (status, body["error"]["details"]["field"]) == (400, "colour")
