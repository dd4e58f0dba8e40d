"""What docs/cost.md says that an operation asks of AWS is what it asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks import records
from benchmarks.cost import read, with_units
from tests.contract.opensearch_node import opensearch_url
from tests.functions.costs import count_operations, counted_service, opensearch_settings
from tests.functions.request_counter import Usage

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("index", ["bucket", "opensearch"])
def test_every_operation_asks_of_aws_what_the_page_says(
    index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = records.read("cost", ROOT / records.WHOLE)
    assert record is not None
    changes = opensearch_settings(opensearch_url()) if index == "opensearch" else {}

    with counted_service(tmp_path, monkeypatch, **changes) as service:
        now = count_operations(service)

    found = differences(read(record.results)[index], now)
    assert found == [], "where this is meant: python -m benchmarks.cost --write"


def test_the_unit_costs_of_the_product_are_those_of_the_page() -> None:
    record = records.read("cost", ROOT / records.WHOLE)
    assert record is not None
    module = (ROOT / "layers/common/python/ragdrop/operate/costs.py").read_text("utf-8")

    assert with_units(module, read(record.results)) == module, "run: python -m benchmarks.cost --write"


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
