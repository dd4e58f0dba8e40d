"""Parity: which tests ran on which engine and passed, and what ragdrop asked of AWS meanwhile.

    python -m benchmarks.parity [--suite NAME ...] [--write]

Runs the suites by pytest and counts their cases by engine; a suite that is not run keeps its counts.  What ragdrop
asked of AWS becomes the table of calls, and if every suite ran, tests/aws/call_shapes.json too.  OpenSearch cases and
the witnesses need a JDK 21 and Maven; the emulator's cases start a stack.  The known differences between laptop and AWS
are in docs/evidence/parity.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks import records
from tests.aws.call_shapes import RECORDING, collected, keep

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / ".local/bench/parity"
_INDEX = re.compile(r"test_(chunk_index|opensearch|bucket|recipes|reindex|exact_text|retrieval|round_trips|tenant)")
_PORTS = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests/contract").glob("test_*.py"))]
SUITES = {
    "surfaces": ["tests/functions/test_conformance.py"],
    "indexes": [each for each in _PORTS if _INDEX.search(each)],
    "stores": [each for each in _PORTS if not _INDEX.search(each)],
    "handlers": ["tests/functions", "--ignore=tests/functions/test_conformance.py"],
}
ENGINES = ("memory", "bucket", "opensearch", "aws", "emulator", "witness")
BY_FILE = (
    (re.compile(r"opensearch|node"), "opensearch"),
    (re.compile(r"bucket"), "bucket"),
    (re.compile(r"dynamodb|s3_|aws_"), "aws"),
)
PACKAGES = ("pytest", "moto", "opensearch-py", "tantivy", "simsimd")
Counts = dict[str, dict[str, dict[str, int]]]
"""By file, engine and outcome (passed, failed, skipped)."""
SHOWN = {
    "memory": "fake in memory",
    "bucket": "bucket index",
    "opensearch": "OpenSearch",
    "aws": "moto, or AWS's own answers",
    "emulator": "emulator of a running stack",
    "witness": "DynamoDB Local, ElasticMQ",
    "none": "no engine",
}
TITLES = {
    "surfaces": "Every surface: the real handlers on Lambda's events, AWS by moto, over each index",
    "indexes": "The index: one suite over the fake, the bucket index and OpenSearch",
    "stores": "Every other port: one suite over the fakes and the real adapters",
    "handlers": "The handlers' other tests: moto and the bucket index, or fakes",
}
CALL_ENGINES = {"aws": "moto", "emulator": "emulator", "witness": "witness"}
CALLS = """## What ragdrop asks of AWS

All {all} shapes of calls: an operation with the form of its parameters. While the contract suites run, each engine is
asked the same and tells how the calls ended. The witnesses are AWS's own DynamoDB Local and, for SQS, ElasticMQ; moto
and the emulator are each other's for S3. {twice} shapes have at least two engines. A shape that no engine shows was
asked by a suite that runs on moto alone. A call that is not in this table fails the test that makes it
(`tests/aws/call_shapes.py`), and `tests/aws/test_permissions.py` holds the roles against what the functions asked.

"""
# Why a call may end in this way on one engine alone.
ENDS = {
    "MethodNotAllowed": "As AWS does, the emulator answers 405 for a version that is a delete marker, moto 404.",
    "ConditionalCheckFailedException": "Some tests of lost races run on moto alone.",
    "ResourceNotFoundException": "A table that is not there is asked of moto alone.",
    "NoSuchBucket": "A bucket that is not there is asked of moto alone.",
    "404": "A bucket that is not there is asked of moto alone.",
    "AWS.SimpleQueueService.NonExistentQueue": "A queue that is not there is asked of moto alone.",
    "ReceiptHandleIsInvalid": "A receipt that is not one is shown to moto alone.",
}


def engine_of(file: str, case: str) -> str:
    """The engine that a case ran on: what its parameters name, else what its file is about, else none.

    >>> engine_of("test_chunk_index", "test_it_is[opensearch]"), engine_of("test_s3_object_store", "test_it_is")
    ('opensearch', 'aws')
    >>> engine_of("test_chat_model", "test_it_is[http-429]")
    'none'
    """
    parameters = re.split(r"[-\]]", case.partition("[")[2])
    named = [engine for engine in ENGINES if engine in parameters]
    if named:
        return named[0]
    return next((engine for pattern, engine in BY_FILE if pattern.search(file)), "none")


def counted(report: str, *, usual: str = "none") -> Counts:
    """What a junit report says, by file and engine; *usual* is the engine of a suite whose cases name none.

    >>> case = '<testcase classname="tests.contract.test_a" name="test_b[bucket]"/>'
    >>> counted(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
    {'tests/contract/test_a.py': {'bucket': {'passed': 1}}}
    """
    found: dict[str, dict[str, Counter[str]]] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314 - pytest of our own wrote it
        file = case.get("classname", "").replace(".", "/") + ".py"
        engine = engine_of(Path(file).stem, case.get("name", ""))
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        by_engine = found.setdefault(file, {})
        by_engine.setdefault(usual if engine == "none" else engine, Counter())[outcome] += 1
    return {file: {engine: dict(counts) for engine, counts in each.items()} for file, each in sorted(found.items())}


def run(name: str, *, again: bool = True) -> Counts:
    """The counts of a suite, which is run first unless not *again*."""
    report = REPORTS / f"{name}.xml"
    if again:
        options = ["-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *SUITES[name]]
        shutil.rmtree(shapes_of(name), ignore_errors=True)
        shapes_of(name).mkdir(parents=True)
        environment = {**os.environ, RECORDING: str(shapes_of(name))}
        subprocess.run(command, cwd=ROOT, env=environment, check=False)  # noqa: S603 - our own tests
    return counted(report.read_text("utf-8"), usual="bucket" if name == "handlers" else "none")


def shapes_of(name: str) -> Path:
    """Where the processes of a suite leave what they asked of AWS."""
    return REPORTS / f"{name}-calls"


def calls(names: Iterable[str]) -> tuple[Any, dict[str, set[str]]]:
    """How the calls of each shape ended on each engine, and what the roles needed, over some suites.

    Only the contract suites ask every engine the same: a shape that another suite alone has stands there without ends.
    """
    shapes: dict[str, Any] = {}
    needed: dict[str, set[str]] = {}
    for name in names:
        noted, needs = collected(shapes_of(name))
        for shape, engines in noted.items():
            held = shapes.setdefault(shape, {})
            for engine, ends in engines.items() if name == "stores" else ():
                held[engine] = sorted(ends)
        for role, each in needs.items():
            needed.setdefault(role, set()).update(each)
    return {shape: shapes[shape] for shape in sorted(shapes)}, needed


def parity_tables(found: Mapping[str, Any]) -> str:
    """A table a suite, and the table of calls."""
    parts = [_suite(name, found[name]) for name in TITLES if name in found]
    if "calls" in found:
        parts.append(_calls(found["calls"]))
    return "\n\n".join(parts)


def _suite(name: str, files: dict[str, Any]) -> str:
    engines = [each for each in SHOWN if any(each in counts for counts in files.values())]
    lines = [f"## {TITLES[name]}", "", f"| file | {' | '.join(SHOWN[each] for each in engines)} |"]
    lines.append("|---" * (len(engines) + 1) + "|")
    total: dict[str, Counter[str]] = {each: Counter() for each in engines}
    for file, counts in files.items():
        for engine, outcomes in counts.items():
            total[engine].update(outcomes)
        if name != "handlers":
            lines.append(_row(f"`{file.removeprefix('tests/')}`", counts, engines))
    lines.append(_row(f"**all {len(files)}**", total, engines))
    return "\n".join(lines)


def _row(name: str, counts: Any, engines: list[str]) -> str:
    return f"| {name} | {' | '.join(_cell(counts.get(engine, {})) for engine in engines)} |"


def _cell(outcomes: Any) -> str:
    """Passed of all.

    >>> _cell({"passed": 3}), _cell({"passed": 1, "skipped": 2}), _cell({})
    ('3', '1 of 3', '')
    """
    total = sum(outcomes.values())
    passed = outcomes.get("passed", 0)
    return "" if not total else f"{passed}" if passed == total else f"{passed} of {total}"


def _calls(calls: dict[str, Any]) -> str:
    """Every shape of a call with how it ended on each engine; a difference is explained in the last column."""
    twice = sum(len(engines) > 1 for engines in calls.values())
    text = CALLS.format(all=len(calls), twice=twice)
    lines = [f"| call | {' | '.join(name for name in CALL_ENGINES.values())} | difference |", "|---|---|---|---|---|"]
    for shape, ends in calls.items():
        cells = [", ".join(ends.get(engine, ())) for engine in CALL_ENGINES]
        lines.append(f"| `{shape.replace('|', chr(92) + '|')}` | {' | '.join(cells)} | {' '.join(explained(ends))} |")
    return text + "\n".join(lines)


def explained(ends: dict[str, list[str]]) -> list[str]:
    """Why engines ended calls of one shape in other ways; a KeyError for a way that nobody explained."""
    seen = {engine: set(each) for engine, each in ends.items()}
    if len(seen) < 2:
        return []
    common = set.intersection(*seen.values())
    return sorted({ENDS[end] for each in seen.values() for end in each - common})


def main() -> int:
    """Run and print; 1 if a case failed."""
    parser = records.parser(__doc__)
    parser.add_argument("--suite", action="append", choices=SUITES, help="only this one; default: all")
    parser.add_argument("--counted", action="store_true", help="count the reports of the last run; nothing is run")
    options = parser.parse_args()
    record = records.read("parity") if options.write else None
    found: dict[str, Any] = dict(record.results) if record else {}
    ran: dict[str, Any] = {name: run(name, again=not options.counted) for name in options.suite or SUITES}
    found |= ran
    if set(ran) == set(SUITES):
        found["calls"], needed = calls(SUITES)
        ran["calls"] = {}
        keep(found["calls"], needed)
    if options.write:
        older = record.left(ran, record.results) if record else {}
        records.keep("parity", found, {name: version(name) for name in PACKAGES}, older=older)
    print(parity_tables(found))
    return int(any("failed" in each for suite in ran.values() for file in suite.values() for each in file.values()))


if __name__ == "__main__":
    sys.exit(main())
