"""CSV and TSV as one Markdown table; the separator is detected."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Literal

from readers.errors import CorruptFileError, EmptyFileError
from readers.markdown_writer import MAX_COLUMNS, MarkdownWriter, one_line, titles_above
from readers.parsed import ParsedDocument
from readers.text_decoder import decode
from readers.text_decoding import clean

MEDIA_TYPE = "text/csv"
SEPARATORS = ";\t|,"  # the comma last: where another fits as well, it is that of decimals
_NAMED = re.compile(r"\ufeff?sep=([^\w\s\"]|\t)\r?\n")  # what Excel writes and reads as a first line
SAMPLE_CHARACTERS = 65_536
MAX_CELL_CHARACTERS = 1_000_000
MAX_ROWS_ABOVE = 20  # of titles, notes and blank lines before a header
MAX_NOTES = 5  # rows such as `Date,2026-05-01` before a blank line
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s*\d[\d.,:/ T'%+-]*(?:[eE][-+]?\d+)?\s*[%€$£¥)Z]?")  # or a date, or a time


def separator_of(text: str) -> str | None:
    r"""The separator that gives the most lines the same number of columns, at least 2; None where none does.

    >>> separator_of("a;b;c\n1,5;2;3\n"), separator_of("just a line\nand another")
    (';', None)
    """
    best: tuple[float, int, str] | None = None
    for separator in SEPARATORS:
        counts = [len(row) for row in _rows(text[:SAMPLE_CHARACTERS], separator, limit=50) if row]
        if not counts or max(counts) < 2:
            continue
        usual = max(set(counts), key=counts.count)
        score = (counts.count(usual) / len(counts), usual, separator)
        if usual > 1 and (best is None or score[:2] > best[:2]):
            best = score
    return best[2] if best else None


def looks_like_csv(text: str) -> bool:
    r"""Whether at least four lines have the same three or more columns: no prose does.

    >>> looks_like_csv("a,b,c\n1,2,3\n4,5,6\n7,8,9\n"), looks_like_csv("Yes, sir, no.\nWhy, then?\n")
    (True, False)
    """
    lines = text[:SAMPLE_CHARACTERS].split("\n")[:-1]
    separator = separator_of("\n".join(lines))
    counts = [len(row) for row in _rows("\n".join(lines), separator, limit=50) if row] if separator else []
    return len(counts) >= 4 and min(counts) == max(counts) >= 3


def read_csv(body: bytes) -> ParsedDocument:
    """Read rows: titles and notes above the header as text, then a table; ragged rows are filled up.

    The header is the first row of several cells.  Where that is numbers alone, the columns have no names, and get them.
    Cells beyond the 500th column are cut.

    Raises:
        EmptyFileError: Every cell is empty.
        UnsafeFileError: The text would be too long.
        CorruptFileError: A cell is longer than a million characters.
    """
    text, warnings = decode(body)
    named = _NAMED.match(text)
    text = text[named.end() :] if named else text
    separator = named.group(1) if named else separator_of(text) or ","
    found = list(warnings)
    writer = MarkdownWriter()
    try:
        above = _rows_above(list(islice(_rows(text, separator), MAX_ROWS_ABOVE)))
        rows = islice(_rows(text, separator), above, None)
        widths = {len(row) for row in rows if _used(row)}
        if not widths:
            raise EmptyFileError("every cell is empty")
        if len(widths) > 1:
            found.append(f"rows have from {min(widths)} to {max(widths)} columns")
        if max(widths) > MAX_COLUMNS:
            found.append(f"only the first {MAX_COLUMNS} columns are read")
        for row in islice(_rows(text, separator), above):
            writer.block(one_line(" ".join(row)))
        filled = (row for row in islice(_rows(text, separator), above, None) if _used(row))
        first = next(filled)
        unnamed = all(_NUMBER.fullmatch(cell.strip()) for cell in first)
        names = [f"column {number}" for number in range(1, max(widths) + 1)]
        writer.table(chain([names, first] if unnamed else [first], filled), columns=max(widths))
    except csv.Error as exc:
        raise CorruptFileError(f"the rows cannot be told apart ({exc})") from exc
    return writer.document(MEDIA_TYPE, warnings=found)


def _used(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _rows_above(head: Sequence[Sequence[str]]) -> int:
    """How many rows stand above the header: those of one cell, and a few notes that a blank line ends.

    >>> _rows_above([["Cups", ""], [], ["team", "cups"], ["Reds", "1"]]), _rows_above([["team", "cups"], ["Reds", "1"]])
    (2, 0)
    >>> _rows_above([["Date", "2026"], ["By", "Ann"], [], ["team", "place", "cups"], ["Reds", "north", "1"]])
    3
    """
    used = [_used(row) for row in head]
    if max(used, default=0) < 2:
        return 0
    at = titles_above(used)
    blank = next((number for number in range(at, min(at + MAX_NOTES, len(used))) if not used[number]), 0)
    behind = next((count for count in used[blank:] if count), 0)
    return blank + 1 if blank and max(used[at:blank]) < behind else at


def _rows(text: str, separator: str, limit: int | None = None) -> Iterator[list[str]]:
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    # A quote that is never closed would swallow the rest of the file into one cell: then quotes are plain characters.
    quote = '"' if text.count('"') % 2 == 0 else None
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    reader = csv.reader(
        io.StringIO(clean(text)), delimiter=separator, quotechar=quote, quoting=quoting, skipinitialspace=True
    )
    for number, row in enumerate(reader):
        if limit is not None and number >= limit:
            return
        yield row
