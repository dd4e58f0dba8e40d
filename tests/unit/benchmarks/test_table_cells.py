"""Every cell that an answer cites, of all questions of the set, reads back from its file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any

import pytest

from benchmarks.tables import files_of
from ragdrop.tables.answer_tables import TableAnswer
from ragdrop.tables.answer_tables import answer_from_tables as answer
from ragdrop.tables.typed import tables_of
from readers import read
from tests.table_set import truth

TABLES = {table["file"]: table for table in truth.tables().values()}


def column_of(letters: str) -> int:
    found = 0
    for letter in letters:
        found = 26 * found + ord(letter) - 64
    return found - 1


def cells_in_file(path: str) -> Mapping[str, tuple[Any, str]]:
    """The name of each cell of a file with its raw value and its column's type, by the readers of the set."""
    described = TABLES[path]
    found = {}
    for number, (sheet, grid) in enumerate(truth.grids(truth.FILES / path)):
        columns = described["columns"][min(number, len(described["columns"]) - 1)].split()
        for at, row in enumerate(grid, start=1):
            for column, (raw, kind) in enumerate(zip(row, columns, strict=False)):
                found[f"{sheet} {at} {column}"] = (raw, kind.rpartition(":")[2])
    return found


def values_of(given: TableAnswer) -> dict[str, Any]:
    assert given.table is not None
    columns = given.table.columns
    return {given.table.cell(row, at): each.value(row) for row in given.used for at, each in enumerate(columns)}


def same(value: Any, raw: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return value == (str(raw).casefold() in {"true", "yes", "ja", "1"})
    if isinstance(value, date) and re.fullmatch(r"\d\d\.\d{4}", str(raw)):  # a month, which is its first day
        return f"{value:%d.%m.%Y}" == f"01.{raw}"
    if isinstance(value, date):
        return bool(value == truth.typed(raw, "d"))
    if isinstance(value, Decimal):
        return abs(float(value) - float(truth.typed(raw, "n" if kind == "t" else kind))) < 1e-6
    shown = f"{raw:%H:%M}" if isinstance(raw, time) else str("" if raw is None else raw)
    return (value or "") == " ".join(shown.split())


@pytest.mark.parametrize("vault", sorted({table["vault"] for table in TABLES.values()}))
def test_every_cited_cell_reads_back_from_its_file(vault: str) -> None:
    tables = [
        each for path in files_of(vault) for each in tables_of(read(path.read_bytes(), name=path.name), path.name)
    ]
    names = {table["id"] for table in TABLES.values() if table["vault"] == vault}
    for question in truth.questions():
        if question["table"] not in names:
            continue
        given = answer(question["ask"], tables, date(2025, 1, 15))
        if given is None or given.abstained or given.path not in TABLES:
            continue
        in_file, values = cells_in_file(given.path), values_of(given)
        for cell in given.cells:
            sheet, letters, number = re.fullmatch(r"(?:'?(.*?)'?!)?([A-Z]+)(\d+)", cell).groups()  # type: ignore[union-attr]
            place = f"{number} {column_of(letters)}"
            raw, kind = next(in_file[name] for name in (f"{sheet} {place}", f" {place}") if name in in_file)
            assert same(values[cell], raw, kind), f"{question['ask']}: {cell} is {values[cell]!r}, not {raw!r}"
