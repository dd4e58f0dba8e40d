"""Receipts: every answer leaves one behind, which says what it stood on, and goes with what it names."""

from __future__ import annotations

import hashlib
import json
import logging

import pytest

from ragdrop.domain.answers import Answer, Question, Receipt
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DatabaseError, NotFoundError
from tests.world import World

TEXT = "# Pump\n\nThe pump's code is QX-5521."
CITED = "The pump's code is QX-5521. [1]"


@pytest.fixture
def asked() -> World:
    """A world with a pump, and a model that cites it."""
    world = World()
    world.put("team/pump.md", TEXT)
    world.chat.reply = CITED
    return world


def ask(world: World, text: str = "pump code", caller: Caller | None = None, **fields: object) -> Answer:
    return world.app.generate.ask(Question(Query(text), **fields), caller or world.caller, Deadline.after(10))  # type: ignore[arg-type]


def read(world: World, answer: Answer, caller: Caller | None = None) -> Receipt:
    assert answer.id is not None
    return world.app.generate.store_receipts.read(caller or world.caller, answer.id, Deadline.after(10))


def test_a_receipt_says_what_was_asked_answered_cited_and_found(asked: World) -> None:
    question = Question(Query("pump code", vaults=("team",), content_types=("documentation",), limit=4), style="brief")

    answer = asked.app.generate.ask(question, asked.caller, Deadline.after(10))
    body = read(asked, answer).body

    assert body["question"] == "pump code"
    assert body["request"] == {"vaults": ["team"], "content_type": ["documentation"], "limit": 4, "style": "brief"}
    assert body["answer"] == answer.text
    assert [citation["quote"] for citation in body["citations"]] == ["The pump's code is QX-5521."]
    assert [document["path"] for document in body["documents"]] == ["pump.md"]
    assert {"generate", "check", "retrieve"} <= set(body["timings_ms"])
    assert body["model"]
    assert not body["shortened"]


def test_a_retrieved_chunk_is_named_by_version_span_and_hash(asked: World) -> None:
    [chunk] = read(asked, ask(asked)).body["retrieved"]

    text = TEXT[chunk["start"] : chunk["end"]]
    assert chunk["chunk_hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert chunk["version_id"] == asked.head("team/pump.md").live_version_id
    assert (chunk["marker"], chunk["key"]) == (1, "acme/team/pump.md")


def test_no_prompt_is_stored_but_a_hash_that_differs(asked: World) -> None:
    plain = read(asked, ask(asked)).body
    own = read(asked, ask(asked, system_prompt="Speak like a heliotrope.")).body

    assert own["request_left_out"] == ["system_prompt"]
    assert "heliotrope" not in json.dumps(own)
    assert plain["prompt_sha256"] != own["prompt_sha256"]
    assert plain["prompt_sha256"] == read(asked, ask(asked)).body["prompt_sha256"]


def test_an_abstention_has_a_receipt_too(world: World) -> None:
    body = read(world, ask(world, "anything")).body

    assert (body["abstained"], body["abstain_reason"]) == (True, "no_relevant_context")
    assert (body["citations"], body["documents"], body["model"], body["prompt_sha256"]) == ([], [], None, None)


def test_a_streamed_answer_ends_with_the_id_of_its_receipt(asked: World) -> None:
    *_, last = asked.app.generate.ask.stream(Question(Query("pump code")), asked.caller, Deadline.after(10))

    assert isinstance(last, Answer)
    assert read(asked, last).body["answer"] == last.text


def test_a_receipt_that_cannot_be_written_costs_only_its_id(asked: World) -> None:
    asked.receipts.fail_with = DatabaseError("down", service="telemetry")

    answer = ask(asked)

    assert answer.text.startswith("The pump's code is QX-5521")
    assert answer.id is None
    assert answer.warnings == ["the receipt of this answer could not be stored"]


def test_a_receipt_expires_after_thirty_days(asked: World) -> None:
    answer = ask(asked)
    asked.now_s += 30 * 86_400 - 1
    assert read(asked, answer)
    asked.now_s += 1

    with pytest.raises(NotFoundError):
        read(asked, answer)


def test_a_purge_of_a_document_it_cites_removes_it_and_counts_it(asked: World) -> None:
    answer = ask(asked)

    purged = asked.app.documents.purge_documents(asked.caller, asked.key("team/pump.md"), Deadline.after(10))

    assert purged.receipts == 1
    assert [each.body for each in asked.receipts.stored.values() if not each.purged] == []
    with pytest.raises(NotFoundError):
        read(asked, answer)


def test_a_receipt_that_a_purge_did_not_see_is_not_shown(asked: World) -> None:
    answer = ask(asked)
    late = dict(asked.receipts.stored)
    asked.app.documents.purge_documents(asked.caller, asked.key("team/pump.md"), Deadline.after(10))
    asked.receipts.stored |= late  # as if it had been written while the purge ran

    with pytest.raises(NotFoundError):
        read(asked, answer)


def test_a_deleted_documents_receipt_stays(asked: World) -> None:
    answer = ask(asked)
    asked.delete("team/pump.md")

    assert read(asked, answer)


def test_a_scoped_key_sees_only_receipts_all_of_whose_documents_are_in_its_vaults(asked: World) -> None:
    both = World()
    both.put("team/pump.md", "The pump's code is QX-5521.")
    both.put("hr/pump.md", "The pump's clerk is Ann.")
    both.chat.reply = CITED
    wide, narrow = ask(both), ask(both, caller=Caller("acme", "reader", ("team",)))
    team = Caller("acme", "reader", ("team",))

    assert read(both, narrow, team)
    with pytest.raises(NotFoundError):
        read(both, wide, team)
    assert read(both, wide, Caller("acme", "reader", ("team", "hr")))


def test_a_question_that_found_nothing_is_not_shown_to_a_narrower_key_than_the_one_that_asked(world: World) -> None:
    team = Caller("acme", "reader", ("team",))
    wide, narrow = ask(world, "anything"), ask(world, "anything", caller=team)

    assert read(world, narrow, team)
    with pytest.raises(NotFoundError):
        read(world, wide, team)


@pytest.mark.parametrize("receipt_id", ["", "nothing", "A" * 32, "0" * 32, "x" * 5_000])
def test_an_id_that_was_never_given_out_is_not_found(asked: World, receipt_id: str) -> None:
    with pytest.raises(NotFoundError):
        asked.app.generate.store_receipts.read(asked.caller, receipt_id, Deadline.after(10))


def test_another_tenants_receipt_is_not_found(asked: World) -> None:
    answer = ask(asked)

    with pytest.raises(NotFoundError):
        read(asked, answer, Caller("other", "admin"))


def test_nothing_of_a_receipt_is_logged(asked: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    asked.receipts.fail_with = DatabaseError("down", service="telemetry")

    ask(asked)

    logged = " ".join(str(record.__dict__) for record in caplog.records)
    assert "a receipt could not be stored" in logged
    assert "QX-5521" not in logged
    assert "pump" not in logged
