"""Reports are what the stored figures say, and name only what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.growth import tables
from benchmarks.parity import explained
from benchmarks.records import WHOLE, read
from tests.aws.call_shapes import SHAPES

ROOT = Path(__file__).parents[3]
OFFICIAL = re.compile(r"https://(docs\.aws\.amazon\.com|aws\.amazon\.com/blogs|docs\.opensearch\.org)/")


PAGE = (ROOT / "docs/evidence/parity.md").read_text("utf-8")
DIFFERENCES = [row for row in PAGE.partition("## Known differences")[2].splitlines() if row.startswith("| ")][1:]


@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: row.split("|")[1].strip())
def test_a_difference_links_official_documentation_and_names_the_tests_of_our_side(row: str) -> None:
    _, _, aws, tests = (cell.strip() for cell in row.strip("|").split(" | "))
    paths = re.findall(r"`([^`]+)`", tests)

    assert OFFICIAL.search(aws)
    assert paths
    assert all((ROOT / path).is_file() for path in paths)


def test_every_call_of_aws_was_made_on_two_engines_that_agree_or_whose_difference_is_explained() -> None:
    record = read("parity", ROOT / WHOLE)
    assert record is not None
    calls = record.results["calls"]

    assert set(calls) == SHAPES.calls
    assert [shape for shape, ends in calls.items() if len(ends) < 2] == []
    assert all(explained(ends) is not None for ends in calls.values())


def test_a_difference_between_engines_that_nobody_explained_is_found() -> None:
    with pytest.raises(KeyError):
        explained({"aws": ["ok"], "witness": ["SurprisingException"]})


def test_a_cost_that_a_short_run_could_not_see_at_each_size_is_left_out_of_the_growth_table() -> None:
    figures = {"written_a_second": 9, "memory_mb": {"heap": 1}, "bytes_a_chunk": 9, "p95_ms": 2.0, "own_cpu_ms": 1.0}
    sizes = {
        "300": figures | {"p50_ms": 1.0, "index_cpu_ms": 0.0},
        "1000": figures | {"p50_ms": 2.0, "index_cpu_ms": 7.0},
    }

    table = tables({"opensearch-sizes": sizes})

    assert "CPU of the node" not in table
    assert "| 1,000 / 300 | 2.00 x | 1.00 x | 1.00 x |" in table
