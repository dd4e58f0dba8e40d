"""`GET /documents/…/history` and `GET /changes` over HTTP."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

from tests.functions.conftest import Deployment


def get(deployment: Deployment, path: str, key: str | None = None, **query: str) -> tuple[int, Any]:
    """A GET request with the deployment's key, or another one."""
    return deployment.send("GET", path, key=key, **query)


def test_every_version_is_listed_with_what_it_changed(deployment: Deployment) -> None:
    deployment.put_object("demo/team/pump.md", "# Pump\n\nIt is red.\n\nIt holds 7 litres.")
    deployment.put_object("demo/team/pump.md", "# Pump\n\nIt is blue.\n\nIt holds 7 litres.")
    deployment.s3.delete_object(Bucket="ragdrop-documents-example", Key="demo/team/pump.md")
    deployment.reconcile("demo/team/pump.md")

    status, body = get(deployment, "/documents/team/pump.md/history", changes="1")

    assert status == 200, body
    assert [version["status"] for version in body["versions"]] == ["deleted", "replaced", "replaced"]
    deletion, second, first = body["versions"]
    assert (second["added"], second["removed"]) == (["It is blue."], ["It is red."])
    assert first["removed"] == []
    assert (deletion["version_id"], deletion["added"]) == (None, [])
    assert deletion["removed"] == ["# Pump", "It is blue.", "It holds 7 litres."]
    assert body["cursor"] is None


def test_versions_come_page_by_page(deployment: Deployment) -> None:
    for number in range(3):
        deployment.put_object("demo/team/pump.md", f"# Pump\n\nIt holds {number} litres.")

    _, first = get(deployment, "/documents/team/pump.md/history", limit="2")
    _, second = get(deployment, "/documents/team/pump.md/history", limit="2", cursor=first["cursor"])

    assert [len(page["versions"]) for page in (first, second)] == [2, 1]
    assert second["cursor"] is None
    assert "added" not in first["versions"][0]


def test_the_changes_of_a_vault_can_be_followed(deployment: Deployment) -> None:
    deployment.put_object("demo/team/a.md", "# A\n\nThe first.")
    _, before = get(deployment, "/changes", vault="team")
    deployment.put_object("demo/team/b.md", "# B\n\nThe second.")

    status, after = get(deployment, "/changes", vault="team", cursor=before["cursor"])

    assert status == 200, after
    assert [change["path"] for change in before["changes"]] == ["a.md"]
    assert [(change["path"], change["kind"]) for change in after["changes"]] == [("b.md", "activated")]
    assert (after["more"], after["cursor"]) == (False, after["changes"][0]["id"])


def test_a_document_whose_own_name_is_history_can_still_be_read(deployment: Deployment) -> None:
    deployment.put_object("demo/team/book/history", "The history of pumps.")

    status, record = get(deployment, "/documents/team/book/history")
    _, text = get(deployment, "/documents/team/book/history", content="1")

    assert (status, record["path"]) == (200, "book/history")
    assert text["text"] == "The history of pumps."


def test_the_past_of_another_tenant_or_vault_cannot_be_read(deployment: Deployment) -> None:
    deployment.put_object("demo/team/pump.md", "# Pump\n\nIt is red.")
    operator = deployment.handlers["query"].app.operate.operator
    operator.create_tenant("other")
    foreign, _ = operator.create_key("other", "admin")
    scoped, _ = operator.create_key("demo", "admin", ("side",))

    for key in (foreign, scoped):
        assert get(deployment, "/documents/team/pump.md/history", key)[0] == 404
        status, body = get(deployment, "/changes", key, vault="team")
        assert status == 400 or body["changes"] == []


def test_changes_are_read_back_in_time_page_by_page(deployment: Deployment) -> None:
    for name in ("a", "b", "c"):
        deployment.put_object(f"demo/team/{name}.md", f"# {name}\n\nIt is red.")

    _, first = get(deployment, "/changes", vault="team", order="newest", limit="2")
    _, rest = get(deployment, "/changes", vault="team", order="newest", cursor=first["cursor"])

    assert [[change["path"] for change in page["changes"]] for page in (first, rest)] == [["c.md", "b.md"], ["a.md"]]
    assert (first["more"], rest["more"]) == (True, False)


def test_what_was_before_the_retention_is_refused(deployment: Deployment) -> None:
    status, body = get(deployment, "/changes", vault="team", since="2020-01-01T00:00:00Z")

    assert (status, body["error"]["code"]) == (400, "INVALID_PARAMS")
    assert "30 days" in body["error"]["message"]
    assert get(deployment, "/changes", vault="team", cursor="nonsense")[0] == 400


def test_a_rollback_puts_versions_back_and_deletes_what_was_not_there(deployment: Deployment) -> None:
    deployment.put_object("demo/team/pump.md", "# Pump\n\nIt is red.")
    _, before = get(deployment, "/changes", vault="team")
    deployment.put_object("demo/team/pump.md", "# Pump\n\nIt is blue.")
    deployment.put_object("demo/team/new.md", "# New\n\nIt is new.")
    event = deployment.event("search", path="/vaults/team/rollback", body=json.dumps({"to": before["cursor"]}))

    status, body = deployment.call("query", event)
    deployment.reconcile("demo/team/pump.md", "demo/team/new.md")

    assert status == 200, body
    assert {step["path"]: step["action"] for step in body["steps"]} == {"new.md": "delete", "pump.md": "restore"}
    _, found = deployment.post("query", {"query": "pump", "vaults": ["team"]})
    assert [document["text"] for document in found["results"]] == ["# Pump\n\nIt is red."]


def test_a_question_as_of_then_is_answered_by_the_functions(deployment: Deployment) -> None:
    deployment.put_object("demo/team/pump.md", "# Pump\n\nIt is red.")
    time.sleep(0.01)
    then = datetime.now(UTC).isoformat(timespec="milliseconds")
    time.sleep(0.01)
    deployment.put_object("demo/team/pump.md", "# Pump\n\nIt is blue.")

    _, found = deployment.post("query", {"query": "pump", "as_of": then})
    status, answer = deployment.post("generate", {"query": "pump", "as_of": then})

    assert [document["text"] for document in found["results"]] == ["# Pump\n\nIt is red."]
    assert (status, answer["sources"][0]["path"]) == (200, "pump.md")
    status, refused = deployment.post("query", {"query": "pump", "as_of": "2020-01-01T00:00:00Z"})
    assert (status, refused["error"]["details"]["field"]) == (400, "as_of")


def test_a_stage_is_tried_promoted_and_made_live_by_the_functions(deployment: Deployment) -> None:
    deployment.put_object("demo/team/pump.md", "# Pump\n\nIt is red.")
    deployment.s3.put_object(
        Bucket="ragdrop-documents-example",
        Key="demo/team/pump.md",
        Body=b"# Pump\n\nIt is blue.",
        Metadata={"ragdrop-stage": "spring"},
    )
    deployment.reconcile("demo/team/pump.md")

    _, live = deployment.post("query", {"query": "pump"})
    _, staged = deployment.post("query", {"query": "pump", "stage": "spring"})
    _, listed = get(deployment, "/stages", vault="team")
    event = deployment.event("search", path="/stages/team/spring/promote", body="{}")
    status, promoted = deployment.call("query", event)
    _, after = deployment.post("query", {"query": "the pump"})

    assert [found["results"][0]["text"][-5:] for found in (live, staged, after)] == [" red.", "blue.", "blue."]
    assert (listed["stages"][0]["name"], listed["stages"][0]["total"]) == ("spring", 1)
    assert (status, promoted["total"]) == (200, 1), promoted
    assert deployment.post("generate", {"query": "pump"})[0] == 200


def test_a_stage_is_discarded_by_the_functions(deployment: Deployment) -> None:
    deployment.put_object("demo/team/pump.md", "# Pump\n\nIt is red.")
    deployment.s3.put_object(
        Bucket="ragdrop-documents-example",
        Key="demo/team/pump.md",
        Body=b"# Pump\n\nIt is blue.",
        Metadata={"ragdrop-stage": "spring"},
    )
    deployment.reconcile("demo/team/pump.md")

    status, body = deployment.call("query", deployment.event("search", path="/stages/team/spring/discard", body="{}"))
    deployment.reconcile("demo/team/pump.md")

    assert (status, body["total"]) == (200, 1), body
    assert get(deployment, "/documents/team/pump.md")[1]["status"] == "indexed"
    assert deployment.post("query", {"query": "pump"})[1]["results"][0]["text"].endswith("red.")
