"""Write the parsed text of a structured format as Markdown, with the places of headings and tables."""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from readers.parsed import ContentType, Heading, ParsedDocument, Place, Table, WrittenLink
from readers.read_errors import EmptyFileError, UnsafeFileError
from readers.text_decoding import clean

MAX_TEXT_CHARACTERS = 64 * 1024 * 1024  # a little over the largest object; only a bomb makes more text than that
MAX_COLUMNS = 500
MAX_FILLED_CELLS = 1_000_000  # that merged cells of a table cover; more come of spans that no page has
_SUPERSCRIPTS = str.maketrans("0123456789+-\u2212\u2013", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_SUBSCRIPTS = str.maketrans("0123456789+-\u2212\u2013", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋")
_SIGNED = re.compile(r"[+\-\u2212\u2013]?[0-9]+[+\-\u2212\u2013]?|[+\-\u2212\u2013]")
_LETTERED = {"TM": "™", "SM": "℠", "a": "ª", "o": "º"}
_ABBREVIATION = re.compile(  # whose end is raised by custom: 1st, 2nde, XIXe, Mlle, Dr
    r"[0-9](?:st|nd|rd|th|ers?|res?|ères?|es?|[iè]?[eè]mes?|n?des?|nds|ste|[dtmvn]os?|r[oa]s?|[dtmvn]as?|os|as)"
    r"|\b[nkijm]th|\b[IVXLCDM]+(?:er|re|ère|es?|[iè]?[eè]me|st|nd|rd|th)"
    r"|\bM(?:e|es|lles?|mes?|gr|rs?|essrs|c)|\b(?:[DPSJF]r|St|Ste|Cie|V[vt]e?|[Nn]os)"
)
_ONE_TERM = re.compile(r"[+\-\u2212]?(?:\w+|\d+[.,]\d+)|\W|\([^()]*\)")
_PHRASE = re.compile(r"(?=.*[^\W\d_]{3}).*\s")
_DATA_URL = re.compile(
    r"(?<![\w-])(data:[\w.+-]{1,40}/[\w.+-]{1,80})(?:;[\w=.-]{1,60}){0,4};base64,"
    r"((?:[A-Za-z0-9+/_=-]|[ \t]*\r?\n[ \t]*(?=[A-Za-z0-9+/]{40}|[A-Za-z0-9+/]{2,76}={0,2}[\"')])){32,})"
    r"|(data:image/svg\+xml)(?:;[\w=.-]{1,60}){0,4},([^\s\"')>]{32,})",
    re.IGNORECASE,
)


def one_line(text: str) -> str:
    """*text* with every run of white space as one space."""
    return " ".join(text.split())


def first_twenty(numbers: Sequence[object]) -> str:
    """The first twenty of *numbers*, for a warning."""
    return ", ".join(map(str, numbers[:20]))


def raised(text: str, before: str = "") -> str:
    """A superscript behind *before* as plain text that does not read as a part of it.

    Numbers become Unicode's superscripts, raised ends of abbreviations stay letters, anything else gets a `^`; small
    print of several words is unchanged.

    >>> "10" + raised("6", "10"), "s" + raised("-1", "s"), "2" + raised("n+1", "2"), "1" + raised("st", "1")
    ('10⁶', 's⁻¹', '2^(n+1)', '1st')
    >>> "M" + raised("lle", "M"), "Ragdrop" + raised("TM", "Ragdrop"), "5" + raised("*", "5"), "e" + raised("x", "e")
    ('Mlle', 'Ragdrop™', '5*', 'e^x')
    """
    text = one_line(text)
    if _SIGNED.fullmatch(text):
        return text.translate(_SUPERSCRIPTS)
    is_cents = before[-1:].isdigit() and re.fullmatch(r"[.,][0-9]{2}", text) is not None
    if is_cents or (not any(map(str.isalnum, text)) and "∞" not in text):
        return text
    if text in _LETTERED and re.search(r"\w\w$" if text.isupper() else r"[0-9Nn]\s?$", before):
        return _LETTERED[text]
    if re.search(rf"(?:{_ABBREVIATION.pattern})$", before[-20:] + text):
        return text
    return _marked("^", text, before)


def lowered(text: str, before: str = "") -> str:
    """A subscript behind *before* as plain text that does not read as a part of it.

    >>> "H" + lowered("2", "H"), "PM" + lowered("2.5", "PM"), "x" + lowered("i", "x"), "V" + lowered("n+1", "V")
    ('H₂', 'PM₂.₅', 'x_i', 'V_(n+1)')
    """
    text = one_line(text)
    if re.fullmatch(rf"(?:{_SIGNED.pattern})|[0-9]+\.[0-9]+", text):
        return text.translate(_SUBSCRIPTS)
    return _marked("_", text, before)


def _marked(sign: str, text: str, before: str) -> str:
    if not text or not before.strip() or _PHRASE.match(text):
        return f" {text}" if text and before[-1:].isalnum() else text
    if re.fullmatch(r"\[[^\[\]]*\]", text):
        return note_mark(text, before)
    return f"{sign}{text}" if _ONE_TERM.fullmatch(text) else f"{sign}({text})"


def note_mark(text: str, before: str = "") -> str:
    """The mark of a foot- or endnote behind *before*, set apart from a number.

    >>> "crowns" + note_mark("1", "crowns"), "5" + note_mark("[2]", "5"), "5" + note_mark("*", "5")
    ('crowns[1]', '5 [2]', '5 [*]')
    """
    text = one_line(text).strip("[]()")
    return (" " if before[-1:].isnumeric() else "") + f"[{text}]" if text else ""


def struck(text: str) -> str:
    r"""Text that is struck out, with Markdown's marks on each of its lines.

    >>> struck("40 "), struck("a\nb"), struck(" ")
    ('~~40~~ ', '~~a~~\n~~b~~', ' ')
    """
    return re.sub(r"(?m)\S(?:.*\S)?", lambda found: f"~~{found[0]}~~", text.replace("~~", ""))


def grid(rows: Iterable[Iterable[tuple[str, int, int]]]) -> list[list[str]]:
    """The cells of a table, with the text of a merged cell in each cell that it covers.

    Args:
        rows: Cells as text, and the rows and columns that they span, without those that others cover; 0 rows are all
            to the last.  A cell that spans a whole row fills only its first cell.

    >>> grid([[("EU", 2, 1), ("Cable", 1, 1), ("12", 1, 1)], [("Hub", 1, 1), ("7", 1, 1)], [("Total 19", 1, 3)]])
    [['EU', 'Cable', '12'], ['EU', 'Hub', '7'], ['Total 19', '', '']]
    """
    filled: list[list[str]] = []
    alone: list[int] = []  # rows of one cell that spans several columns
    from_above: dict[int, tuple[str, float]] = {}  # of each column, the text and the last row that it fills
    covered = 0
    for number, row in enumerate(rows):
        from_above = {at: (text, last) for at, (text, last) in from_above.items() if number <= last}
        cells = {at: text for at, (text, _) in from_above.items()}
        column, count = 0, 0
        for text, down, across in row:
            while column in cells:
                column += 1
            for at in range(column, min(column + across, MAX_COLUMNS)):
                if cells.setdefault(at, text) is text and down != 1:
                    from_above[at] = (text, number + down - 1 if down else math.inf)
            column, count = column + across, count + 1
        covered += len(cells) - count
        if covered > MAX_FILLED_CELLS:
            message = f"the merged cells of a table cover more than {MAX_FILLED_CELLS} others"
            raise UnsafeFileError(message, limit_cells=MAX_FILLED_CELLS)
        if count == 1 < len(cells) and not from_above:
            alone.append(number)
        filled.append([cells.get(at, "") for at in range(max(cells, default=-1) + 1)])
    width = max(map(len, filled), default=0)
    for number in alone:
        if len(filled[number]) == width:
            filled[number] = [filled[number][0]] + [""] * (width - 1)
    return filled


def table_row(cells: Iterable[str], columns: int) -> str:
    r"""A row of a Markdown table with exactly *columns* cells, line end included.

    >>> table_row(["a|b"], 2)
    '| a\\|b |  |\n'
    """
    texts = [one_line(cell).replace("|", "\\|") for cell in cells][:columns]
    return clean("| " + " | ".join(texts + [""] * (columns - len(texts))) + " |\n")


def titles_above(used: Sequence[int]) -> int:
    """How many rows of at most one cell stand above the header of a table, by the number of cells in each row."""
    return next((number for number, count in enumerate(used) if count > 1), len(used))


def without_data_urls(text: str) -> tuple[str, tuple[str, ...]]:
    r"""*text* without the bytes of pictures and files that are embedded as data URLs, and a warning if there were any.

    >>> without_data_urls("![Hall](data:image/png;base64," + "iVBORw0KGgo" * 9 + "=)")
    ('![Hall](data:image/png)', ('embedded pictures or files are left out: 1 data URLs of 100 characters in all',))
    >>> without_data_urls("a short one: data:,Hello%20World")
    ('a short one: data:,Hello%20World', ())
    """
    found = [len(each[2] or each[4]) for each in _DATA_URL.finditer(text)]
    if not found:
        return text, ()
    warning = f"embedded pictures or files are left out: {len(found)} data URLs of {sum(found)} characters in all"
    return _DATA_URL.sub(r"\1\3", text), (warning,)


class MarkdownWriter:
    """Collects blocks in order.  Every method raises UnsafeFileError when the text grows too long."""

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
        """Name the place of what is added next, or its *cells* of a sheet; count it as a *page*, if it is one."""
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
        headers: int = 1,
        cells: Callable[[int], Place | None] = lambda _: None,
    ) -> None:
        """Add a table of *columns* columns whose first *headers* rows are its header.

        *cells* returns the place that begins with a row, by its number from 0; its start does not matter.
        """
        self._separate()
        start, columns = self._length, min(columns, MAX_COLUMNS)
        for number, row in enumerate(rows):
            self._next = cells(number) or self._next
            self._mark()
            self._add(table_row(row, columns))
            if number == 0:
                self._add("|" + " --- |" * columns + "\n")
            if number < headers:
                rows_start = self._length
        if self._length > start:
            self._tables.append(Table(start, rows_start, self._length))

    def document(
        self,
        media_type: str,
        *,
        content_type: ContentType = "documentation",
        links: Iterable[WrittenLink] = (),
        warnings: Iterable[str] = (),
        metadata: dict[str, Any] | None = None,
    ) -> ParsedDocument:
        """What was collected."""
        text = "".join(self._parts)
        if not text.strip("|- \n"):
            raise EmptyFileError("there is no text in this document")
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
            document: What to add; its links are not.
            below: How many levels lower its headings become.
            place: What goes before the names of the document's own places.
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
            raise UnsafeFileError(message, limit_characters=MAX_TEXT_CHARACTERS)
        self._parts.append(text)
