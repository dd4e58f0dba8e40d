"""The profile of a search: its stages add up to the whole, in the table and in the picture."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from benchmarks import records
from benchmarks.search_profile import REST, STAGES, StageClock, picture, profile_of, profile_table

TURN = {"ms": [9.0, 7.0], "cpu_ms": [4.0, 6.0], "stages": {"words": 2.0, "texts": 1.0}}


def found() -> dict[str, Any]:
    return {"chunks": 1_000, "compared": "abc1234", "before": profile_of([TURN, TURN]), "now": profile_of([TURN])}


def test_what_no_stage_took_is_the_rest() -> None:
    profile = profile_of([TURN])

    assert (profile["cpu_ms"], profile["stages"]["words"], profile["stages"][REST]) == (5.0, 1.0, 3.5)
    assert sum(profile["stages"].values()) == profile["cpu_ms"]


def test_the_table_says_of_every_stage_what_it_buys() -> None:
    table = profile_table(records.made("search_profile", found(), {}))

    assert [line.split(" | ")[0].strip("| *") for line in table.splitlines()[2 : 3 + len(STAGES)]] == [*STAGES, "all"]
    assert "now / before: 1.00 of the processor time" in table


def test_the_picture_has_a_bar_of_every_stage_for_both_versions() -> None:
    root = ElementTree.fromstring(picture(found()))  # noqa: S314 - our own text
    bars = [each for each in root if len(each)]

    assert len(bars) == 2 * len(STAGES)


def test_a_stage_is_counted_without_the_stages_within_it() -> None:
    clock = StageClock()
    inner = clock.wrapped("inner", lambda: sum(range(200_000)))
    outer = clock.wrapped("outer", inner)

    outer()

    assert clock.spent["inner"] > 10 * clock.spent["outer"] >= 0
