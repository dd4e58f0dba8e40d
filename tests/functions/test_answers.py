"""Receipts and re-checkable citations over HTTP: the real handlers, the tables of the template in moto."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functions.conftest import Deployment, LocalContext

KEY = "demo/handbook/pump.md"
TEXT = "# Pump\n\nThe pump's code is QX-5521."


def get(deployment: Deployment, path: str, **query: str) -> tuple[int, Any]:
    return deployment.send("GET", path, **query)


@pytest.fixture
def answer(deployment: Deployment) -> Any:
    """What ask said about the pump."""
    deployment.put_object(KEY, TEXT)
    deployment.chat.reply = "The pump's code is QX-5521. [1]"
    status, body = deployment.post("generate", {"query": "pump code", "limit": 3})
    assert status == 200
    return body


def test_an_answers_receipt_is_read_by_its_id(deployment: Deployment, answer: Any) -> None:
    status, receipt = get(deployment, f"/answers/{answer['answer_id']}")

    assert status == 200
    wanted = (
        "request_id answer_id created_at expires_at question typed request request_left_out answer abstained "
        "abstain_reason answers_question citations sentences unsupported documents retrieved model finish_reason "
        "prompt_version prompt_sha256 asked_as link groups usage "
        "cost fallback_level degraded warnings timings_ms shortened feedback"
    )
    assert set(receipt) == set(wanted.split())
    same = ("answer_id", "answer", "citations", "sentences", "model", "usage", "cost", "prompt_version", "abstained")
    assert {name: receipt[name] for name in same} == {name: answer[name] for name in same}
    assert (receipt["question"], receipt["request"]) == ("pump code", {"limit": 3})


def test_a_stream_ends_with_the_id_of_a_receipt(deployment: Deployment, answer: Any) -> None:
    event = deployment.event("ask", body=json.dumps({"query": "pump code", "stream": True}))
    handler = deployment.handlers["generate"].handler

    text = handler(event, LocalContext())["body"]
    done = json.loads(text.partition("event: done\ndata: ")[2].partition("\n\n")[0])

    assert get(deployment, f"/answers/{done['answer_id']}")[1]["answer"] == answer["answer"]


def test_a_receipt_that_is_not_there_is_reported_in_the_error_format(deployment: Deployment) -> None:
    status, body = get(deployment, f"/answers/{'0' * 32}")

    assert (status, body["error"]["code"]) == (404, "NOT_FOUND")


def test_a_key_of_another_tenant_does_not_find_the_receipt(deployment: Deployment, answer: Any) -> None:
    operator = deployment.handlers["query"].app.operate.operator
    operator.create_tenant("other")
    deployment.key, _ = operator.create_key("other", "admin")

    assert get(deployment, f"/answers/{answer['answer_id']}")[0] == 404


def test_a_purge_of_the_cited_document_removes_the_receipt(deployment: Deployment, answer: Any) -> None:
    event = deployment.event(
        "search",
        httpMethod="DELETE",
        path="/documents/handbook/pump.md",
        body=None,
        queryStringParameters={"purge": "1"},
        multiValueQueryStringParameters={"purge": ["1"]},
    )
    status, gone = deployment.call("query", event)

    assert (status, gone["purged"]["receipts"]) == (200, 1)
    assert get(deployment, f"/answers/{answer['answer_id']}")[0] == 404
