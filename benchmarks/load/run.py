"""Load through the local stack: users with a pause of a second after each answer, a spike, memory over many requests.

    python -m benchmarks.load [--index bucket --users 20 --pause 1 --minutes 2 --spike 60] [--repeated] [--write]

`POST /search` with defaults, in the words of the vault (the sample vault, or --vault).  All questions are different, so
no cache of a function knows an answer or a vector; `--repeated` asks 500 in random order instead.  Locust drives it, in
an environment of its own (`make load` makes it).  Beside the users one more sends the same request without a key: what
gateway and emulator take alone.  `--write` puts table and plots into docs/evidence/performance.md; 1 where a line
of the budget is missed.  Its phases take eight minutes at most, after the stack is up.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.live_stack import LiveStack, live_stack
from benchmarks.load.figures import Sample, figures, growth, missed
from benchmarks.load.keeping import keep, plot
from benchmarks.load.questions import questions, texts_of
from benchmarks.load.table import load_rows
from benchmarks.stack_processes import Watch, cores_watched, watched
from localstack.home import REPOSITORY, SHARED
from localstack.processes import LaunchError

LOCUST = SHARED / "env/load/bin/locust"
SAMPLE = REPOSITORY / "localstack/sample-vault"
REPEATED, DISTINCT = 500, 12_000
SPAWN_A_SECOND = 2
SETTLE_S = 30.0  # after the last user has begun: locust itself and new processes take the cores in the first seconds
STARTS, STARTED_MS, START_TIMEOUT_S = 6, 2_000, 180.0
UNPACED_USERS = 4  # the rest of the requests of the memory's line, as fast as answers come
UNPACED_LIMIT_S = 90.0
IN_FLIGHT = 100  # questions that may be taken but not noted when a phase ends


@dataclass
class Load:
    """One run against one stack; what locust notes is read from *folder*."""

    stack: LiveStack
    asked: Sequence[str]
    folder: Path
    pause_s: float
    distinct: bool
    used: int
    """How many of *asked* were asked before; with *distinct* none is asked again."""
    samples: list[Sample] = field(default_factory=list)

    def phase(
        self,
        users: int,
        seconds: float,
        *,
        paced: bool = True,
        until: int | None = None,
        spawn_a_second: int = SPAWN_A_SECOND,
        settle_s: float = SETTLE_S,
    ) -> list[Sample]:
        """Let *users* ask for *seconds* after all have begun and settled, or until so many requests were sent in all.

        Raises:
            LaunchError: Locust could not be run.
        """
        ramp_s = users / spawn_a_second + settle_s
        file, plan = self.folder / "samples.jsonl", self.folder / "plan.json"
        file.unlink(missing_ok=True)
        told = {"url": self.stack.api_url, "key": self.stack.key, "paced": paced, "pause_s": self.pause_s}
        told |= {"questions": list(self.asked[self.used if self.distinct else 0 :]), "distinct": self.distinct}
        plan.write_text(json.dumps(told | {"samples": str(file)}), "utf-8")
        command = [str(LOCUST), "-f", str(REPOSITORY / "benchmarks/load/users.py"), "--headless", "--only-summary"]
        command += ["--users", str(users + paced), "--spawn-rate", str(spawn_a_second), "--loglevel", "WARNING"]
        command += ["--run-time", f"{ramp_s + seconds:.0f}s", "--stop-timeout", "35"]
        begun_s = time.time()
        log = (self.folder / "locust.log").open("ab")
        with log, subprocess.Popen(command, env=self._environment(plan), stdout=log, stderr=log) as child:  # noqa: S603
            while child.poll() is None:
                time.sleep(0.5)
                if until is not None and len(self.samples) + _lines(file) >= until:
                    child.terminate()
        if not file.exists():
            raise LaunchError(f"locust sent nothing:\n{(self.folder / 'locust.log').read_text('utf-8')[-2000:]}")
        found = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        self.samples += found
        self.used += len(found) + IN_FLIGHT
        return [each for each in found if each["at_s"] >= begun_s + ramp_s] if paced else found

    def _environment(self, plan: Path) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
        return kept | {"LOAD_PLAN": str(plan), "NO_PROXY": "127.0.0.1,localhost"}


def start_functions(stack: LiveStack, asked: Sequence[str], together: int) -> float:
    """Ask *together* questions at once until all are answered soon; the slowest of the last ones, milliseconds.

    Each concurrent call has a function's process of its own here, whose first call unpacks the layer and pays the
    imports: without this a load begins with so many of these at once that none gets a core.
    """

    def ask(query: str) -> float:
        begun = time.perf_counter()
        headers = {"x-api-key": stack.key}
        with suppress(httpx.TransportError):
            url = f"{stack.api_url}/search"
            httpx.post(url, json={"query": query}, headers=headers, timeout=START_TIMEOUT_S, trust_env=False)
        return (time.perf_counter() - begun) * 1000

    slowest = 0.0
    with ThreadPoolExecutor(together) as pool:
        for _ in range(STARTS):
            slowest = max(pool.map(ask, asked[:together]))
            if slowest < STARTED_MS:
                break
    return slowest


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def run(stack: LiveStack, asked: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """All phases, and what they come to."""
    with tempfile.TemporaryDirectory(prefix="ragdrop-load-") as folder, watched(stack.pids) as watch:
        together = options.users + 1
        load = Load(stack, asked, Path(folder), options.pause, not options.repeated, together)
        slowest_ms = start_functions(stack, asked, together)
        print(f"functions are started: the slowest answer took {slowest_ms:.0f} ms", flush=True)
        if options.warm_minutes:
            load.phase(options.warm_users, options.warm_minutes * 60)
        with cores_watched() as busy:
            measured = load.phase(options.users, options.minutes * 60)
        found = figures(measured) | {"users": options.users, "minutes": options.minutes}
        found |= {"index": options.index, "distinct": load.distinct, "pause_s": options.pause}
        found |= {"samples": measured, "cpu": _cpu(watch, measured), "busy": busy.share}
        if options.spike:
            spike = load.phase(options.spike, options.spike_s, spawn_a_second=options.spike, settle_s=0.0)
            found["spike"] = figures(spike) | {"users": options.spike, "seconds": options.spike_s}
        if len(load.samples) < options.requests:
            load.phase(UNPACED_USERS, UNPACED_LIMIT_S, paced=False, until=options.requests)
        return found | _memory(watch, load.samples)


def _cpu(watch: Watch, measured: Sequence[Sample]) -> dict[str, float]:
    """Processor milliseconds a request, by role, of the measured phase."""
    first_s, last_s = measured[0]["at_s"], measured[-1]["at_s"]
    asked = sum(each["kind"] == "search" for each in measured)
    return {role: spent * 1000 / asked for role, spent in watch.cpu_s(first_s, last_s).items()}


def _memory(watch: Watch, samples: Sequence[Sample]) -> dict[str, Any]:
    """Mean megabytes of a query function's process over the requests so far, and its growth over the later half."""
    at = sorted(each["at_s"] for each in samples)
    series: list[tuple[int, float]] = []
    for role in {each.role for _, usages in watch.seen for each in usages.values() if "Query" in each.role}:
        for seen_s, megabytes, processes in watch.memory(role):
            series.append((sum(each <= seen_s for each in at), megabytes / processes))
    later = [(asked, mb) for asked, mb in series if asked >= len(at) / 2]
    return {"memory": series, "all_requests": len(at), "growth_mb": growth(later), "memory_mb": series[-1][1]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page if asked to; 1 where a line of the budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=20, help="how many ask at once")
    parser.add_argument("--pause", type=float, default=1, help="seconds after an answer, on average")
    parser.add_argument("--spike", type=int, default=60, help="users that all begin at once afterwards; 0 for none")
    parser.add_argument("--spike-s", type=float, default=30, help="seconds of the spike")
    parser.add_argument("--index", choices=("bucket", "opensearch"), default="bucket")
    parser.add_argument("--repeated", action="store_true", help="500 questions in random order, not all different")
    parser.add_argument("--minutes", type=float, default=2, help="after all have begun")
    parser.add_argument("--warm-users", type=int, default=10)
    parser.add_argument("--warm-minutes", type=float, default=1, help="of load before, which is not measured")
    parser.add_argument("--requests", type=int, default=3_000, help="in all, over which memory is looked at")
    parser.add_argument("--vault", type=Path, default=SAMPLE, help="the folder that is pushed and asked about")
    parser.add_argument("--write", action="store_true", help="put table and plots into docs/evidence/performance.md")
    options = parser.parse_args(arguments)
    if not LOCUST.exists():
        print("load: skipped, its environment is made by `make load`")
        return 0
    asked = questions(texts_of(options.vault), REPEATED if options.repeated else DISTINCT)
    try:
        with live_stack(index=options.index) as stack:
            stack.push(options.vault)
            found = run(stack, asked, options)
            print("\n".join(load_rows(found)), flush=True)
    except LaunchError as exc:
        sys.exit(f"the load could not be run: {exc}")
    if options.write:
        plot(found)
        keep("load", found)
    wrong = missed(found)
    print("budget met" if not wrong else f"missed: {'; '.join(wrong)}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
