"""Write the measured tables of README and docs/ from the records of benchmarks.

    python -m benchmarks.report            # reports which tables are not current
    python -m benchmarks.report --write    # writes them
    python -m benchmarks.report --quick    # prints the tables of the last quick runs

A table stands between `<!-- NAME: written by benchmarks/report.py -->` and `<!-- end of NAME -->`, with one line below
it that says when and where it was measured; docs/evidence/environment.md lists every record.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import records
from benchmarks.records import BenchmarkRecord
from benchmarks.registry import TABLES as MEASURED
from benchmarks.registry import PageTable, Records
from pages.wrap import placed, wrapped

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = "docs/evidence/environment.md"
WRITER = "benchmarks/report.py"
SETTLED = " The question is settled, so no benchmark measures it again."


def measured_line(used: Sequence[BenchmarkRecord], link: str) -> str:
    """When, at which commit and on what machine the *used* records were measured.

    >>> machine = {"cores": 2, "memory_gb": 24, "processor": "AMD EPYC"}
    >>> one = BenchmarkRecord("a", "2026-11-22", "abc1234", machine, {}, [])
    >>> measured_line([one], "environment.md")
    'Measured 2026-11-22, commit abc1234, 2 cores (AMD EPYC); [details](environment.md).'
    """
    dates = sorted({each.date for each in used})
    commits = sorted({at for each in used for at in (each.commit, *each.older.values())})
    last = dates[-1].removeprefix(f"{dates[0][:4]}-")
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {last}"
    at = f"commit {commits[0]}" if len(commits) == 1 else f"{len(commits)} commits"
    return f"Measured {when}, {at}, {_machines(used)}; [details]({link})."


def environment_table(stored: Records) -> str:
    return records.markdown(
        ("benchmark", "date", "commit", "machine", "versions"),
        [
            (
                name,
                record.date,
                record.commit_with_parts,
                f"{_machines([record])}, {record.machine['memory_gb']} GB",
                record.versions_line,
            )
            for name, record in sorted(stored.items())
        ],
    )


def _machines(used: Sequence[BenchmarkRecord]) -> str:
    cores = dict.fromkeys(f"{each.machine['cores']} cores" for each in used)
    processors = dict.fromkeys(
        re.sub(r"\(R\)|\(TM\)| Processor", "", each.machine["processor"]).strip() for each in used
    )
    return f"{' and '.join(cores)} ({', '.join(processors)})"


RECORDED = tuple(sorted({name for table in MEASURED for name in (*table.needs, *table.also)}))
TABLES: Sequence[PageTable] = (*MEASURED, PageTable("environment", ENVIRONMENT, (), environment_table, RECORDED))


def text_of(table: PageTable, stored: Records) -> str:
    rendered = wrapped(table.render(stored))
    if table.page == ENVIRONMENT:
        return rendered
    used = [stored[name] for name in (*table.needs, *table.also) if name in stored]
    line = measured_line(used, os.path.relpath(ENVIRONMENT, Path(table.page).parent))
    return f"{rendered}\n\n{wrapped(line + SETTLED if table.settled else line)}"


def tables(folder: Path) -> dict[str, tuple[PageTable, str]]:
    stored = {name: found for name in RECORDED if (found := records.read(name, folder)) is not None}
    there = [each for each in TABLES if set(each.needs) <= stored.keys() and stored.keys() & {*each.needs, *each.also}]
    return {each.name: (each, text_of(each, stored)) for each in there}


def pages(folder: Path = ROOT / records.WHOLE) -> dict[str, str]:
    found: dict[str, str] = {}
    for table, text in tables(folder).values():
        now = found.get(table.page) or (ROOT / table.page).read_text("utf-8")
        found[table.page] = placed(now, table.name, text, by=WRITER)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the pages")
    parser.add_argument("--quick", action="store_true", help="print the tables of the last quick runs")
    options = parser.parse_args()
    if options.quick:
        for table, text in tables(ROOT / records.QUICK).values():
            print(f"\n## {table.name}\n\n{text}")
        return 0
    old = {path: text for path, text in pages().items() if (ROOT / path).read_text("utf-8") != text}
    for path, text in old.items():
        if options.write:
            (ROOT / path).write_text(text, encoding="utf-8")
        print(f"{path}: {'written' if options.write else 'not current'}")
    return int(bool(old) and not options.write)


if __name__ == "__main__":
    sys.exit(main())
