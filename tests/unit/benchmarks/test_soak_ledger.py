"""The soak's judgement of answers: what may be shown of a document while it is changed, and what may not."""

from __future__ import annotations

import pytest

from tests.soak import ABSENT, APPEARS_WITHIN_S, Ledger

LOCKER = 7


@pytest.fixture
def ledger() -> Ledger:
    """A document put at 10 and indexed at 12, replaced at 20, and deleted at 40; neither of these is settled yet."""
    made = Ledger()
    made.settle(made.begin(LOCKER, 1, 10.0), 12.0)
    return made


def test_an_answer_may_show_the_old_or_the_new_text_while_it_is_replaced(ledger: Ledger) -> None:
    ledger.begin(LOCKER, 2, 20.0)

    assert ledger.judge(LOCKER, {1}, 21.0, 22.0) == ""
    assert ledger.judge(LOCKER, {2}, 21.0, 22.0) == ""


def test_the_old_text_is_stale_once_the_service_said_that_it_was_replaced(ledger: Ledger) -> None:
    ledger.settle(ledger.begin(LOCKER, 2, 20.0), 25.0)

    assert ledger.judge(LOCKER, {1}, 24.9, 26.0) == ""  # sent before
    assert ledger.judge(LOCKER, {1}, 25.1, 26.0) == "stale"


def test_the_old_text_is_stale_once_an_answer_showed_the_new_one(ledger: Ledger) -> None:
    ledger.begin(LOCKER, 2, 20.0)
    ledger.judge(LOCKER, {2}, 21.0, 22.0)

    assert ledger.judge(LOCKER, {1}, 22.1, 23.0) == "stale"


def test_a_text_is_stale_once_its_document_was_deleted(ledger: Ledger) -> None:
    ledger.settle(ledger.begin(LOCKER, ABSENT, 40.0), 41.0)

    assert ledger.judge(LOCKER, {1}, 41.1, 42.0) == "stale"
    assert ledger.judge(LOCKER, set(), 41.1, 42.0) == ""


def test_a_document_that_was_there_before_and_is_there_after_does_not_vanish_in_between(ledger: Ledger) -> None:
    ledger.begin(LOCKER, 2, 20.0)

    assert ledger.judge(LOCKER, set(), 21.0, 22.0) == "vanished"


def test_a_new_document_may_take_a_moment_to_appear(ledger: Ledger) -> None:
    assert ledger.judge(LOCKER, set(), 12.1, 13.0) == ""
    assert ledger.judge(LOCKER, set(), 12.1 + APPEARS_WITHIN_S, 20.0) == "vanished"


def test_two_texts_of_one_document_are_never_shown_at_once(ledger: Ledger) -> None:
    ledger.begin(LOCKER, 2, 20.0)

    assert ledger.judge(LOCKER, {1, 2}, 21.0, 22.0) == "twice"


def test_a_text_that_was_never_put_is_stale(ledger: Ledger) -> None:
    assert ledger.judge(LOCKER, {9}, 21.0, 22.0) == "stale"
