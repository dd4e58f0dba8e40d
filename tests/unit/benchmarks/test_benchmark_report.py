"""The measured tables of the pages are what the report makes of the records, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import records
from benchmarks.peers_quality import quality_table
from benchmarks.peers_speed import speed_table
from benchmarks.records import BenchmarkRecord
from benchmarks.registry import BENCHMARKS, PageTable
from benchmarks.report import ROOT, SETTLED, TABLES, WRITER, pages, tables
from pages.wrap import placed

MACHINE = {"cores": 2, "memory_gb": 24, "processor": "X"}


@pytest.mark.parametrize("path", sorted({table.page for table in TABLES}))
def test_a_page_has_the_tables_that_the_stored_records_make(path: str) -> None:
    written = (ROOT / path).read_text("utf-8")

    assert pages().get(path, written) == written, "run `python -m benchmarks.report --write`"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_has_a_place_in_its_page(table: PageTable) -> None:
    page = (ROOT / table.page).read_text("utf-8")

    assert "here" in placed(page, table.name, "here", by=WRITER)


def test_a_table_without_a_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 times"):
        placed("a page without marks", "goals", "text")


def test_a_table_whose_record_no_benchmark_keeps_says_that_it_is_settled() -> None:
    settled = {name for name, (_, text) in tables(ROOT / records.WHOLE).items() if SETTLED in text.replace("\n", " ")}

    assert {"ocr", "first-file", "retrieval-rankings"} <= settled
    assert not {"goals", "comparison", "growth", "retrieval", "peers-speed-large"} & settled


def test_every_benchmark_is_a_program_with_its_options() -> None:
    for benchmark in BENCHMARKS.values():
        module, *options = benchmark.command or (benchmark.name,)
        source = (ROOT / f"benchmarks/{module}.py").read_text("utf-8")
        assert "records.parser(__doc__" in source, module
        assert all(f"{each.removeprefix('--')}=" in source for each in benchmark.options), module
        assert all(f'"{each}"' in source for each in options), module


def test_a_folder_without_records_makes_no_table(tmp_path: Path) -> None:
    assert tables(tmp_path) == {}


@pytest.mark.parametrize("path", sorted((ROOT / records.WHOLE).glob("*.json")), ids=lambda path: path.stem)
def test_a_stored_record_says_machine_versions_date_and_commit_and_is_no_quick_one(path: Path) -> None:
    record = BenchmarkRecord(**json.loads(path.read_text("utf-8")))

    assert record.benchmark == path.stem
    assert record.versions
    assert set(record.machine) == {"cores", "memory_gb", "processor"}
    assert (len(record.date), record.quick) == (10, False)
    assert len(record.commit.rstrip("+")) >= 7


def test_the_best_of_a_collection_is_bold_and_what_is_no_chance_has_a_star() -> None:
    row = {"recall_at_5": 0.5, "recall_at_10": 0.6}
    contenders = {
        "ours": row | {"ndcg_at_10": 0.4, "p": 1.0},
        "better": row | {"ndcg_at_10": 0.45, "p": 0.2},
        "worse": row | {"ndcg_at_10": 0.3, "p": 0.001},
    }
    present = {"collection": "small", "documents": 1_000, "questions": 50, "contenders": contenders}
    record = BenchmarkRecord("peers_quality_small", "2026-01-01", "abcdefg", MACHINE, {}, present)

    assert quality_table([record]).splitlines() == [
        "| | small (1,000, 50) | mean nDCG@10 |",
        "|---|---|---|",
        "| ours | 0.4000 · 0.500 · 0.600 | 0.4000 |",
        "| better | **0.4500** · 0.500 · 0.600 | 0.4500 |",
        "| worse | 0.3000* · 0.500 · 0.600 | 0.3000 |",
    ]


def test_a_row_of_speed_reports_its_share_of_ragdrops_own_time() -> None:
    own = {"p50_ms": 10.0, "p95_ms": 12.0, "p99_ms": 13.0, "cpu_ms": 2.0}
    other = {"p50_ms": 15.0, "p95_ms": 20.0, "p99_ms": 30.0, "cpu_ms": 4.0}
    present = {"ragdrop, in process": own, "other": other}
    record = BenchmarkRecord(
        "peers_speed", "", "", MACHINE, {}, [{"chunks": 2_000, "callers": {"1": present, "8": present}}]
    )

    assert speed_table(record).splitlines()[-1] == (
        "| other | 15.0 | 20.0 | 30.0 | 4.0 |  | 1.50 | 15.0 | 20.0 | 30.0 | 4.0 |  |"
    )
