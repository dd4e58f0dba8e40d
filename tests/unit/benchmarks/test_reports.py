"""Reports are what the kept figures say, and name only what there is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.growth.page import tables
from benchmarks.parity.differences import DIFFERENCES, Difference
from benchmarks.parity.page import explained, parity_page
from benchmarks.parity.run import counted
from benchmarks.records import WHOLE, BenchmarkRecord, read
from benchmarks.scale.page import scale_page
from benchmarks.scale.plan import Units, Workload, cache_gib, graph_gib, month, plan
from tests.aws.call_shapes import SHAPES

ROOT = Path(__file__).parents[3]
UNITS = Units(7_000, 20.0, 10.0, 100.0, 500)
OFFICIAL = re.compile(r"https://(docs\.aws\.amazon\.com|aws\.amazon\.com/blogs|docs\.opensearch\.org)/")


@pytest.mark.parametrize(("name", "page"), [("scale", scale_page), ("parity", parity_page)])
def test_a_page_is_what_its_kept_record_says(name: str, page: Callable[[BenchmarkRecord], str]) -> None:
    record = read(name, ROOT / WHOLE)

    assert record is not None
    assert (ROOT / f"docs/evidence/{name}.md").read_text("utf-8") == page(record)


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.what)
def test_a_difference_has_official_documentation_behind_it_and_names_what_holds_our_side(
    difference: Difference,
) -> None:
    assert OFFICIAL.match(difference.url)
    assert difference.held_by
    assert all((ROOT / path).is_file() for path in difference.held_by)


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


def test_a_failed_a_skipped_and_a_passed_case_are_counted_by_their_engine() -> None:
    report = """<testsuites><testsuite>
        <testcase classname="tests.contract.test_a" name="test_it[opensearch]"><failure/></testcase>
        <testcase classname="tests.contract.test_a" name="test_it[emulator-x]"><skipped/></testcase>
        <testcase classname="tests.contract.test_a" name="test_it[memory]"/>
        <testcase classname="tests.contract.test_a" name="test_other"/>
    </testsuite></testsuites>"""

    assert counted(report)["tests/contract/test_a.py"] == {
        "opensearch": {"failed": 1},
        "emulator": {"skipped": 1},
        "memory": {"passed": 1},
        "none": {"passed": 1},
    }


def test_twice_the_queries_need_twice_the_processors_environments_and_reads() -> None:
    one = plan(Workload(queries=1_000), UNITS, batch=5, batch_ms=3_000)
    two = plan(Workload(queries=2_000), UNITS, batch=5, batch_ms=3_000)

    assert two.busy_cores == 2 * one.busy_cores
    assert two.reads_a_second == 2 * one.reads_a_second
    assert two.environments == pytest.approx(2 * one.environments, abs=1)


@pytest.mark.parametrize("index_cpu_ms", [1.0, 50.0, 500.0])
def test_the_planned_nodes_hold_the_graphs_and_are_busy_for_half_of_their_processors_at_most(
    index_cpu_ms: float,
) -> None:
    work = Workload()
    made = plan(work, Units(7_000, index_cpu_ms, 10.0, 100.0, 500), batch=5, batch_ms=3_000)

    assert made.cluster.nodes % 3 == 0
    assert made.cluster.nodes * cache_gib(made.cluster.memory_gib) >= 2 * graph_gib(work.chunks, work.dimension)
    assert made.busy_cores <= made.cluster.cores / 2


def test_a_month_of_half_the_queries_pays_the_same_index_and_half_the_gateway() -> None:
    work = Workload()
    made = plan(work, UNITS, batch=5, batch_ms=3_000)
    half, whole = (month(work, UNITS, made, share=share) for share in (0.5, 1.0))

    assert half["index"] == whole["index"]
    assert 2 * half["gateway"] == pytest.approx(whole["gateway"])


def test_a_cost_that_a_short_run_could_not_see_at_each_size_is_left_out_of_the_growth_table() -> None:
    figures = {"written_a_second": 9, "memory_mb": {"heap": 1}, "bytes_a_chunk": 9, "p95_ms": 2.0, "own_cpu_ms": 1.0}
    sizes = {
        "300": figures | {"p50_ms": 1.0, "index_cpu_ms": 0.0},
        "1000": figures | {"p50_ms": 2.0, "index_cpu_ms": 7.0},
    }

    table = tables({"opensearch-sizes": sizes})

    assert "CPU of the node" not in table
    assert "| 1,000 / 300 | 2.00 x | 1.00 x | 1.00 x |" in table
