"""Write the parsed text of a structured format as Markdown, with the places of headings and tables."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ragdrop.domain.documents import ContentType
from ragdrop.domain.links import Link
from ragdrop.domain.parsed import Heading, ParsedDocument, Table
from ragdrop.domain.parsed.places import Place
from ragdrop.errors import EmptyDocumentError, UnsafeDocumentError
from ragdrop.formats.text_decoding import clean

MAX_TEXT_CHARACTERS = 64 * 1024 * 1024  # a little over the largest object; only a bomb makes more text than that
MAX_COLUMNS = 500


def one_line(text: str) -> str:
    r"""*text* with every run of white space as one space.

    >>> one_line(" a\n b ")
    'a b'
    """
    return " ".join(text.split())


def first_twenty(numbers: Sequence[object]) -> str:
    """The first twenty of *numbers*, for a warning.

    >>> first_twenty([3, 5])
    '3, 5'
    """
    return ", ".join(map(str, numbers[:20]))


def table_row(cells: Iterable[str], columns: int) -> str:
    r"""A row of a Markdown table with exactly *columns* cells, line end included.

    >>> table_row(["a|b"], 2)
    '| a\\|b |  |\n'
    """
    texts = [one_line(cell).replace("|", "\\|") for cell in cells][:columns]
    return clean("| " + " | ".join(texts + [""] * (columns - len(texts))) + " |\n")


class MarkdownWriter:
    """Collects blocks in order.  Every method raises UnsafeDocumentError when the text grows too long."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._tight = False
        self._headings: list[Heading] = []
        self._tables: list[Table] = []
        self._places: list[Place] = []
        self._pages: list[int] = []
        self._next: Place | None = None

    @property
    def length(self) -> int:
        """Characters so far."""
        return self._length

    def place(self, name: str, *, page: bool = False, cells: Place | None = None) -> None:
        """What is added from here on stands at *name*, or in *cells* of a sheet; a *page* is counted, too."""
        self._next = cells or Place(0, name)
        if page:
            self._pages.append(self._length + bool(self._length))

    def block(self, text: str, *, tight: bool = False) -> None:
        """Add a paragraph; two *tight* ones in a row, such as items of a list, have no blank line between them."""
        text = clean(text).strip("\n")
        if text.strip():
            self._separate(tight=tight)
            self._mark()
            self._add(text + "\n")

    def heading(self, level: int, text: str) -> None:
        """Add a heading."""
        text = one_line(clean(text))
        if text:
            self._separate()
            self._mark()
            self._headings.append(Heading(level, text, self._length))
            self._add(f"{'#' * level} {text}\n")

    def table(
        self,
        rows: Iterable[Sequence[str]],
        *,
        columns: int,
        cells: Callable[[int], Place | None] = lambda _: None,
    ) -> None:
        """Add a table of *columns* columns whose first row is its header.

        *cells* gives the place that begins with a row, by its number from 0; its start is not looked at.
        """
        self._separate()
        start, columns = self._length, min(columns, MAX_COLUMNS)
        for number, row in enumerate(rows):
            self._next = cells(number) or self._next
            self._mark()
            self._add(table_row(row, columns))
            if number == 0:
                self._add("|" + " --- |" * columns + "\n")
                rows_start = self._length
        if self._length > start:
            self._tables.append(Table(start, rows_start, self._length))

    def document(
        self,
        media_type: str,
        *,
        content_type: ContentType = "documentation",
        links: Iterable[Link] = (),
        warnings: Iterable[str] = (),
        metadata: dict[str, Any] | None = None,
    ) -> ParsedDocument:
        """What was collected.

        Raises:
            EmptyDocumentError: There is no text in it.
        """
        text = "".join(self._parts)
        if not text.strip("|- \n"):
            raise EmptyDocumentError("there is no text in this document")
        return ParsedDocument(
            text,
            "markdown",
            media_type,
            headings=tuple(self._headings),
            metadata=metadata or {},
            content_type=content_type,
            links=tuple(links),
            warnings=tuple(dict.fromkeys(warnings)),
            tables=tuple(self._tables),
            pages=tuple(min(page, len(text)) for page in self._pages),
            places=tuple(self._places),
        )

    def add(self, document: ParsedDocument, *, below: int = 0, place: str = "") -> None:
        """Add all of another document as a part of this one.

        Args:
            document: What to add; it has no links here.
            below: How many levels its headings are set down.
            place: The name of the part, which goes before the names of the document's own places.
        """
        self._separate()
        self._mark()
        start, end = self._length, len(document.text.rstrip("\n"))
        deeper = [each for each in document.headings if document.text.startswith("#", each.start)] if below else []
        at, grown = 0, []
        for each in deeper:
            self._add(document.text[at : each.start] + "#" * min(below, 6 - each.level))
            at = each.start
            grown.append((each.start, min(below, 6 - each.level)))
        self._add(document.text[at:end] + "\n")

        def moved(place: int) -> int:
            return min(
                start + place + sum(marks for begin, marks in grown[: bisect_left(grown, (place,))]), self._length
            )

        self._headings += [
            Heading(min(each.level + below, 6), each.text, moved(each.start)) for each in document.headings
        ]
        self._tables += [
            replace(each, start=moved(each.start), rows_start=moved(each.rows_start), end=moved(each.end))
            for each in document.tables
        ]
        own = document.places or [Place(at, f"page {number}") for number, at in enumerate(document.pages, start=1)]
        self._places += [
            replace(each, start=moved(each.start), name=f"{place}: {each.name}" if place else each.name) for each in own
        ]

    def _mark(self) -> None:
        if self._next is not None:
            self._places.append(replace(self._next, start=self._length))
            self._next = None

    def _separate(self, *, tight: bool = False) -> None:
        if self._length and not (tight and self._tight):
            self._add("\n")
        self._tight = tight

    def _add(self, text: str) -> None:
        self._length += len(text)
        if self._length > MAX_TEXT_CHARACTERS:
            message = f"it holds more than {MAX_TEXT_CHARACTERS} characters of text"
            raise UnsafeDocumentError(message, limit_characters=MAX_TEXT_CHARACTERS)
        self._parts.append(text)
