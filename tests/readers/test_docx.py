"""Word documents lose no meaning: powers, strikes, merged cells, automatic numbers, fields and signs."""

import pytest

from readers.office.docx import read_docx
from readers.parsed import ParsedDocument
from readers.read_errors import CorruptFileError
from tests import document_files
from tests.document_files import WORD, docx, picture
from tests.reading import of_table, parse

STYLES = """
<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/>
</w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Heading2"><w:name w:val="heading 2"/><w:basedOn w:val="Heading1"/><w:pPr>
<w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/><w:pPr><w:numPr><w:numId w:val="3"/></w:numPr>
</w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Chapter"><w:name w:val="Chapter"/><w:basedOn w:val="Heading1"/></w:style>
<w:style w:type="paragraph" w:styleId="Index"><w:name w:val="Index"/><w:basedOn w:val="Heading1"/><w:pPr><w:numPr>
<w:numId w:val="0"/></w:numPr><w:outlineLvl w:val="9"/></w:pPr></w:style>
<w:style w:type="character" w:styleId="Up"><w:name w:val="Up"/>
<w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Upper"><w:name w:val="Upper"/><w:basedOn w:val="Up"/></w:style>
<w:style w:type="character" w:styleId="Gone"><w:name w:val="Gone"/><w:rPr><w:dstrike/></w:rPr></w:style>
"""


LISTS = (
    (("upperRoman", "%1."), ("decimal", "%1.%2", "<w:isLgl/>")),
    (("decimal", "%1."), ("lowerLetter", "%2)")),
    (("decimal", "%1"), ("decimal", "%1.%2", '<w:pStyle w:val="Clause"/>'), ("lowerRoman", "(%3)")),
    (("bullet", "x"),),
    (("cardinalText", "%1"),),
)


RAISED = '<w:vertAlign w:val="superscript"/>'


def numbering() -> str:
    """The lists of LISTS with the numbers 1 to 5, and 6, which counts in the second list from seven."""
    lists = ""
    for at, levels in enumerate(LISTS):
        inner = "".join(
            f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{"".join(more)}<w:lvlText '
            f'w:val="{text}"/></w:lvl>'
            for level, (form, text, *more) in enumerate(levels)
        )
        lists += f'<w:abstractNum w:abstractNumId="{at}">{inner}</w:abstractNum>'
    numbers = "".join(f'<w:num w:numId="{at + 1}"><w:abstractNumId w:val="{at}"/></w:num>' for at in range(len(LISTS)))
    again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    numbers += f'<w:num w:numId="6"><w:abstractNumId w:val="1"/>{again}</w:num>'
    return f'<w:numbering xmlns:w="{WORD}">{lists}{numbers}</w:numbering>'


def read(body: str) -> ParsedDocument:
    return read_docx(docx(body, parts={"word/numbering.xml": numbering()}, styles=STYLES))


def run(text: str, look: str = "") -> str:
    return f'<w:r><w:rPr>{look}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def p(*runs: str, look: str = "") -> str:
    return f"<w:p><w:pPr>{look}</w:pPr>{''.join(runs)}</w:p>"


def cell(text: str, look: str = "") -> str:
    return f"<w:tc><w:tcPr>{look}</w:tcPr>{p(run(text))}</w:tc>"


def row(*cells: str, look: str = "") -> str:
    return f"<w:tr><w:trPr>{look}</w:trPr>{''.join(cells)}</w:tr>"


def numbered(number: int, level: int = 0) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'


def styled(name: str) -> str:
    return f'<w:pStyle w:val="{name}"/>'


OPEN, BETWEEN, CLOSE = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))


BOX = OPEN.replace("/></w:r>", "><w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r>")


LINKED = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


CHOICE = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'


NAMES = f'xmlns:w="{document_files.WORD}" xmlns:m="{document_files.MATH}"'


def text(name: str, held: str) -> str:
    return f"<m:{name}><m:r><m:t>{held}</m:t></m:r></m:{name}>"


WHOLE = document_files.docx(document_files.paragraph("The pump leaks. " * 50))


def warned(document: ParsedDocument, words: str) -> bool:
    return any(words in warning for warning in document.warnings)


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        (run("10") + run("4", '<w:vertAlign w:val="superscript"/>') + run(" crates"), "10⁴ crates"),
        (run("CO") + run("2", '<w:vertAlign w:val="subscript"/>') + run(" gas"), "CO₂ gas"),
        (run("2") + run("40", '<w:rStyle w:val="Upper"/>') + run(" states"), "2⁴⁰ states"),
        (run("2") + run("8", '<w:position w:val="8"/><w:sz w:val="14"/>') + run(" states"), "2⁸ states"),
        (run("2") + run("n", RAISED + "<w:i/>") + run("+1", RAISED) + run(" ways"), "2^(n+1) ways"),
        (run("Fee: ") + run("9", "<w:strike/>") + run(" 7 francs"), "Fee: ~~9~~ 7 francs"),
        (run("9 ", "<w:strike/>") + run("francs", "<w:strike/><w:b/>") + run(" 7"), "~~9 francs~~ 7"),
        (run("Fee: ") + run("9", '<w:rStyle w:val="Gone"/>') + run(" 7"), "Fee: ~~9~~ 7"),
        (run("Fee: ") + run("9", '<w:strike w:val="0"/>'), "Fee: 9"),
    ],
)
def test_raised_lowered_and_struck_text_is_marked_also_where_a_style_says_so(runs: str, text: str) -> None:
    assert read(p(runs)).text.strip() == text


def test_hidden_text_is_left_out_with_a_warning() -> None:
    document = read(p(run("It leaks."), run(" Ask Bob.", "<w:vanish/>"), run(" Now.", '<w:vanish w:val="0"/>')))

    assert document.text == "It leaks. Now.\n"
    assert document.warnings == ("hidden text of the Word document is left out",)


def test_deleted_text_is_left_out_with_a_warning_and_inserted_text_stays() -> None:
    change = '<w:del w:id="1"><w:r><w:delText>nine</w:delText></w:r></w:del><w:ins w:id="2">' + run("ten") + "</w:ins>"

    document = read(p(run("Bring "), change, run(" pipes.")))

    assert document.text == "Bring ten pipes.\n"
    assert document.warnings == ("text deleted under tracked changes is left out",)


def test_merged_cells_fill_what_they_cover_and_rows_may_begin_inside_the_table() -> None:
    table = "<w:tbl><w:tblPr/>" + row(cell("Site"), cell("Tool"), cell("Count"))
    table += '<w:bookmarkStart w:id="1" w:name="here"/>'
    table += row(cell("North", '<w:vMerge w:val="restart"/>'), cell("Saw"), cell("4"))
    table += row(cell("", "<w:vMerge/>"), cell("Axe"), cell("9"))
    table += row(cell("Rope"), cell("5"), look='<w:gridBefore w:val="1"/>')
    table += row(cell("All", '<w:gridSpan w:val="2"/>'), cell("18"))
    table += row(cell("Left", '<w:hMerge w:val="restart"/>'), cell("", "<w:hMerge/>"), cell("2")) + "</w:tbl>"

    rows = [line for line in read(table).text.splitlines() if line]

    assert rows[2:] == [
        "| North | Saw | 4 |",
        "| North | Axe | 9 |",
        "|  | Rope | 5 |",
        "| All | All | 18 |",
        "| Left | Left | 2 |",
    ]


def test_lists_and_tables_in_a_cell_leave_the_table_a_table() -> None:
    inner = "<w:tbl>" + row(cell("nut"), cell("M8")) + row(cell("bolt"), cell("M6")) + "</w:tbl>"
    items = f"<w:tc>{p(run('oil it'), look=numbered(2))}{p(run('turn it'), look=numbered(2))}</w:tc>"
    table = "<w:tbl>" + row(cell("Part"), cell("Work")) + row(f"<w:tc>{inner}{p()}</w:tc>", items) + "</w:tbl>"

    assert "| nut, M8; bolt, M6; | 1. oil it 2. turn it |" in read(table).text


def test_headings_have_the_numbers_that_word_counts() -> None:
    body = "".join(
        p(run(text), look=styled(f"Heading{level}"))
        for level, text in ((1, "Aims"), (2, "Why"), (2, "Where"), (1, ""), (1, "Work"), (2, "Tools"))
    )

    document = read(body)

    assert [heading.text for heading in document.headings] == [
        "I. Aims", "1.1 Why", "1.2 Where", "III. Work", "3.1 Tools",
    ]  # fmt: skip


def test_headings_of_styles_with_other_names_are_headings_by_their_outline_level() -> None:
    body = p(run("Aims"), look=styled("Chapter")) + p(run("Contents"), look=styled("Index"))
    body += p(run("Why"), look='<w:outlineLvl w:val="1"/>')

    document = read(body)

    assert [(each.level, each.text) for each in document.headings] == [(1, "I. Aims"), (2, "Why")]
    assert "\nContents\n" in document.text


def test_clauses_have_the_level_of_their_style_and_lists_count_on_behind_other_text() -> None:
    clause = look = styled("Clause")
    body = p(run("Terms"), look=numbered(3)) + p(run("The buyer pays."), look=clause) + p(run("Late."), look=look)
    body += p(run("Interest"), look=numbered(3, 2)) + p(run("First"), look=numbered(2)) + p(run("Text between."))
    body += (
        p(run("Second"), look=numbered(2)) + p(run("Inner"), look=numbered(2, 1)) + p(run("Again"), look=numbered(6))
    )

    text = read(body).text

    assert text == (
        "1 Terms\n  1.1 The buyer pays.\n  1.2 Late.\n    (i) Interest\n1. First\n\nText between.\n\n2. Second\n"
        "  a) Inner\n7. Again\n"
    )


def test_a_number_of_a_form_that_is_not_known_is_left_out_with_a_warning() -> None:
    document = read(p(run("Oil"), look=numbered(5)))

    assert document.text == "Oil\n"
    assert document.warnings == (
        "the automatic numbers of 1 paragraphs have a form that is not known, and are left out",
    )


def test_fields_keep_their_result_and_show_no_instruction() -> None:
    code = "<w:r><w:instrText>IF </w:instrText></w:r>" + OPEN + "<w:r><w:instrText>PAGE</w:instrText></w:r>" + BETWEEN
    field = OPEN + code + run("hidden") + CLOSE + BETWEEN + run("shown") + CLOSE
    simple = '<w:fldSimple w:instr="DATE">' + run(" on May 3") + "</w:fldSimple>"

    assert read(p(run("It is "), field, simple, run("."))).text == "It is shown on May 3.\n"


def test_a_field_that_never_ends_costs_no_text() -> None:
    assert read(p(run("Before "), OPEN, run("inside")) + p(run("behind"))).text == "Before inside\n\nbehind\n"


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (f"<w:sdt><w:sdtPr/><w:sdtContent>{run('Ann')}</w:sdtContent></w:sdt>", "Ann"),
        (f'<w:dir w:val="rtl">{run("Ann")}</w:dir>', "Ann"),
        (f'<w:customXml w:element="x"><w:customXmlPr/>{run("Ann")}</w:customXml>', "Ann"),
        (f"<w:r><w:ruby><w:rt>{run('mizu')}</w:rt><w:rubyBase>{run('水')}</w:rubyBase></w:ruby></w:r>", "水(mizu)"),
        ("<w:r><w:t>a</w:t><w:cr/><w:t>b</w:t></w:r>", "a\nb"),
        ('<w:r><w:t>a</w:t><w:br w:type="page"/><w:t>b</w:t></w:r>', "a\nb"),
        ("<w:r><w:t>a</w:t><w:ptab/><w:t>b</w:t></w:r>", "a b"),
        ("<w:r><w:t>re</w:t><w:softHyphen/><w:t>pair</w:t></w:r>", "repair"),
        ('<w:r><w:sym w:font="Symbol" w:char="F06D"/><w:t>m</w:t></w:r>', "μm"),
        ('<w:r><w:sym w:font="Arial" w:char="2192"/></w:r>', "→"),
        (run("\uf06dm", '<w:rFonts w:ascii="Symbol"/>'), "μm"),
        (f"{BOX}{CLOSE}{run(' paid')}", "☒ paid"),
        (f"{BOX}<w:r><w:instrText> FORMCHECKBOX </w:instrText></w:r>{BETWEEN}{CLOSE}{run(' paid')}", "☒ paid"),
        (f'<w:hyperlink r:id="none" {LINKED}>{run("a link to nothing")}</w:hyperlink>', "a link to nothing"),
    ],
)
def test_text_in_wrappers_and_signs_is_neither_lost_nor_run_together(inner: str, text: str) -> None:
    assert read(p(inner)).text.strip() == text


def test_the_text_of_a_box_is_read_once_whichever_alternative_holds_it() -> None:
    box = f"<w:txbxContent>{p(run('Mind the gap.'))}</w:txbxContent>"
    newer = f"<mc:Choice><w:drawing><wps>{box}</wps></w:drawing></mc:Choice>"
    both = f"<w:r><mc:AlternateContent {CHOICE}>{newer}<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback>"
    alone = f"<w:r><mc:AlternateContent {CHOICE}>{newer}<mc:Fallback/>"

    for choice in (both, alone):
        assert read(p(choice + "</mc:AlternateContent></w:r>")).text == "Mind the gap.\n"


def test_symbols_of_fonts_that_are_not_known_are_named() -> None:
    document = read(p(run("Turn "), '<w:r><w:sym w:font="House Signs" w:char="F041"/></w:r>'))

    assert document.text == "Turn\n"
    assert document.warnings == ("1 symbols of the Word document stand in fonts that are not known, and are left out",)


def test_the_description_of_a_drawing_without_a_picture_is_read() -> None:
    drawn = picture("A map of the yard").replace('<a:blip r:embed="p1"/>', "")

    assert read(p(drawn)).text == "[A map of the yard]\n"


def test_page_headers_keep_powers_fields_and_hyphens() -> None:
    inner = run("Limit 10") + run("4", '<w:vertAlign w:val="superscript"/>') + '<w:fldSimple w:instr="x">' + run(" non")
    header = f'<w:hdr xmlns:w="{WORD}">{p(inner, "</w:fldSimple><w:r><w:noBreakHyphen/></w:r>", run("stop"))}</w:hdr>'

    document = read_docx(docx(p(run("Body.")), parts={"word/header1.xml": header}))

    assert document.text == "Limit 10⁴ non\u2011stop\n\nBody.\n"


def test_the_note_of_a_number_stays_apart_from_it() -> None:
    note = f'<w:footnote w:id="1">{p(run("Since May."))}</w:footnote>'
    parts = {"word/footnotes.xml": f'<w:footnotes xmlns:w="{WORD}">{note}</w:footnotes>'}
    mark = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="1"/></w:r>'

    assert read_docx(docx(p(run("It costs 5"), mark, run(" francs.")), parts=parts)).text.startswith(
        "It costs 5 [1] francs.\n"
    )


def test_a_word_document_keeps_headings_and_tables() -> None:
    body = document_files.paragraph("Pump", "Heading1") + document_files.paragraph("It leaks.")
    document = parse(document_files.docx(body + document_files.table(("part", "code"), ("seal", "1"))), "a.bin")

    assert document.text.startswith("# Pump\n\nIt leaks.\n")
    assert of_table(document)[1] == "| seal | 1 |\n"


def test_page_headers_and_footers_are_read_once() -> None:
    header = f"<w:hdr {NAMES}>{document_files.paragraph('Confidential &amp; internal')}</w:hdr>"
    footer = f"<w:ftr {NAMES}>{document_files.paragraph('7')}{document_files.paragraph('North hall')}</w:ftr>"
    parts = {"word/header1.xml": header, "word/header2.xml": header, "word/footer1.xml": footer}

    document = parse(document_files.docx(document_files.paragraph("The pump."), parts=parts), "a.docx")

    assert document.text.split("\n\n") == ["Confidential & internal", "The pump.", "North hall\n"]


def test_comments_that_are_left_out_are_named() -> None:
    parts = {"word/comments.xml": f'<w:comments xmlns:w="{document_files.WORD}"><w:comment w:id="1"/></w:comments>'}

    document = parse(document_files.docx(document_files.paragraph("The pump."), parts=parts), "a.docx")

    assert document.warnings == ("the comments of the Word document are left out",)


@pytest.mark.parametrize("length", [60, 200, 400, len(WHOLE) // 2, len(WHOLE) - 30])
def test_a_truncated_word_document_is_corrupt_wherever_it_ends(length: int) -> None:
    with pytest.raises(CorruptFileError):
        parse(WHOLE[:length], "a.docx")


def test_formulas_of_notes_and_page_headers_are_read() -> None:
    formula_of = "<m:oMath><m:r><m:t>z=3</m:t></m:r></m:oMath>"
    note = f'<w:footnote w:id="1"><w:p>{formula_of}</w:p></w:footnote>'
    parts = {
        "word/footnotes.xml": f"<w:footnotes {NAMES}>{note}</w:footnotes>",
        "word/header1.xml": f"<w:hdr {NAMES}><w:p><w:r><w:t>Rule </w:t></w:r>{formula_of}</w:p></w:hdr>",
    }
    body = '<w:p><w:r><w:t>The pump.</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r></w:p>'

    read = parse(document_files.docx(body, parts=parts), "a.docx").text

    assert read.startswith("Rule z=3\n")
    assert read.count("z=3") == 2


def test_a_page_header_that_is_damaged_costs_no_other_text() -> None:
    body = document_files.docx(document_files.paragraph("The pump."), parts={"word/header1.xml": "<w:hdr>"})

    document = parse(body, "a.docx")

    assert document.text == "The pump.\n"
    assert warned(document, "page header or footer")


def test_text_boxes_of_page_headers_are_read_once() -> None:
    inside = f"<w:txbxContent>{document_files.paragraph('North hall')}</w:txbxContent>"
    drawn = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f"<mc:Choice><w:drawing>{inside}</w:drawing></mc:Choice><mc:Fallback><w:pict>{inside}</w:pict></mc:Fallback>"
        "</mc:AlternateContent>"
    )
    header = f'<w:hdr xmlns:w="{document_files.WORD}"><w:p><w:r>{drawn}</w:r><w:r><w:t>Plan</w:t></w:r></w:p></w:hdr>'

    document = parse(document_files.docx(document_files.paragraph("b"), parts={"word/header1.xml": header}), "a.docx")

    assert sorted(document.text.split()) == ["North", "Plan", "b", "hall"]


@pytest.mark.parametrize(
    ("body", "parts", "named"),
    [
        ("<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>", {}, "text deleted under tracked changes"),
        ('<w:altChunk w:id="a"/>', {}, "inserted documents"),
        ("", {"word/embeddings/sheet.xlsx": "<x/>"}, "1 embedded files"),
        ("", {"word/charts/chart1.xml": "<x/>", "word/diagrams/data1.xml": "<x/>"}, "2 charts and diagrams"),
    ],
    ids=["deleted", "inserted", "embedded", "drawn"],
)
def test_what_is_left_out_of_a_word_document_is_named(body: str, parts: dict[str, str], named: str) -> None:
    document = parse(document_files.docx(document_files.paragraph("The pump.") + body, parts=parts), "a.docx")

    assert document.text == "The pump.\n"
    assert warned(document, named)


def test_the_description_of_a_picture_is_read_and_a_picture_without_one_is_named() -> None:
    described, bare = document_files.picture("A red valve"), document_files.picture("")

    document = parse(document_files.docx(f"<w:p>{described}{bare}</w:p>", parts=document_files.PICTURE_PARTS), "a.docx")

    assert document.text == "[A red valve]\n"
    assert document.warnings == ("1 pictures of the Word document are left out",)
