"""Office files, books and mails for tests, written by the libraries that people write them with, or by hand."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from typing import Any

import openpyxl
import pptx
import xlwt
from odf.draw import Frame, Page, TextBox
from odf.opendocument import OpenDocumentPresentation, OpenDocumentSpreadsheet, OpenDocumentText
from odf.style import MasterPage, PageLayout
from odf.table import Table, TableCell, TableRow
from odf.text import H, List, ListItem, P

Rows = Sequence[Sequence[Any]]


def xlsx(sheets: Mapping[str, Rows], *, hidden: Sequence[str] = (), formats: Mapping[str, str] | None = None) -> bytes:
    """A workbook; *formats* gives number formats by cells of the first sheet, such as `B2`."""
    book = openpyxl.Workbook()
    del book["Sheet"]
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        sheet.sheet_state = "hidden" if name in hidden else "visible"
    for cell, code in (formats or {}).items():
        book.worksheets[0][cell].number_format = code
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def xls(sheets: Mapping[str, Rows]) -> bytes:
    """A workbook of Excel 97."""
    book = xlwt.Workbook()
    for name, rows in sheets.items():
        sheet = book.add_sheet(name)
        for at, row in enumerate(rows):
            for column, value in enumerate(row):
                sheet.write(at, column, value)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def ods(sheets: Mapping[str, Rows]) -> bytes:
    """A spreadsheet of OpenDocument."""
    book = OpenDocumentSpreadsheet()
    for name, rows in sheets.items():
        table = Table(name=name)
        for row in rows:
            written_row = TableRow()
            for value in row:
                number = isinstance(value, int | float)
                cell = TableCell(valuetype="float", value=value) if number else TableCell(valuetype="string")
                cell.addElement(P(text=str(value)))
                written_row.addElement(cell)
            table.addElement(written_row)
        book.spreadsheet.addElement(table)
    return _saved(book)


def presentation(slides: Sequence[Mapping[str, Any]]) -> bytes:
    """Slides, each with some of `title`, `text`, `notes`, `table` and `hidden`."""
    deck = pptx.Presentation()
    for held in slides:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = held.get("title", "")
        slide.placeholders[1].text = held.get("text", "")
        if "table" in held:
            rows = held["table"]
            size = [pptx.util.Inches(1)] * 4
            table = slide.shapes.add_table(len(rows), len(rows[0]), *size).table
            for at, row in enumerate(rows):
                for column, value in enumerate(row):
                    table.cell(at, column).text = value
        if "notes" in held:
            slide.notes_slide.notes_text_frame.text = held["notes"]
        if held.get("hidden"):
            slide.element.set("show", "0")
    written = io.BytesIO()
    deck.save(written)
    return written.getvalue()


def odt(headings: Mapping[str, Sequence[str]], rows: Rows = ()) -> bytes:
    """A text: paragraphs under headings, then a list of them, then a table."""
    text = OpenDocumentText()
    for heading, paragraphs in headings.items():
        text.text.addElement(H(outlinelevel=1, text=heading))
        for paragraph in paragraphs:
            text.text.addElement(P(text=paragraph))
    items = List()
    for heading in headings:
        item = ListItem()
        item.addElement(P(text=f"see {heading}"))
        items.addElement(item)
    text.text.addElement(items)
    if rows:
        table = Table(name="t")
        for row in rows:
            written_row = TableRow()
            for value in row:
                cell = TableCell()
                cell.addElement(P(text=str(value)))
                written_row.addElement(cell)
            table.addElement(written_row)
        text.text.addElement(table)
    return _saved(text)


def odp(slides: Sequence[tuple[str, str]]) -> bytes:
    """Slides of a title and a text each."""
    deck = OpenDocumentPresentation()
    layout = PageLayout(name="l")
    deck.automaticstyles.addElement(layout)
    master = MasterPage(name="m", pagelayoutname=layout)
    deck.masterstyles.addElement(master)
    for title, text in slides:
        page = Page(masterpagename=master)
        for kind, words in (("title", title), ("outline", text)):
            frame = Frame(width="5cm", height="2cm")
            frame.setAttrNS("urn:oasis:names:tc:opendocument:xmlns:presentation:1.0", "class", kind)
            box = TextBox()
            box.addElement(P(text=words))
            frame.addElement(box)
            page.addElement(frame)
        deck.presentation.addElement(page)
    return _saved(deck)


def _saved(document: Any) -> bytes:
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def epub(chapters: Sequence[str], *, parts: Mapping[str, str] | None = None) -> bytes:
    """A book whose chapters are pages of HTML."""
    items = "".join(
        f'<item id="c{at}" href="c{at}.xhtml" media-type="application/xhtml+xml"/>' for at in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{at}"/>' for at in range(len(chapters)))
    held = {
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OPS/book.opf"/></rootfiles></container>',
        "OPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata><dc:title>Pumps</dc:title><dc:creator>Ann</dc:creator></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        **{f"OPS/c{at}.xhtml": f"<html><body>{chapter}</body></html>" for at, chapter in enumerate(chapters)},
        **(parts or {}),
    }
    return packed({"mimetype": "application/epub+zip", **held})


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive of these parts."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            stored = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(name, content, stored)
    return written.getvalue()


def repacked(body: bytes, changed: Mapping[str, bytes]) -> bytes:
    """The archive *body* with some parts changed."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    return packed({**held, **changed})


def mail(
    text: str, *, subject: str = "The pump", attachments: Mapping[str, bytes] | None = None, html: str = ""
) -> bytes:
    """A mail of Ann's to Bob."""
    return mail_message(text, subject=subject, attachments=attachments, html=html).as_bytes()


def mail_message(
    text: str, *, subject: str = "The pump", attachments: Mapping[str, bytes] | None = None, html: str = ""
) -> EmailMessage:
    """The same as an object."""
    message = EmailMessage()
    message["From"], message["To"] = "Ann <ann@example.com>", "bob@example.com"
    message["Subject"], message["Date"] = subject, "Fri, 01 May 2026 10:00:00 +0000"
    message["Message-ID"] = "<1@example.com>"
    message["MIME-Version"] = "1.0"
    if text or not html:
        message.set_content(text)
    if html and text:
        message.add_alternative(html, subtype="html")
    elif html:
        message.set_content(html, subtype="html")
    for name, body in (attachments or {}).items():
        message.add_attachment(body, maintype="application", subtype="octet-stream", filename=name)
    return message


def odf(kind: str, inner: str, styles: str = "") -> bytes:
    """The parts of an OpenDocument file with this content."""
    names = "office style table text"
    declared = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names.split())
    content = (
        f"<office:document-content {declared}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{inner}</office:{kind}></office:body></office:document-content>"
    )
    plain = ods({"S": [["x"]]}) if kind == "spreadsheet" else odt({"x": []})
    return repacked(plain, {"content.xml": content.encode()})


def _cell(text: str, spans: str = "") -> str:
    """A cell of an OpenDocument table."""
    return f'<table:table-cell office:value-type="string" {spans}><text:p>{text}</text:p></table:table-cell>'


def _row(*cells: str) -> str:
    """A row of an OpenDocument table."""
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


_COVERED = "<table:covered-table-cell/>"


OPEN_ROWS = (
    _row(_cell("Flows", 'table:number-columns-spanned="3"'), _COVERED, _COVERED)
    + _row(_cell("hall"), _cell("pump"), _cell("flow"))
    + _row(_cell("North", 'table:number-rows-spanned="2"'), _cell("P1"), _cell("4"))
    + _row(_COVERED, _cell("P2"), _cell("7"))
    + _row(_cell("South"), _cell("none", 'table:number-columns-spanned="2"'), _COVERED)
)
