"""Run many benchmarks unattended: each has a time limit, no failure stops the others, and a table sums up at the end.

Those that measure time run alone.  Neighbours that measure none run two at a time.  Each writes a log of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.stack_processes import usages

LANES = 2
LEAST_LIMIT_S, LIMIT_TIMES = 600.0, 4.0  # without kept vectors a collection takes several times as long
GRACE_S, LOOK_S = 45.0, 0.5
LOGS = Path(".local/bench/logs")
KEPT, MISSED, NOTHING, FAILED = "kept", "kept, goal missed", "nothing kept", "failed"
STOPPED, NO_TIME, RESUMED = "stopped at its limit", "skipped, no time left", "resumed"
MEASURED = (KEPT, MISSED)


@dataclass(frozen=True, slots=True)
class BenchmarkJob:
    """One benchmark of a run: its command, and the seconds that it is expected to take."""

    name: str
    command: Sequence[str]
    expected_s: float
    beside: bool = False
    """Whether another one may run at the same time, as this one measures no time."""

    @property
    def limit_s(self) -> float:
        """Seconds after which it is stopped.

        >>> BenchmarkJob("a", [], 1_000.0).limit_s
        4000.0
        """
        return max(LEAST_LIMIT_S, LIMIT_TIMES * self.expected_s)


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How one benchmark ended, after how many seconds, with which exit code."""

    name: str
    what: str
    seconds: float = 0.0
    code: int = 0


Execute = Callable[[BenchmarkJob, float, threading.Event], int | None]
"""Runs a job for at most so many seconds, or until the event is set: its exit code, None where it was stopped."""


class UnattendedRun:
    """All jobs of one run.

    Args:
        execute: Runs one job.
        wrote: Whether the records of the benchmark of that name were written since that time (seconds since 1970).
        report: Called with each outcome as soon as it is known, by one thread at a time.
        limit_s: Seconds for the whole run; a job that is expected to take longer than what is left is skipped.
    """

    def __init__(
        self,
        execute: Execute,
        wrote: Callable[[str, float], bool],
        report: Callable[[JobOutcome], None],
        *,
        limit_s: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._execute, self._wrote, self._report, self._now = execute, wrote, report, now
        self._ends_s = now() + limit_s
        self._over, self._lock = threading.Event(), threading.Lock()

    def run(self, jobs: Sequence[BenchmarkJob]) -> list[JobOutcome]:
        """Run them in order, neighbours that may run beside another in lanes; an interruption stops what runs."""
        try:
            found: list[JobOutcome] = []
            for beside, group in groupby(jobs, key=lambda job: job.beside):
                found += self._run_group(group, lanes=LANES if beside else 1)
            return found
        finally:
            self._over.set()

    def _run_group(self, jobs: Iterable[BenchmarkJob], *, lanes: int) -> list[JobOutcome]:
        with ThreadPoolExecutor(lanes) as pool:
            futures = [pool.submit(self._one, job) for job in jobs]
            try:
                return [each.result() for each in futures]
            except BaseException:
                self._over.set()
                raise

    def _one(self, job: BenchmarkJob) -> JobOutcome:
        began_s, began = self._now(), time.time()
        left_s = self._ends_s - began_s
        if self._over.is_set() or job.expected_s > left_s:
            outcome = JobOutcome(job.name, NO_TIME)
        else:
            code = self._execute(job, min(job.limit_s, left_s), self._over)
            what = STOPPED if code is None else _what(code, wrote=self._wrote(job.name, began))
            outcome = JobOutcome(job.name, what, self._now() - began_s, 1 if code is None else code)
        with self._lock:
            self._report(outcome)
        return outcome


def _what(code: int, *, wrote: bool) -> str:
    return (MISSED if wrote else FAILED) if code else (KEPT if wrote else NOTHING)


def execute(job: BenchmarkJob, limit_s: float, over: threading.Event) -> int | None:
    """Run a job as processes of a group of their own; its output goes to its log."""
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / f"{job.name}.log"
    sys.stderr.write(f"{job.name}: began, see {path}\n")  # one write: two lanes share the terminal
    ends_s = time.monotonic() + limit_s
    with path.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(  # noqa: S603 - our own modules
            job.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
        )
        try:
            while not over.is_set() and time.monotonic() < ends_s:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(LOOK_S)
        finally:
            if process.poll() is None:
                stop(process)
    return None


def stop(process: subprocess.Popen[Any], grace_s: float = GRACE_S) -> None:
    """Interrupt a process so that its blocks end, then kill what is left of it and below it.

    Nodes and emulators have sessions of their own, so its process group is not all.
    """
    below = {pid: _began(pid) for pid in _below(process.pid)}
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(grace_s)
    for pid, began in below.items():
        if began and _began(pid) == began:  # no other process has the number meanwhile
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _below(pid: int) -> set[int]:
    return set(usages({"": pid})) if Path("/proc").exists() else set()


def _began(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()[19]
    return ""


def expected_s(jobs: Sequence[BenchmarkJob]) -> float:
    """Seconds that all are expected to take: each that may run beside another takes the lane that is free first.

    >>> beside = [BenchmarkJob(name, [], 60.0, beside=True) for name in "abc"]
    >>> expected_s([*beside, BenchmarkJob("d", [], 30.0)])
    150.0
    """
    lanes = [0.0] * LANES
    for job in jobs:
        if job.beside:
            lanes[lanes.index(min(lanes))] += job.expected_s
    return max(lanes) + sum(job.expected_s for job in jobs if not job.beside)


def plan(jobs: Sequence[BenchmarkJob], limit_s: float, left_out: Mapping[str, str]) -> str:
    """What will run, how long each is expected to take, and the sum.

    >>> print(plan([BenchmarkJob("a", [], 90.0)], 3_600, {"b": "it needs a browser"}))
    a: 2 min, alone
    b: left out, it needs a browser
    expected: 2 min; at most 60 min
    """
    lines = [
        f"{job.name}: {job.expected_s / 60:.0f} min, {'beside another' if job.beside else 'alone'}" for job in jobs
    ]
    lines += [f"{name}: left out, {why}" for name, why in left_out.items()]
    return "\n".join([*lines, f"expected: {expected_s(jobs) / 60:.0f} min; at most {limit_s / 60:.0f} min"])


def summary(outcomes: Sequence[JobOutcome]) -> str:
    """The table at the end.

    >>> print(summary([JobOutcome("a", KEPT, 61.4), JobOutcome("b", FAILED, 2.0, 3)]))
    benchmark  seconds  outcome
    a               61  kept
    b                2  failed (exit code 3)
    """
    width = max((len(each.name) for each in outcomes), default=0)
    width = max(width, len("benchmark"))
    lines = [f"{'benchmark':<{width}}  seconds  outcome"]
    for each in outcomes:
        code = f" (exit code {each.code})" if each.code else ""
        lines.append(f"{each.name:<{width}}  {each.seconds:>7.0f}  {each.what}{code}")
    return "\n".join(lines)


def merged(
    earlier: Mapping[str, Any] | None, outcomes: Sequence[JobOutcome], wall_s: float, *, resumed: bool
) -> dict[str, Any]:
    """What the record of a run holds; a resumed run adds to what the *earlier* one of its commit measured.

    >>> first = merged(None, [JobOutcome("a", KEPT, 60.0)], 60.0, resumed=False)
    >>> again = merged(first, [JobOutcome("a", RESUMED), JobOutcome("b", KEPT, 9.0)], 9.0, resumed=True)
    >>> again["runs"]["a"]["seconds"], again["minutes"], again["commands"]
    (60.0, 1.15, 2)
    """
    before: Mapping[str, Any] = (earlier or {}) if resumed else {}
    runs = {each.name: asdict(each) for each in outcomes}
    runs |= {name: run for name, run in before.get("runs", {}).items() if runs.get(name, {}).get("what") == RESUMED}
    minutes = float(before.get("minutes", 0.0)) + wall_s / 60
    return {"runs": runs, "minutes": round(minutes, 2), "commands": int(before.get("commands", 0)) + 1}
