"""Every benchmark: how it runs in a run of many, which records it keeps, and the tables that these make.

A benchmark is a module of this folder with a `main`, an entry of BENCHMARKS, and mostly one of TABLES.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.change import change_table
from benchmarks.cold_start import cold_start_table
from benchmarks.comparison import GOALS, QUALITY, ROWS, comparison_table, goals_table
from benchmarks.cost import cost_table
from benchmarks.first_answer import first_answer_table
from benchmarks.growth import tables as growth_tables
from benchmarks.load import load_table
from benchmarks.models_function import models_function_table
from benchmarks.parity import parity_table
from benchmarks.peers_answers import answers_table
from benchmarks.peers_ingest import peers_ingest_table
from benchmarks.peers_quality import quality_table, settings_table
from benchmarks.peers_speed import LARGE, speed_table
from benchmarks.push import push_table
from benchmarks.records import BenchmarkRecord, shown
from benchmarks.reindex_plan import plan_table
from benchmarks.search_profile import profile_table
from benchmarks.served import served_table
from benchmarks.soak import soak_table

Records = Mapping[str, BenchmarkRecord]
"""Records by name."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """How one benchmark runs."""

    name: str
    minutes: float = 2.5  # estimated on two cores with cached vectors; a whole run takes what the last one took
    timed: bool = True  # it measures time, and so runs alone; others run two at a time
    options: tuple[str, ...] = ()  # --quick, if it has that besides --write
    by_name: bool = False  # a run without names leaves it out: it embeds for minutes, or starts a stack
    keeps: tuple[str, ...] = ()  # its records, if they are not one of that name
    command: tuple[str, ...] = ()  # its module and options, if these are not its name alone

    @property
    def records(self) -> tuple[str, ...]:
        return self.keeps or (self.name,)


QUICK = ("--quick",)
BENCHMARKS: Mapping[str, Benchmark] = {
    each.name: each
    for each in (  # in the order of a whole run: first the timed ones, those of the goals before the others
        Benchmark("peers_speed", 5, options=QUICK),
        Benchmark("served", 5, options=QUICK),
        Benchmark("search_profile", 4, options=QUICK),
        Benchmark("push"),
        Benchmark("load", 11, by_name=True),
        Benchmark("cold_start", 5, options=QUICK),
        Benchmark("first_answer", 3, by_name=True),
        Benchmark("models_function", 1.5, options=QUICK, by_name=True),
        Benchmark("growth", 8, options=QUICK, by_name=True),
        Benchmark("bucket_index", 5),
        Benchmark("first_search", 60, by_name=True),
        Benchmark("find", 4),
        Benchmark("ask_speed", 4),
        Benchmark("audit", 2, by_name=True),
        Benchmark("peers_ingest", options=QUICK),
        Benchmark("ingest"),
        Benchmark("citations", 0.5),
        Benchmark("streaming", 0.5),
        Benchmark("page_speed", 2, by_name=True),
        Benchmark("peers_quality", 16, timed=False, options=QUICK, by_name=True, keeps=QUALITY),
        Benchmark("parity", 9, timed=False, by_name=True),
        Benchmark("peers_own_words", 5, timed=False, by_name=True),
        Benchmark("quality", 6, timed=False, by_name=True),
        Benchmark("soak", 11.5, timed=False, by_name=True),
        Benchmark("calibration", timed=False),
        Benchmark("change", timed=False, options=QUICK),
        Benchmark("peers_answers", timed=False, options=QUICK),
        Benchmark("own_words", timed=False, keeps=("own_words_tuning",)),
        Benchmark("own_words_final", timed=False, command=("own_words", "--final")),
        Benchmark("languages", timed=False, keeps=("languages_tuning",)),
        Benchmark("languages_final", timed=False, command=("languages", "--final")),
        Benchmark("tables", 1, timed=False, keeps=("tables_tuning",)),
        Benchmark("tables_final", 1, timed=False, command=("tables", "--final")),
        Benchmark("tables_second_tuning", 1, timed=False, command=("tables", "--set", "second")),
        Benchmark("tables_second_final", 1, timed=False, command=("tables", "--set", "second", "--final")),
        Benchmark("tables_third_tuning", 1, timed=False, command=("tables", "--set", "third")),
        Benchmark("tables_third_final", 1, timed=False, command=("tables", "--set", "third", "--final")),
        Benchmark("tables_fourth_final", 1, timed=False, command=("tables", "--set", "fourth")),
        Benchmark("tables_fifth_final", 1, timed=False, by_name=True, command=("tables", "--set", "fifth")),
        Benchmark("tables_sixth_final", 1, timed=False, by_name=True, command=("tables", "--set", "sixth")),
        Benchmark("tables_seventh_final", 1, timed=False, by_name=True, command=("tables", "--set", "seventh")),
        Benchmark("tables_large", timed=False, command=("tables", "--rows")),
        Benchmark("answers", timed=False, by_name=True),
        Benchmark("format_outcomes", timed=False),
        Benchmark("verification", timed=False),
        Benchmark("poison", 40, timed=False, by_name=True),
        Benchmark("cost", 1, timed=False),
        Benchmark("reindex_plan", 4, timed=False, options=QUICK),
    )
}
MEASURED_AGAIN = {LARGE, *(name for each in BENCHMARKS.values() for name in each.records)}


@dataclass(frozen=True, slots=True)
class PageTable:
    """A generated part of a page.

    It is left alone until all the records that it *needs* exist, and at least one; those of *also* are optional.
    """

    name: str
    page: str
    needs: Sequence[str]
    render: Callable[[Records], str]
    also: Sequence[str] = ()

    @property
    def settled(self) -> bool:
        return bool(self.needs) and not MEASURED_AGAIN & {*self.needs}


def _of(name: str, page: str, record: str, render: Callable[[BenchmarkRecord], str]) -> PageTable:
    return PageTable(name, page, (record,), lambda stored: render(stored[record]))


def _results(name: str, page: str, render: Callable[[Any], str], record: str = "") -> PageTable:
    """A table of what one record measured; the record has the table's name, unless it is given."""
    return _of(name, page, record or name.replace("-", "_"), lambda stored: render(stored.results))


def _grids(name: str, page: str, record: str = "", part: slice = slice(None)) -> PageTable:
    return _of(name, page, record or name.replace("-", "_"), lambda stored: shown(stored.results[part]))


PERFORMANCE, QUALITY_PAGE, CALIBRATION = (
    "docs/evidence/performance.md",
    "docs/evidence/quality.md",
    "docs/calibration.md",
)
TABLES: Sequence[PageTable] = (
    _results("requests", "docs/cost.md", cost_table, "cost"),
    _results("cold-start", PERFORMANCE, cold_start_table),
    _results("first-answer", PERFORMANCE, first_answer_table),
    _results("models-function", PERFORMANCE, models_function_table),
    _results("peers-ingest", PERFORMANCE, peers_ingest_table),
    _results("peers-answers", QUALITY_PAGE, answers_table),
    _results("change", QUALITY_PAGE, change_table),
    _results("growth", PERFORMANCE, growth_tables),
    _results("parity", "docs/evidence/parity.md", parity_table),
    _results("push", PERFORMANCE, push_table),
    _of("peers-speed", PERFORMANCE, "peers_speed", speed_table),
    _of("peers-speed-large", PERFORMANCE, "peers_speed_large", speed_table),
    _of("load", PERFORMANCE, "load", load_table),
    _of("served", PERFORMANCE, "served", served_table),
    _of("search-profile", PERFORMANCE, "search_profile", profile_table),
    _results("soak", PERFORMANCE, soak_table),
    _results("reindex-plan", "docs/evidence/scale.md", plan_table),
    PageTable("peers-quality", QUALITY_PAGE, QUALITY, lambda stored: quality_table(stored[name] for name in QUALITY)),
    PageTable("peers-settings", QUALITY_PAGE, QUALITY, lambda stored: settings_table(stored[name] for name in QUALITY)),
    PageTable("comparison", "README.md", (), comparison_table, (*QUALITY, "peers_speed", *ROWS)),
    PageTable("goals", PERFORMANCE, (), goals_table, (*GOALS, "bench")),
    _grids("opensearch-adapter", PERFORMANCE, part=slice(1)),
    _grids("ef-search", "docs/opensearch.md", "opensearch_adapter", slice(1, None)),
    _grids("first-file", PERFORMANCE),
    _grids("growth-links", PERFORMANCE),
    _grids("earlier", PERFORMANCE),
    _grids("ingest-stages", PERFORMANCE),
    _grids("search", PERFORMANCE),
    _grids("page-speed", "docs/app.md"),
    _grids("ocr", "docs/formats.md"),
    _grids("citations-second-set", QUALITY_PAGE),
    _grids("retrieval-rankings", QUALITY_PAGE, "quality_rankings"),
    _grids("bucket-index", PERFORMANCE),
    _grids("first-search", PERFORMANCE, "first_search"),
    _grids("find", PERFORMANCE),
    _grids("audit", PERFORMANCE),
    _grids("ingest", PERFORMANCE),
    _grids("streaming", PERFORMANCE),
    _grids("ask-speed", PERFORMANCE),
    _grids("retrieval", QUALITY_PAGE, "quality"),
    _grids("own-words-tuning", QUALITY_PAGE),
    _grids("own-words-final", QUALITY_PAGE),
    _grids("languages-tuning", QUALITY_PAGE),
    _grids("languages-final", QUALITY_PAGE),
    _grids("tables-tuning", QUALITY_PAGE),
    _grids("tables-final", QUALITY_PAGE),
    _grids("tables-second-tuning", QUALITY_PAGE),
    _grids("tables-second-final", QUALITY_PAGE),
    _grids("tables-third-tuning", QUALITY_PAGE),
    _grids("tables-third-final", QUALITY_PAGE),
    _grids("tables-fourth-final", QUALITY_PAGE),
    _grids("tables-fifth-final", QUALITY_PAGE),
    _grids("tables-sixth-final", QUALITY_PAGE),
    _grids("tables-seventh-final", QUALITY_PAGE),
    _grids("tables-large", QUALITY_PAGE),
    _grids("links", QUALITY_PAGE),
    _grids("chunking", QUALITY_PAGE),
    _grids("answers", QUALITY_PAGE),
    _grids("poison", "docs/evidence/poison.md", part=slice(1)),
    _grids("poison-prompts", "docs/evidence/poison.md", "poison", slice(1, None)),
    _grids("citations", QUALITY_PAGE),
    _grids("verification", QUALITY_PAGE, part=slice(1)),
    _grids("verification-kinds", QUALITY_PAGE, "verification", slice(1, 2)),
    _grids("verification-sets", QUALITY_PAGE, "verification", slice(2, 3)),
    _grids("verification-promise", QUALITY_PAGE, "verification", slice(3, 4)),
    _grids("peers-own-words", QUALITY_PAGE),
    _grids("calibration", CALIBRATION, part=slice(1)),
    _grids("operating-points", CALIBRATION),
    _grids("words-alone", CALIBRATION, "calibration", slice(1, 2)),
)
