"""Tables of texts that no reader read, and of records."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate

from ragdrop.tables.typed import TypedTable, tables_of, totals_of, typed_columns

_PIPES = re.compile(r"^\|.*\|[ \t]*\n\|[ \t]*:?-[-:| \t]*\|[ \t]*\n((?:\|.*\|[ \t]*(?:\n|\Z))+)", re.MULTILINE)


def tables_in_text(text: str, path: str = "") -> Sequence[TypedTable]:
    r"""The tables of a text that no reader read: those written in Markdown, or the whole text where *path* is of a CSV.

    >>> [table.columns[1].value(0) for table in tables_in_text("So:\n\n| a | km |\n|---|---|\n| b | 7 |\n")]
    [Decimal('7')]
    >>> [table.range_of(0, 1) for table in tables_in_text("item;EUR\ndog;7,50\ncat;8,00\n", "costs.csv")]
    ['A2:B3']
    """
    from readers.parsed import ParsedDocument, Table

    if path.lower().endswith((".csv", ".tsv")):
        return _separated(text, path)
    spans = tuple(Table(found.start(), found.start(1), found.end()) for found in _PIPES.finditer(text))
    return tables_of(ParsedDocument(text, "markdown", "text/markdown", tables=spans), path)


def _separated(text: str, path: str) -> Sequence[TypedTable]:
    """The table of a CSV whose rows are lines."""
    lines = text.splitlines(keepends=True)
    counts = {mark: lines[0].count(mark) for mark in ";\t,"} if lines else {}
    mark = max(counts, key=counts.__getitem__, default=",")
    rows = list(csv.reader(lines, delimiter=mark)) if counts.get(mark) else []
    if len(rows) != len(lines) or len(rows) < 2 or any(len(row) > len(rows[0]) for row in rows):
        return []
    columns, named = typed_columns([rows[0]], rows[1:])
    starts = array("q", accumulate(map(len, lines)))
    return [TypedTable(path, "", columns, totals_of(columns, named), starts, places=((0, 2),))]


def table_of_records(records: Sequence[Mapping[str, str]], name: str, path: str = "") -> TypedTable:
    """A table of records, a column for each name that one of them has; empty cells where a record has none.

    >>> table = table_of_records([{"title": "Tiles", "tags": "roof, wet"}, {"title": "Tap"}], "notes")
    >>> tags = table.columns[1]
    >>> [column.name for column in table.columns], tags.value(1), sorted(tags.codes(str))
    (['title', 'tags'], None, ['roof', 'roof wet', 'wet'])
    """
    names = list(dict.fromkeys(each for record in records for each in record))
    rows = [[record.get(each, "") for each in names] for record in records]
    starts = array("q", range(len(rows) + 1))
    return TypedTable(path, name, typed_columns([names], rows)[0], starts=starts, sheet=name)
