"""Feedback over HTTP: kept with the receipt of an answer, by callers who may read it, and as long as it."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import pytest

from ragdrop.generate.store_receipts import SETTLED_S
from tests.functions.conftest import Deployment

PUMP = "demo/handbook/pump.md"


@pytest.fixture
def answer_id(deployment: Deployment) -> str:
    """The id of an answer about the pump."""
    deployment.put_object(PUMP, "# Pump\n\nThe pump's code is QX-5521.")
    deployment.chat.reply = "The pump's code is QX-5521. [1]"
    status, body = deployment.post("generate", {"query": "pump code", "limit": 3})
    assert status == 200
    return str(body["answer_id"])


def say(
    deployment: Deployment, answer_id: str, kind: str, text: str = "", *, key: str | None = None
) -> tuple[int, Any]:
    body = json.dumps({"kind": kind, "text": text})
    return deployment.send("POST", f"/answers/{answer_id}/feedback", body, key=key)


def said(deployment: Deployment, answer_id: str) -> list[dict[str, Any]]:
    status, receipt = deployment.send("GET", f"/answers/{answer_id}")
    assert status == 200
    return list(receipt["feedback"])


def new_key(deployment: Deployment, tenant: str = "demo", vaults: tuple[str, ...] = ()) -> str:
    key, _ = deployment.handlers["query"].app.operate.operator.create_key(tenant, "reader", vaults)
    return str(key)


def test_what_is_said_of_an_answer_is_in_its_receipt(deployment: Deployment, answer_id: str) -> None:
    status, kept = say(deployment, answer_id, "wrong", "team/new.md says QX-1")

    assert (status, kept["kind"], kept["text"]) == (200, "wrong", "team/new.md says QX-1")
    told = {"kind": "wrong", "text": "team/new.md says QX-1", "at": kept["at"], "own": True}
    assert said(deployment, answer_id) == [told]


def test_a_key_may_change_its_mind_and_another_one_has_its_own(deployment: Deployment, answer_id: str) -> None:
    say(deployment, answer_id, "wrong", "it is old")
    say(deployment, answer_id, "right")
    say(deployment, answer_id, "missing", "the colour", key=new_key(deployment))

    found = {(each["kind"], each["text"], each["own"]) for each in said(deployment, answer_id)}
    assert found == {("right", "", True), ("missing", "the colour", False)}


def test_answers_with_feedback_are_listed_with_what_they_cite(deployment: Deployment, answer_id: str) -> None:
    say(deployment, answer_id, "right")

    status, page = deployment.send("GET", "/feedback")

    (judged,) = page["answers"]
    assert (status, page["cursor"]) == (200, None)
    assert (judged["answer_id"], judged["question"], judged["abstained"]) == (answer_id, "pump code", False)
    assert (judged["cited"], judged["found"]) == (["handbook/pump.md"], ["handbook/pump.md"])
    assert [each["kind"] for each in judged["feedback"]] == ["right"]


def test_whoever_may_not_read_the_receipt_may_neither_judge_it_nor_see_what_others_say(
    deployment: Deployment, answer_id: str
) -> None:
    say(deployment, answer_id, "right")
    deployment.handlers["query"].app.operate.operator.create_tenant("other")

    for key in (new_key(deployment, vaults=("side",)), new_key(deployment, "other")):
        status, body = say(deployment, answer_id, "wrong", key=key)
        assert (status, body["error"]["code"]) == (404, "NOT_FOUND")
        assert deployment.send("GET", "/feedback", key=key)[1]["answers"] == []


@pytest.mark.parametrize(
    "body", [{"kind": "great"}, {"kind": "right", "text": "x" * 2_001}, {"text": "x"}, {"kind": "right", "more": 1}]
)
def test_what_is_no_feedback_is_refused(deployment: Deployment, answer_id: str, body: dict[str, Any]) -> None:
    status, told = deployment.send("POST", f"/answers/{answer_id}/feedback", json.dumps(body))

    assert (status, told["error"]["code"]) == (400, "INVALID_PARAMS")
    assert said(deployment, answer_id) == []


def test_ten_keys_may_judge_an_answer_and_an_eleventh_may_not(deployment: Deployment, answer_id: str) -> None:
    statuses = [say(deployment, answer_id, "right", key=new_key(deployment))[0] for _ in range(11)]

    assert statuses == [200] * 10 + [409]


def test_the_words_of_feedback_are_logged_nowhere(
    deployment: Deployment, answer_id: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    say(deployment, answer_id, "wrong", "marzipan")
    say(deployment, answer_id, "wrong", "marzipan" * 1_000)
    say(deployment, "0" * 32, "wrong", "marzipan")

    printed = capsys.readouterr()
    assert "marzipan" not in printed.out + printed.err + caplog.text


def test_a_purge_of_a_document_removes_the_feedback_with_the_receipt(deployment: Deployment, answer_id: str) -> None:
    say(deployment, answer_id, "wrong", "marzipan")
    admin, _ = deployment.handlers["query"].app.operate.operator.create_key("demo", "admin")

    status, _ = deployment.send("DELETE", "/documents/handbook/pump.md", key=admin, purge="1")

    assert status == 200
    assert deployment.send("GET", "/feedback")[1]["answers"] == []
    assert say(deployment, answer_id, "right")[0] == 404
    receipts = deployment.handlers["query"].app.ports.receipts
    assert [item["PK"] for item in receipts._table.query("AF#demo")] == []


def test_a_cursor_that_nobody_gave_out_is_refused(deployment: Deployment) -> None:
    status, body = deployment.send("GET", "/feedback", cursor="next")

    assert (status, body["error"]["code"]) == (400, "INVALID_PARAMS")


def test_an_admin_lists_receipts_for_an_audit_once_they_are_ten_minutes_old(
    deployment: Deployment, answer_id: str
) -> None:
    status, page = deployment.send("GET", "/receipts")
    assert (status, page["tenant"], page["receipts"]) == (200, "demo", [])
    stored = deployment.handlers["query"].app.generate.store_receipts
    stored._clock = lambda: time.time() + SETTLED_S + 1  # the handler's own clock is the real one

    status, page = deployment.send("GET", "/receipts")

    (listed,) = page["receipts"]
    link, record = json.loads(listed["link"]), json.loads(listed["record"])
    assert (listed["answer_id"], record["answer_id"], link["number"]) == (answer_id, answer_id, 1)
    assert link["content"] == hashlib.sha256(listed["record"].encode()).hexdigest()
    _, receipt = deployment.send("GET", f"/answers/{answer_id}")
    assert receipt["link"]["digest"] == hashlib.sha256(listed["link"].encode()).hexdigest()
