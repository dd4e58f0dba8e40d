"""docs/evidence/parity.md from the kept counts and the list of differences."""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchmarks.environment_table import measured_line
from benchmarks.parity.differences import DIFFERENCES, ENDS, Difference
from benchmarks.records import BenchmarkRecord
from pages.wrap import wrapped

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
ENGINES = {"aws": "moto", "emulator": "emulator", "witness": "witness"}
CALLS = """## What ragdrop asks of AWS

All {all} shapes of calls: an operation with the form of its parameters. While the contract suites run, each engine is
asked the same and tells how the calls ended. The witnesses are AWS's own DynamoDB Local and, for SQS, ElasticMQ; moto
and the emulator are each other's for S3. {twice} shapes have at least two engines. A shape that no engine shows was
asked by a suite that runs on moto alone. A call that is not in this table fails the test that makes it
(`tests/aws/call_shapes.py`), and `tests/aws/test_permissions.py` holds the roles against what the functions asked.

"""
HEAD = """# Parity: the laptop and AWS

Which tests run on which engine and how many of them passed, then every known difference between the laptop and AWS,
with the page of AWS or of its service that says how it is there. Written by `python -m benchmarks.parity --write`,
never by hand.

A number is passed cases; `of` is there where some were skipped or failed: those of the emulator need a running stack
(`make up`), those of the local models their environment. Moto answers as AWS's API does within the
process of the test; it is a contract check, no proof. **Nothing here ran on AWS itself.** On a stack, which is the
template deployed to the emulator, `tests/integration` and `tests/e2e` run besides, with both indexes: the questions of
the sample vault, the life of a file, schemathesis over the OpenAPI document, the official MCP client.

"""


def parity_page(record: BenchmarkRecord) -> str:
    """The whole page of a record."""
    return wrapped(page(record.results, measured_line([record], "environment.md", "Counted")))


def page(found: dict[str, Any], told: str) -> str:
    """The whole page; *told* says where and when it was counted."""
    parts = [_suite(name, found[name]) for name in TITLES if name in found]
    if "calls" in found:
        parts.append(_calls(found["calls"]))
    parts.append(f"*{told}*")
    return HEAD + "\n\n".join([*parts, _differences()]) + "\n"


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
    lines = [f"| call | {' | '.join(name for name in ENGINES.values())} | difference |", "|---|---|---|---|---|"]
    for shape, ends in calls.items():
        cells = [", ".join(ends.get(engine, ())) for engine in ENGINES]
        lines.append(f"| `{shape.replace('|', chr(92) + '|')}` | {' | '.join(cells)} | {' '.join(explained(ends))} |")
    return text + "\n".join(lines)


def explained(ends: dict[str, list[str]]) -> list[str]:
    """Why engines ended calls of one shape in other ways; a KeyError for a way that nobody explained."""
    seen = {engine: set(each) for engine, each in ends.items()}
    if len(seen) < 2:
        return []
    common = set.intersection(*seen.values())
    return sorted({ENDS[end] for each in seen.values() for end in each - common})


def _differences() -> str:
    lines = ["## Known differences", "", "| what | on the laptop | on AWS | held by |", "|---|---|---|---|"]
    lines += [_difference(each) for each in DIFFERENCES]
    return "\n".join(lines)


def _difference(each: Difference) -> str:
    held = "<br>".join(f"`{path}`" for path in each.held_by) or each.open
    return f"| {each.what} | {each.laptop} | {each.aws} ([{each.title}]({each.url})) | {held} |"
