"""The drill reads in the functions' logs when breakers were open."""

from __future__ import annotations

import json
from pathlib import Path

from tests.faults.breakers import SHARED_AGAIN_S, UNSHARED, OpenSpan, are_shared, inside, lines, shared_from_s, spans

AT_S = 1_795_339_161.0  # 2026-11-22T09:19:21Z


def log(folder: Path, *entries: tuple[str, str, str]) -> Path:
    """A function's log with a server's own lines between."""
    file = folder / "query.log"
    structured = [
        json.dumps({"level": "WARNING", "message": message, "timestamp": f"2026-11-22T09:19:{at}+00:00", **dependency})
        for at, message, name in entries
        for dependency in [{"dependency": name} if name else {}]
    ]
    file.write_text(
        "INFO:     Started server process [1]\n" + "\n".join(structured) + '\n{"message":"a breaker op', "utf-8"
    )
    return file


def test_a_breaker_is_open_from_a_second_after_each_opening_until_shortly_before_its_trial(tmp_path: Path) -> None:
    file = log(tmp_path, ("21.000", "a breaker opened", "index"), ("26.500", "a breaker opened again", "index"))

    found = spans(lines([file], since_s=AT_S), "index", open_s=3.0)

    assert found == [OpenSpan(AT_S + 1.0, AT_S + 2.5), OpenSpan(AT_S + 6.5, AT_S + 8.0)]


def test_a_trial_that_reaches_the_dependency_after_the_breakers_time_is_none_of_the_requests_behind_it() -> None:
    open_times = [OpenSpan(AT_S + 1.0, AT_S + 2.5)]

    assert inside([AT_S + 3.1], open_times) == 0
    assert inside([AT_S + 1.1, AT_S + 2.4, AT_S + 3.1], open_times) == 2


def test_a_breaker_of_another_dependency_or_of_an_earlier_round_says_nothing(tmp_path: Path) -> None:
    file = log(tmp_path, ("21.000", "a breaker opened", "index"), ("25.000", "a breaker opened", "embedding"))

    assert spans(lines([file], since_s=AT_S + 1), "index", open_s=3.0) == []


def test_functions_do_not_share_their_breakers_while_the_table_is_not_reached(tmp_path: Path) -> None:
    file = log(tmp_path, ("21.000", UNSHARED, ""), ("22.000", "a breaker opened", "registry"))

    assert not are_shared(lines([file], since_s=AT_S))
    assert are_shared(lines([file], since_s=AT_S + 0.5))


def test_a_round_begins_once_functions_share_their_breakers_again(tmp_path: Path) -> None:
    file = log(tmp_path, ("21.000", UNSHARED, ""), ("22.000", UNSHARED, ""), ("23.000", "a breaker opened", "registry"))

    assert shared_from_s(lines([file], since_s=AT_S)) == AT_S + 1.0 + SHARED_AGAIN_S
    assert shared_from_s([]) == 0.0
