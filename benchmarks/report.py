"""Writes the measured tables of README and docs/ from the records that benchmarks kept.

    python -m benchmarks.report            # says which tables are not current
    python -m benchmarks.report --write    # writes them
    python -m benchmarks.report --quick    # prints the tables of the last quick runs

A table stands between `<!-- NAME: written by benchmarks/report.py -->` and `<!-- end of NAME -->`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import records
from benchmarks.change.table import change_table
from benchmarks.cold_start.table import cold_start_table
from benchmarks.comparison_rows import ROWS
from benchmarks.comparison_table import QUALITY, comparison_table
from benchmarks.cost.table import cost_table
from benchmarks.environment_table import ENVIRONMENT, environment_table, measured_line
from benchmarks.first_answer import first_answer_table
from benchmarks.goals_table import GOALS, goals_table
from benchmarks.grids import shown
from benchmarks.growth.page import growth_tables
from benchmarks.load.table import load_table, soak_table
from benchmarks.parity import parity_tables
from benchmarks.peers_answers_table import answers_table
from benchmarks.peers_ingest_table import ingest_table
from benchmarks.peers_quality_table import quality_table, settings_table
from benchmarks.peers_speed_table import speed_table
from benchmarks.push_table import push_table
from benchmarks.records import BenchmarkRecord
from benchmarks.search_profile_table import profile_table
from benchmarks.served.table import served_table
from pages.wrap import wrapped

ROOT = Path(__file__).resolve().parents[1]
PERFORMANCE, QUALITY_PAGE = "docs/evidence/performance.md", "docs/evidence/quality.md"
Renderer = Callable[[Mapping[str, BenchmarkRecord]], str]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A generated part of a page.

    It is left alone until all the records that it *needs* are kept, and at least one; those of *also* it uses where
    they are.  A *settled* one shows a kept record that no benchmark measures again.
    """

    name: str
    page: str
    needs: Sequence[str]
    render: Renderer
    also: Sequence[str] = ()
    provenance: bool = True
    settled: bool = False

    def text(self, kept: Mapping[str, BenchmarkRecord]) -> str:
        """Render the part between the marks, with one line of provenance below it."""
        rendered = wrapped(self.render(kept))
        if not self.provenance:
            return rendered
        used = [kept[name] for name in (*self.needs, *self.also) if name in kept]
        link = os.path.relpath(ENVIRONMENT, Path(self.page).parent)
        last = " The question is settled, so no benchmark measures it again." if self.settled else ""
        return f"{rendered}\n\n{wrapped(measured_line(used, link) + last)}"


def of(benchmark: str, render: Callable[[BenchmarkRecord], str]) -> tuple[Sequence[str], Renderer]:
    """A table that needs the record of one benchmark only."""
    return (benchmark,), lambda kept: render(kept[benchmark])


def of_grids(benchmark: str, part: slice = slice(None)) -> tuple[Sequence[str], Renderer]:
    """A table that is a *part* of the grids of one benchmark."""
    return of(benchmark, lambda record: shown(record.results[part]))


TABLES: Sequence[ReportTable] = (
    ReportTable("requests", "docs/cost.md", *of("cost", lambda record: cost_table(record.results))),
    ReportTable("cold-start", PERFORMANCE, *of("cold_start", lambda record: cold_start_table(record.results))),
    ReportTable(
        "first-answer",
        PERFORMANCE,
        *of("first_answer", lambda record: first_answer_table(record.results)),
    ),
    ReportTable("first-file", PERFORMANCE, *of_grids("first_file"), settled=True),
    ReportTable("peers-ingest", PERFORMANCE, *of("peers_ingest", lambda record: ingest_table(record.results))),
    ReportTable("peers-answers", QUALITY_PAGE, *of("peers_answers", lambda record: answers_table(record.results))),
    ReportTable("change", QUALITY_PAGE, *of("change", lambda record: change_table(record.results))),
    ReportTable("peers-quality", QUALITY_PAGE, QUALITY, lambda kept: quality_table(kept[name] for name in QUALITY)),
    ReportTable(
        "peers-settings",
        QUALITY_PAGE,
        QUALITY,
        lambda kept: settings_table(kept[name] for name in QUALITY),
    ),
    ReportTable("comparison", "README.md", (), comparison_table, (*QUALITY, "peers_speed", *ROWS)),
    ReportTable("goals", PERFORMANCE, (), goals_table, (*GOALS, "bench")),
    ReportTable("peers-speed", PERFORMANCE, *of("peers_speed", speed_table)),
    ReportTable("peers-speed-large", PERFORMANCE, *of("peers_speed_large", speed_table)),
    ReportTable("search-profile", PERFORMANCE, *of("search_profile", profile_table)),
    ReportTable(
        "search-profile-before",
        PERFORMANCE,
        *of("search_profile_before", profile_table),
        settled=True,
    ),
    ReportTable("growth", PERFORMANCE, *of("growth", growth_tables)),
    ReportTable("load", PERFORMANCE, *of("load", load_table)),
    ReportTable("served", PERFORMANCE, *of("served", served_table)),
    ReportTable("soak", PERFORMANCE, *of("soak", soak_table)),
    ReportTable("opensearch-adapter", PERFORMANCE, *of_grids("opensearch_adapter", slice(1)), settled=True),
    ReportTable("ef-search", "docs/opensearch.md", *of_grids("opensearch_adapter", slice(1, None)), settled=True),
    ReportTable("bucket-index", PERFORMANCE, *of_grids("bucket_index")),
    ReportTable("parity", "docs/evidence/parity.md", *of("parity", lambda record: parity_tables(record.results))),
    ReportTable("page-speed", "docs/app.md", *of_grids("page_speed"), settled=True),
    ReportTable("ocr", "docs/formats.md", *of_grids("ocr"), settled=True),
    ReportTable("ingest", PERFORMANCE, *of_grids("ingest")),
    ReportTable("push", PERFORMANCE, *of("push", lambda record: push_table(record.results))),
    ReportTable("ingest-stages", PERFORMANCE, *of_grids("ingest_stages")),
    ReportTable("search", PERFORMANCE, *of_grids("search")),
    ReportTable("earlier", PERFORMANCE, *of_grids("earlier"), settled=True),
    ReportTable("streaming", PERFORMANCE, *of_grids("streaming")),
    ReportTable("retrieval", QUALITY_PAGE, *of_grids("quality")),
    ReportTable("own-words-tuning", QUALITY_PAGE, *of_grids("own_words_tuning")),
    ReportTable("own-words-final", QUALITY_PAGE, *of_grids("own_words_final")),
    ReportTable("links", QUALITY_PAGE, *of_grids("links")),
    ReportTable("chunking", QUALITY_PAGE, *of_grids("chunking")),
    ReportTable("answers", QUALITY_PAGE, *of_grids("answers")),
    ReportTable("citations", QUALITY_PAGE, *of_grids("citations")),
    ReportTable("verification", QUALITY_PAGE, *of_grids("verification", slice(1))),
    ReportTable("verification-kinds", QUALITY_PAGE, *of_grids("verification", slice(1, 2))),
    ReportTable("verification-sets", QUALITY_PAGE, *of_grids("verification", slice(2, 3))),
    ReportTable("verification-promise", QUALITY_PAGE, *of_grids("verification", slice(3, 4))),
    ReportTable("peers-own-words", QUALITY_PAGE, *of_grids("peers_own_words")),
    ReportTable("calibration", "docs/calibration.md", *of_grids("calibration", slice(1))),
    ReportTable("operating-points", "docs/calibration.md", *of_grids("calibration", slice(1, 2))),
    ReportTable("words-alone", "docs/calibration.md", *of_grids("calibration", slice(2, 3))),
)
MEASURED = tuple(sorted({name for table in TABLES for name in (*table.needs, *table.also)}))
TABLES = (*TABLES, ReportTable("environment", ENVIRONMENT, (), environment_table, MEASURED, provenance=False))


def placed(table: ReportTable, text: str, page: str) -> str:
    """The text of a *page* with *text* between the marks of *table*.

    Raises:
        ValueError: The page does not have the marks.
    """
    first, last = f"<!-- {table.name}: written by benchmarks/report.py -->", f"<!-- end of {table.name} -->"
    pattern = re.compile(f"{re.escape(first)}.*?{re.escape(last)}", re.DOTALL)
    written, count = pattern.subn(lambda _: f"{first}\n{text}\n{last}", page)
    if count != 1:
        raise ValueError(f"{table.page} has the marks of {table.name} {count} times")
    return written


def tables(folder: Path) -> dict[str, tuple[ReportTable, str]]:
    """Every table whose records lie in *folder*, with its text."""
    names = {name for table in TABLES for name in (*table.needs, *table.also)}
    kept = {name: found for name in names if (found := records.read(name, folder)) is not None}
    there = [each for each in TABLES if set(each.needs) <= kept.keys() and kept.keys() & {*each.needs, *each.also}]
    return {each.name: (each, each.text(kept)) for each in there}


def pages(folder: Path = ROOT / records.WHOLE) -> dict[str, str]:
    """The text that each page should have, by its path."""
    found: dict[str, str] = {}
    for table, text in tables(folder).values():
        now = found.get(table.page) or (ROOT / table.page).read_text("utf-8")
        found[table.page] = placed(table, text, now)
    return found


def main() -> int:
    """Write or compare; 1 where a page is not current."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report")
    parser.add_argument("--write", action="store_true", help="write the pages")
    parser.add_argument("--quick", action="store_true", help="print the tables of the last quick runs")
    options = parser.parse_args()
    if options.quick:
        for table, text in tables(ROOT / records.QUICK).values():
            print(f"\n## {table.name}\n\n{text}")
        return 0
    old = [path for path, text in pages().items() if (ROOT / path).read_text("utf-8") != text]
    for path in old:
        if options.write:
            (ROOT / path).write_text(pages()[path], encoding="utf-8")
        print(f"{path}: {'written' if options.write else 'not current'}")
    return 1 if old and not options.write else 0


if __name__ == "__main__":
    sys.exit(main())
