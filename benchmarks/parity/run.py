"""The parity report: which tests ran on which engine and passed, and every known difference between laptop and AWS.

    python -m benchmarks.parity [--suite NAME ...] [--write]

Runs the suites by pytest, counts their cases by engine, and writes docs/evidence/parity.md with `--write`; a suite that
is not run keeps its counts.  What ragdrop asked of AWS meanwhile becomes the table of calls, and where every suite ran,
tests/aws/call_shapes.json too.  OpenSearch cases and the witnesses need a JDK 21 and Maven; the emulator's cases start
a stack.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks import records
from benchmarks.parity.page import page, parity_page
from tests.aws.call_shapes import RECORDING, collected, keep

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/evidence/parity.md"
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


def main() -> int:
    """Run, print, keep and write if asked to; 1 where a case failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="append", choices=SUITES, help="only this one; default: all")
    parser.add_argument("--write", action="store_true", help="keep the counts and write docs/evidence/parity.md")
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
        record = records.keep("parity", found, {name: version(name) for name in PACKAGES}, older=older)
        PAGE.write_text(parity_page(record), "utf-8")
    else:
        print(page(found, "Not kept."))
    return int(any("failed" in each for suite in ran.values() for file in suite.values() for each in file.values()))


if __name__ == "__main__":
    sys.exit(main())
