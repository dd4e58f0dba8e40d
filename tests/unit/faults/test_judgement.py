"""The failure drill's own judgement: what it expects, and what it calls a mismatch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.faults.cases import FaultCase, cases, expected
from tests.faults.harness import LIMIT_S, DrillReply
from tests.faults.losses import LOSSES, SeenLoss
from tests.faults.round import RECOVERY_S, Seen, problems

INDEX_CUT = FaultCase("refuse", ("index",))
REGISTRY_CUT = FaultCase("refuse", ("dynamodb",))


def reply(level: int, *, status: int = 200, breaker: bool = False, **fields: Any) -> DrillReply:
    body = {
        "fallback_level": level,
        "fallback": level > 1,
        "circuit_breaker_open": breaker,
        "results": [{}] if level <= 2 else [],
    }
    return DrillReply(status, 0.1, body | fields, retry_after=level > 2)


def good(case: FaultCase) -> Seen:
    """What a round should come to."""
    required = expected(case)
    ask = DrillReply(max(required.ask), 0.1, {}, retry_after=True)
    first = reply(min(required.first))
    return Seen((first,), reply(required.then, breaker=required.breaker), (ask,), ask, (), 0, 3.0, restarted=False)


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_what_is_as_expected_is_no_mismatch(case: FaultCase) -> None:
    assert problems(good(case), expected(case)) == []


def test_each_dependency_is_failed_in_each_way_and_each_pair_is_cut_off() -> None:
    named = [case.name for case in cases()]

    assert len(set(named)) == len(named) == 5 * 6 + 10


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"first": (reply(1),)}, "another level at first"),
        ({"first": (reply(2, status=500),)}, "search answered [200, 500]"),
        ({"first": (reply(2, results=[]),)}, "results do not go with the level"),
        ({"first": (reply(2, fallback=False),)}, "fallback does not go with the level"),
        ({"then": reply(2)}, "another level or flag then"),
        ({"asks": (DrillReply(500, 0.1, {}, retry_after=True),)}, "another status of ask"),
        ({"ask": DrillReply(500, 0.1, {}, retry_after=True)}, "another status of ask"),
        ({"ask": DrillReply(200, LIMIT_S + 1, {}, retry_after=True)}, "later than the deadline"),
        ({"late": ("search",)}, "no search came while the breaker was open"),
        ({"touched": 1}, "1 requests reached what is behind an open breaker"),
        ({"recovered_s": None}, f"not well again within {RECOVERY_S:.0f} s"),
        ({"restarted": True}, "a function ended"),
    ],
)
def test_whatever_is_not_as_expected_is_named(change: dict[str, Any], said: str) -> None:
    assert problems(replace(good(INDEX_CUT), **change), expected(INDEX_CUT)) == [said]


def test_nothing_without_the_word_when_to_come_back_is_a_mismatch() -> None:
    seen = good(REGISTRY_CUT)
    ask = replace(seen.ask, status=503, retry_after=False)
    seen = replace(seen, then=replace(seen.then, retry_after=False), ask=ask)

    assert problems(seen, expected(REGISTRY_CUT)) == [
        "Retry-After does not go with the level",
        "ask has no Retry-After",
    ]


LOST = next(loss for loss in LOSSES if loss.level == 2)
IN_PART = next(loss for loss in LOSSES if loss.index == "degraded")
WHOLLY = next(loss for loss in LOSSES if loss.level == 3)


def seen_loss(**changes: Any) -> SeenLoss:
    answer = DrillReply(200, 0.1, {"abstained": False}, retry_after=False)
    return replace(SeenLoss(reply(2, degraded=True), answer, "unavailable", 1.0), **changes)


def test_every_loss_of_an_index_is_drilled_once() -> None:
    names = [loss.name for loss in LOSSES]

    assert len(set(names)) == len(names)
    assert {"index: missing", "index: credentials refused", "index: empty while the registry has documents"} <= set(
        names
    )
    assert {"bucket index: a segment missing", "bucket index: every segment damaged"} <= set(names)
    assert any(name.startswith("settings: ") for name in names)
    assert names[-1] == "emulator: up again on another port"


def test_a_loss_that_is_answered_from_the_bucket_index_is_as_expected() -> None:
    assert seen_loss().is_as(LOST)


def test_a_lost_segment_must_be_reported_as_degraded_and_may_have_had_the_answer() -> None:
    abstained = DrillReply(200, 0.1, {"abstained": True}, retry_after=False)
    seen = seen_loss(found=reply(1, degraded=True), answer=abstained, index="degraded")

    assert seen.is_as(IN_PART)
    assert not replace(seen, found=reply(1)).is_as(IN_PART)
    assert not replace(seen, index="healthy").is_as(IN_PART)


def test_where_nothing_can_be_searched_no_answer_is_made_up() -> None:
    refused = DrillReply(503, 0.1, {}, retry_after=True)
    seen = seen_loss(found=reply(3, degraded=True), answer=refused)

    assert seen.is_as(WHOLLY)
    assert not replace(seen, answer=DrillReply(200, 0.1, {}, retry_after=False)).is_as(WHOLLY)


@pytest.mark.parametrize(
    "change",
    [
        {"found": reply(2, degraded=True, results=[])},
        {"found": reply(1)},
        {"found": reply(2, status=503, degraded=True)},
        {"answer": DrillReply(200, 0.1, {"abstained": True}, retry_after=False)},
        {"answer": DrillReply(503, 0.1, {}, retry_after=True)},
        {"index": "healthy"},
        {"recovered_s": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_nothing_found_or_healthy_while_something_is_lost_is_a_mismatch(change: dict[str, Any]) -> None:
    assert not seen_loss(**change).is_as(LOST)
