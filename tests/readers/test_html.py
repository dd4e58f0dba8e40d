"""HTML loses nothing that a reader sees: powers, struck text, merged cells, numbers of lists, pictures in words."""

import pytest

from readers.html import read_html
from readers.parsed import ParsedDocument, WrittenLink
from readers.read_errors import UnsafeFileError
from tests.reading import of_table, parse


def read(body: str) -> ParsedDocument:
    return read_html(f"<!doctype html><html><body>{body}</body></html>".encode())


def lines(body: str) -> str:
    return read(body).text.strip()


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<p>A reservoir of 10<sup>7</sup> l", "A reservoir of 10⁷ l"),
        ("<p>10<sup>-4</sup> m<sup>3</sup>, 2<sup>n</sup>k", "10⁻⁴ m³, 2^n k"),
        ("<p>CO<sub>2</sub> and x<sub>12</sub>, V<sub>max</sub>", "CO₂ and x₁₂, V_max"),
        ("<p>SO<sub>4</sub><sup>2-</sup> <sup>14</sup>C", "SO₄²⁻ ¹⁴C"),
        ("<p>the 21<sup>st</sup>, M<sup>lle</sup> Anne, XX<sup>e</sup>", "the 21st, Mlle Anne, XXe"),
        ("<p>10<span style='vertical-align: super'>7</span>", "10⁷"),
        ("<style>.c7{vertical-align:super}</style><p>10<span class='c7'>7</span>", "10⁷"),
        ("<p><sub>Small print of a page.</sub>", "Small print of a page."),
        ("<h2>Up to 10<sup>7</sup></h2>", "## Up to 10⁷"),
        ("<p>2<sup>x<sub>1</sub></sup>", "2^x₁"),
        (
            "<math><msup><mi>r</mi><mn>2</mn></msup><mo>=</mo><mfrac><mi>a</mi><mrow>b+1</mrow></mfrac></math>",
            "r²=a/(b+1)",
        ),
        ("<math><semantics><msub><mi>x</mi><mi>i</mi></msub><annotation>x_{i}</annotation></semantics></math>", "x_i"),
    ],
)
def test_superscripts_and_subscripts_keep_their_meaning(body: str, shown: str) -> None:
    assert lines(body) == shown


@pytest.mark.parametrize(
    "mark",
    [
        "<sup><a href='#fn4'>4</a></sup>",
        "<a href='notes.xhtml#n4'><sup>4</sup></a>",
        "<sup class='footnote-ref'>4</sup>",
        "<sup>[4]</sup>",
        "<a role='doc-noteref' href='#x'>4</a>",
    ],
)
def test_the_mark_of_a_footnote_is_apart_from_the_number_before_it(mark: str) -> None:
    assert lines(f"<p>It costs 9{mark} crowns.") == "It costs 9 [4] crowns."


def test_a_raised_number_in_a_link_of_several_words_is_no_footnote() -> None:
    assert lines("<p><a href='#area'>Area in m<sup>2</sup></a>") == "Area in m²"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (
            "<p>Fee <s>70</s> 60, <strike>old</strike> <del>shut</del> <ins>open</ins>",
            "Fee ~~70~~ 60, ~~old~~ ~~shut~~ open",
        ),
        ("<p>Fee <span style='text-decoration: line-through red'>70</span> 60", "Fee ~~70~~ 60"),
        ("<style>p.x, .no { text-decoration-line: line-through }</style><p><b class='no'>70</b> 60", "~~70~~ 60"),
        ("<div><del><p>One.</p><p>Two <b>three</b>.</p></del>Four.</div>", "~~One.~~\n\n~~Two three.~~\n\nFour."),
        (
            "<table><tr><th>fee<th>of<tr><td><del>70</del> 60<td>A</table>",
            "| fee | of |\n| --- | --- |\n| ~~70~~ 60 | A |",
        ),
    ],
)
def test_struck_text_is_marked(body: str, shown: str) -> None:
    assert lines(body) == shown


def test_cells_that_reach_over_rows_and_columns_are_filled() -> None:
    body = (
        "<table><tr><th>hall<th>pump<th>flow<tr><td rowspan=2>North<td>P1<td>10<sup>2</sup>"
        "<tr><td>P2<td>7<tr><td>South<td colspan=2>none</table>"
    )

    rows = ["| hall | pump | flow |", "| --- | --- | --- |"]
    rows += ["| North | P1 | 10² |", "| North | P2 | 7 |", "| South | none | none |"]
    assert lines(body).splitlines() == rows


def test_all_rows_of_a_tables_head_are_its_header() -> None:
    head = "<thead><tr><th rowspan=2>hall<th colspan=2>flow<tr><th>May<th>June</thead>"
    document = read(f"<table>{head}<tr><td>North<td>4<td>5</table>")

    (table,) = document.tables
    assert document.text[: table.rows_start].endswith("| hall | May | June |\n")
    assert document.text[table.rows_start : table.end] == "| North | 4 | 5 |\n"


def test_a_span_of_no_rows_ends_with_its_group_of_rows() -> None:
    body = "<table><tr><th>a<th>b<tbody><tr><td rowspan=0>x<td>1<tr><td>2<tbody><tr><td>y<td>3</table>"

    assert lines(body).splitlines()[2:] == ["| x | 1 |", "| x | 2 |", "| y | 3 |"]


def test_a_caption_and_a_title_row_stand_before_their_table_and_its_foot_at_the_end() -> None:
    body = (
        "<table><caption>Flows</caption><tfoot><tr><td>all<td>9</tfoot>"
        "<tr><th colspan=2>Hall A<tr><th>pump<th>flow<tr><td>P1<td>9</table>"
    )

    assert lines(body) == "Flows\n\nHall A\n\n| pump | flow |\n| --- | --- |\n| P1 | 9 |\n| all | 9 |"


def test_a_list_or_a_table_in_a_cell_costs_the_outer_table_no_column() -> None:
    inner = "<table><tr><td>x<td>1<tr><td>y<td>2</table>"
    body = f"<table><tr><th>a<th>b<tr><td><ul><li>one<li>two</ul><td>{inner}</table>"

    assert lines(body).splitlines()[2:] == ["| - one - two | x 1 y 2 |"]


def test_a_link_of_a_table_that_only_lays_out_counts_once() -> None:
    assert read("<table><tr><td><a href='a.html'>a</a><td>b</table>").links == (WrittenLink("a.html", "a"),)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<ol start=5><li>a<li value=9>b<li>c</ol>", "5. a\n9. b\n10. c"),
        ("<ol reversed><li>a<li>b</ol>", "2. a\n1. b"),
        ("<ol type=a start=3><li>x<ol type=I><li>y</ol></ol>", "c. x\n  I. y"),
        ("<ol style='list-style-type: lower-roman' start=4><li>x</ol>", "iv. x"),
        ("<ol><li></li><li>x</ol>", "2. x"),
    ],
)
def test_items_have_the_numbers_that_a_reader_sees(body: str, shown: str) -> None:
    assert lines(body) == shown


def test_preformatted_text_keeps_its_lines_and_blanks() -> None:
    assert lines("<pre>A=1<br>B=2\n  <i>C</i>  =3<div>D</div></pre>") == "```\nA=1\nB=2\n  C  =3\nD\n```"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<p>See <img src='p.png' alt='Plan: stair S-2 is shut'>", "See [Plan: stair S-2 is shut]"),
        ("<p>See<img alt=''> it<img src='x.gif'>", "See it"),
        (
            "<figure><img src='data:image/png;base64,iVBORw0KGgo=' alt='Hall'><figcaption>North</figcaption></figure>",
            "[Hall]\n\nNorth",
        ),
        ("<map><area alt='Gate 4' href='#g'></map>", "[Gate 4]"),
        ("<svg><title>Flow</title><text>in</text><text>out</text></svg>", "[Flow in out]"),
        ("<p>Sealed <i class='icon-yes' aria-label='yes'></i>", "Sealed [yes]"),
        ("<div role='img' aria-label='5 of 7'></div>", "[5 of 7]"),
        ("<p>Well done <img class='emoji' alt='👍'>", "Well done 👍"),
    ],
)
def test_what_a_picture_says_in_words_is_read(body: str, shown: str) -> None:
    assert lines(body) == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<p><kbd>Ctrl</kbd><kbd>K</kbd>", "Ctrl K"),
        ("<p>He said <q>shut it</q>", "He said “shut it”"),
        ("<p><abbr title='Main Room'>MR</abbr>, <abbr title='Main Room'>MR</abbr>", "MR (Main Room), MR"),
        ("<p><ruby>漢<rt>kan</rt></ruby>", "漢(kan)"),
        ("<p>pump&shy;house, wa<wbr>ter, a &lt; b", "pumphouse, water, a < b"),
        ("<ul><li><input type=checkbox checked> oil<li><input type=checkbox> seal</ul>", "- [x] oil\n- [ ] seal"),
        ("<dl><dt>Rotor<dd>turns</dl><details><summary>More</summary>Text</details>", "Rotor\n\nturns\n\nMore\n\nText"),
    ],
)
def test_no_word_is_glued_or_lost(body: str, shown: str) -> None:
    assert lines(body) == shown


@pytest.mark.parametrize("tag", ["sup", "del", "q", "math><mrow", "h1><div", "table><tr><td", "ol><li"])
def test_a_page_that_is_nested_too_deep_is_refused(tag: str) -> None:
    with pytest.raises(UnsafeFileError, match="deeper than 250"):
        read("".join(f"<{tag}>" for _ in range(260)) + "x")


def test_html_gives_what_is_read_and_not_what_is_run_or_hidden() -> None:
    page = (
        "<!doctype html><html><head><title>Pump</title><script>alert(1)</script></head><body><nav>Home</nav>"
        "<h2>Parts</h2><p>A <b>seal</b> and a&nbsp;rotor.</p><p style='display:none'>secret</p>"
        "<ul><li>one</li><li>two</li></ul><a href='b.html'>next</a></body></html>"
    )

    document = parse(page, "page")

    assert document.text == "# Pump\n\n## Parts\n\nA seal and a rotor.\n\n- one\n- two\n\nnext\n"
    assert document.heading_path(30) == ("Pump", "Parts")
    assert document.links == (WrittenLink("b.html", "next"),)


def test_an_html_table_becomes_rows_under_their_header() -> None:
    document = parse("<html><table><tr><th>part<th>code<tr><td>seal<td>1|2</table>", "a.html")

    assert of_table(document) == ("| part | code |\n| --- | --- |\n", "| seal | 1\\|2 |\n")


def test_html_declares_its_encoding() -> None:
    page = "<html><head><meta charset='windows-1252'></head><body>3,50 € für Käse</body></html>"

    assert "€ für Käse" in parse(page.encode("cp1252"), "a.html").text


def test_hidden_parts_of_a_page_are_named() -> None:
    document = parse(b"<html><body><p>Seen</p><p hidden>kept back</p><p hidden> </p></body></html>", "a.html")

    assert document.text == "Seen\n"
    assert document.warnings == ("1 hidden parts of the page are left out",)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (
            "<h2><button class='toggle'>Who may moor here?</button></h2><div>Members.</div>",
            "## Who may moor here?\n\nMembers.",
        ),
        ("<button aria-expanded='false'>Fees</button><div>4 crowns</div>", "Fees\n\n4 crowns"),
        ("<button>Is it open?</button><div>From May</div>", "Is it open?\n\nFrom May"),
        ("<button>Copy</button><div>From May</div>", "From May"),
        ("<p>Area <script type='math/tex'>a^2</script> m", "Area a^2 m"),
        ("<p><span class='MathJax'>a²</span><script type='math/tex' id='MathJax-Element-1'>a^2</script> m", "a² m"),
    ],
)
def test_text_in_elements_that_are_mostly_controls_or_scripts_is_read(body: str, shown: str) -> None:
    assert lines(body) == shown


def test_empty_elements_of_xhtml_end_where_they_begin() -> None:
    head = "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/><script src='a.js'/></head>"

    assert parse(f"{head}<body><p><a id='p1'/>It leaks.<br/>Badly.</p></body></html>", "a.xhtml").text == (
        "It leaks.\nBadly.\n"
    )


def test_what_xml_quotes_is_text() -> None:
    macro = "<ac:structured-macro><ac:plain-text-body><![CDATA[if a < b:\n    stop()]]></ac:plain-text-body>"

    assert lines(f"{macro}</ac:structured-macro><p>End") == "```\nif a < b:\n    stop()\n```\n\nEnd"


@pytest.mark.parametrize("heading", ["<h1></h1>", "<h1><img alt='ACME'></h1>"])
def test_a_first_heading_without_words_does_not_replace_the_title(heading: str) -> None:
    document = parse(f"<html><head><title>Valves</title></head><body>{heading}<p>x</body></html>", "a.html")

    assert document.headings[0].text == "Valves"


def test_a_table_in_a_frame_of_one_cell_keeps_its_rows() -> None:
    inner = "<table><tr><td>part<td>code<tr><td>seal<td>7</table>"

    assert lines(f"<table><tr><td>Parts{inner}</table>") == "Parts\n\n| part | code |\n| --- | --- |\n| seal | 7 |"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<h2>Setup<a class='headerlink' href='#setup'>¶</a></h2>", "## Setup"),
        ("<h2>History<span class='mw-editsection'>[<a href='e'>edit</a>]</span></h2>", "## History"),
        ("<p>Source A <a href='#r1'>↩︎</a>", "Source A"),
        ("<p>Section <a href='#a'>§ 4</a>", "Section § 4"),
        ("<p><span style='display:block'>North</span><span style='display: block'>South</span>", "North\n\nSouth"),
        ("<div role='row'><span role='cell'>part</span><span role='cell'>7</span></div>", "part\n\n7"),
        ("<div>at $<div style='display:inline;'><span>5.22</span></div> a share</div>", "at $5.22 a share"),
    ],
)
def test_what_stands_apart_is_apart_and_links_to_a_place_itself_are_no_text(body: str, shown: str) -> None:
    assert lines(body) == shown
