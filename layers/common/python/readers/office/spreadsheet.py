"""XLSX, XLSB, XLS and ODS by calamine: sheets as tables of the values that are shown, with their cells as places."""

import datetime
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from xml.etree.ElementTree import Element

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
    load_workbook,
)

from readers.formats import ODS, XLS, XLSX
from readers.markdown_writer import MAX_COLUMNS, MarkdownWriter, titles_above
from readers.office.opendocument import MAX_ROWS, Merged, marked_cells
from readers.office.package import Package, attribute, below, child
from readers.parsed import ParsedDocument, Place, column_name, sheet_name
from readers.read_errors import CorruptFileError, EncryptedFileError, UnsafeFileError, refuse_over

MAX_SHEETS = 1_000
Places: TypeAlias = "frozenset[tuple[int, int]]"
"""Row and column of each, both from 0."""
Formats: TypeAlias = "dict[tuple[int, int], str]"
"""Of cells by their places: `%`, `:` for times, or the zeros that are always shown, such as `00000` and `000-00`."""
_BUILT_IN = {9: "%", 10: "%"}  # 0 % and 0.00 %, ECMA-376 part 1, 18.8.30
_CELL = re.compile(rb"<(?:\w+:)?c\s([^<>]{1,200})>")
_AT = re.compile(rb'\br="([A-Z]{1,3})(\d{1,7})"')
_STYLE = re.compile(rb'\bs="(\d{1,6})"')
_NO_RESULT = re.compile(  # a formula behind whose text no value stands
    rb"<(?:\w+:)?c\s([^<>]{1,200})>\s*<(?:\w+:)?f(?:\s[^<>]{0,300})?(?:/>|>[^<]{0,8192}</(?:\w+:)?f>)"
    rb"\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
MAX_FORMULA_BYTES = 64 * 1024 * 1024  # of a sheet that is looked through for formulas without a result
NO_RESULT = "#RESULT?"
"""What is shown of a formula whose program stored no result."""


def marks_of(package: Package) -> tuple[dict[str, Formats], dict[str, Places]]:
    """The formats of cells, and the cells of formulas without a result, by the names of their sheets.

    FileTooLargeError where the workbook names more than MAX_SHEETS: each would be read.
    """
    root = package.xml("xl/styles.xml")
    styles = _styles(root) if root is not None else {}
    book, relations = package.xml("xl/workbook.xml"), package.relations("xl/workbook.xml")
    sheets = child(book, "sheets")
    found: dict[str, Formats] = {}
    without: dict[str, Places] = {}
    if sheets is not None:
        refuse_over(MAX_SHEETS, len(sheets), "sheets", "the workbook")
    for sheet in sheets if sheets is not None else ():
        _, part = relations.get(
            next((value for key, value in sheet.attrib.items() if key.endswith("}id")), ""), ("", "")
        )
        if not styles and package.size_bytes(part) > MAX_FORMULA_BYTES:
            continue
        body = package.read(part) or b""
        name = attribute(sheet, "name")
        found[name] = _cells(body, styles) if styles else {}
        without[name] = frozenset(filter(None, (_place_of(cell[1]) for cell in _NO_RESULT.finditer(body))))
    return found, without


def _styles(root: Element) -> dict[int, str]:
    """The formats of the cell styles that have one that is read, by their numbers."""
    written = {_int(each.get("numFmtId")): _format(each.get("formatCode", "")) for each in below(root, "numFmt")}
    known = _BUILT_IN | written
    cells = child(root, "cellXfs")
    formats = [known.get(_int(each.get("numFmtId")), "") for each in cells] if cells is not None else []
    return {at: each for at, each in enumerate(formats) if each}


def _format(code: str) -> str:
    r"""What is read of a number format: quoted signs show no per cent.

    >>> _format("0.0%"), _format('0" %"'), _format("0.00"), _format("00000"), _format(r"000\-00;@")
    ('%', '', '', '00000', '000-00')
    """
    if "%" in re.sub(r'"[^"]*"|\\.|\[[^\]]*\]', "", code):
        return "%"
    digits = re.sub(r'\\(.)|"([^"]*)"', r"\1\2", code.partition(";")[0])
    return digits if re.fullmatch(r"0[0 /-]{0,30}0", digits) else ""


def _cells(body: bytes, styles: dict[int, str]) -> Formats:
    found: Formats = {}
    for cell in _CELL.finditer(body):
        style, at = _STYLE.search(cell[1]), _place_of(cell[1])
        if style and at and int(style[1]) in styles:
            found[at] = styles[int(style[1])]
    return found


def _place_of(attributes: bytes) -> tuple[int, int] | None:
    """Row and column of a cell, from 0."""
    at = _AT.search(attributes)
    if at is None:
        return None
    column = 0
    for letter in at[1]:
        column = column * 26 + letter - 64
    return int(at[2]) - 1, column - 1


def _int(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,9}", text) else -1


MAX_REPEATED_COLUMNS = 16_384  # of a sheet, in every program, as are MAX_ROWS
MAX_MERGED_CELLS = 20_000  # of a sheet; those behind them are not filled
ROWS_OF_A_PLACE = 200
_REPEATED = re.compile(rb"number-(rows|columns)-repeated=[\"'](\d{5,30})[\"']")
_ZIP = b"PK"
_SHOWN = re.compile(rb"value-type=[\"'](?:percentage|time)")
_DURATION = re.compile(r"PT(\d{1,9})H(\d\d?)M(\d\d?)(?:[.,]\d+)?S")
_LEFT_OUT = (
    ("xl/vbaProject", "macros"),
    ("xl/charts/chart", "charts"),
    ("xl/comments", "sheets of comments"),
    ("xl/embeddings/", "embedded files"),
    ("xl/media/", "pictures"),
    ("xl/pivotTables/pivotTable", "layouts of pivot tables"),
    ("Object ", "charts and embedded objects"),
    ("Pictures/", "pictures"),
)
Value = str | int | float | bool | datetime.date | datetime.time | datetime.timedelta


def read_spreadsheet(body: bytes) -> ParsedDocument:
    """Read a workbook: every sheet that has cells, hidden ones too, with the stored results of formulas.

    A row is one line.  Rows of one cell above a table stand before it as text; the next row is its header.
    """
    warnings: list[str] = []
    formats: dict[str, Formats] = {}
    without: dict[str, Places] = {}
    merged: dict[str, list[Merged]] = {}
    if body.startswith(_ZIP):
        package = Package(body, "the workbook")
        package.refuse_entities()
        warnings += _left_out(package)
        formats, without = marks_of(package)
        count = sum(map(len, without.values()))
        warnings += [f"{count} formulas have no stored result and are shown as {NO_RESULT}"] if count else []
        _refuse_repeats(package)
        media_type = ODS if "content.xml" in package.names else XLSX
        content = package.read("content.xml") or b""
        root = package.xml("content.xml") if b"s-spanned=" in content or _SHOWN.search(content) else None
        if root is not None:
            merged, formats = marked_cells(root)
    else:
        media_type = XLS
    try:
        with load_workbook(io.BytesIO(body)) as workbook:
            writer = MarkdownWriter()
            warnings += _sheets(workbook, writer, formats, without, merged)
    except PasswordError as exc:
        raise EncryptedFileError("the workbook wants a password; save it without one") from exc
    except (CalamineError, ValueError, OSError) as exc:
        message = f"the workbook cannot be read ({type(exc).__name__}); open it in its program and save it again"
        raise CorruptFileError(message) from exc
    return writer.document(media_type, warnings=warnings)


def _sheets(
    workbook: CalamineWorkbook,
    writer: MarkdownWriter,
    formats: dict[str, Formats],
    without: dict[str, Places],
    merged: dict[str, list[Merged]],
) -> Iterator[str]:
    """Write all sheets; what is to be warned of."""
    known = workbook.sheets_metadata
    refuse_over(MAX_SHEETS, len(known), "sheets", "the workbook")
    damaged: list[str] = []
    hidden: list[str] = []
    wide = other = 0
    for sheet in known:
        if sheet.typ is not SheetTypeEnum.WorkSheet:
            other += 1
            continue
        try:
            cells = workbook.get_sheet_by_name(sheet.name)
        except CalamineError:
            damaged.append(sheet.name)
            continue
        if cells.start is None:
            continue
        wide += cells.width > MAX_COLUMNS
        if sheet.visible is not SheetVisibleEnum.Visible:
            hidden.append(sheet.name)
        covered = merged.get(sheet.name) or cells.merged_cell_ranges or []
        marks = formats.get(sheet.name, {}), without.get(sheet.name, frozenset())
        _Sheet(sheet.name, cells, writer, marks, covered).write(hidden=sheet.visible is not SheetVisibleEnum.Visible)
    if damaged and not writer.length:
        raise CorruptFileError("no sheet of the workbook can be read; open it in its program and save it again")
    if damaged:
        yield f"{len(damaged)} sheets cannot be read and are left out: {_names(damaged)}"
    if hidden:
        yield f"{len(hidden)} hidden sheets are read: {_names(hidden)}"
    if other:
        yield f"{other} sheets of charts, dialogs or macros are left out"
    if wide:
        yield f"only the first {MAX_COLUMNS} columns of a sheet are read"


def _names(names: Sequence[str]) -> str:
    return ", ".join(name[:40] for name in names[:10])


@dataclass(frozen=True, slots=True)
class _Row:
    """A row that holds something: its number from 1, its cells from the sheet's first used column on."""

    number: int
    cells: list[str]
    is_text: bool  # all that it holds is words, as in a header

    @property
    def used(self) -> list[int]:
        """The columns that hold something."""
        return [at for at, cell in enumerate(self.cells) if cell]


class _Sheet:
    """Writes one sheet."""

    def __init__(
        self,
        name: str,
        cells: CalamineSheet,
        writer: MarkdownWriter,
        marks: tuple[Formats, Places],
        merged: Sequence[Merged],
    ) -> None:
        self._name, self._cells, self._writer = name, cells, writer
        self._formats, self._without = marks
        self._merged: dict[int, list[Merged]] = {}
        for each in merged[:MAX_MERGED_CELLS]:
            self._merged.setdefault(each[0][0], []).append(each)
        self._left = cells.start[1] if cells.start else 0

    def write(self, *, hidden: bool) -> None:
        """Write its name as a heading, and its tables."""
        quoted = sheet_name(self._name)
        self._writer.place(quoted)
        self._writer.heading(2, f"{self._name} (hidden sheet)" if hidden else self._name)
        for block in self._blocks():
            self._block(quoted, block)

    def _rows(self) -> Iterator[_Row]:
        covered: dict[int, tuple[str, int]] = {}  # of each column, the text of a merged cell and its last row
        for row, values in enumerate(
            self._cells.iter_rows()
        ):  # from row 1 of the sheet, but from its first used column
            cells = [self._shown(row, self._left + column, value) for column, value in enumerate(values[:MAX_COLUMNS])]
            for (_, first), (last_row, last) in self._merged.get(row, ()):
                left, right = first - self._left, min(last - self._left + 1, len(cells))
                covered |= dict.fromkeys(range(left, right), (cells[left], last_row)) if 0 <= left < right else {}
            if any(cells):
                is_text = all(isinstance(value, str) for value, cell in zip(values, cells, strict=False) if cell)
                yield _Row(row + 1, _filled(cells, row, covered), is_text)

    def _shown(self, row: int, column: int, value: Value) -> str:
        form = self._formats.get((row, column))
        if form and isinstance(value, float | int):
            return as_text(round(value * 100, 10)) + "%" if form == "%" else padded(value, form)
        if form == ":" and isinstance(value, str) and (time := _DURATION.fullmatch(value)):
            return f"{time[1]}:{time[2]:0>2}:{time[3]:0>2}"
        if self._without and value == "" and (row, column) in self._without:
            return NO_RESULT
        return as_text(value)

    def _blocks(self) -> Iterator[list[_Row]]:
        """Rows that are one table: an empty row ends it where a header follows, or only a row of other columns."""
        block: list[_Row] = []
        for row in self._rows():
            gap = bool(block) and row.number > block[-1].number + 1
            if gap and (row.is_text or len(row.used) == 1):
                yield block
                block = []
            block.append(row)
        if block:
            yield block

    def _block(self, quoted: str, block: list[_Row]) -> None:
        columns = sorted({column for row in block for column in row.used})
        left, right = columns[0], columns[-1]
        titles = titles_above([len(row.used) for row in block])
        for row in block[:titles]:
            column = row.used[0]
            self._writer.place("", cells=self._place(quoted, row.number, 1, column, column))
            self._writer.block(" ".join(row.cells[column].split()), tight=left == right)
        rest = block[titles:]
        if rest:
            starts = self._starts(quoted, rest, left, right)
            rows = (row.cells[left : right + 1] for row in rest)
            self._writer.table(rows, columns=right - left + 1, cells=starts.get)

    def _starts(self, quoted: str, rows: Sequence[_Row], left: int, right: int) -> dict[int, Place]:
        """The places in a table by the row that they begin with: the header, then rows without a gap, 200 at most."""
        starts: list[int] = [0]
        for at in range(1, len(rows)):
            gap = rows[at].number != rows[at - 1].number + 1
            if at == 1 or gap or at - starts[-1] >= ROWS_OF_A_PLACE:
                starts.append(at)
        return {
            start: self._place(quoted, rows[start].number, stop - start, left, right)
            for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True)
        }

    def _place(self, quoted: str, row: int, rows: int, left: int, right: int) -> Place:
        columns = (column_name(self._left + left), column_name(self._left + right))
        return Place(0, quoted, columns, row, rows)


def _filled(cells: list[str], row: int, covered: dict[int, tuple[str, int]]) -> list[str]:
    """The cells of a row with those that merged ones cover; a merged cell that has the row to itself stands once.

    >>> _filled(["", "Hub"], 2, {0: ("EU", 2)}), _filled(["Budget", ""], 0, {0: ("Budget", 0), 1: ("Budget", 0)})
    (['EU', 'Hub'], ['Budget', ''])
    """
    above = ((covered[at][0] if at in covered and row <= covered[at][1] else "") for at in range(len(cells)))
    filled = [cell or text for cell, text in zip(cells, above, strict=True)]
    return cells if len(set(filled) - {""}) == 1 else filled


def as_text(value: Value) -> str:
    """A value as a sheet shows it without a format.

    >>> as_text(3.0), as_text(0.1 + 0.2), as_text(True), as_text(datetime.datetime(2026, 3, 1)), as_text(" a ")
    ('3', '0.3', 'TRUE', '2026-03-01', 'a')
    >>> as_text(datetime.datetime(2026, 3, 1, 9, 30)), as_text(datetime.timedelta(hours=26, minutes=5)), as_text(1e21)
    ('2026-03-01 09:30', '26:05:00', '1E+21')
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, datetime.datetime):
        time = value.time()
        return value.date().isoformat() + ("" if time == datetime.time() else f" {_time(time)}")
    if isinstance(value, datetime.time):
        return _time(value)
    if isinstance(value, datetime.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
    return value.isoformat() if isinstance(value, datetime.date) else str(value).strip()


def padded(value: float, form: str) -> str:
    """A whole number with the zeros and signs of its format.

    >>> padded(1234.0, "00000"), padded(123456789, "000-00-0000"), padded(-7, "000"), padded(1.5, "00")
    ('01234', '123-45-6789', '-007', '1.5')
    """
    if value != int(value) or abs(value) >= 1e15:
        return as_text(value)
    digits = str(abs(int(value))).zfill(form.count("0"))
    rest = iter(digits[len(digits) - form.count("0") :])
    shown = digits[: len(digits) - form.count("0")] + "".join(next(rest) if sign == "0" else sign for sign in form)
    return "-" * (value < 0) + shown


def _number(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.15g}".replace("e", "E")


def _time(time: datetime.time) -> str:
    return time.strftime("%H:%M:%S" if time.second else "%H:%M")


def _refuse_repeats(package: Package) -> None:
    """Refuse an ODS with a cell that is repeated beyond the ends of a sheet."""
    for kind, count in _REPEATED.findall(package.read("content.xml") or b""):
        if int(count) > (MAX_ROWS if kind == b"rows" else MAX_REPEATED_COLUMNS):
            raise UnsafeFileError(f"a sheet repeats {kind.decode()} {int(count)} times", limit_rows=MAX_ROWS)


def _left_out(package: Package) -> Iterator[str]:
    for start, kind in _LEFT_OUT:
        count = sum(name.startswith(start) and not name.endswith(("/", ".rels")) for name in package.names)
        if count:
            yield f"{kind} of the workbook are left out ({count})"
    drawings = (name for name in package.names if name.startswith("xl/drawings/drawing"))
    boxes = sum(b":t>" in (package.read(name) or b"") for name in drawings)
    if boxes:
        yield f"text boxes of the workbook are left out ({boxes})"
