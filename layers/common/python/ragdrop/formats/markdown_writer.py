"""Write the parsed text of a structured format as Markdown, with the places of headings and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragdrop.domain.documents import ContentType
from ragdrop.domain.links import Link
from ragdrop.domain.parsed import Heading, ParsedDocument, Table
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

    @property
    def length(self) -> int:
        """Characters so far."""
        return self._length

    def block(self, text: str, *, tight: bool = False) -> None:
        """Add a paragraph; two *tight* ones in a row, such as items of a list, have no blank line between them."""
        text = clean(text).strip("\n")
        if text.strip():
            self._separate(tight=tight)
            self._add(text + "\n")

    def heading(self, level: int, text: str) -> None:
        """Add a heading."""
        text = one_line(clean(text))
        if text:
            self._separate()
            self._headings.append(Heading(level, text, self._length))
            self._add(f"{'#' * level} {text}\n")

    def table(self, rows: Iterable[Sequence[str]], *, columns: int) -> None:
        """Add a table of *columns* columns whose first row is its header."""
        self._separate()
        start, columns = self._length, min(columns, MAX_COLUMNS)
        for number, row in enumerate(rows):
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
            content_type=content_type,
            links=tuple(links),
            warnings=tuple(dict.fromkeys(warnings)),
            tables=tuple(self._tables),
        )

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
