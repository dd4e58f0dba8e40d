"""Count what each operation asks of AWS, with both indexes, and write what says so.

    python -m benchmarks.cost [--write]

The real handlers run over moto, and every request of the SDK is counted. OpenSearch needs a node: that of
RAGDROP_OPENSEARCH_URL, or one that is started (a JDK 21 and Maven). `tests/functions/test_costs.py` counts again: when
it fails, a request came or went, and this command writes docs/cost.md and the numbers of `ragdrop stats --cost`.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from benchmarks import records
from benchmarks.peers.process import shared_node
from ragdrop.operate.costs import MESSAGE_CALLS, SQS_CALL, requests_usd
from tests.functions.costs import count_operations, counted_service, opensearch_settings
from tests.functions.request_counter import TableRequest, Usage

INDEXES = {"bucket": "The bucket index", "opensearch": "OpenSearch"}
UNIT_OPERATIONS = (
    "search",
    "search, the same again",
    "ask",
    "new document, one chunk",
    "changed document, one chunk",
    "deletion",
)
UNITS = re.compile(r"(?<=by hand\.\n)UNITS: .*?(?=# </units>)", re.DOTALL)
DOCUMENT_WORDS = ("document", "deletion")  # of operations that one message of the queue is for
KINDS = {
    "T": "tenant, its settings and promoted stages",
    "T/T": "counters of the tenant",
    "T/I": "manifest of the bucket index",
    "D": "older revisions",
    "D/H": "head",
    "D/R": "revision",
    "D/R x 2": "both revisions",
    "H": "list of the vault",
    "LC": "change counts",
    "N": "name, for links",
}
"""What the items of the registry are, by the letters that their keys begin with."""
WRITTEN = ("new document, one chunk", "changed document, one chunk")  # whose requests the last table lists
UNIT_COSTS = Path(__file__).resolve().parents[1] / "layers/common/python/ragdrop/operate/costs.py"
PACKAGES = ("moto", "boto3", "opensearch-py")


def stored(usages: Mapping[str, Usage]) -> dict[str, Any]:
    return {
        name: {
            "calls": dict(sorted(usage.calls.items())),
            "steps": [list(astuple(step)) for step in usage.steps],
            "sent": dict(sorted(usage.sent.items())),
            "received": dict(sorted(usage.received.items())),
        }
        for name, usage in usages.items()
    }


def read(results: Mapping[str, Any]) -> dict[str, dict[str, Usage]]:
    return {
        index: {
            name: Usage(
                Counter(each["calls"]),
                [TableRequest(*step) for step in each["steps"]],
                Counter(each["sent"]),
                Counter(each["received"]),
            )
            for name, each in operations.items()
        }
        for index, operations in results.items()
    }


def with_units(module: str, usages: Mapping[str, Mapping[str, Usage]]) -> str:
    """The text of the product's *module* of unit costs, with what one operation asks of AWS."""
    lines = ["UNITS: dict[str, dict[str, tuple[float, int, int, int]]] = {"]
    for index, found in usages.items():
        lines += [f'    "{index}": {{']
        for name in UNIT_OPERATIONS:
            each = found[name]
            numbers = f"{each.read_units}, {each.write_units}, {each.puts}, {each.gets}"
            lines += [f'        "{name}": ({numbers}),']
        lines += ["    },"]
    return UNITS.sub("\n".join([*lines, "}", ""]), module)


def usd(name: str, usage: Usage) -> float:
    """What the requests of an operation cost: tables, buckets and queue."""
    calls = usage.of("sqs") + (MESSAGE_CALLS if any(word in name for word in DOCUMENT_WORDS) else 0)
    return requests_usd(usage.read_units, usage.write_units, usage.puts, usage.gets) + calls * SQS_CALL


def cost_table(results: Mapping[str, Any]) -> str:
    """A table of operations for each index, then the requests of a new and of a changed document to the registry."""
    usages = read(results)
    parts = [f"**{INDEXES[index]}**\n\n{_operations(found)}" for index, found in usages.items()]
    bucket = usages["bucket"]
    lines = ["| request to the registry | of | new: units read / written | changed: units read / written |"]
    lines += ["|---|---|---|---|", *_steps(*(bucket[name] for name in WRITTEN))]
    return "\n\n".join([*parts, "\n".join(lines)])


def _operations(usages: Mapping[str, Usage]) -> str:
    heads = (
        "| | requests to DynamoDB | read units | write units | S3: PUT, COPY, LIST | S3: GET, HEAD | OpenSearch "
        "| embedding | KB sent, received | USD a million |"
    )
    return "\n".join([heads, "|---" * 10 + "|", *(_row(name, usage) for name, usage in usages.items())])


def _row(name: str, usage: Usage) -> str:
    kilobytes = ", ".join(f"{sum(each.values()) / 1_000:.0f}" for each in (usage.sent, usage.received))
    numbers = (
        usage.of("dynamodb"),
        f"{usage.read_units:g}",
        usage.write_units,
        usage.puts,
        usage.gets,
        usage.of("opensearch"),
        usage.calls["model embedding"],
        kilobytes,
        f"{usd(name, usage) * 1e6:.1f}",
    )
    return f"| {name} | {' | '.join(str(each) for each in numbers)} |"


def _steps(new: Usage, changed: Usage) -> list[str]:
    """A row for each request of *changed*, with that of *new* where there is one like it."""
    rows, left = [], list(new.steps)
    for step in changed.steps:
        alike = next((each for each in left if _form(each.items) == _form(step.items) and each.call == step.call), None)
        if alike is not None:
            left.remove(alike)
        units = [f"{each.read_units:g} / {each.write_units}" if each else "–" for each in (alike, step)]
        rows.append(f"| {step.call} | {_items(step.items)} | {' | '.join(units)} |")
    totals = [f"**{each.read_units:g} / {each.write_units}**" for each in (new, changed)]
    return [*rows, f"| **{len(new.steps)} and {len(changed.steps)} requests** | | {' | '.join(totals)} |"]


def _items(reported: str) -> str:
    return ", ".join(KINDS.get(kind, kind) for kind in reported.partition(": ")[2].split(", "))


def _form(items: str) -> str:
    return items.replace(" x 2", "")


def counted(url: str | None) -> dict[str, Usage]:
    """The usages of all operations over the bucket index, or over the OpenSearch node at *url*."""
    changes = opensearch_settings(url) if url else {}
    with (
        pytest.MonkeyPatch.context() as environ,
        tempfile.TemporaryDirectory() as folder,
        counted_service(Path(folder), environ, **changes) as service,
    ):
        return count_operations(service)


def main() -> int:
    options = records.parser(__doc__).parse_args()
    with shared_node() as url:
        results = {"bucket": stored(counted(None)), "opensearch": stored(counted(url))}
    if not options.write:
        print(cost_table(results))
        return 0
    UNIT_COSTS.write_text(with_units(UNIT_COSTS.read_text("utf-8"), read(results)), "utf-8")
    records.keep("cost", results, {name: version(name) for name in PACKAGES})
    return records.write_pages()


if __name__ == "__main__":
    sys.exit(main())
