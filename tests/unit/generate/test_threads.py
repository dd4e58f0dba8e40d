"""Threads: whose they are, what others are shown, what goes with them, and what Markdown they are."""

from __future__ import annotations

import re

import pytest

from ragdrop.domain.answers import MAX_ANSWERS, Answer, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from ragdrop.errors import ConflictError, InvalidParamsError, NotFoundError
from ragdrop.generate.threads import Threads, as_markdown
from tests.browser.payloads import PAYLOADS
from tests.world import World

ANN, BEN = Caller("acme", "reader", credential="ann"), Caller("acme", "reader", credential="ben")
BOARD = Caller("acme", "reader", credential="board", groups=("board",))


@pytest.fixture
def world() -> World:
    made = World()
    made.put("team/pump.md", "# Pump\n\nThe pump is red.")
    made.put("team/pay.md", "---\naccess: [board]\n---\n# Pump pay\n\nThe pump costs 7 euros.")
    made.chat.reply = "The pump is red [1]."
    return made


@pytest.fixture
def threads(world: World) -> Threads:
    return world.app.generate.threads


def soon() -> Deadline:
    return Deadline.after(10)


def ask(world: World, caller: Caller, text: str = "What colour is the pump?", **fields: object) -> Answer:
    world.now_s += 1
    return world.app.generate.ask(Question(Query(text, **fields)), caller, soon())  # type: ignore[arg-type]


def answer_of(world: World, caller: Caller, text: str = "What colour is the pump?", **fields: object) -> str:
    return str(ask(world, caller, text, **fields).id)


def test_a_thread_begins_with_an_answer_and_has_its_question_as_name(world: World, threads: Threads) -> None:
    answer = answer_of(world, ANN, "What colour\nis the pump?")

    thread = threads.create(ANN, answer, "", soon())

    assert (thread.name, thread.named, thread.answers) == ("What colour is the pump?", False, (answer,))
    assert threads.read(ANN, thread.id) == thread
    assert [each.id for each in threads.own(ANN)] == [thread.id]


def test_markdown_has_a_follow_up_as_it_was_put_and_as_it_was_understood() -> None:
    body = {"typed": "And now?", "question": "What colour is the pump now?", "answer": "Red.", "citations": []}

    assert "## And now?\n\n*Understood as: What colour is the pump now?*\n\nRed." in as_markdown("", [body])


def test_answers_are_added_in_order_and_once(world: World, threads: Threads) -> None:
    first, second = answer_of(world, ANN), answer_of(world, ANN, "Is the pump red?")
    thread = threads.create(ANN, first, "", soon())

    for _ in range(2):
        added = threads.add(ANN, thread.id, second, soon())

    assert added.answers == (first, second)
    found, left_out, cursor = threads.page(ANN, added, None, soon())
    assert ([each.id for each in found], left_out, cursor) == ([first, second], 0, None)


def test_a_thread_is_of_its_credential_alone_until_it_is_shared(world: World, threads: Threads) -> None:
    thread = threads.create(ANN, answer_of(world, ANN), "", soon())

    assert threads.own(BEN) == []
    for call in (
        lambda: threads.read(BEN, thread.id),
        lambda: threads.markdown(BEN, thread.id, soon()),
        lambda: threads.change(BEN, thread.id, name="x", shared=None),
        lambda: threads.delete(BEN, thread.id),
    ):
        with pytest.raises(NotFoundError):
            call()
    with pytest.raises(NotFoundError):  # nor is another's answer put into a thread
        threads.create(BEN, thread.answers[0], "", soon())

    threads.change(ANN, thread.id, name=None, shared=True)

    assert threads.read(BEN, thread.id).id == thread.id
    with pytest.raises(NotFoundError):
        threads.delete(BEN, thread.id)
    with pytest.raises(NotFoundError):
        threads.read(Caller("other", "admin", credential="ann"), thread.id)
    threads.change(ANN, thread.id, name=None, shared=False)
    with pytest.raises(NotFoundError):
        threads.read(BEN, thread.id)


def test_a_shared_thread_shows_another_only_what_that_one_may_read_now(world: World, threads: Threads) -> None:
    secret = answer_of(world, BOARD, "What does the pump cost?", folders=("team/pay.md",))
    open_ = answer_of(world, BOARD, "What colour is the pump?", folders=("team/pump.md",))
    thread = threads.create(BOARD, secret, "", soon())
    thread = threads.add(BOARD, thread.id, open_, soon())
    thread = threads.change(BOARD, thread.id, name=None, shared=True)

    found, left_out, _ = threads.page(ANN, thread, None, soon())
    exported = threads.markdown(ANN, thread.id, soon())

    assert ([each.id for each in found], left_out) == ([open_], 1)
    assert "cost" not in exported
    assert "Answers that are not shown: 1." in exported
    assert "What does the pump cost?" in threads.markdown(BOARD, thread.id, soon())
    world.put("team/.ragdrop.json", '{"access": [{"path": "pump.md", "groups": ["board"]}]}')
    assert threads.page(ANN, thread, None, soon())[:2] == ([], 2)


def test_a_deleted_thread_takes_its_receipts_along(world: World, threads: Threads) -> None:
    kept, gone = answer_of(world, ANN), answer_of(world, ANN, "Is the pump red?")
    thread = threads.create(ANN, gone, "", soon())

    assert threads.delete(ANN, thread.id) == 1

    assert [each.id for each in threads.own(ANN)] == []
    with pytest.raises(NotFoundError):
        world.app.generate.store_receipts.read(ANN, gone, soon())
    assert world.app.generate.store_receipts.read(ANN, kept, soon()).id == kept


def test_a_thread_is_found_by_words_of_its_name_and_renamed(world: World, threads: Threads) -> None:
    first = threads.create(ANN, answer_of(world, ANN), "", soon())
    second = threads.create(ANN, answer_of(world, ANN), "Pay  of\tall", soon())

    assert [each.id for each in threads.own(ANN)] == [second.id, first.id]
    assert [each.id for each in threads.own(ANN, "PAY all")] == [second.id]
    assert threads.change(ANN, first.id, name=" Colours ", shared=None).name == "Colours"
    for wrong in ("", " \n "):
        with pytest.raises(InvalidParamsError):
            threads.change(ANN, first.id, name=wrong, shared=None)
    with pytest.raises(InvalidParamsError):
        threads.change(ANN, first.id, name=None, shared=None)


def test_a_thread_expires_with_its_last_receipt(world: World, threads: Threads) -> None:
    thread = threads.create(ANN, answer_of(world, ANN), "", soon())
    world.now_s += 20 * 86_400
    threads.add(ANN, thread.id, answer_of(world, ANN, "Is the pump red?"), soon())
    world.now_s += 15 * 86_400

    assert threads.page(ANN, threads.read(ANN, thread.id), None, soon())[1] == 1

    world.now_s += 20 * 86_400
    with pytest.raises(NotFoundError):
        threads.read(ANN, thread.id)


def test_a_long_thread_comes_in_pages_and_ends(world: World, threads: Threads) -> None:
    answer = answer_of(world, ANN)
    thread = threads.create(ANN, answer, "", soon())
    full = world.receipts.threads["acme", thread.id] = type(thread)(
        **{name: getattr(thread, name) for name in thread.__slots__} | {"answers": (answer,) * MAX_ANSWERS}
    )

    pages = [len(threads.page(ANN, full, str(start) if start else None, soon())[0]) for start in range(0, 100, 10)]

    assert pages == [10] * 10
    assert threads.page(ANN, full, "90", soon())[2] is None
    with pytest.raises(ConflictError, match="at most 100 answers"):
        threads.add(ANN, thread.id, answer_of(world, ANN, "Is it red?"), soon())
    for wrong in ("x", "-1", "\u0663", "100000"):
        with pytest.raises(InvalidParamsError):
            threads.page(ANN, full, wrong, soon())


def test_an_export_has_footnotes_in_the_places_of_markers(world: World, threads: Threads) -> None:
    thread = threads.create(ANN, answer_of(world, ANN), "Colours", soon())
    threads.add(ANN, thread.id, answer_of(world, ANN, "Is the pump red?"), soon())

    exported = threads.markdown(ANN, thread.id, soon())

    assert exported.startswith("# Colours\n\n## What colour is the pump?\n\nThe pump is red[^1]")
    assert "## Is the pump red?\n\nThe pump is red[^2]" in exported
    assert re.findall(r"^\[\^\d\]: .*", exported, re.MULTILINE) == [
        found for found in exported.splitlines() if found.startswith("[^")
    ]
    assert "“The pump is red” team/pump.md" in exported
    assert "[1]" not in exported


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_of_an_export_is_markup_a_script_or_another_footnote(payload: str) -> None:
    citation = {"marker": 1, "key": f"acme/team/{payload}", "quote": payload, "status": "verified", "version_id": "v1"}
    body = {
        "question": payload,
        "answer": f"{payload}\n\n[^1]: x ![x](http://evil.example/x) [a](javascript:alert(1))\n[b]: javascript:x",
        "sentences": [],
        "citations": [citation],
    }

    exported = as_markdown(payload, [body])

    assert re.findall(r"(?<!\\)<[A-Za-z/!?]", exported) == []
    assert re.findall(r"(?<!\\)!\[", exported) == []
    assert re.findall(r"\]\((?!https?://|#)", exported) == []
    assert re.findall(r"^\s*\[[^\]^]*\]:", exported, re.MULTILINE) == []
    assert len(re.findall(r"^\[\^", exported, re.MULTILINE)) == 1
