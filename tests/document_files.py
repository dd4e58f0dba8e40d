"""Small files of binary formats, made from nothing, for tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
SCAN = ["<picture>"]
"""A page of a PDF that shows a picture and no text."""
PICTURE_PARTS = {
    "word/_rels/document.xml.rels": "<Relationships "
    'xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="p1" Target="media/a.png" '
    f'Type="{_OFFICE}/image"/></Relationships>',
    "word/media/a.png": "<x/>",
}
_TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml"
 ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
_RELATIONS = """<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="r1" Target="word/document.xml"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>"""
_STYLES = '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of a Word document."""
    chosen = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{chosen}<w:r><w:t>{text}</w:t></w:r></w:p>"


def picture(description: str) -> str:
    """A run of a Word document that shows the picture of PICTURE_PARTS."""
    return (
        f'<w:r><w:drawing><wp:inline xmlns:wp="{_DRAWING}/wordprocessingDrawing" xmlns:a="{_DRAWING}/main" '
        f'xmlns:pic="{_DRAWING}/picture" xmlns:r="{_OFFICE}"><wp:docPr id="1" name="P" descr="{description}"/>'
        "<a:graphic>"
        '<a:graphicData><pic:pic><pic:blipFill><a:blip r:embed="p1"/></pic:blipFill></pic:pic></a:graphicData>'
        "</a:graphic></wp:inline></w:drawing></w:r>"
    )


def table(*rows: tuple[str, ...]) -> str:
    """A table of a Word document."""
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"


def docx(body: str, *, before: str = "", parts: Mapping[str, str] | None = None, styles: str = _STYLES) -> bytes:
    """A Word document with *body* between its body tags, and *before* between the XML declaration and its root.

    *parts* are further parts by name.
    """
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELATIONS)
        archive.writestr("word/styles.xml", f'<?xml version="1.0"?><w:styles xmlns:w="{WORD}">{styles}</w:styles>')
        for name, content in (parts or {}).items():
            archive.writestr(name, f'<?xml version="1.0"?>{content}')
        document = f'{before}<w:document xmlns:w="{WORD}" xmlns:m="{MATH}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", f'<?xml version="1.0"?>{document}')
    return held.getvalue()


def odt(manifest: str) -> bytes:
    """An OpenDocument file with this manifest."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text", zipfile.ZIP_STORED)
        archive.writestr("META-INF/manifest.xml", manifest)
    return held.getvalue()


def pdf(*pages: list[str]) -> bytes:
    """A PDF of these pages, each a list of lines."""
    contents = []
    for lines in pages:
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        scan = "q 50 0 0 50 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q"
        contents.append(scan if lines is SCAN else f"BT /F1 12 Tf 50 700 Td {shown} ET")
    return pdf_of(*contents)


def pdf_of(*contents: str) -> bytes:
    """A PDF whose pages have these content streams; F1 is Helvetica, F2 Courier and F3 Helvetica bold."""
    fonts = [f"<</Type/Font/Subtype/Type1/BaseFont/{name}>>" for name in ("Helvetica", "Courier", "Helvetica-Bold")]
    return _pdf_with_fonts(contents, fonts)


def pdf_of_glyphs(content: str, characters: Mapping[int, str]) -> bytes:
    """A PDF of a page whose font F1 has glyphs of half an em, which a map turns into *characters*; F2 is Helvetica."""
    lines = "".join(f"<{glyph:04x}> <{text.encode('utf-16-be').hex()}>\n" for glyph, text in characters.items())
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def 1 begincodespacerange\n"
        f"<0000> <ffff>\nendcodespacerange\n{len(characters)} beginbfchar\n{lines}endbfchar endcmap end end"
    )
    described = "<</Type/FontDescriptor/FontName/A/Flags 4/FontBBox[0 -200 1000 800]/ItalicAngle 0/Ascent 800"
    inner = (
        "<</Type/Font/Subtype/CIDFontType2/BaseFont/A/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
        f"/DW 500/FontDescriptor {described}/Descent -200/CapHeight 700/StemV 80>>>>"
    )
    font = f"<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[{inner}]/ToUnicode 4 0 R>>"
    return _pdf_with_fonts([content], [font, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>", "null"], cmap)


def _pdf_with_fonts(contents: Sequence[str], fonts: Sequence[str], cmap: str = "") -> bytes:
    objects = ["<</Type/Catalog/Pages 2 0 R>>", "", fonts[0]]
    if cmap:
        objects.append(f"<</Length {len(cmap)}>>stream\n{cmap}\nendstream")
    kids = []
    for content in contents:
        objects.append(f"<</Length {len(content)}>>stream\n{content}\nendstream")
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {len(objects)} 0 R"
            f"/Resources<</Font<</F1 3 0 R/F2 {fonts[1]}/F3 {fonts[2]}>>>>>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(kids)}]>>"
    body, places = b"%PDF-1.4\n", []
    for number, held in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{held}\nendobj\n".encode("latin-1")
    table_start = len(body)
    body += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    body += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    return body + f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{table_start}\n%%EOF\n".encode()
