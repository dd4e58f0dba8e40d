"""RTF by striprtf: its text, with marks for what striprtf drops, and lines of cells as tables."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mammoth.docx.dingbats import dingbats
from striprtf.striprtf import rtf_to_text

from readers.formats import RTF
from readers.markdown_writer import MarkdownWriter, grid, lowered, one_line, raised, struck
from readers.parsed import ParsedDocument, WrittenLink
from readers.read_errors import CorruptFileError, EmptyFileError, FileTooLargeError
from readers.text_decoding import clean, marked_encoding

_MARK = "\ufdd1"  # no character: stands before the letters of a run's state
_ROW = "\ufdd2"  # stands before and behind the cells of a row
MAX_FONT_CHARACTERS = 262_144  # of a source, in which the table of its fonts stands
NEAR = 20  # twips: borders of cells that are nearer to each other are the same
_WORDS = (
    "super|sub|nosupersub|up|dn|strike|striked|plain|deleted|trowd|cellx|clvmgf|clvmrg|clmgf|clmrg|row|f|v"  # of Word's
)
_TOKEN = re.compile(rf"\\({_WORDS})(?![a-zA-Z])(-?\d{{1,9}})? ?|\\'([0-9a-fA-F]{{2}})|\\[^a-zA-Z]|[{{}}]")
_SYMBOL_FONT = re.compile(r"\{\\f(\d{1,9})(?:[^{}]|\{[^{}]{0,200}\}){0,200}?\bSymbol;")
_RUN = re.compile(f"{_MARK}([udk]*);([^{_MARK}]*)")


@dataclass(frozen=True)
class _State:
    """How a run looks: `u` for raised, `d` for lowered, and whether it is struck or deleted."""

    shift: str = ""
    struck: bool = False
    deleted: bool = False
    hidden: bool = False
    font: str = ""

    @property
    def is_dropped(self) -> bool:
        """Whether a run is not read."""
        return self.deleted or self.hidden

    def after(self, word: str, number: str | None) -> _State:
        """What holds behind a control word."""
        is_on = number is None or int(number) != 0
        match word:
            case "plain":
                return _State()
            case "super" | "up":
                return replace(self, shift="u" if is_on else "")
            case "sub" | "dn":
                return replace(self, shift="d" if is_on else "")
            case "nosupersub":
                return replace(self, shift="")
            case "strike" | "striked":
                return replace(self, struck=is_on)
            case "deleted":
                return replace(self, deleted=is_on)
            case "v":
                return replace(self, hidden=is_on)
            case "f":
                return replace(self, font=number or "")
        return self

    def __str__(self) -> str:
        return f"{_MARK}{self.shift}{'k' * self.struck};"


def marked(source: str) -> tuple[str, bool]:
    """The source with marks that striprtf takes for text, without deleted runs, and whether there were any."""
    parts: list[str] = []
    outer: list[_State] = []
    symbols = set(_SYMBOL_FONT.findall(source[:MAX_FONT_CHARACTERS]))
    state, cells, flag, at, has_deleted = _State(), list[str](), "", 0, False
    for found in _TOKEN.finditer(source):
        word, number, before = found[1], found[2], state
        if not state.is_dropped:
            parts.append(source[at : found.start()])
        at = found.end()
        if found[0] == "{":
            outer.append(state)
        elif found[0] == "}" and outer:
            state = outer.pop()
        elif word in {"trowd", "cellx", "row"}:
            if word == "cellx":
                cells.append(f"{number or 0}{flag}")
            elif word == "row":
                parts.append(f"{_ROW}{','.join(cells)}{_ROW}")
            cells, flag = [] if word == "trowd" else cells, ""
        elif word and word.startswith("cl"):
            flag = {"clvmrg": "v", "clmrg": "h"}.get(word, flag)
        elif word:
            state = state.after(word, number)
        has_deleted |= state.deleted
        mark = str(state) if str(state) != str(before) else ""
        keeps = not (state.is_dropped and before.is_dropped) or found[0] in "{}"
        sign = dingbats.get(("Symbol", int(found[3], 16))) if found[3] and state.font in symbols else None
        shown = found[0] if sign is None else rf"{{\uc1\u{sign}?}}"
        parts.append((mark + shown if shown == "}" else shown + mark) if keeps else "")
    parts.append(source[at:])
    return "".join(parts), has_deleted


def without_marks(text: str) -> str:
    """Text with its marked runs in the common notation."""
    runs = [("", text.partition(_MARK)[0])]
    for look, run in _RUN.findall(text):
        if run and look == runs[-1][0]:
            runs[-1] = look, runs[-1][1] + run
        elif run:
            runs.append((look, run))
    parts: list[str] = []
    for look, run in runs:
        before = "".join(parts[-3:])[-20:]
        parts.append(re.sub(r"[^|\n]+", lambda found: _looking(found[0], look, before), run) if look else run)  # noqa: B023
    return "".join(parts)


def _looking(text: str, look: str, before: str) -> str:
    if "u" in look or "d" in look:
        text = raised(text, before) if "u" in look else lowered(text, before)
    return struck(text) if "k" in look else text


def cells_of(line: str) -> tuple[list[str], list[str]]:
    """The cells of a row and what defines them; none of a line that is no row."""
    line, _, rest = line.rstrip().partition(_ROW)
    defined = rest.partition(_ROW)[0]
    return [one_line(cell) for cell in line.split("|")[:-1]] if line.rstrip().endswith("|") else [], (
        defined.split(",") if defined else []
    )


def filled(rows: list[tuple[list[str], list[str]]]) -> list[list[str]]:
    """The rows of a table with its merged cells filled, by the right borders of cells and their marks.

    >>> filled([(["EU", "Hub"], ["9", "99"]), (["", "Reel"], ["9v", "99"]), (["All"], ["99"])])
    [['EU', 'Hub'], ['EU', 'Reel'], ['All', '']]
    """
    if any(len(cells) != len(defined) for cells, defined in rows):
        return [cells for cells, _ in rows]
    edges = [[int(each.rstrip("vh")) for each in defined] for _, defined in rows]
    borders: list[int] = []
    for edge in sorted({edge for row in edges for edge in row}):
        if not borders or edge - borders[-1] > NEAR:
            borders.append(edge)
    owners: dict[int, list[int]] = {}  # by column: the size of the cell that began there
    own: list[list[tuple[str, list[int]]]] = []
    for (cells, defined), row in zip(rows, edges, strict=True):
        own.append([])
        column = 0
        for text, mark, edge in zip(cells, defined, row, strict=True):
            end = max(bisect_right(borders, edge), column + 1)
            if mark.endswith("h") and own[-1]:
                own[-1][-1][1][1] += end - column
            elif mark.endswith("v") and column in owners:
                owners[column][0] += 1
            else:
                owners[column] = [1, end - column]
                own[-1].append((text, owners[column]))
            column = end
    return grid([(text, down, across) for text, (down, across) in row] for row in own)


REPLACED = "\ufffd"
MAX_BYTES = 32 * 1024 * 1024  # striprtf reads two megabytes a second, and needs ten times the memory
_BINARY = re.compile(rb"\\bin(\d{1,9}) ?")
_RAW = re.compile(rb"[\x80-\xff]")
_CHARACTER = re.compile(r"\\u-?(\d{5,})")
_LINK = re.compile(r'HYPERLINK\s{1,9}"([^"\\]{1,1000})"')
_HEX = re.compile(r"[0-9a-fA-F\s]{400,}")
_LEFT_OUT = (
    (r"\\pict\b", "pictures"),
    (r"\\objdata\b", "embedded objects"),
    (r"\\\*\\annotation\b", "comments"),
    (r"\{\\footnote\b", "footnotes"),
    (r"\{\\shptxt\b", "text boxes"),
    (r"\\moMath\b", "formulas"),
    (r"\{\\(?:header|footer)[lrf]?\b", "page headers and footers"),
    (r"\\v(?![a-zA-Z0-9])", "hidden parts"),
)


def read_rtf(body: bytes) -> ParsedDocument:
    """Read an RTF document: paragraphs and tables; it has no headings that are marked as such."""
    encoding = marked_encoding(body)
    plain = _RAW.sub(lambda found: b"\\'%02x" % found.group()[0], _without_binary(body))  # read by its code page
    source = body.decode(encoding, "replace") if encoding else plain.decode("ascii")
    source = _CHARACTER.sub(_in_unicode, _HEX.sub("", source)).lstrip("\ufeff \t\r\n")
    if len(source) > MAX_BYTES:
        message = f"the RTF document has {len(source)} bytes without its pictures, at most {MAX_BYTES} are read"
        raise FileTooLargeError(message, limit_bytes=MAX_BYTES, size_bytes=len(source))
    source, has_deleted = marked(source.replace("{\\pntext", "{\\listtext"))  # the number of an item of a list
    try:
        text = without_marks(clean(_text(source)).replace("\ufeff", ""))
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as exc:
        message = f"the RTF document cannot be read ({type(exc).__name__}); open it in its program and save it again"
        raise CorruptFileError(message) from exc
    warnings = [*_warnings(source, text), *(["text deleted under tracked changes is left out"] if has_deleted else [])]
    if not text.strip():
        if any("truncated" in warning for warning in warnings):
            raise CorruptFileError("the RTF document is truncated or damaged, and no text could be read")
        raise EmptyFileError("there is no text in this document")
    writer = MarkdownWriter()
    _write(text.split("\n"), writer)
    links = [WrittenLink.cut(target, "") for target in _LINK.findall(source)]
    return writer.document(RTF, links=links, warnings=warnings)


def _text(source: str) -> str:
    """The text of a source; striprtf would write the address of the first of two links behind the second."""
    text: str = rtf_to_text(source.replace("HYPERLINK", "LINK"), errors="replace")  # type: ignore[no-untyped-call]
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _in_unicode(found: re.Match[str]) -> str:
    r"""The mark of a character; that of the replacement character where there is none of its number.

    >>> _CHARACTER.sub(_in_unicode, r"\u128512? \u99999999?")
    '\\u128512? \\u65533?'
    """
    return found.group() if len(found[1]) < 8 and int(found[1]) <= sys.maxunicode else rf"\u{ord(REPLACED)}"


def _without_binary(body: bytes) -> bytes:
    r"""The source without bytes of pictures, which may hold braces.

    >>> _without_binary(b"a{\\pict\\bin3 }}}}b")
    b'a{\\pict}b'
    """
    parts, at = [], 0
    for found in _BINARY.finditer(body):
        if found.start() >= at:
            parts.append(body[at : found.start()])
            at = found.end() + int(found[1])
    return b"".join([*parts, body[at:]])


def _warnings(source: str, text: str) -> Iterator[str]:
    bare = re.sub(r"\\[\\{}]", "", source)
    if bare.count("{") != bare.count("}"):
        yield "the RTF document is truncated or damaged; text may be missing"
    if REPLACED in text:
        yield "some characters could not be decoded and are replaced"
    for mark, kind in _LEFT_OUT:
        count = len(re.findall(mark, source))
        if count:
            yield f"{count} {kind} of the RTF document are left out"


def _write(lines: list[str], writer: MarkdownWriter) -> None:
    """Write paragraphs, and neighbouring lines of cells as one table: striprtf ends every cell with a bar."""
    rows: list[tuple[list[str], list[str]]] = []
    for line in [*lines, ""]:
        cells, defined = cells_of(line)
        if len(cells) > 1 or (cells and rows):
            rows.append((cells, defined))
            continue
        if rows:
            table = filled(rows)
            writer.table(table, columns=max(map(len, table)))
            rows = []
        writer.block(one_line(line))
