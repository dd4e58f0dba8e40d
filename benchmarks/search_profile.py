"""What a search of the query function takes by stage, now and before, and what each of its milliseconds buys.

    python -m benchmarks.search_profile [--write] [--quick] [--before COMMIT]

The whole handler over the bucket index, as in benchmarks/peers_speed.py: an event of API Gateway, an embedding server
that takes 5 ms, the registry in memory.  Both versions are asked the same questions in turns in one run.  Of a stage
the processor time of its thread is counted, without the stages within it; a clock is read where one begins or ends.
"""

from __future__ import annotations

import importlib
import io
import itertools
import json
import logging
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from threading import local
from typing import Any

from benchmarks import records
from benchmarks.embeddings import DIMENSION, MODEL, documents, embedding_server, questions
from benchmarks.peers.ragdrop import Ragdrop
from benchmarks.peers.serving import PeerPlace
from benchmarks.records import BenchmarkRecord
from ragdrop import __version__

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/evidence/search-profile.svg"
BEFORE = "9ef269d5"  # the last one whose requests all went through FastAPI, and whose keys were no tuples
EMBEDDING_S, LIMIT = 0.005, 10
ROUNDS, IN_TURN = 8, 40
REST = "threads"
STAGES: Mapping[str, tuple[str, tuple[str, ...]]] = {  # what it buys, and where it begins
    "key, limits": (
        "who asks, what they may read, and that they stay within their limits",
        ("ragdrop.tenants.directory:TenantDirectory.caller", "ragdrop.query.view:ReadableView.readable"),
    ),
    "settings, scopes, filters": (
        "the tenant's and the request's settings, vaults and folders that exist",
        ("ragdrop.query.understand:UnderstandQuery.__call__",),
    ),
    "words": (
        "BM25 over all segments, while the question is embedded",
        ("bucketindex.segment_view:SegmentView.look_ahead",),
    ),
    "question's vector": (
        "one request to the embedding service, within its share of the deadline, behind its breaker",
        ("ragdrop.query.cache:QueryVectors.__call__",),
    ),
    "nearest vectors": (
        "an exact comparison with every vector, and the cosines of what words found",
        ("bucketindex.segment_view:SegmentView.candidates",),
    ),
    "live and readable": (
        "no deleted, replaced or hidden document: each hit is compared with the registry and the rules",
        (
            "ragdrop.query.candidates:own_candidates",
            "ragdrop.query.candidates:verified",
            "ragdrop.query.candidates:_lost",
            "ragdrop.query.candidates:_overtaken",
            "ragdrop.query.view:ReadableView.heads",
        ),
    ),
    "fusion, relevance": (
        "one order of both lists, a relevance from 0 to 1 that a threshold can judge, codes found as written",
        tuple(
            f"ragdrop.query.search:{name}"
            for name in (
                "coverage",
                "agreement",
                "of_dates",
                "fuse",
                "favoured",
                "exactness",
                "lacking_names",
                "judged",
                "rank",
                "within_limit",
            )
        ),
    ),
    "texts": ("neighbours of each passage, overlaps once", ("ragdrop.query.search:assemble",)),
    "response": (
        "the documented fields, checked, as JSON",
        ("ragdrop.api.routes.search_routes:search_response", "pydantic:BaseModel.model_dump_json"),
    ),
    "log line, counts": (
        "one line, metrics, and the counts of `/stats`",
        ("ragdrop.operate.observe:ObserveQueries.__call__", "ragdrop.operate.observe:QueryCounter.flush"),
    ),
    "steps of a search": (
        "one view for all reads, breakers, shares of the deadline, times by stage, fallbacks",
        ("ragdrop.query.pipeline:ObservedSearch.__call__", "ragdrop.query.search:find_candidates"),
    ),
    "event, routes": (
        "an event of API Gateway as a request, and the reply: ids, routes, headers, errors in one shape",
        ("mangum:Mangum.__call__",),
    ),
    REST: ("the words and the counts beside the embedding and the reply: threads that begin, wait and end", ()),
}


class StageClock:
    """Processor milliseconds by stage, of all threads."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._of_thread = local()

    def wrapped(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """*call*, whose time is *stage*'s, without that of stages within it."""

        @wraps(call)
        def timed(*args: Any, **kwargs: Any) -> Any:
            outer = getattr(self._of_thread, "within", 0.0)
            self._of_thread.within = 0.0
            began = time.thread_time()
            try:
                return call(*args, **kwargs)
            finally:
                taken = (time.thread_time() - began) * 1_000
                self.spent[stage] += taken - self._of_thread.within
                self._of_thread.within = outer + taken

        return timed

    def install(self) -> None:
        """Wrap what STAGES names, as far as this version of ragdrop has it."""
        for stage, (_, places) in STAGES.items():
            for module, _, name in (place.partition(":") for place in places):
                *path, last = name.split(".")
                owner: Any = importlib.import_module(module)
                for each in path:
                    owner = getattr(owner, each)
                if callable(call := vars(owner).get(last)):
                    setattr(owner, last, self.wrapped(stage, call))


def child(url: str, chunks: int) -> None:
    """Serve one version: fill it, then answer each line, a list of questions, with what they took."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # log lines go where they cost the same and are in nobody's way
    peer, clock = Ragdrop(over_opensearch=False), StageClock()
    clock.install()
    peer.open(PeerPlace(url, MODEL, DIMENSION, "", "profile", "function"))
    logging.getLogger("ragdrop").setLevel("WARNING")
    peer.fill(list(documents(chunks)))
    logging.getLogger("ragdrop").setLevel("INFO")
    for line in itertools.chain(["[]"], sys.stdin):
        if line.strip() != "[]":
            clock.spent.clear()
        taken = [_asked(peer, question) for question in json.loads(line)]
        found = {"ms": [wall for wall, _ in taken], "cpu_ms": [cpu for _, cpu in taken], "stages": clock.spent}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


def _asked(peer: Ragdrop, question: str) -> tuple[float, float]:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    reply = peer.invoke({"query": question, "limit": LIMIT})
    if reply["statusCode"] != 200:
        raise RuntimeError(reply["body"])
    return (time.perf_counter() - wall_s) * 1_000, (time.process_time() - cpu_s) * 1_000


class ProfiledVersion:
    """One version of ragdrop, by the folder of its sources."""

    def __init__(self, sources: Path, url: str, chunks: int) -> None:
        folders = (sources / "layers/common/python", sources / "cli", sources)
        command = [sys.executable, str(Path(__file__).resolve()), "--child", url, str(chunks)]
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            env={**os.environ, "PYTHONPATH": ":".join(map(str, folders)), "PYTHONSAFEPATH": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.turns: list[dict[str, Any]] = []
        self._answer()  # it is filled

    def __enter__(self) -> ProfiledVersion:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, asked: Sequence[str]) -> dict[str, Any]:
        """What *asked* took; raises RuntimeError if the version failed."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(list(asked)) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("a version ended before it answered")
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def sources_of(commit: str) -> Iterator[Path]:
    """The files of *commit*, in a folder that goes in the end."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S603, S607 - our own words
    with tempfile.TemporaryDirectory(prefix="ragdrop-profile-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


def profile_of(turns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of turns (`ms`, `cpu_ms` a question, `stages` with all milliseconds of each) the figures of a question.

    >>> profile_of([{"ms": [9.0, 7.0], "cpu_ms": [4.0, 4.0], "stages": {"words": 1.0}}])["stages"]["words"]
    0.5
    """
    count = sum(len(each["ms"]) for each in turns)
    cpu_ms = statistics.fmean(one for each in turns for one in each["cpu_ms"])
    stages = {stage: sum(each["stages"].get(stage, 0.0) for each in turns) / count for stage in STAGES}
    stages[REST] = cpu_ms - sum(stages.values())
    return {
        "p50_ms": statistics.median(one for each in turns for one in each["ms"]),
        "cpu_ms": cpu_ms,
        "stages": stages,
    }


def measure(chunks: int, rounds: int, before: str) -> dict[str, Any]:
    """The figures of both versions, asked in turns, each first every second time."""
    asked = questions((rounds + 1) * IN_TURN)
    with ExitStack() as stack:
        old = stack.enter_context(sources_of(before))
        url = stack.enter_context(embedding_server(EMBEDDING_S, generated=True, keeps=True))
        both = {
            name: stack.enter_context(ProfiledVersion(sources, url, chunks))
            for name, sources in (("before", old), ("now", ROOT))
        }
        for number in range(rounds + 1):
            batch = asked[number * IN_TURN : (number + 1) * IN_TURN]
            for version in list(both.values())[:: 1 if number % 2 else -1]:
                reported = version.ask(batch)
                version.turns += [reported] if number else []  # the first turn warms up
        return {"chunks": chunks, "compared": before} | {name: profile_of(each.turns) for name, each in both.items()}


def profile_table(record: BenchmarkRecord) -> str:
    """A line a stage: what it took, takes, and what that buys."""
    found = record.results
    before, now = found["before"], found["now"]
    rows = [
        (stage, f"{before['stages'][stage]:.2f}", f"{now['stages'][stage]:.2f}", buys)
        for stage, (buys, _) in STAGES.items()
    ]
    whole = ("**all**", f"**{before['cpu_ms']:.2f}**", f"**{now['cpu_ms']:.2f}**", "an answer")
    table = records.markdown(("stage", f"before ({found['compared']}), ms", "now, ms", "what it buys"), [*rows, whole])
    share = now["cpu_ms"] / before["cpu_ms"]
    return f"{table}\n\n{found['chunks']:,} chunks; now / before: {share:.2f} of the processor time."


COLOURS = (  # noqa: SIM905 - easier to read
    "4e79a7 a0cbe8 f28e2b ffbe7d 59a14f 8cd17d b6992d f1ce63 499894 86bcb6 e15759 79706e bab0ac"
).split()
WIDTH, LEFT, ROW, BAR = 900, 70, 44, 30


def picture(found: Mapping[str, Any]) -> str:
    """An SVG: for each version a bar of its stages, as wide as the milliseconds of the processor that they take."""
    scale = (WIDTH - LEFT - 70) / max(found[name]["cpu_ms"] for name in ("before", "now"))
    parts = []
    for row, name in enumerate(("before", "now")):
        x, y = float(LEFT), 10 + row * ROW
        parts.append(f'<text x="0" y="{y + 20}">{name}</text>')
        for colour, (stage, taken) in zip(COLOURS, found[name]["stages"].items(), strict=True):
            wide = max(0.0, taken) * scale
            title = f"<title>{stage}: {taken:.2f} ms</title>"
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{BAR}" fill="#{colour}">{title}</rect>')
            x += wide
        parts.append(f'<text x="{x + 6:.1f}" y="{y + 20}">{found[name]["cpu_ms"]:.1f} ms</text>')
    for number, (colour, stage) in enumerate(zip(COLOURS, STAGES, strict=True)):
        x, y = LEFT + number % 4 * 205, 24 + 2 * ROW + number // 4 * 22
        parts.append(f'<rect x="{x}" y="{y - 11}" width="12" height="12" fill="#{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="{y}">{stage}</text>')
    height = 24 + 2 * ROW + 4 * 22
    style = "<style>text{font:13px sans-serif;fill:#777}</style>"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">'
    return "\n".join([head, style, *parts, "</svg>"]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records.parser(__doc__, quick="1,000 chunks and fewer questions")
    parser.add_argument("--before", default=BEFORE, metavar="COMMIT", help="what to compare with")
    parser.add_argument("--chunks", type=int, help="in place of 10,000")
    options = parser.parse_args(arguments)
    count = options.chunks or (1_000 if options.quick else 10_000)
    found = measure(count, 2 if options.quick else ROUNDS, options.before)
    written = records.keep if options.write else records.made
    if options.write and not options.quick:
        PICTURE.write_text(picture(found), "utf-8")
    print(profile_table(written("search_profile", found, {"ragdrop": __version__}, quick=options.quick)))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main())
