"""Chains of receipts: each answer's receipt names the one before, and an audit lists them to the byte."""

from __future__ import annotations

import hashlib

import pytest

from ragdrop.domain.answers import Answer, Question, Receipt
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.receipt_chains import ChainLink, canonical
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DatabaseError, ForbiddenError, InvalidParamsError
from ragdrop.generate import store_receipts
from ragdrop.generate.store_receipts import StoreReceipts
from tests.world import World

ADMIN = Caller("acme", "admin")


@pytest.fixture
def asked() -> World:
    """A world with a pump, and a model that cites it."""
    world = World()
    world.put("team/pump.md", "The pump's code is QX-5521.")
    world.chat.reply = "The pump's code is QX-5521. [1]"
    return world


def ask(world: World, caller: Caller | None = None) -> Answer:
    return world.app.generate.ask(Question(Query("pump code")), caller or world.caller, Deadline.after(10))


def listed(world: World, cursor: str | None = None) -> tuple[list[Receipt], str | None]:
    found, more, _ = world.app.generate.store_receipts.for_audit(ADMIN, cursor, Deadline.after(10))
    return found, more


def links(world: World) -> list[ChainLink]:
    world.now_s += store_receipts.SETTLED_S + 1
    return [each.link for each in listed(world)[0] if each.link is not None]


def test_each_receipt_names_the_digest_of_the_one_before(asked: World) -> None:
    answers = [ask(asked) for _ in range(3)]

    first, second, third = links(asked)

    assert [first.receipt, second.receipt, third.receipt] == [answer.id for answer in answers]
    assert (first.number, first.previous, first.previous_at) == (1, None, None)
    assert (second.number, second.previous, second.previous_at) == (2, first.digest, first.at)
    assert (third.number, third.previous, third.chain) == (3, second.digest, first.chain)


def test_a_link_names_the_content_of_its_receipt(asked: World) -> None:
    ask(asked)
    asked.now_s += store_receipts.SETTLED_S + 1

    [receipt] = listed(asked)[0]

    assert receipt.link is not None
    assert receipt.link.content == hashlib.sha256(canonical(receipt.body).encode()).hexdigest()


def test_a_receipt_that_could_not_be_stored_ends_its_chain(asked: World) -> None:
    ask(asked)
    asked.receipts.fail_with = DatabaseError("down", service="telemetry")
    ask(asked)
    asked.receipts.fail_with = None
    ask(asked)

    before, after = links(asked)

    assert before.chain != after.chain
    assert (after.number, after.previous) == (1, None)


def test_each_environment_has_its_own_chain(asked: World) -> None:
    answer = ask(asked)
    elsewhere = StoreReceipts(
        receipts=asked.receipts,
        registry=asked.registry,
        permissions=asked.app.tenants.permissions,
        clock=lambda: asked.now_s,
    )
    elsewhere.store(answer, Question(Query("pump code")), asked.caller, prompt=None, timings_ms={})

    assert [link.number for link in links(asked)] == [1, 1]
    assert len({link.chain for link in links(asked)}) == 2


def test_what_may_still_be_overtaken_is_not_listed_yet(asked: World) -> None:
    ask(asked)

    assert listed(asked) == ([], None)


def test_a_page_ends_where_a_reply_would_be_too_large(asked: World, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [ask(asked) for _ in range(3)]
    asked.now_s += store_receipts.SETTLED_S + 1
    monkeypatch.setattr(store_receipts, "AUDIT_CHARACTERS", 1)

    first, cursor = listed(asked)

    assert ([each.id for each in first], cursor) == ([answers[0].id], answers[0].id)
    assert listed(asked, cursor)[0][0].id == answers[1].id


def test_a_purge_leaves_the_link_alone(asked: World) -> None:
    ask(asked)
    asked.app.documents.purge_documents(ADMIN, DocumentKey("acme", "team", "pump.md"), Deadline.after(10))
    asked.now_s += store_receipts.SETTLED_S + 1

    [receipt] = listed(asked)[0]

    assert receipt.purged
    assert receipt.body == {}
    assert receipt.link is not None


def test_a_receipt_that_a_purge_missed_is_listed_without_its_words(asked: World) -> None:
    ask(asked)
    late = dict(asked.receipts.stored)
    asked.app.documents.purge_documents(ADMIN, DocumentKey("acme", "team", "pump.md"), Deadline.after(10))
    asked.receipts.stored |= late  # as if it had been written while the purge ran
    asked.now_s += store_receipts.SETTLED_S + 1

    [receipt] = listed(asked)[0]

    assert (receipt.purged, receipt.body) == (True, {})


def test_a_key_for_some_vaults_gets_no_part_of_a_chain(asked: World) -> None:
    with pytest.raises(ForbiddenError, match="all vaults"):
        asked.app.generate.store_receipts.for_audit(Caller("acme", "admin", ("team",)), None, Deadline.after(10))


def test_a_cursor_that_was_never_given_out_is_refused(asked: World) -> None:
    with pytest.raises(InvalidParamsError):
        listed(asked, "nothing")
