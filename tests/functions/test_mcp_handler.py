"""The mcp function's real handler on its golden event, over moto."""

from __future__ import annotations

from tests.functions.conftest import Deployment


def test_the_golden_event_calls_a_tool_and_gets_its_passages(deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/backup.md", "# Backup\n\nA backup is kept for 30 days.")

    status, body = deployment.call("mcp", deployment.event("mcp-search"))

    assert status == 200
    result = body["result"]
    assert result["isError"] is False
    assert result["structuredContent"]["results"][0]["source"] == "demo/handbook/backup.md"


def test_without_a_key_the_golden_event_is_refused(deployment: Deployment) -> None:
    event = deployment.event("mcp-search")
    for headers in (event["headers"], event["multiValueHeaders"]):
        del headers["x-api-key"]

    status, body = deployment.call("mcp", event)

    assert (status, body["error"]["code"]) == (401, "UNAUTHENTICATED")
