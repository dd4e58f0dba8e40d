"""Usages as a record keeps them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

from benchmarks.cost.counter import TableRequest, Usage

INDEXES = {"bucket": "The bucket index", "opensearch": "OpenSearch"}


def kept(usages: Mapping[str, Usage]) -> dict[str, Any]:
    """The usages of operations as JSON can hold them."""
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
    """By index and operation, what a record keeps."""
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


UNIT_OPERATIONS = (
    "search",
    "search, the same again",
    "ask",
    "new document, one chunk",
    "changed document, one chunk",
    "deletion",
)


UNITS = re.compile(r"(?<=by hand\.\n)UNITS: .*?(?=# </units>)", re.DOTALL)


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


def differences(before: Mapping[str, Usage], now: Mapping[str, Usage]) -> list[str]:
    """What is asked more or less often than before, by operation; the order of requests does not count."""
    found = [f"{name}: not in both" for name in sorted(set(before) ^ set(now))]
    for name in (each for each in now if each in before):
        old, new = _asked(before[name]), _asked(now[name])
        found += [f"{name}: {each} {count} times more" for each, count in (new - old).items()]
        found += [f"{name}: {each} {count} times less" for each, count in (old - new).items()]
    return found


def _asked(usage: Usage) -> Counter[str]:
    units = (f"{step.call} of {step.items}, units {step.read_units:g} / {step.write_units}" for step in usage.steps)
    return Counter(units) + Counter({call: n for call, n in usage.calls.items() if not call.startswith("dynamodb ")})
