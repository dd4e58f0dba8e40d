"""RTF: paragraphs, tables, and what is raised, struck or deleted."""

from __future__ import annotations

import pytest

from readers.office.rtf import read_rtf
from readers.parsed import ParsedDocument
from tests.reading import parse

RTF = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Arial;}\f0 The caf\'e9 pump leaks.\par "
    r"\trowd\cellx1000\cellx2000 part\cell price\cell\row \trowd seal\cell 3\cell\row \pard Call \u8364? Ann.\par}"
)


def rtf(body: str) -> ParsedDocument:
    return read_rtf(rf"{{\rtf1\ansi{{\stylesheet{{\s1\super raised;}}}}{body}}}".encode())


def test_rtf_becomes_paragraphs_and_tables() -> None:
    document = parse(RTF, "a.rtf")

    assert document.text == ("The café pump leaks.\n\n| part | price |\n| --- | --- |\n| seal | 3 |\n\nCall € Ann.\n")


def test_a_truncated_rtf_is_read_with_a_warning() -> None:
    document = parse(RTF[:150], "a.rtf")

    assert "pump leaks" in document.text
    assert "truncated" in document.warnings[0]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"10{\super 4} crates", "10⁴ crates"),
        (r"CO{\sub 2} gas", "CO₂ gas"),
        (r"2\super 40\nosupersub  states", "2⁴⁰ states"),
        (r"2{\up6 8} states", "2⁸ states"),
        (r"2{\super\i n}{\super +1} ways", "2^(n+1) ways"),
        (r"Fee: {\strike 9} 7", "Fee: ~~9~~ 7"),
        (r"Fee: \striked1 9\plain  7", "Fee: ~~9~~ 7"),
        (r"{\strike One\par Two} Three", "~~One~~\n\n~~Two~~ Three"),
        (r"A \\super name", "A \\super name"),
        (r"{\pntext 3.\tab}Oil it", "3. Oil it"),
        (r"at \u-10179?\u-8704? and \u55357?\u56832?", "at 😀 and 😀"),
        (r"{\fonttbl{\f7\fcharset2{\*\panose 0}Symbol;}}a {\f7 \'b3} 5 \'b3", "a ≥ 5 ³"),
    ],
)
def test_rtf_keeps_powers_strikes_and_numbers(source: str, text: str) -> None:
    assert rtf(source).text.strip() == text


def test_deleted_text_of_rtf_is_left_out_with_a_warning() -> None:
    document = rtf(r"Bring {\deleted nine \'e9} {\revised ten} pipes.")

    assert document.text == "Bring ten pipes.\n"
    assert document.warnings == ("text deleted under tracked changes is left out",)


def test_hidden_text_of_rtf_is_left_out_with_a_warning() -> None:
    document = rtf(r"It leaks.{\v  Ask \'e9} Now.\v0\par")

    assert document.text == "It leaks. Now.\n"
    assert document.warnings == ("1 hidden parts of the RTF document are left out",)


def test_merged_cells_of_rtf_fill_what_they_cover() -> None:
    first = r"\trowd\clvmgf\cellx900\cellx1800\cellx2700 North\cell Saw\cell 4\cell\row"
    second = r"\trowd\clvmrg\cellx900\cellx1800\cellx2700 \cell Axe\cell 9\cell\row"
    third = r"\trowd\clmgf\cellx900\clmrg\cellx1800\cellx2700 All\cell\cell 13\cell\row"
    fourth = r"\trowd\cellx1805\cellx2700 Both\cell 2\cell\row\pard Done.\par"

    lines = rtf(first + second + third + fourth).text.splitlines()

    assert lines[2:5] == ["| North | Axe | 9 |", "| All | All | 13 |", "| Both | Both | 2 |"]


def test_two_links_of_a_line_stay_where_they_are() -> None:
    one, two = (rf'{{\field{{\*\fldinst{{HYPERLINK "{name}.pdf"}}}}{{\fldrslt{{{name}}}}}}}' for name in ("one", "two"))

    document = rtf(f"{one} and {two}.")

    assert document.text == "one and two.\n"
    assert [link.target for link in document.links] == ["one.pdf", "two.pdf"]
