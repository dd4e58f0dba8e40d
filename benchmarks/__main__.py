"""Run the benchmarks, each in its own process.

    python -m benchmarks --quick      # those with a quick form, in it; prints the tables that they make
    python -m benchmarks --whole      # all of them; keeps the records, writes tables and pages
    python -m benchmarks --resume     # the same without those whose record is of this very commit
    python -m benchmarks [NAME ...]   # these in their usual form, without names all but the longest

The first three forms run unattended: a plan comes first and a summary last, each benchmark has a time limit and a log
in .local/bench/logs, and a failure stops no other.  Those that measure time run alone; neighbours that measure none run
two at a time.  benchmarks/registry.py lists them all.
"""

from __future__ import annotations

import argparse
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
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.live_stack import usages
from benchmarks.peers.process import GIVEN, shared_node
from benchmarks.registry import BENCHMARKS
from localstack.opensearch import UnavailableError
from ragdrop import __version__

HOURS, QUICK_MIN = 3.0, 1.4
LANES = 2
LEAST_LIMIT_S, LIMIT_TIMES = 600.0, 4.0  # without cached vectors a collection takes several times as long
GRACE_S, LOOK_S = 45.0, 0.5
LOGS = Path(".local/bench/logs")
STORED, MISSED, NOTHING, FAILED = "stored", "stored, goal missed", "nothing stored", "failed"
STOPPED, NO_TIME, RESUMED = "stopped at its limit", "skipped, no time left", "resumed"


@dataclass(frozen=True, slots=True)
class BenchmarkJob:
    """One benchmark of a run: its command, the seconds it is expected to take, whether another may run meanwhile."""

    name: str
    command: Sequence[str]
    expected_s: float
    shares: bool = False

    @property
    def limit_s(self) -> float:
        return max(LEAST_LIMIT_S, LIMIT_TIMES * self.expected_s)


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How one benchmark ended, after how many seconds, with which exit code."""

    name: str
    what: str
    seconds: float = 0.0
    code: int = 0


Execute = Callable[[BenchmarkJob, float, threading.Event], int | None]
"""Runs a job for at most so many seconds, or until the event is set: its exit code, None if it was stopped."""


class UnattendedRun:
    """All jobs of one run; a job that is expected to take longer than what is left of *limit_s* is skipped.

    *execute* runs one job.  *wrote* says whether the records of a benchmark were written since a time (seconds since
    1970).  *report* gets each outcome as soon as it is known, by one thread at a time.
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
        """Run them in order, neighbours that share in lanes; an interruption stops what runs."""
        try:
            found: list[JobOutcome] = []
            for shares, group in groupby(jobs, key=lambda job: job.shares):
                found += self._run_group(group, lanes=LANES if shares else 1)
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
    return (MISSED if wrote else FAILED) if code else (STORED if wrote else NOTHING)


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
    below = {pid: _began(pid) for pid in usages({"": process.pid})} if Path("/proc").exists() else {}
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


def _began(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()[19]
    return ""


def expected_s(jobs: Sequence[BenchmarkJob]) -> float:
    """Seconds that all are expected to take; those that share take turns in lanes."""
    return sum(job.expected_s / (LANES if job.shares else 1) for job in jobs)


def plan(jobs: Sequence[BenchmarkJob], limit_s: float) -> str:
    """What will run, how long each is expected to take, and the sum.

    >>> print(plan([BenchmarkJob("a", [], 90.0)], 3_600))
    a: 2 min, alone
    expected: 2 min; at most 60 min
    """
    lines = [f"{job.name}: {job.expected_s / 60:.0f} min, {'two at a time' if job.shares else 'alone'}" for job in jobs]
    return "\n".join([*lines, f"expected: {expected_s(jobs) / 60:.0f} min; at most {limit_s / 60:.0f} min"])


def summary(outcomes: Sequence[JobOutcome]) -> str:
    """The table at the end.

    >>> print(summary([JobOutcome("a", STORED, 61.4), JobOutcome("b", FAILED, 2.0, 3)]))
    benchmark  seconds  outcome
    a               61  stored
    b                2  failed (exit code 3)
    """
    width = max(map(len, ["benchmark", *(each.name for each in outcomes)]))
    lines = [f"{'benchmark':<{width}}  seconds  outcome"]
    for each in outcomes:
        code = f" (exit code {each.code})" if each.code else ""
        lines.append(f"{each.name:<{width}}  {each.seconds:>7.0f}  {each.what}{code}")
    return "\n".join(lines)


def merged(
    earlier: Mapping[str, Any] | None, outcomes: Sequence[JobOutcome], wall_s: float, *, resumed: bool
) -> dict[str, Any]:
    """The record of a run; a resumed run adds to what the *earlier* one of its commit measured.

    >>> first = merged(None, [JobOutcome("a", STORED, 60.0)], 60.0, resumed=False)
    >>> again = merged(first, [JobOutcome("a", RESUMED), JobOutcome("b", STORED, 9.0)], 9.0, resumed=True)
    >>> again["runs"]["a"]["seconds"], again["minutes"], again["commands"]
    (60.0, 1.15, 2)
    """
    before: Mapping[str, Any] = (earlier or {}) if resumed else {}
    runs = {each.name: asdict(each) for each in outcomes}
    runs |= {name: run for name, run in before.get("runs", {}).items() if runs.get(name, {}).get("what") == RESUMED}
    minutes = float(before.get("minutes", 0.0)) + wall_s / 60
    return {"runs": runs, "minutes": round(minutes, 2), "commands": int(before.get("commands", 0)) + 1}


def command_of(name: str, *options: str) -> list[str]:
    """The command of a benchmark, with --write and those of *options* that it has.

    >>> command_of("peers_speed", "--quick")[2:], command_of("own_words_final")[2:]
    (['benchmarks.peers_speed', '--write', '--quick'], ['benchmarks.own_words', '--final', '--write'])
    """
    known = BENCHMARKS[name]
    module, *more = known.command or (name,)
    chosen = [each for each in options if each in known.options]
    return [sys.executable, "-m", f"benchmarks.{module}", *more, "--write", *chosen]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--quick", action="store_true", help="the quick forms, some minutes")
    kinds.add_argument("--whole", action="store_true", help="everything, hours; records and pages are written")
    kinds.add_argument("--resume", action="store_true", help="what a whole run on this commit has not measured yet")
    parser.add_argument("--hours", type=float, default=HOURS, help="at most, of a whole run (default: %(default)g)")
    parser.add_argument("--plan", action="store_true", help="print what would run, and run nothing")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    options = parser.parse_args()
    unknown = set(options.names) - BENCHMARKS.keys()
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    for number in (signal.SIGINT, signal.SIGTERM):  # benchmarks must obey one, also of a run in the background
        signal.signal(number, signal.default_int_handler)
    if options.quick:
        return quick(options)
    if options.whole or options.resume:
        return whole(options)
    names = options.names or [name for name, each in BENCHMARKS.items() if not each.by_name]
    if options.plan:
        print(plan(planned(names, records.read("bench")), 3_600 * options.hours))
        return 0
    return max(run([word for word in command_of(name) if word != "--write"]) for name in names)


def quick(options: argparse.Namespace) -> int:
    """The quick forms, which share one node, then the tables of what they stored."""
    names = options.names or [name for name, each in BENCHMARKS.items() if "--quick" in each.options]
    jobs = [BenchmarkJob(name, command_of(name, "--quick"), 60 * QUICK_MIN) for name in names]
    limit_s = 3_600 * options.hours
    print(plan(jobs, limit_s), flush=True)
    if options.plan:
        return 0
    try:
        with shared_node() as node:
            os.environ[GIVEN] = node
            outcomes = UnattendedRun(execute, partial(wrote, folder=records.QUICK), log_outcome, limit_s=limit_s).run(
                jobs
            )
    except UnavailableError as exc:
        sys.exit(f"the quick forms need an OpenSearch node: {exc}")
    code = run([sys.executable, "-m", "benchmarks.report", "--quick"])
    print(f"\n{summary(outcomes)}")
    return max(code, *(each.code for each in outcomes))


def whole(options: argparse.Namespace) -> int:
    """The whole forms, then the pages; of a run without names the outcomes are a record, too."""
    names = options.names or list(BENCHMARKS)
    earlier = records.read("bench")
    outcomes = [JobOutcome(name, RESUMED) for name in names if options.resume and is_stored(name)]
    left = {*names} - {each.name for each in outcomes}
    jobs = planned([name for name in names if name in left], earlier)
    print(plan(jobs, 3_600 * options.hours), flush=True)
    if options.plan:
        return 0
    began, same = time.monotonic(), earlier is not None and earlier.commit == records.commit()

    def report(outcome: JobOutcome) -> None:
        outcomes.append(outcome)
        log_outcome(outcome)
        if not options.names:
            before = earlier.results if earlier and same else None
            found = merged(before, outcomes, time.monotonic() - began, resumed=options.resume)
            measured = [name for name, each in found["runs"].items() if each["what"] in {STORED, MISSED}]
            stored = sorted(of for name in measured for of in BENCHMARKS[name].records)
            records.keep("bench", found | {"records": stored}, {"ragdrop": __version__})

    UnattendedRun(execute, wrote, report, limit_s=3_600 * options.hours).run(jobs)
    code = run([sys.executable, "-m", "benchmarks.report", "--write"])
    code = max(code, run([sys.executable, "-m", "pages"]))  # some of them show records, too
    print(f"\n{summary(outcomes)}\n{(time.monotonic() - began) / 60:.0f} min in all")
    return max(code, *(each.code for each in outcomes), 0)


def planned(names: Sequence[str], last: records.BenchmarkRecord | None) -> list[BenchmarkJob]:
    """A job for each, expected to take what it took in the *last* run, else what is estimated."""
    took = {name: each["seconds"] for name, each in last.results["runs"].items() if each["seconds"]} if last else {}
    return [
        BenchmarkJob(
            name, command_of(name), took.get(name, 60 * BENCHMARKS[name].minutes), shares=not BENCHMARKS[name].timed
        )
        for name in names
    ]


def is_stored(name: str) -> bool:
    """Whether all of its records are of the commit that is checked out, in all of their parts.

    Of changed code, whose commit has a plus sign, nothing is: the next change would look the same.
    """
    now = records.commit().removesuffix("+")
    found = [records.read(each) for each in BENCHMARKS[name].records]
    return all(each is not None and each.commit == now and not each.older for each in found)


def wrote(name: str, since_s: float, folder: Path = records.WHOLE) -> bool:
    """Whether its records were written since then (seconds since 1970): all of them, of a quick form one."""
    paths = [folder / f"{each}.json" for each in BENCHMARKS[name].records]
    found = [path.exists() and path.stat().st_mtime >= since_s for path in paths]
    return any(found) if folder == records.QUICK else all(found)


def log_outcome(outcome: JobOutcome) -> None:
    sys.stderr.write(f"{outcome.name}: {outcome.what} after {outcome.seconds:.0f} s, exit code {outcome.code}\n")


def run(command: list[str]) -> int:
    """Run a command, report on stderr how long it took; its exit code."""
    started = time.monotonic()
    code = subprocess.run(command, check=False).returncode  # noqa: S603 - our own modules
    name = command[2].removeprefix("benchmarks.")
    sys.stderr.write(f"{name}: {time.monotonic() - started:.0f} s, exit code {code}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
