"""The right answers: each question's snippet of plain Python, run over the rows of its file as simple readers see them.

Nothing here is of ragdrop.  `tables.jsonl` describes each file: its columns in order with types, its first row, how
many rows of totals end it.  A row's number is that of the sheet or the file's line; in a table of Markdown, HTML or
DOCX the header is row 1.  Values: numbers, dates, durations in seconds, texts.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path
from statistics import fmean, median
from types import SimpleNamespace
from typing import Any

import openpyxl

HERE = Path(__file__).parent
FILES = HERE / "files"
SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH = (
    HERE / name for name in ("second", "third", "fourth", "fifth", "sixth", "seventh")
)
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%d %b %Y", "%d %B %Y")
_TAGS = re.compile(r"<[^>]*>")
Grid = list[list[Any]]


def tables(folder: Path = HERE) -> dict[str, dict[str, Any]]:
    """The descriptions by id, of the set in *folder*."""
    return {each["id"]: each for each in map(json.loads, (folder / "tables.jsonl").read_text("utf-8").splitlines())}


def questions(folder: Path = HERE, *, final: bool | None = None) -> list[dict[str, Any]]:
    """All questions; those of one half where *final* says which."""
    described = tables(folder)
    found = map(json.loads, (folder / "questions.jsonl").read_text("utf-8").splitlines())
    return [each for each in found if final is None or (described[each["table"]]["half"] == "final") == final]


def grids(path: Path) -> Iterator[tuple[str, Grid]]:
    """The tables of a file as they stand: name of the sheet or number of the table, and rows of cells."""
    if path.suffix == ".xlsx":
        book = openpyxl.load_workbook(path, data_only=True)
        yield from ((page.title, [list(row) for row in page.iter_rows(values_only=True)]) for page in book.worksheets)
    elif path.suffix in {".csv", ".tsv"}:
        data = path.read_bytes()
        text = data.decode("cp1252" if path.stem == "aufgaben" else "utf-8-sig")
        delimiter = "\t" if path.suffix == ".tsv" else max(";,", key=text.splitlines()[-1].count)
        yield "", list(csv.reader(io.StringIO(text), delimiter=delimiter))
    elif path.suffix == ".md":
        lines = [line.strip() for line in path.read_text("utf-8").splitlines() if line.startswith("|")]
        yield "", [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if set(line) - set("|-: ")]
    else:
        yield from _markup(path)


def _markup(path: Path) -> Iterator[tuple[str, Grid]]:
    part, table, row, cell = {
        ".html": ("", "table", "tr", "t[dh]"),
        ".ods": ("content.xml", "table:table", "table:table-row", "table:table-cell"),
        ".docx": ("word/document.xml", "w:tbl", "w:tr", "w:tc"),
    }[path.suffix]
    text = zipfile.ZipFile(path).read(part).decode() if part else path.read_text("utf-8")
    for number, found in enumerate(_inside(table, text)):
        rows = (_inside(cell, line) for line in _inside(row, found))
        yield (
            f"table {number + 1}" if number else "",
            [[html.unescape(_TAGS.sub("", one)).strip() for one in cells] for cells in rows],
        )


def _inside(tag: str, text: str) -> list[str]:
    return re.findall(rf"<(?:{tag})(?:\s[^>]*)?>(.*?)</(?:{tag})>", text, re.DOTALL)


def typed(cell: Any, kind: str) -> Any:
    """A cell as its column's type: t text, n number, g German number, d date, s seconds, m month (MM.YYYY), l list."""
    if isinstance(cell, (time, timedelta)):
        clock = (
            cell
            if isinstance(cell, timedelta)
            else timedelta(hours=cell.hour, minutes=cell.minute, seconds=cell.second)
        )
        return clock.total_seconds()
    if cell is None or isinstance(cell, (bool, int, float, list)):
        return str(cell) if kind == "t" and cell is not None else cell
    if isinstance(cell, (datetime, date)):
        return cell.date() if isinstance(cell, datetime) and kind == "d" else cell
    return _of_text(cell, kind)


def _of_text(cell: str, kind: str) -> Any:
    if kind == "t" or not cell:
        return cell or None
    if kind == "d":
        for form in _DAYS:
            try:
                return datetime.strptime(cell, form).date()  # noqa: DTZ007 - a day without a zone
            except ValueError:
                continue
        raise ValueError(cell)
    if kind == "m":
        return date(int(cell[3:]), int(cell[:2]), 1)
    if kind in {"h", "s"}:  # h:mm, or m:ss
        first, second = map(int, cell.split(":"))
        return (first * 60 + second) * (60 if kind == "h" else 1)
    text = re.sub(r"[^\d.,+-]", "", cell)
    return float(text.replace(".", "").replace(",", ".") if kind == "g" else text.replace(",", ""))


def rows_of(table: Mapping[str, Any]) -> list[SimpleNamespace]:
    """The rows of data, totals and headers left out; each has `sheet` and `row` besides its columns."""
    path = FILES / table["file"]
    if path.is_dir():
        return [_note(each) for each in sorted(path.glob("*.md"))]
    names = [[name.split(":") for name in columns.split()] for columns in table["columns"]]
    found = []
    for at, (sheet, grid) in enumerate(grids(path)):
        first, columns = table.get("first", 2), names[min(at, len(names) - 1)]
        for number, row in enumerate(grid[first - 1 : len(grid) - table.get("totals", 0)], start=first):
            cells = {name: typed(row[column], kind) for column, (name, kind) in enumerate(columns)}
            found.append(SimpleNamespace(sheet=sheet, row=number, **cells))
    return found


def _note(path: Path) -> SimpleNamespace:
    head = dict(line.split(": ", 1) for line in path.read_text("utf-8").split("---\n")[1].splitlines())
    due, cost = head.get("due"), head.get("cost")
    tags = head["tags"].strip("[]").split(", ")
    day, price = (date.fromisoformat(due) if due else None), (float(cost) if cost else None)
    named = {"title": head["title"], "tags": tags, "status": head["status"], "priority": head.get("priority")}
    return SimpleNamespace(sheet="", row=path.name, due=day, cost=price, **named)


def answer(question: Mapping[str, Any], rows: list[SimpleNamespace]) -> tuple[Any, list[str]]:
    """The right answer and the rows that it rests on, as the snippets of *question* compute them."""
    used = [r for r in rows if _run(question["rows"], {"r": r})]
    values = [getattr(r, question["column"]) for r in used] if question["column"] else []
    known = {"used": used, "v": [value for value in values if value is not None], "months": MONTHS}
    found = _run(question["take"], known)
    return _plain(found), [f"{r.sheet}!{r.row}" if r.sheet else str(r.row) for r in used]


def _plain(found: Any) -> Any:
    if isinstance(found, float):
        return round(found, 4)
    if isinstance(found, (list, tuple)):
        return [_plain(each) for each in found]
    return found if found is None or isinstance(found, (str, int)) else str(found)


def _run(snippet: str, names: dict[str, Any]) -> Any:
    known = {"date": date, "mean": fmean, "median": median, "Counter": Counter, "top": top, "by": by}
    return eval(snippet, known | names)  # noqa: S307 - snippets of the set, by hand


def top(used: list[SimpleNamespace], count: int, key: str, name: str, *, least: bool = False) -> Any:
    """The *name* of the first, or of the first *count*, by *key*; refuses a tie that would let another stand there."""
    ordered = sorted((r for r in used if getattr(r, key) is not None), key=lambda r: getattr(r, key), reverse=not least)
    assert len(ordered) <= count or getattr(ordered[count - 1], key) != getattr(ordered[count], key), "a tie"
    names = [getattr(r, name) for r in ordered[:count]]
    return names[0] if count == 1 else names


def by(used: list[SimpleNamespace], group: str, key: str = "", *, least: bool = False) -> Any:
    """The group with the greatest sum of *key*, or with the most rows; refuses a tie."""
    sums: defaultdict[Any, float] = defaultdict(float)
    for r in used:
        sums[getattr(r, group)] += abs(getattr(r, key) or 0) if key else 1
    return top([SimpleNamespace(group=name, sum=value) for name, value in sums.items()], 1, "sum", "group", least=least)
