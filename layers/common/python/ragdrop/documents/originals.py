"""Originals of documents: pages of PDFs as they look, with the words of a citation marked, and links to the files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote

from ragdrop.documents.service import DocumentService, not_found
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError
from ragdrop.ingest.parse import drawn_page
from ragdrop.ingest.revision_store import StoredRevision
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.reading import DrawnPage, PageDrawer
from ragdrop.tables.cell_values import split_row

if TYPE_CHECKING:
    from ragdrop.tables.typed import TypedTable

MAX_CELLS = 5_000  # of one response
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NUMERIC = frozenset({"number", "amount", "duration"})
PDF = "application/pdf"
LINK_S = 60  # for a browser that follows the link at once: who is shut out later reads no further
SHOWN = frozenset({PDF, "image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser shows without running any of it; all else is a download, HTML and SVG above all."""
_BY_SUFFIX = {each.rpartition("/")[2]: each for each in SHOWN} | {"jpg": "image/jpeg"}


@dataclass(frozen=True, slots=True)
class OriginalPage:
    """A page of a version; `start` to `end` is its part of the parsed text, in code points."""

    version_id: str
    number: int
    start: int
    end: int
    drawn: DrawnPage


@dataclass(frozen=True, slots=True)
class FileLink:
    """An address of a version's bytes for `LINK_S` seconds; `is_shown` where a browser shows it."""

    version_id: str
    url: str
    media_type: str
    size_bytes: int
    is_shown: bool


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell by its name, such as `Budget!B2`: its text, and its value where that is a number (a duration in s)."""

    name: str
    text: str
    number: str | None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row by its number in the sheet; `is_total` where it sums up others, so that no plan counts it."""

    number: int
    is_total: bool
    cells: Sequence[TableCell]


@dataclass(frozen=True, kw_only=True)
class ReadOriginals:
    """Reads what was put into the bucket, for those who may read the document."""

    keep: DocumentService
    documents: ObjectStore
    drawer: Callable[[], PageDrawer]

    def page(
        self,
        caller: Caller,
        key: DocumentKey,
        number: int,
        *,
        version_id: str | None = None,
        span: tuple[int, int] | None = None,
    ) -> OriginalPage:
        """Draw page *number*, from 1, of the live version or *version_id*; *span* of the parsed text is marked on it.

        Raises:
            DocumentNotFoundError: There is no such document or version that the caller may read.
            InvalidParamsError: The document has no such page, or is no PDF.
            DocumentError: The page cannot be drawn within the limits of a document.
        """
        stored, version = self.keep.stored(caller, key, version_id=version_id)
        start, end = _page_bounds(stored, number)
        text, body = stored.span(start, end), self.documents.get(key.s3_key, version_id=version)
        if text is None or body is None or version is None:
            raise not_found(key)
        first, last = (min(max(at - start, 0), len(text)) for at in span or (0, 0))
        drawn = drawn_page(self.drawer(), body, number, text, first, last)
        return OriginalPage(version, number, start, end, drawn)

    def link(self, caller: Caller, key: DocumentKey, *, version_id: str | None = None) -> FileLink:
        """A link to the bytes of the live version or *version_id*, which works for a minute.

        Raises DocumentNotFoundError: there is no such document or version that the caller may read.
        """
        stored, version = self.keep.stored(caller, key, version_id=version_id)
        there = self.documents.head(key.s3_key, version_id=version)
        if there is None or version is None:
            raise not_found(key)
        name = key.path.rpartition("/")[2]
        found = _BY_SUFFIX.get(name.rpartition(".")[2].lower()) or stored.manifest["document"]["media_type"]
        is_shown = found in SHOWN
        media_type = found if is_shown else "application/octet-stream"
        disposition = f"{'inline' if is_shown else 'attachment'}; filename*=UTF-8''{quote(name, safe='')}"
        url = self.documents.download_link(
            key.s3_key, version_id=version, media_type=media_type, disposition=disposition, expires_s=LINK_S
        )
        return FileLink(version, url, media_type, there.size_bytes, is_shown)

    def rows(self, caller: Caller, key: DocumentKey, name: str, first: int, last: int) -> list[TableRow]:
        """Rows *first* to *last* of the live table with this range, by their numbers in the sheet; at most 5,000 cells.

        Raises:
            DocumentNotFoundError: Nothing of the document is live that the caller may read.
            InvalidParamsError: It has no such table.
        """
        tables = [each for each in self.keep.tables(caller, key) if each.row_count]
        found = next((each for each in tables if each.range_of(0, each.row_count - 1) == name), None)
        if found is None:
            allowed = [each.range_of(0, each.row_count - 1) for each in tables[:20]]
            raise InvalidParamsError("range: the document has no such table", field="range", allowed=allowed)
        stored, _ = self.keep.stored(caller, key, version_id=None)
        rows = _rows_between(found, first, last)[: max(MAX_CELLS // len(found.columns), 1)]
        return [_table_row(found, row, stored.span(found.starts[row], found.starts[row + 1]) or "") for row in rows]


def _rows_between(table: TypedTable, first: int, last: int) -> Sequence[int]:
    """The rows of a table whose numbers in the sheet are *first* to *last*."""
    found: list[int] = []
    for (begin, number), (end, _) in pairwise((*table.places, (table.row_count, 0))):
        found += range(max(begin, begin + first - number), min(end, begin + last + 1 - number))
    return found


def _table_row(table: TypedTable, row: int, line: str) -> TableRow:
    texts = split_row(line.strip())
    names = [table.cell(row, column) for column in range(len(table.columns))]
    values = (column.value(row) if column.kind in NUMERIC else None for column in table.columns)
    cells = [
        TableCell(name, text, format(value, "f") if isinstance(value, Decimal) else None)
        for name, text, value in zip(names, [*texts, *[""] * len(names)], values, strict=False)
    ]
    return TableRow(int(names[0].lstrip().rpartition("!")[2].lstrip(LETTERS)), row in table.totals, cells)


def _page_bounds(stored: StoredRevision, number: int) -> tuple[int, int]:
    """Where the text of a page begins and ends in the parsed text."""
    document = stored.manifest["document"]
    if document["media_type"] != PDF:
        raise InvalidParamsError("only a PDF has pages that are drawn", field="path", value=document["media_type"])
    starts = [*document["pages"], stored.char_count]
    if not 1 <= number < len(starts):
        message = f"number: the document has {len(starts) - 1} pages, and no page {number}"
        raise InvalidParamsError(message, field="number", value=number, allowed=f"1 to {len(starts) - 1}")
    return starts[number - 1], starts[number]
