"""Retry, purge, upload forms and the filters of lists, over HTTP."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from dataclasses import replace
from typing import Any

from tests.functions.conftest import EXAMPLE_BUCKET, Deployment, LocalContext

KEY = "demo/handbook/pump.md"
PATH = "/documents/handbook/pump.md"


def request(
    deployment: Deployment, method: str, path: str, query: dict[str, str] | None = None, body: Any = None
) -> tuple[int, Any]:
    return deployment.send(method, path, None if body is None else json.dumps(body), **(query or {}))


def as_role(deployment: Deployment, role: Any) -> None:
    deployment.key, _ = deployment.handlers["query"].app.operate.operator.create_key("demo", role)


def test_a_retry_is_accepted_like_a_put_and_pending_until_ingest_looked(deployment: Deployment) -> None:
    deployment.put_object(KEY, "")
    assert request(deployment, "GET", PATH)[1]["status"] == "failed"

    status, tried = request(deployment, "POST", f"{PATH}/retry")

    assert (status, tried["status"], tried["key"]) == (202, "pending", KEY)
    assert request(deployment, "GET", PATH, {"version": tried["version_id"]})[1]["status"] == "pending"
    queue_url = deployment.handlers["query"].app.ports.settings.queue_url
    [message] = deployment.sqs.receive_message(QueueUrl=queue_url)["Messages"]
    assert json.loads(message["Body"])["key"] == KEY
    deployment.reconcile(KEY)
    assert request(deployment, "GET", PATH)[1]["status"] == "failed"


def test_a_retry_needs_a_document_and_the_role_writer(deployment: Deployment) -> None:
    assert request(deployment, "POST", "/documents/handbook/none.md/retry")[0] == 404
    as_role(deployment, "reader")
    assert request(deployment, "POST", f"{PATH}/retry")[1]["error"]["code"] == "FORBIDDEN"


def test_a_purge_counts_what_went_from_each_place_and_leaves_nothing(deployment: Deployment) -> None:
    deployment.put_object(KEY, "The pump is red.")
    deployment.put_object(KEY, "The pump is blue.")

    status, receipt = request(deployment, "DELETE", PATH, {"purge": "1"})

    assert (status, receipt["status"], receipt["restorable_until"]) == (200, "deleted", None)
    assert receipt["purged"]["versions"] == 3
    assert receipt["purged"]["chunks"] == receipt["chunks_removed"] == 2  # with that of the version before
    assert (
        receipt["purged"]["registry_items"] == 7
    )  # the head; of two versions and the deletion each an item and a change
    assert "Versions" not in deployment.s3.list_object_versions(Bucket=EXAMPLE_BUCKET)
    assert "Contents" not in deployment.s3.list_objects_v2(Bucket="state")
    assert request(deployment, "GET", PATH)[0] == 404
    assert request(deployment, "DELETE", PATH, {"purge": "1"})[0] == 404


def test_a_purge_needs_the_role_admin(deployment: Deployment) -> None:
    deployment.put_object(KEY, "The pump is red.")
    as_role(deployment, "writer")

    assert request(deployment, "DELETE", PATH, {"purge": "1"})[1]["error"]["code"] == "FORBIDDEN"
    assert request(deployment, "GET", PATH)[1]["status"] == "indexed"


def test_an_upload_form_names_the_exact_key_its_size_its_type_and_a_quarter_of_an_hour(deployment: Deployment) -> None:
    wanted = {"vault": "handbook", "path": "big file ü.pdf", "media_type": "application/pdf"}

    status, form = request(deployment, "POST", "/uploads", body=wanted)

    assert (status, form["key"], form["max_bytes"]) == (201, "demo/handbook/big file ü.pdf", 50 * 1024 * 1024)
    assert form["fields"]["key"] == form["key"]
    assert form["fields"]["Content-Type"] == "application/pdf"
    assert EXAMPLE_BUCKET in form["url"]
    policy = _policy(form)
    assert ["content-length-range", 1, 50 * 1024 * 1024] in policy["conditions"]
    assert {"key": form["key"]} in policy["conditions"]
    assert {"Content-Type": "application/pdf"} in policy["conditions"]
    assert policy["expiration"][:16] == form["expires_at"][:16]


def _policy(form: dict[str, Any]) -> Any:
    return json.loads(b64decode(form["fields"]["policy"]))


def test_a_path_that_s3_would_complete_gets_no_form(deployment: Deployment) -> None:
    for path in ("${filename}", "a/../b.md", ""):
        status, body = request(deployment, "POST", "/uploads", body={"vault": "handbook", "path": path})
        assert (status, body["error"]["details"]["field"]) == (400, "path")


def test_a_reader_gets_no_form(deployment: Deployment) -> None:
    as_role(deployment, "reader")

    assert request(deployment, "POST", "/uploads", body={"vault": "handbook", "path": "a.md"})[0] == 403


def test_a_list_is_filtered_by_what_details_say(deployment: Deployment) -> None:
    front = "---\ntags: [water, pump]\ncategory: plant\nattributes: {game: go}\n---\n"
    deployment.put_object("demo/handbook/a.md", f"{front}Words.")
    deployment.put_object("demo/handbook/b.md", "Words.")
    deployment.put_object("demo/handbook/empty.md", "")

    def paths(**query: str) -> list[str]:
        status, body = request(
            deployment, "GET", "/documents", {name.replace("__", "."): value for name, value in query.items()}
        )
        assert status == 200
        return [found["path"] for found in body["documents"]]

    assert paths(tag="water") == paths(category="plant") == paths(attributes__game="go") == ["a.md"]
    assert paths(tag="water", category="other") == paths(attributes__game="chess") == []
    assert paths(content_type="documentation") == ["a.md", "b.md"]
    assert paths(session_id="s1") == []
    assert paths() == ["a.md", "b.md", "empty.md"]


def test_outdated_are_the_documents_chunked_by_other_sizes_than_those_in_force(deployment: Deployment) -> None:
    deployment.put_object(KEY, "The pump is red.")
    registry = deployment.handlers["query"].app.ports.registry
    assert request(deployment, "GET", "/documents", {"outdated": "1"})[1]["documents"] == []
    tenant = registry.tenant("demo")
    chunking = replace(tenant.active.chunking, max_tokens=64)
    registry.move_indexes(tenant, active=replace(tenant.active, chunking=chunking), building=None, previous=None)

    [found] = request(deployment, "GET", "/documents", {"outdated": "1"})[1]["documents"]

    assert found["key"] == KEY


def test_the_sweep_function_reports_to_ingest_a_lost_event(deployment: Deployment) -> None:
    deployment.put_object(KEY, "The pump is red.")
    handler = deployment._load("sweep")
    handler.app.ports.clock = lambda: time.time() + 3_600
    deployment.s3.put_object(Bucket=EXAMPLE_BUCKET, Key="demo/handbook/lost.md", Body=b"Lost.")

    [report] = handler.handler({}, LocalContext())["tenants"]

    assert (report["found"]["new"], report["finished"], report["vaults"]) == (1, True, 1)
    queue_url = handler.app.ports.settings.queue_url
    [message] = deployment.sqs.receive_message(QueueUrl=queue_url)["Messages"]
    assert json.loads(message["Body"])["key"] == "demo/handbook/lost.md"
