"""The tables of docs/cost.md that say what one operation asks of AWS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.cost.counter import Usage
from benchmarks.cost.usages import INDEXES, read
from ragdrop.operate.costs import MESSAGE_CALLS, SQS_CALL, requests_usd

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


def _items(told: str) -> str:
    """The items of a request in words.

    >>> _items("registry: D/H, D/R x 2, H")
    'head, both revisions, list of the vault'
    """
    return ", ".join(KINDS.get(kind, kind) for kind in told.partition(": ")[2].split(", "))


def _form(items: str) -> str:
    return items.replace(" x 2", "")
