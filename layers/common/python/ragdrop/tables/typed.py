"""Tables of a parsed document as typed columns, with the place of every cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Literal

from readers.parsed import ParsedDocument

ColumnKind = Literal["number", "amount", "date", "duration", "text", "boolean"]
CellValue = Decimal | date | timedelta | bool | str | None


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """One column: its header, what its cells are, and the unit or currency that all of them have (empty if none)."""

    name: str
    kind: ColumnKind
    unit: str
    texts: tuple[str, ...]  # as shown
    values: tuple[CellValue, ...]  # None where a cell is empty or not of the kind


@dataclass(frozen=True, slots=True)
class TypedTable:
    """A table: `path` of its document, `name` of its sheet or heading, columns, and the rows that are totals."""

    path: str
    name: str
    columns: tuple[TypedColumn, ...]
    totals: frozenset[int] = frozenset()


def tables_of(document: ParsedDocument, path: str = "") -> Sequence[TypedTable]:
    """Every table of *document*, in order; *path* is the document's path in its vault."""
    raise NotImplementedError
