"""CSV as one table, JSON as lines of paths and values, subtitles as lines with times."""

import csv
import html
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from typing import Any, Literal

from readers.formats import VTT
from readers.markdown_writer import (
    MAX_COLUMNS,
    MAX_TEXT_CHARACTERS,
    MarkdownWriter,
    one_line,
    titles_above,
    without_data_urls,
)
from readers.parsed import ParsedDocument, Place, column_name
from readers.read_errors import CorruptFileError, EmptyFileError, UnsafeFileError
from readers.text_decoding import clean, decode

MEDIA_TYPE = "text/csv"
SEPARATORS = ";\t|,"  # the comma last: where another fits as well, it is that of decimals
_NAMED = re.compile(r"\ufeff?sep=([^\w\s\"]|\t)\r?\n")  # what Excel writes and reads as a first line
SAMPLE_CHARACTERS = 65_536
MAX_CELL_CHARACTERS = 1_000_000
MAX_ROWS_ABOVE = 20  # of titles, notes and blank lines before a header
ROWS_OF_A_PLACE = 1_000
MAX_NOTES = 5  # rows such as `Date,2026-05-01` before a blank line
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s*\d[\d.,:/ T'%+-]*(?:[eE][-+]?\d+)?\s*[%€$£¥)Z]?")  # or a date, or a time


def separator_of(text: str) -> str | None:
    r"""The separator by which most lines have the same number of columns, 2 or more; None without one.

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

    The header is the first row of several cells; if that has only numbers, the columns get names by their numbers.
    """
    text, warnings = decode(body)
    named = _NAMED.match(text)
    text = text[named.end() :] if named else text
    separator = named.group(1) if named else separator_of(text) or ","
    found = list(warnings)
    writer = MarkdownWriter()
    try:
        above = _rows_above(list(islice(_rows(text, separator), MAX_ROWS_ABOVE)))
        widths = {len(row) for row in islice(_rows(text, separator), above, None) if _used(row)}
        if not widths:
            raise EmptyFileError("every cell is empty")
        if len(widths) > 1:
            found.append(f"rows have from {min(widths)} to {max(widths)} columns")
        if max(widths) > MAX_COLUMNS:
            found.append(f"only the first {MAX_COLUMNS} columns are read")
        letters = ("A", column_name(min(max(widths), MAX_COLUMNS) - 1))
        for number, row in enumerate(islice(_rows(text, separator), above), start=1):
            writer.place("", cells=Place(0, "", letters, number, 1))
            writer.block(one_line(" ".join(row)))
        numbered = enumerate(islice(_rows(text, separator), above, None), start=above + 1)
        filled = ((number, row) for number, row in numbered if _used(row))
        names = [f"column {number}" for number in range(1, max(widths) + 1)]
        for count, block in groupby(filled, _Blocks(max(widths))):
            rows = iter(block)
            first: tuple[int, list[str]] | None = next(rows)
            while first and count and _used(first[1]) == 1:
                writer.place("", cells=Place(0, "", letters, first[0], 1))
                writer.block(one_line(" ".join(first[1])))
                first = next(rows, None)
            if first:
                unnamed = all(_NUMBER.fullmatch(cell.strip()) for cell in first[1])
                placed = _Placed(chain([(first[0], names), first] if unnamed else [first], rows), max(widths))
                writer.table(placed.rows(), columns=max(widths), cells=placed.place)
    except csv.Error as exc:
        raise CorruptFileError(f"the rows cannot be separated ({exc})") from exc
    return writer.document(MEDIA_TYPE, warnings=found)


class _Blocks:
    """Counts the tables of a file before each row: a gap behind two rows ends one where words or a title follow."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._count = self._number = 0
        self._joined = False

    def __call__(self, numbered: tuple[int, Sequence[str]]) -> int:
        number, row = numbered
        ends = number > self._number + 1 and self._joined and self._columns > 1
        self._count += ends and (_used(row) == 1 or not any(_NUMBER.fullmatch(cell.strip()) for cell in row))
        self._joined, self._number = number == self._number + 1 and self._number > 0, number
        return self._count


class _Placed:
    """Rows with their numbers in the file, and the place that begins with a row: one for up to 1,000 without a gap."""

    def __init__(self, numbered: Iterable[tuple[int, Sequence[str]]], columns: int) -> None:
        self._numbered = numbered
        self._columns = ("A", column_name(min(columns, MAX_COLUMNS) - 1))
        self._first = self._row = self._number = 0

    def rows(self) -> Iterator[Sequence[str]]:
        for number, row in self._numbered:
            self._number = number
            yield row

    def place(self, at: int) -> Place | None:
        begins = at < 2 or at - self._first >= ROWS_OF_A_PLACE or self._number - self._row != at - self._first
        if begins:
            self._first, self._row = at, self._number
        return Place(0, "", self._columns, self._number, 1 if at == 0 else ROWS_OF_A_PLACE) if begins else None


def _used(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _rows_above(head: Sequence[Sequence[str]]) -> int:
    """How many rows stand above the header: those of one cell, and a few notes before a blank line.

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


MAX_DEPTH = 100
MAX_JSON_CHARACTERS = 16 * 1024 * 1024  # as Python objects it takes about ten times that
MAX_PATH_CHARACTERS = 300
_MEDIA = re.compile(r"(?:^|\.)(?:image|audio|video|application)/[\w.+-]+$")  # how notebooks name embedded files
_BASE64 = re.compile(r"[A-Za-z0-9+/=,\s]{64,}")


_EMPTY: tuple[object, ...] = ([], {})  # millions of them would take longer than all else


def read_json(body: bytes) -> ParsedDocument:
    """Read one JSON value; one of over 16 MB, or broken, is read as plain text, with a warning."""
    text, warnings = decode(body)
    if len(text) > MAX_JSON_CHARACTERS:
        return _plain(text, "application/json", (*warnings, "the JSON is too long to be taken apart: read as text"))
    try:
        value = _loads(text)
    except ValueError:
        return _plain(text, "application/json", (*warnings, "this is not valid JSON and is read as text"))
    except RecursionError as exc:
        raise UnsafeFileError("the JSON is nested too deep", limit_depth=MAX_DEPTH) from exc
    is_table = isinstance(value, list) and any(isinstance(item, dict) for item in value)
    records = (item for item in value if item not in _EMPTY) if is_table else [value]
    return _document(map(_record, records), "application/json", warnings)


def read_json_lines(body: bytes) -> ParsedDocument:
    """Read one JSON value a line; an invalid line stays unchanged, with a warning."""
    text, warnings = decode(body)
    wrong: list[int] = []

    def records() -> Iterator[str]:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    yield _record(_loads(line))
                except ValueError:
                    wrong.append(number)
                    yield line

    document = _document(records(), "application/jsonl", warnings)
    if not wrong:
        return document
    shown = ", ".join(map(str, wrong[:10]))
    notice = f"{len(wrong)} lines are not valid JSON and are kept as they are: {shown}"
    return ParsedDocument(document.text, "text", document.media_type, warnings=(*document.warnings, notice))


def _loads(text: str) -> Any:
    """A value of JSON; numbers with a fraction stay as they are written."""
    return json.loads(text, parse_float=str, parse_constant=str)


def _record(value: Any) -> str:
    """A value as lines of `path: value`."""
    return "\n".join(_lines(value, "", 0))


def _lines(value: Any, path: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise UnsafeFileError(f"the JSON is nested deeper than {MAX_DEPTH} levels", limit_depth=MAX_DEPTH)
    path = path[-MAX_PATH_CHARACTERS:]
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _lines(each, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for number, each in enumerate(value):
            if each not in _EMPTY or depth == MAX_DEPTH:  # what is too deep is refused, empty or not
                yield from _lines(each, f"{path}[{number}]", depth + 1)
    else:
        parts = list(map(_scalar, value)) if isinstance(value, list) else [_scalar(value)]
        ended = all(part.endswith("\n") for part in parts[:-1])  # the lines of a notebook
        shown = ("" if ended else ", ").join(parts)
        if _MEDIA.search(path) and _BASE64.fullmatch(shown):
            shown = f"(base64 of {len(shown)} characters is left out)"
        if shown.strip():
            yield f"{path}: {shown}" if path else shown


def _scalar(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return without_data_urls(value)[0] if isinstance(value, str) else str(value)


def _document(records: Iterator[str], media_type: str, warnings: tuple[str, ...]) -> ParsedDocument:
    parts, length = [], 0
    for record in records:
        if record.strip():
            parts.append(record)
            length += len(record) + 2
            if length > 2 * MAX_TEXT_CHARACTERS:
                raise UnsafeFileError(f"its text is longer than {2 * MAX_TEXT_CHARACTERS} characters")
    if not parts:
        raise EmptyFileError("there is no value in this document")
    return ParsedDocument(clean("\n\n".join(parts)) + "\n", "text", media_type, warnings=warnings)


def _plain(text: str, media_type: str, warnings: tuple[str, ...]) -> ParsedDocument:
    if "\0" in text:
        raise CorruptFileError("it is not JSON, and holds NULs")
    return ParsedDocument(text, "text", media_type, warnings=warnings)


PLACE_S = 15  # a place names the time of the first of the cues that follow in so many seconds
_MOMENT = r"(?:(\d{1,3}):)?(\d\d?):(\d\d)(?:[,.](\d{1,3}))?"
_TIME = re.compile(rf"[ \t]*{_MOMENT} --> {_MOMENT}")
_VOICE = re.compile(r"<v(?:\.[^ <>]*)? ([^<>]{1,100})>")
_MARK = re.compile(r"</?[a-zA-Z0-9][^<>]{0,200}>|\{\\[^{}]{0,40}\}")
_NUMBERED = re.compile(r"[\d:.,> \t-]+")  # how a cue begins, or what is left of its time
_WITHOUT_TIME = re.compile(r"[ \t]*(?:NOTE|STYLE|REGION)\b|WEBVTT")


def read_subtitles(body: bytes) -> ParsedDocument:
    """Read subtitles; names of speakers go before what they say, and a repeated cue is written once."""
    text, warnings = decode(body)
    writer = MarkdownWriter()
    placed_s: int | None = None
    before: list[str] = []
    ended_ms = 0
    left_out: list[str] = []
    for start_ms, end_ms, said in _cues(clean(text), left_out):
        start_s = start_ms // 1000
        again = 0
        if start_ms <= ended_ms or said == before:  # lines that roll up the screen
            again = next((count for count in range(len(said), 0, -1) if said[:count] == before[-count:]), 0)
        before, ended_ms = said, end_ms
        if again == len(said):
            continue
        if placed_s is None or not placed_s <= start_s < placed_s + PLACE_S:
            placed_s = start_s
            writer.place(f"{start_s // 3600:02d}:{start_s // 60 % 60:02d}:{start_s % 60:02d}")
        writer.block(" ".join(said[again:]), tight=True)
    if left_out:
        warnings += (f"{len(left_out)} parts of the subtitles cannot be read and are left out: they have no time",)
    return writer.document(VTT, warnings=warnings)


def _cues(text: str, left_out: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """When each cue starts and ends, in milliseconds, and its lines; text before the first is added to *left_out*."""
    span: tuple[int, int] | None = None
    for block in re.split(r"\n[ \t]*\n", text):
        lines = block.split("\n")
        times = [(number, found) for number, line in enumerate(lines) if (found := _TIME.match(line))]
        if not times and not _WITHOUT_TIME.match(lines[0]):
            if span and not _NUMBERED.fullmatch(lines[0]):
                yield *span, _said(lines)
            else:
                left_out += [block] if block.strip() else []
        for (number, found), stop in zip(times, [*(at for at, _ in times[1:]), len(lines)], strict=False):
            own = lines[number + 1 : stop]
            if stop < len(lines) and own and own[-1].strip().isdecimal():
                own.pop()  # the number of the next cue
            span = _milliseconds(*found.groups()[:4]), _milliseconds(*found.groups()[4:])
            yield *span, _said(own)


def _milliseconds(hours: str | None, minutes: str, seconds: str, rest: str | None) -> int:
    return ((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int((rest or "0").ljust(3, "0"))


def _said(lines: Sequence[str]) -> list[str]:
    """The lines of a cue that say something, without marks."""
    shown = (_MARK.sub("", _VOICE.sub(lambda voice: f"{voice[1]}: ", line)) for line in lines)
    return [words for line in shown if (words := one_line(html.unescape(line)))]
