"""Threads over HTTP."""

from __future__ import annotations

import json
from typing import Any

from tests.functions.conftest import Deployment


def asked(deployment: Deployment, query: str = "Where does the pump stand?") -> str:
    deployment.put_object("demo/team/pump.md", "# Pump\n\nThe pump stands in the cellar.")
    deployment.chat.reply = "The pump stands in the cellar [1]."
    return str(deployment.post("generate", {"query": query})[1]["answer_id"])


def send(deployment: Deployment, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
    return deployment.send(method, path, None if body is None else json.dumps(body), **query)


def begun(deployment: Deployment) -> dict[str, Any]:
    status, thread = send(deployment, "POST", "/threads", {"answer_id": asked(deployment)})
    assert status == 201
    return dict(thread)


def test_a_thread_lives_from_its_first_answer_to_its_deletion(deployment: Deployment) -> None:
    thread = begun(deployment)
    where = f"/threads/{thread['thread_id']}"
    assert (thread["name"], thread["own"], thread["shared"]) == ("Where does the pump stand?", True, False)

    assert send(deployment, "POST", f"{where}/answers", {"answer_id": asked(deployment, "Which cellar?")})[0] == 200
    assert send(deployment, "PATCH", where, {"name": "The pump", "shared": True})[1]["name"] == "The pump"

    [listed] = send(deployment, "GET", "/threads", q="pump")[1]["threads"]
    status, whole = send(deployment, "GET", where)
    assert (status, listed["answers_total"], whole["left_out"], whole["cursor"]) == (200, 2, 0, None)
    assert [each["question"] for each in whole["answers"]] == ["Where does the pump stand?", "Which cellar?"]
    assert whole["answers"][0]["citations"][0]["quote"]
    assert send(deployment, "DELETE", where)[1]["receipts"] == 2
    assert send(deployment, "GET", where)[0] == 404
    assert send(deployment, "GET", f"/answers/{whole['answers'][0]['answer_id']}")[0] == 404
    assert send(deployment, "GET", "/threads")[1]["threads"] == []


def test_what_a_thread_cannot_be_is_refused(deployment: Deployment) -> None:
    where = f"/threads/{begun(deployment)['thread_id']}"

    for method, path, body, expected, *more in (
        ("POST", "/threads", {"answer_id": "0" * 32}, 404),
        ("POST", "/threads", {}, 400),
        ("POST", "/threads", {"answer_id": "0" * 32, "tenant": "other"}, 400),
        ("PATCH", where, {}, 400),
        ("PATCH", where, {"name": "x" * 121}, 400),
        ("PATCH", where, {"shared": "yes"}, 400),
        ("GET", where, None, 400, {"cursor": "x"}),
        ("GET", "/threads/none", None, 404),
        ("GET", f"/threads/{'g' * 48}", None, 404),
    ):
        query: dict[str, str] = dict(*more)
        assert send(deployment, method, path, body, **query)[0] == expected, (method, path, body)
