"""A run of many benchmarks continues past failures, keeps to its limits, and says how each of them ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks import records
from benchmarks.__main__ import (
    FAILED,
    LEAST_LIMIT_S,
    MISSED,
    NO_TIME,
    NOTHING,
    RESUMED,
    STOPPED,
    STORED,
    BenchmarkJob,
    JobOutcome,
    UnattendedRun,
    execute,
    merged,
    planned,
    wrote,
)
from benchmarks.comparison import of_one_run


class Clock:
    """Seconds that pass only when somebody works."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Programs:
    """Benchmarks that take their time on a clock and end with the codes that they are given."""

    def __init__(self, clock: Clock, codes: Mapping[str, int | None], *, takes_s: float = 60.0) -> None:
        self._clock, self._codes, self._takes_s = clock, codes, takes_s
        self.limits: dict[str, float] = {}

    def __call__(self, job: BenchmarkJob, limit_s: float, over: threading.Event) -> int | None:
        self.limits[job.name] = limit_s
        self._clock.now_s += self._takes_s
        return self._codes.get(job.name, 0)


def run(
    jobs: list[BenchmarkJob], codes: Mapping[str, int | None], *, limit_s: float = 3_600, stored: str = ""
) -> tuple[dict[str, JobOutcome], Programs]:
    """The outcomes by name, of programs of which those in *kept* write their record."""
    clock, seen = Clock(), list[JobOutcome]()
    programs = Programs(clock, codes)
    runner = UnattendedRun(programs, lambda name, _: name in stored, seen.append, limit_s=limit_s, now=clock)
    found = runner.run(jobs)
    assert sorted(each.name for each in seen) == sorted(each.name for each in found) == sorted(job.name for job in jobs)
    return {each.name: each for each in found}, programs


def jobs(names: str, expected_s: float = 60.0, *, shares: str = "") -> list[BenchmarkJob]:
    """A job a letter."""
    return [BenchmarkJob(name, [], expected_s, shares=name in shares) for name in names]


def test_a_failure_stops_no_other_and_each_end_has_its_name() -> None:
    found, _ = run(jobs("abcde", shares="ab"), {"a": 3, "c": 1, "d": None}, stored="bc")

    ends = {name: (each.what, each.code) for name, each in found.items()}
    assert ends == {"a": (FAILED, 3), "b": (STORED, 0), "c": (MISSED, 1), "d": (STOPPED, 1), "e": (NOTHING, 0)}


def test_a_benchmark_is_stopped_after_a_multiple_of_what_it_is_expected_to_take() -> None:
    _, programs = run([BenchmarkJob("short", [], 60.0), BenchmarkJob("long", [], 1_000.0)], {}, limit_s=36_000)

    assert programs.limits == {"short": LEAST_LIMIT_S, "long": 4_000.0}


def test_what_is_expected_to_outlast_the_run_is_skipped_and_what_fits_is_run() -> None:
    long, short = BenchmarkJob("long", [], 300.0), BenchmarkJob("short", [], 60.0)
    found, programs = run([BenchmarkJob("first", [], 60.0), long, short], {}, limit_s=200, stored="first short")

    assert [found[name].what for name in ("first", "long", "short")] == [STORED, NO_TIME, STORED]
    assert programs.limits["short"] == 140.0


def test_jobs_run_in_their_order_and_neighbours_that_measure_no_time_share_the_lanes() -> None:
    _, programs = run(jobs("abcde", shares="cd"), {})

    assert list(programs.limits)[:2] == ["a", "b"]
    assert set(list(programs.limits)[2:4]) == {"c", "d"}
    assert list(programs.limits)[4] == "e"


def test_an_interruption_starts_nothing_more() -> None:
    begun = []

    def interrupted(job: BenchmarkJob, limit_s: float, over: threading.Event) -> int:
        begun.append(job.name)
        raise KeyboardInterrupt

    runner = UnattendedRun(interrupted, lambda *_: False, lambda _: None, limit_s=60_000)
    with pytest.raises(KeyboardInterrupt):
        runner.run(jobs("abc"))

    assert begun == ["a"]


def test_a_resumed_run_keeps_the_outcomes_of_the_one_before_it() -> None:
    first = merged(None, [JobOutcome("a", STORED, 60.0), JobOutcome("b", FAILED, 30.0, 1)], 90.0, resumed=False)
    again = merged(first, [JobOutcome("a", RESUMED), JobOutcome("b", STORED, 40.0)], 40.0, resumed=True)

    assert [again["runs"][name]["what"] for name in "ab"] == [STORED, STORED]
    assert (first["commands"], again["commands"]) == (1, 2)


def test_a_new_run_forgets_the_one_before_it() -> None:
    first = merged(None, [JobOutcome("a", STORED, 60.0)], 60.0, resumed=False)

    assert merged(first, [JobOutcome("b", STORED, 30.0)], 30.0, resumed=False)["minutes"] == 0.5


def test_a_benchmark_is_expected_to_take_what_it_took_in_the_last_run() -> None:
    runs = {"push": {"what": STORED, "seconds": 77.0}}
    last = records.BenchmarkRecord("bench", "", "", {}, {}, {"runs": runs})

    found = {job.name: job for job in planned(["push", "quality"], last)}

    assert found["push"].expected_s == 77.0
    assert (found["push"].shares, found["quality"].shares) == (False, True)
    assert found["push"].command[2:] == ["benchmarks.push", "--write"]


def test_the_goals_say_which_of_their_records_come_from_one_run() -> None:
    def record(name: str, commit: str, results: object) -> records.BenchmarkRecord:
        return records.BenchmarkRecord(name, "2026-11-25", commit, {}, {}, results)

    stored = {name: record(name, commit, {}) for name, commit in (("change", "aaaaaaa"), ("growth", "bbbbbbb"))}
    found = {"records": ["change", "growth"], "commands": 1, "minutes": 74.6}

    assert of_one_run(stored | {"bench": record("bench", "aaaaaaa", found)}) == (
        "1 of 2 records come from one `make bench` of 75 minutes, 2026-11-25, commit aaaaaaa; "
        "not from it: growth (2026-11-25, bbbbbbb)."
    )
    again = of_one_run(stored | {"bench": record("bench", "aaaaaaa", found | {"commands": 2})})
    assert "come from a `make bench` that was resumed (2 commands) of 75 minutes" in again


def test_a_record_counts_as_written_only_since_the_benchmark_began(tmp_path: Path) -> None:
    (tmp_path / "push.json").write_text("{}")
    written_s = (tmp_path / "push.json").stat().st_mtime

    assert wrote("push", written_s - 1, tmp_path)
    assert not wrote("push", written_s + 1, tmp_path)
    assert not wrote("growth", written_s - 1, tmp_path)


def test_a_program_that_outlasts_its_limit_is_interrupted_and_those_it_started_end_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = (
        "import pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
        "try:\n    pathlib.Path('child').write_text(str(child.pid))\n    time.sleep(60)\n"
        "finally:\n    pathlib.Path('ended').touch()\n"
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as benchmarks/__main__.py does
    over = threading.Event()
    watch = threading.Thread(target=lambda: over.set() if _appears(tmp_path / "child") else None)
    watch.start()

    assert execute(BenchmarkJob("slow", [sys.executable, "-c", program], 1.0), 30.0, over) is None
    watch.join()

    assert (tmp_path / "ended").exists()
    assert _ends((tmp_path / "child").read_text())


def _ends(process: str) -> bool:
    """Whether a process that was killed is gone, or waits for init to look: soon, on a busy machine."""
    for _ in range(100):
        state = subprocess.run(["ps", "-o", "stat=", "-p", process], capture_output=True, text=True, check=False).stdout
        if state.strip()[:1] in {"", "Z"}:
            return True
        time.sleep(0.1)
    return False


def _appears(path: Path) -> bool:
    for _ in range(300):
        if path.exists() and path.read_text():
            return True
        time.sleep(0.1)
    return False
