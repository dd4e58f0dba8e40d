"""PDF, DOCX, ODT, RTF and EPUB: good files and bad ones."""

from __future__ import annotations

import zlib

from tests import document_files, office_files
from tests.document_files import paragraph
from tests.outcomes.case import CORRUPT, EMPTY, ENCRYPTED, INDEXED, LARGE, OUTSIDE, UNSAFE, Case
from tests.outcomes.texts import ARABIC, RUSSIAN

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how files of the old Office begin
PASSWORD = COMPOUND + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 900
"""An Office file with a password, whichever it is."""
ENTITY = '<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]>'
HOSTILE = {"../../../../tmp/x.xml": b"<x/>", "/etc/passwd": b"x", "C:\\x.xml": b"<x/>", "x/\n.xml": b"<x/>"}
MANIFEST = '<manifest:encryption-data xmlns:manifest="m"/>'


def encrypted_pdf() -> bytes:
    """A PDF whose password is not the empty one."""
    lock = b"/Encrypt<</Filter/Standard/V 1/R 2/O<" + b"41" * 32 + b">/U<" + b"42" * 32 + b">/P -4>>/ID[<00><00>]/Root"
    return document_files.pdf(["The pump leaks."]).replace(b"/Root", lock)


def flate_pdf(content: bytes) -> bytes:
    """A PDF whose only page has this packed content."""
    packed = zlib.compress(content, 9)
    head = b"<</Length %d/Filter/FlateDecode>>stream\n" % len(packed)
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[4 0 R]>>",
        head + packed + b"\nendstream",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 3 0 R>>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + table + b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(body)


def pages(count: int) -> bytes:
    return document_files.pdf(*[[f"Page {number} of the pump."] for number in range(1, count + 1)])


PDF = [
    Case("two pages", "plain.pdf", lambda: pages(2), holds="Page 2 of the pump."),
    Case("words with brackets, an odd name", "Pumpe (neu)#1.pdf", lambda: document_files.pdf([r"The \(red\) pump"]),
         holds="The (red) pump"),
    Case("2,000 pages", "long.pdf", lambda: pages(2_000), holds="Page 2000"),
    Case("a page without text", "empty.pdf", lambda: document_files.pdf([]), EMPTY),
    Case("the end is cut off", "cut.pdf", lambda: pages(30)[:-12], INDEXED, ("damaged",), holds="Page 30"),
    Case("the table of its parts is cut off, too", "third.pdf", lambda: pages(30)[:-900], CORRUPT),
    Case("a head and nothing else", "head.pdf", lambda: b"%PDF-1.7\n", CORRUPT),
    Case("a password", "locked.pdf", encrypted_pdf, ENCRYPTED),
    Case("5,001 pages", "pages.pdf", lambda: pages(5_001), LARGE),
    Case("pages that are their own parent", "loop.pdf", lambda: pages(1).replace(b"/Kids[5 0 R]", b"/Kids[2 0 R]"),
         CORRUPT),
    Case("a page that unpacks to 600 MB", "bomb.pdf", lambda: flate_pdf(b"BT (x) Tj ET " + b" " * 600_000_000), UNSAFE),
    Case("actions that open pages outside", "action.pdf", lambda: pages(1).replace(
         b"/Type/Catalog", f"/Type/Catalog/OpenAction<</S/URI/URI({OUTSIDE})>>".encode()), INDEXED, ("damaged",),
         holds="Page 1"),
    Case("a Word document named .pdf", "word.pdf", lambda: document_files.docx(paragraph("The pump")),
         holds="The pump"),
]  # fmt: skip


def relations(target: str) -> dict[str, str]:
    return {
        "word/_rels/document.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        'relationships"><Relationship Id="r9" TargetMode="External" Type="http://schemas.openxmlformats.org/'
        f'officeDocument/2006/relationships/attachedTemplate" Target="{target}"/></Relationships>'
    }


DOCX = [
    Case("headings and a table", "plain.docx", lambda: document_files.docx(
         paragraph("Pump", "Heading1") + document_files.table(("part", "price"), ("seal", "3"))), holds="| seal | 3 |"),
    Case("three scripts, marks of HTML", "مضخة насос.docx", lambda: document_files.docx(
         paragraph(ARABIC) + paragraph(RUSSIAN) + paragraph("&lt;script&gt; a | b")), holds="<script> a | b"),
    Case("20,000 paragraphs", "long.docx", lambda: document_files.docx("".join(
         paragraph(f"Part {n} of the pump.") for n in range(20_000))), holds="Part 19999"),
    Case("no words", "empty.docx", lambda: document_files.docx(paragraph("")), EMPTY),
    Case("cut in the middle", "cut.docx", lambda: document_files.docx(paragraph("The pump leaks. " * 50))[:700],
         CORRUPT),
    Case("a password", "locked.docx", lambda: PASSWORD, ENCRYPTED),
    Case("a part that unpacks to 80 MB", "bomb.docx", lambda: document_files.docx("<w:p/>" + " " * 80_000_000), UNSAFE),
    Case("entities", "entities.docx", lambda: document_files.docx(paragraph("x"), before=ENTITY), UNSAFE),
    Case("3,000 tables within each other", "deep.docx", lambda: document_files.docx(
         "<w:tbl><w:tr><w:tc>" * 3_000 + paragraph("x") + "</w:tc></w:tr></w:tbl>" * 3_000), UNSAFE),
    Case("a template outside", "outside.docx", lambda: document_files.docx(paragraph("The pump"),
         parts=relations(OUTSIDE)), holds="The pump"),
    Case("parts with hostile names", "names.docx", lambda: office_files.repacked(
         document_files.docx(paragraph("The pump")), HOSTILE), holds="The pump"),
    Case("bytes of nothing known", "noise.docx", lambda: b"\0\x01\x02" * 400, CORRUPT),
]  # fmt: skip


def odt(body: str) -> bytes:
    """A text document with this XML as its text."""
    whole = f'<a xmlns:t="t" xmlns:x="x"><body><text>{body}</text></body></a>'
    return office_files.repacked(office_files.odt({"Pump": ["x"]}), {"content.xml": whole.encode()})


ODT = [
    Case("headings, a list and a table", "plain.odt", lambda: office_files.odt({"Pump": ["It leaks."]},
         rows=[["part", "price"], ["seal", 3]]), holds="| seal | 3 |"),
    Case("other scripts, an odd name", "насос'\".odt", lambda: office_files.odt({ARABIC: [RUSSIAN]}), holds="المضخة"),
    Case("20,000 paragraphs", "long.odt", lambda: odt("".join(f"<p>Part {n} of it.</p>" for n in range(20_000))),
         holds="Part 19999"),
    Case("no words", "empty.odt", lambda: office_files.odt({}), EMPTY),
    Case("cut in the middle", "cut.odt", lambda: office_files.odt({"Pump": ["It leaks."]})[:-500], CORRUPT),
    Case("a password", "locked.odt", lambda: document_files.odt(MANIFEST), ENCRYPTED),
    Case("a part that unpacks to 80 MB", "bomb.odt", lambda: odt("<p>x</p>" + " " * 80_000_000), UNSAFE),
    Case("entities", "entities.odt", lambda: office_files.repacked(office_files.odt({"A": ["b"]}),
         {"content.xml": f"{ENTITY}<a>&c;</a>".encode()}), UNSAFE),
    Case("100,000 nested sections", "deep.odt", lambda: odt("<section>" * 100_000 + "x" + "</section>" * 100_000),
         UNSAFE),
    Case("columns and rows repeated a billion times", "repeated.odt", lambda: odt(
         '<table><table-row t:number-rows-repeated="999999999"><table-cell t:number-columns-repeated="999999999">'
         "<p>pump</p></table-cell></table-row></table>"), INDEXED, ("repeated",), holds="pump"),
    Case("links and pictures outside", "outside.odt", lambda: odt(f'<p><a x:href="{OUTSIDE}">pump</a><frame>'
         f'<image x:href="{OUTSIDE}"/></frame></p>'), INDEXED, ("pictures without a description",), holds="pump"),
]  # fmt: skip

RTF = [
    Case("paragraphs", "plain.rtf", lambda: rb"{\rtf1\ansi The pump leaks.\par Call Ann.\par}", holds="Call Ann."),
    Case("other scripts by number", "насос.rtf", lambda: b"{\\rtf1\\ansi " + "".join(
         f"\\u{ord(each)}?" for each in "Насос 水泵").encode() + b"\\par}", holds="Насос 水泵"),
    Case("20,000 paragraphs", "long.rtf", lambda: b"{\\rtf1\\ansi " + b"".join(
         b"Part %d of the pump.\\par\n" % n for n in range(20_000)) + b"}", holds="Part 19999"),
    Case("no words", "empty.rtf", lambda: b"{\\rtf1\\ansi }", EMPTY),
    Case("cut in the middle", "cut.rtf", lambda: rb"{\rtf1\ansi {\b The pump leaks.\par Call", INDEXED, ("truncated",),
         holds="The pump leaks."),
    Case("a head and nothing else", "head.rtf", lambda: b"{\\rtf1 ", CORRUPT),
    Case("a million groups that never close", "groups.rtf", lambda: b"{\\rtf1 pump" + b"{" * 1_000_000, INDEXED,
         ("truncated",), holds="pump"),
    Case("bytes of a picture beyond the end", "binary.rtf", lambda: rb"{\rtf1 The pump {\pict\bin999999999 x} leaks}",
         INDEXED, ("truncated", "pictures"), holds="The pump"),
    Case("characters beyond Unicode", "beyond.rtf", lambda: rb"{\rtf1 The pump \u99999999999? leaks\par}",
         INDEXED, ("could not be decoded",), holds="leaks"),
    Case("a picture and a template outside", "outside.rtf", lambda: rb"{\rtf1{\*\template http://127.0.0.1:9/x}"
         rb'{\field{\*\fldinst INCLUDEPICTURE "http://127.0.0.1:9/x"}{\fldrslt The pump}}}', holds="The pump"),
    Case("RTF named .doc", "letter.doc", lambda: rb"{\rtf1 The pump leaks.\par}", holds="The pump leaks."),
]  # fmt: skip


def book(count: int, hrefs: str = "c{}.xhtml") -> dict[str, bytes]:
    """The list of a book of so many chapters, at these addresses."""
    items = "".join(f'<item id="c{n}" href="{hrefs.format(n)}" media-type="application/xhtml+xml"/>'
                    for n in range(count))  # fmt: skip
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(count))
    return {
        "OPS/book.opf": '<package><metadata><title>Pumps</title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>".encode(),
    }  # fmt: skip


LOCKED = '<encryption><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></encryption>'
EPUB = [
    Case("two chapters", "plain.epub", lambda: office_files.epub(["<p>Oil it.</p>", "<p>A seal.</p>"]),
         holds="A seal."),
    Case("other scripts, names with spaces", "книга.epub", lambda: office_files.repacked(office_files.epub(["x"]), {
         **book(1, "Гл%20{}.xhtml"), "OPS/Гл 0.xhtml": f"<html><body>{ARABIC}</body></html>".encode()}),
         holds="المضخة"),
    Case("1,000 chapters", "long.epub", lambda: office_files.epub([f"<h1>{n}</h1><p>Part {n} of it.</p>"
         for n in range(1_000)]), holds="Part 999"),
    Case("chapters without words", "empty.epub", lambda: office_files.epub([""]), EMPTY),
    Case("cut in the middle", "cut.epub", lambda: office_files.epub(["<p>Oil it.</p>"])[:-300], CORRUPT),
    Case("protected against copying", "locked.epub", lambda: office_files.epub(["x"],
         parts={"META-INF/encryption.xml": LOCKED}), ENCRYPTED),
    Case("a chapter that is missing", "missing.epub", lambda: office_files.repacked(office_files.epub(["<p>Oil it."]),
         book(3)), INDEXED, ("2 of 3 chapters",), holds="Oil it."),
    Case("6,000 chapters", "chapters.epub", lambda: office_files.repacked(office_files.epub(["x"]), book(6_000)),
         LARGE),
    Case("chapters at addresses outside the book", "names.epub", lambda: office_files.repacked(
         office_files.epub(["x"]), book(1, "../../../../etc/passwd")), CORRUPT),
    Case("a chapter of 5,000 nested elements", "deep.epub", lambda: office_files.epub(["<div>" * 5_000 + "x"]), UNSAFE),
    Case("a chapter that unpacks to 80 MB", "bomb.epub", lambda: office_files.epub(["x" + " " * 80_000_000]), UNSAFE),
    Case("pictures and styles outside", "outside.epub", lambda: office_files.epub(
         [f'<img src="{OUTSIDE}"/><link href="{OUTSIDE}"/><p>The pump</p>']), holds="The pump"),
]  # fmt: skip
