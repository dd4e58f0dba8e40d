"""What the drill prints of a round that was not as expected."""

from __future__ import annotations

from tests.faults.breakers import BreakerLine
from tests.faults.harness import DrillReply
from tests.faults.round import Seen, account

BEGUN_S = 1_000.0


def reply(at_s: float, level: int) -> DrillReply:
    return DrillReply(200, 0.5, {"fallback_level": level}, retry_after=False, sent_at_s=at_s)


def test_a_round_is_reported_in_order_of_time_with_what_was_asked_logged_and_reached() -> None:
    asked = reply(1_001.0, 2), reply(1_004.0, 2), reply(1_005.0, 1), reply(1_009.0, 2)
    first, then, ask, later = asked
    seen = Seen((first,), then, (), ask, (), 0, 6.0, restarted=False, unwell=(later,))
    opened = BreakerLine(1_003.0, "a breaker opened", "index")

    lines = account(seen, [opened], {"index": [999.0, 1_002.0]}, BEGUN_S)

    assert [line.split("s  ", 1)[1] for line in lines] == [
        "search: 200 level 2, took 0.50 s",
        "index: reached",
        "log: a breaker opened index",
        "search: 200 level 2, took 0.50 s",
        "question: 200 level 1, took 0.50 s",
        "after the fault: 200 level 2, took 0.50 s",
    ]
    assert lines[0].startswith("    1.00 s")
