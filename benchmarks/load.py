"""Load through the local stack: users with a pause of a second after each answer, a spike, memory over many requests.

    python -m benchmarks.load [--index bucket --users 20 --pause 1 --minutes 2 --spike 60] [--repeated] [--write]

Locust drives it, in its own environment (`make load` makes it).  Beside the users one more sends the same request
without a key: what gateway and emulator take alone.  1 if a line of the budget is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks import records
from benchmarks.live_stack import LiveStack, Watch, cores_watched, live_stack, watched
from benchmarks.plots import draw
from benchmarks.records import BenchmarkRecord
from localstack.home import REPOSITORY, SHARED
from localstack.opensearch.assembly import DEFAULT_RELEASE
from localstack.processes import LaunchError
from ragdrop import __version__

P95_MS, P99_MS, ERRORS, FALLBACKS = 300.0, 500.0, 0.01, 0.05  # of 20 users with a pause of 1 s, and of their spike
OK = 200
Sample = dict[str, Any]
WORDS_A_QUESTION = (4, 9)
_SENTENCE = re.compile(r"[^.!?\n|`#>*\[\](){}]{40,400}")
_WORD = re.compile(r"[\w'-]+")
FORMS = ("What is known of {}?", "{}?", "Why {}?", "Where does it say that {}?", "Tell me about {}")
LEAST_MS = 0.5  # of processor time a search that is reported
PLOTS = (
    "![Latency of searches during the load, and its distribution](load-latency.svg)",
    "![Memory of the query function's processes over the requests](load-memory.svg)",
)
DRAWN = ("samples", "memory")  # too much for a record
LOCUST = SHARED / "env/load/bin/locust"
SAMPLE = REPOSITORY / "localstack/sample-vault"
REPEATED, DISTINCT = 500, 12_000
SPAWN_A_SECOND = 2
SETTLE_S = 30.0  # after the last user has begun: locust itself and new processes take the cores in the first seconds
STARTS, STARTED_MS, START_TIMEOUT_S = 6, 2_000, 180.0
UNPACED_USERS = 4  # the rest of the requests of the memory's line, as fast as answers come
UNPACED_LIMIT_S = 90.0
IN_FLIGHT = 100  # questions that may be taken but not noted when a phase ends


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least *share* (0 to 1) of *values* do not exceed; nan of none.

    >>> [percentile([10.0, 20.0, 30.0, 40.0], share) for share in (0.5, 0.95)]
    [20.0, 40.0]
    """
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)] if ordered else float("nan")


def figures(samples: Sequence[Sample]) -> dict[str, Any]:
    """Counts, shares and percentiles (milliseconds) of one phase.

    `gateway` is the same request without a key: the emulator, its gateway and the start of a function alone.

    >>> figures([{"kind": "search", "at_s": 0.0, "ms": 50.0, "status": 200, "latency_ms": 20.0}])["p95_ms"]
    50.0
    """
    asked = [each for each in samples if each["kind"] == "search"]
    good = [each for each in asked if each["status"] == OK]
    refused = [each["ms"] for each in samples if each["kind"] == "refused"]
    span_s = max((each["at_s"] for each in asked), default=0.0) - min((each["at_s"] for each in asked), default=0.0)
    failed = [each for each in asked if each["status"] != OK]
    return {
        "requests": len(asked),
        "a_second": len(asked) / span_s if span_s else 0.0,
        "errors": len(failed) / len(asked) if asked else 1.0,
        "codes": sorted({f"{each['status']} {each.get('code', '')}".strip() for each in failed}),
        "fallbacks": _share(good, "fallback", is_in=(True,)),
        "cached": _share(good, "served_by", is_in=("cache",)),
        **_percentiles("", [each["ms"] for each in asked]),
        **_percentiles("function_", [each["latency_ms"] for each in good if "latency_ms" in each]),
        **_percentiles("gateway_", refused),
    }


def missed_budgets(found: dict[str, Any]) -> list[str]:
    """Which lines of the budget are not met, those of the spike too.

    >>> missed_budgets({"p95_ms": 301.0, "p99_ms": 400.0, "errors": 0.0, "fallbacks": 0.0})
    ['p95 301 ms']
    """
    lines = [
        (found["p95_ms"] < P95_MS, f"p95 {found['p95_ms']:.0f} ms"),
        (found["p99_ms"] < P99_MS, f"p99 {found['p99_ms']:.0f} ms"),
        (found["errors"] < ERRORS, f"errors {found['errors']:.1%} ({', '.join(found.get('codes', []))})"),
        (found["fallbacks"] < FALLBACKS, f"fallback {found['fallbacks']:.1%}"),
    ]
    spike = [f"spike {said}" for said in missed_budgets(found["spike"])] if "spike" in found else []
    return [said for met, said in lines if not met] + spike


def growth(memory: Sequence[tuple[float, float]]) -> float:
    """Megabytes a thousand requests, by least squares over (requests so far, megabytes).

    >>> growth([(0, 100.0), (1000, 101.0), (2000, 102.0)])
    1.0
    """
    if len({at for at, _ in memory}) < 2:
        return float("nan")
    slope, _ = statistics.linear_regression([at for at, _ in memory], [mb for _, mb in memory])
    return slope * 1000


def _share(samples: Sequence[Sample], name: str, *, is_in: tuple[object, ...]) -> float:
    return sum(each.get(name) in is_in for each in samples) / len(samples) if samples else 0.0


def _percentiles(prefix: str, values: Sequence[float]) -> dict[str, float]:
    return {f"{prefix}p{share}_ms": percentile(values, share / 100) for share in (50, 95, 99)}


def questions(texts: Sequence[str], count: int, *, seed: int = 1) -> list[str]:
    """*count* distinct questions, each a run of a sentence's own words in one of a few forms.

    Raises:
        ValueError: The texts have too few words for that many.

    >>> questions(["The pump is restarted by pressing the green button twice in a row."], 2, seed=3)
    ['by pressing the green button twice in a?', 'Tell me about restarted by pressing the green button twice in']
    """
    source = random.Random(seed)
    runs = [words for text in texts for found in _SENTENCE.findall(text) if len(words := _WORD.findall(found)) > 4]
    made: dict[str, None] = {}
    for _ in range(count * 50 if runs else 0):
        words = source.choice(runs)
        length = min(source.randint(*WORDS_A_QUESTION), len(words))
        begin = source.randint(0, len(words) - length)
        made[source.choice(FORMS).format(" ".join(words[begin : begin + length]))] = None
        if len(made) == count:
            return list(made)
    raise ValueError(f"{len(runs)} sentences give {len(made)} questions, not {count}")


def texts_of(folder: Path) -> list[str]:
    """The Markdown files below *folder*, in the order of their names."""
    return [path.read_text("utf-8", errors="replace") for path in sorted(folder.rglob("*.md"))]


def load_table(record: BenchmarkRecord) -> str:
    return "\n".join([*load_rows(record.results), "", *PLOTS])


def load_rows(found: Mapping[str, Any]) -> list[str]:
    said = [
        (f"p95, ms, of {found['requests']:,} searches", f"< {P95_MS:.0f}", f"{found['p95_ms']:.0f}"),
        ("p99, ms", f"< {P99_MS:.0f}", f"{found['p99_ms']:.0f}"),
        ("errors", f"< {ERRORS:.0%}", f"{found['errors']:.1%}"),
        ("fallback", f"< {FALLBACKS:.0%}", f"{found['fallbacks']:.1%}"),
        ("p50, ms", "", f"{found['p50_ms']:.0f}"),
        ("inside the function (`latency_ms`), p50, p95 and p99, ms", "", _three(found, "function_")),
        ("the same request without a key, p50, p95 and p99, ms", "", _three(found, "gateway_")),
        ("answered from the functions' own cache", "", f"{found['cached']:.0%}"),
        ("searches a second", "", f"{found['a_second']:.1f}"),
        ("processor time a search, ms", "", _cpu(found["cpu"])),
        ("of that time both cores were busy", "", f"{found['busy']:.0%}"),
        *_spike(found.get("spike")),
        (
            f"memory of a query function's process after {found['all_requests']:,} requests, MB",
            "flat",
            f"{found['memory_mb']:.0f}; {found['growth_mb']:+.2f} a 1,000 requests over the later half",
        ),
    ]
    asked = f", {found['index']} index, all questions different" if found.get("distinct") else ""
    pause = f" with a pause of {found['pause_s']:g} s" if "pause_s" in found else ""
    head = f"| {found['users']} users{pause}, {found['minutes']:g} minutes{asked} | budget | measured |"
    return [head, "|---|---|---|", *(f"| {what} | {budget} | {value} |" for what, budget, value in said)]


def _spike(found: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    if found is None:
        return []
    what = f"spike: {found['users']} users begin at once, {found['seconds']:g} s, {found['a_second']:.1f} a second"
    return [
        (f"{what}, p95, ms", f"< {P95_MS:.0f}", f"{found['p95_ms']:.0f}"),
        ("spike, p99, ms", f"< {P99_MS:.0f}", f"{found['p99_ms']:.0f}"),
        ("spike, errors", f"< {ERRORS:.0%}", f"{found['errors']:.1%}"),
    ]


def _three(found: Mapping[str, Any], prefix: str) -> str:
    return ", ".join(f"{found[f'{prefix}p{share}_ms']:.0f}" for share in (50, 95, 99))


def _cpu(spent: Mapping[str, float]) -> str:
    most = sorted(spent.items(), key=lambda each: -each[1])
    return ", ".join(f"{role} {milliseconds:.0f}" for role, milliseconds in most if milliseconds >= LEAST_MS)


def keep(benchmark: str, found: Mapping[str, Any]) -> None:
    """Keep the record of a run that just ended, and write the pages."""
    versions = {"ragdrop": __version__} | locked("ministack", "locust")
    if found.get("index") != "bucket":
        versions["OpenSearch"] = DEFAULT_RELEASE
    records.keep(benchmark, {name: value for name, value in found.items() if name not in DRAWN}, versions)
    records.write_pages()


def plot(found: Mapping[str, Any]) -> None:
    """Draw the plots of a load, by the environment that has matplotlib."""
    with tempfile.TemporaryDirectory(prefix="ragdrop-plot-") as folder:
        file = Path(folder) / "figures.json"
        file.write_text(json.dumps({name: found[name] for name in DRAWN}), "utf-8")
        draw("load", str(file))


def locked(*packages: str) -> dict[str, str]:
    """The locked version of each package that is asked for, from requirements/."""
    lines = [
        line for file in sorted((REPOSITORY / "requirements").glob("*.txt")) for line in file.read_text().splitlines()
    ]
    pinned = dict(line.split(" ")[0].split("==") for line in lines if "==" in line.split(" ")[0])
    return {name: pinned[name].partition("[")[0] for name in packages if name in pinned}


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
        reported = {"url": self.stack.api_url, "key": self.stack.key, "paced": paced, "pause_s": self.pause_s}
        reported |= {"questions": list(self.asked[self.used if self.distinct else 0 :]), "distinct": self.distinct}
        plan.write_text(json.dumps(reported | {"samples": str(file)}), "utf-8")
        command = [str(LOCUST), "-f", str(REPOSITORY / "benchmarks/load_users.py"), "--headless", "--only-summary"]
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
        stored = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
        return stored | {"LOAD_PLAN": str(plan), "NO_PROXY": "127.0.0.1,localhost"}


def start_functions(stack: LiveStack, asked: Sequence[str], together: int) -> float:
    """Ask *together* questions at once until all are answered soon; the slowest of the last ones, milliseconds.

    Each concurrent call has its own process of a function here, whose first call unpacks the layer and pays the
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
        found |= {"samples": measured, "cpu": _cpu_of_roles(watch, measured), "busy": busy.share}
        if options.spike:
            spike = load.phase(options.spike, options.spike_s, spawn_a_second=options.spike, settle_s=0.0)
            found["spike"] = figures(spike) | {"users": options.spike, "seconds": options.spike_s}
        if len(load.samples) < options.requests:
            load.phase(UNPACED_USERS, UNPACED_LIMIT_S, paced=False, until=options.requests)
        return found | _memory(watch, load.samples)


def _cpu_of_roles(watch: Watch, measured: Sequence[Sample]) -> dict[str, float]:
    first_s, last_s = measured[0]["at_s"], measured[-1]["at_s"]
    asked = sum(each["kind"] == "search" for each in measured)
    return {role: spent * 1000 / asked for role, spent in watch.cpu_s(first_s, last_s).items()}


def _memory(watch: Watch, samples: Sequence[Sample]) -> dict[str, Any]:
    """Mean megabytes of a query function's process over the requests so far, and its growth over the later half."""
    at = sorted(each["at_s"] for each in samples)
    series = [
        (sum(each <= seen_s for each in at), megabytes / processes)
        for seen_s, megabytes, processes in watch.memory("query function")
    ]
    later = [(asked, mb) for asked, mb in series if asked >= len(at) / 2]
    return {"memory": series, "all_requests": len(at), "growth_mb": growth(later), "memory_mb": series[-1][1]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page if asked to; 1 where a line of the budget is missed."""
    parser = records.parser(__doc__)
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
    wrong = missed_budgets(found)
    print("budget met" if not wrong else f"missed: {'; '.join(wrong)}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
