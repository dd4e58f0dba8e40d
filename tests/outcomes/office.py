"""XLSX, XLS, ODS, PPTX and ODP: good files and bad ones."""

from __future__ import annotations

from tests import document_files, office_files
from tests.outcomes.case import CORRUPT, EMPTY, ENCRYPTED, INDEXED, LARGE, OUTSIDE, UNSAFE, Case
from tests.outcomes.documents import COMPOUND, ENTITY, HOSTILE, MANIFEST, PASSWORD
from tests.outcomes.texts import ARABIC, RUSSIAN

ROWS: office_files.Rows = [["part", "price"], ["seal", 3.5], ["rotor", 12]]
LONG: office_files.Rows = [["part", "price"], *([f"part {n}", n] for n in range(20_000))]
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LINKED = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
SLIDE = '<s r:id="rId1"/>'


def xlsx(changed: dict[str, bytes]) -> bytes:
    return office_files.repacked(office_files.xlsx({"S": ROWS, "T": ROWS}), changed)


def sheets(count: int) -> dict[str, bytes]:
    """A list of so many sheets."""
    listed = "".join(f'<sheet name="s{n}" sheetId="{n + 1}" r:id="rId1"/>' for n in range(count))
    return {"xl/workbook.xml": f"<workbook {MAIN} {LINKED}><sheets>{listed}</sheets></workbook>".encode()}


def sheet(inside: str) -> dict[str, bytes]:
    return {"xl/worksheets/sheet1.xml": f"<worksheet {MAIN}>{inside}</worksheet>".encode()}


CORNER = '<sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
LINK = f'<Relationships {PACKAGE}><Relationship Id="rId1" Type="x/externalLinkPath" Target="{OUTSIDE}" '
XLSX = [
    Case("two sheets", "plain.xlsx", lambda: office_files.xlsx({"S": ROWS, "T": ROWS}), holds="| seal | 3.5 |"),
    Case("names of other scripts, a formula as a name", "цены '26.xlsx", lambda: office_files.xlsx(
         {"Цены 'neu'": [["часть", "цена"], ["насос", 3]], "水泵!=A1": ROWS}), holds="| насос | 3 |"),
    Case("20,000 rows, and a hidden sheet", "long.xlsx", lambda: office_files.xlsx({"S": LONG, "T": ROWS},
         hidden=["T"]), INDEXED, ("hidden sheets",), holds="part 19999"),
    Case("no cell", "empty.xlsx", lambda: office_files.xlsx({"S": []}), EMPTY),
    Case("cut in the middle", "cut.xlsx", lambda: office_files.xlsx({"S": ROWS})[:3_000], CORRUPT),
    Case("a password", "locked.xlsx", lambda: PASSWORD, ENCRYPTED),
    Case("a sheet that unpacks to 80 MB", "bomb.xlsx", lambda: xlsx(sheet("<sheetData/>" + " " * 80_000_000)), UNSAFE),
    Case("entities", "entities.xlsx", lambda: xlsx({"xl/sharedStrings.xml": f"{ENTITY}<sst>&c;</sst>".encode()}),
         UNSAFE),
    Case("100,000 sheets", "sheets.xlsx", lambda: xlsx(sheets(100_000)), LARGE),
    Case("a cell in the last corner", "corner.xlsx", lambda: xlsx(sheet(CORNER + "</sheetData>")), UNSAFE),
    Case("a sheet that is damaged", "damaged.xlsx", lambda: xlsx({"xl/worksheets/sheet1.xml": b"<worksheet><sheetD"}),
         INDEXED, ("1 sheets cannot be read",), holds="| seal | 3.5 |"),
    Case("a workbook outside", "outside.xlsx", lambda: xlsx({
         "xl/externalLinks/externalLink1.xml": f'<externalLink {MAIN} {LINKED}><externalBook r:id="rId1"/>'
         "</externalLink>".encode(), "xl/externalLinks/_rels/externalLink1.xml.rels":
         f'{LINK} TargetMode="External"/></Relationships>'.encode()}), holds="| seal | 3.5 |"),
    Case("parts with hostile names", "names.xlsx", lambda: xlsx(HOSTILE), holds="| seal | 3.5 |"),
    Case("a page of HTML named .xlsx", "page.xlsx", lambda: b"<html><table><tr><td>part<td>3<tr><td>seal<td>4</table>",
         holds="| seal | 4 |"),
]  # fmt: skip

XLS = [
    Case("a sheet", "plain.xls", lambda: office_files.xls({"S": ROWS}), holds="| seal | 3.5 |"),
    Case("names of other scripts", "цены.xls", lambda: office_files.xls({"Цены": [["часть", "цена"], ["насос", 3]]}),
         holds="| насос | 3 |"),
    Case("20,000 rows", "long.xls", lambda: office_files.xls({"S": LONG}), holds="part 19999"),
    Case("no cell", "empty.xls", lambda: office_files.xls({"S": []}), EMPTY),
    Case("cut in the middle", "cut.xls", lambda: office_files.xls({"S": LONG[:2_000]})[:30_000], CORRUPT),
    Case("a password", "locked.xls", lambda: (COMPOUND.ljust(512, b"\0") + b"\x09\x08\x10\0" + b"\0" * 16 + b"\x2f\0")
         .ljust(1_024, b"\0"), ENCRYPTED),
    Case("a head and noise", "noise.xls", lambda: COMPOUND + bytes(range(256)) * 20, CORRUPT),
    Case("a table of HTML named .xls", "page.xls", lambda: b"<html><table><tr><td>part<td>3<tr><td>seal<td>4</table>",
         holds="| seal | 4 |"),
]  # fmt: skip


def ods(body: str) -> bytes:
    """A spreadsheet with this XML as its sheets."""
    names = " ".join(
        f'xmlns:{each}="urn:oasis:names:tc:opendocument:xmlns:{each}:1.0"' for each in ("office", "table", "text")
    )
    whole = (
        f"<office:document-content {names}><office:body><office:spreadsheet>{body}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    return office_files.repacked(office_files.ods({"S": ROWS}), {"content.xml": whole.encode()})


REPEATED = (
    '<table:table table:name="S"><table:table-row table:number-rows-repeated="999999999"><table:table-cell '
    'office:value-type="string" table:number-columns-repeated="999999999"><text:p>x</text:p></table:table-cell>'
    "</table:table-row></table:table>"
)
ODS = [
    Case("a sheet", "plain.ods", lambda: office_files.ods({"S": ROWS}), holds="| seal | 3.5 |"),
    Case("names of other scripts", "цены.ods", lambda: office_files.ods({"Цены": [["часть", "цена"], ["насос", 3]]}),
         holds="| насос | 3 |"),
    Case("20,000 rows", "long.ods", lambda: office_files.ods({"S": LONG}), holds="part 19999"),
    Case("no cell", "empty.ods", lambda: office_files.ods({"S": []}), EMPTY),
    Case("cut in the middle", "cut.ods", lambda: office_files.ods({"S": ROWS})[:-500], CORRUPT),
    Case("a password", "locked.ods", lambda: office_files.packed({
         "mimetype": "application/vnd.oasis.opendocument.spreadsheet", "META-INF/manifest.xml": MANIFEST}), ENCRYPTED),
    Case("a part that unpacks to 80 MB", "bomb.ods", lambda: ods(" " * 80_000_000), UNSAFE),
    Case("entities", "entities.ods", lambda: office_files.repacked(office_files.ods({"S": ROWS}),
         {"content.xml": f"{ENTITY}<a>&c;</a>".encode()}), UNSAFE),
    Case("a cell repeated a billion billion times", "repeated.ods", lambda: ods(REPEATED), UNSAFE),
    Case("the part that names its format is damaged", "unnamed.ods", lambda: office_files.ods({"S": ROWS}).replace(
         b"application/vnd.oasis", b"applic#tion/vnd#oasis"), CORRUPT),
    Case("10,000 sheets", "sheets.ods", lambda: ods("".join(
         f'<table:table table:name="s{n}"/>' for n in range(10_000))), LARGE),
]  # fmt: skip


def deck(changed: dict[str, bytes], count: int = 2) -> bytes:
    return office_files.repacked(slides(count), changed)


def slides(count: int) -> bytes:
    return office_files.presentation(
        [{"title": f"Pump {n}", "text": "It leaks.", "notes": f"Ask Ann of {n}."} for n in range(1, count + 1)]
    )


def listed(count: int) -> dict[str, bytes]:
    return {"ppt/presentation.xml": f"<p {LINKED}><sldIdLst>{SLIDE * count}</sldIdLst></p>".encode()}


DEEP = "<p>" * 3_000
AWAY = (
    f'<Relationships {PACKAGE}><Relationship Id="rId1" Type="x/image" Target="{OUTSIDE}" TargetMode="External"/>'
    '<Relationship Id="rId2" Type="x/notesSlide" Target="../../../../etc/passwd"/></Relationships>'
)
PPTX = [
    Case("slides with notes", "plain.pptx", lambda: slides(2), holds="Ask Ann of 2."),
    Case("other scripts, a hidden slide", "слайды.pptx", lambda: office_files.presentation(
         [{"title": ARABIC, "text": RUSSIAN, "hidden": True}]), INDEXED, ("hidden slides",), holds="Насос течёт"),
    Case("120 slides", "long.pptx", lambda: slides(120), holds="Ask Ann of 120."),
    Case("no words", "empty.pptx", lambda: office_files.presentation([]), EMPTY),
    Case("cut in the middle", "cut.pptx", lambda: slides(2)[:9_000], CORRUPT),
    Case("a password", "locked.pptx", lambda: PASSWORD, ENCRYPTED),
    Case("a slide that unpacks to 80 MB", "bomb.pptx", lambda: deck({"ppt/slides/slide1.xml": b" " * 80_000_000}),
         UNSAFE),
    Case("entities", "entities.pptx", lambda: deck({"ppt/slides/slide1.xml": f"{ENTITY}<a>&c;</a>".encode()}), UNSAFE),
    Case("3,000 nested elements", "deep.pptx", lambda: deck({"ppt/slides/slide1.xml":
         f"<a>{DEEP}{DEEP.replace('<', '</')}</a>".encode()}), UNSAFE),
    Case("6,000 slides", "slides.pptx", lambda: deck(listed(6_000)), LARGE),
    Case("a million slides", "million.pptx", lambda: deck(listed(1_000_000)), UNSAFE),
    Case("a slide that is damaged", "damaged.pptx", lambda: deck({"ppt/slides/slide1.xml": b"<p:sld"}), INDEXED,
         ("1 of 2 slides cannot be read",), holds="Ask Ann of 2."),
    Case("the part that links a slide is damaged", "links.pptx", lambda: deck(
         {"ppt/slides/_rels/slide1.xml.rels": b"<Relationsh"}), INDEXED, ("link slides and notes",), holds="Pump 1"),
    Case("pictures outside, notes at hostile addresses", "outside.pptx", lambda: deck(
         {"ppt/slides/_rels/slide1.xml.rels": AWAY.encode()}), INDEXED, ("notes",), holds="Pump 1"),
    Case("a Word document named .pptx", "word.pptx", lambda: document_files.docx(document_files.paragraph("The pump")),
         holds="The pump"),
]  # fmt: skip


def odp(body: str) -> bytes:
    """A presentation with this XML as its pages."""
    whole = f'<a xmlns:t="t" xmlns:x="x"><body><presentation>{body}</presentation></body></a>'
    return office_files.repacked(office_files.odp([("A", "b")]), {"content.xml": whole.encode()})


def page(text: str) -> str:
    return f"<page><frame><text-box><p>{text}</p></text-box></frame></page>"


ODP = [
    Case("two slides", "plain.odp", lambda: office_files.odp([("Pumps", "They leak."), ("Parts", "A seal.")]),
         holds="A seal."),
    Case("other scripts", "слайды.odp", lambda: office_files.odp([(ARABIC, RUSSIAN)]), holds="Насос течёт"),
    Case("2,000 slides", "long.odp", lambda: odp("".join(page(f"Part {n} of it.") for n in range(2_000))),
         holds="Part 1999"),
    Case("no words", "empty.odp", lambda: odp(""), EMPTY),
    Case("cut in the middle", "cut.odp", lambda: office_files.odp([("Pumps", "They leak.")])[:-500], CORRUPT),
    Case("a password", "locked.odp", lambda: office_files.packed({
         "mimetype": "application/vnd.oasis.opendocument.presentation", "META-INF/manifest.xml": MANIFEST}), ENCRYPTED),
    Case("a part that unpacks to 80 MB", "bomb.odp", lambda: odp(page("x") + " " * 80_000_000), UNSAFE),
    Case("100,000 slides", "slides.odp", lambda: odp(page("x") * 100_000), UNSAFE),
    Case("6,000 slides", "pages.odp", lambda: odp("".join(page(f"Part {n * 7919}.") for n in range(6_000))), LARGE),
    Case("entities of a file outside", "entities.odp", lambda: office_files.repacked(office_files.odp([("A", "b")]), {
         "content.xml": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'}), UNSAFE),
]  # fmt: skip
