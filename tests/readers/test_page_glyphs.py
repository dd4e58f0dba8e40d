"""Glyphs of a PDF become the words that a reader sees: raised digits, letters at one distance, Arabic in order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from readers.pages.pdf import read_pdf
from tests.document_files import pdf_of, pdf_of_glyphs


def first_line(content: str) -> str:
    """The first line of a page whose text is set in Helvetica of 12 points."""
    return read_pdf(pdf_of(f"BT /F1 12 Tf 50 700 Td {content} ET")).text.split("\n")[0]


def shifted(text: str, rise: float, size: float = 7.5) -> str:
    return f"/F1 {size} Tf {rise} Ts ({text}) Tj 0 Ts /F1 12 Tf"


WIDTHS = dict(zip("abcdefghijklmnopqrstuvwxyz ", (556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556,
                  556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 278), strict=True))  # fmt: skip


WORDS = "cleaning the filter of it"


def at_one_pitch(text: str) -> str:
    return " ".join(f"1 0 0 1 {72 + 8.0 * at:.2f} 700 Tm ({letter}) Tj" for at, letter in enumerate(text))


def with_one_gap(text: str) -> str:
    shown, x = [], 72.0
    for letter in text:
        shown.append(f"1 0 0 1 {x:.2f} 700 Tm ({letter}) Tj")
        x += 0.012 * WIDTHS[letter] + 3
    return " ".join(shown)


def drawn_twice(text: str) -> str:
    return at_one_pitch(text) + " " + at_one_pitch(text).replace("72", "72.4")


def glyphs(*glyphs: str) -> str:
    """The text of a page that shows these glyphs from left to right, each mapped to its characters."""
    ids = dict(zip(dict.fromkeys(glyphs), range(0x391, 0x3FF), strict=False))
    if "" in glyphs:
        ids[""] = 0x3C0
    shown = "".join(f"{ids[each]:04x}" for each in glyphs)
    content = f"BT /F1 20 Tf 1 0 0 1 200 700 Tm <{shown}> Tj /F2 12 Tf 1 0 0 1 72 660 Tm (A door) Tj ET"
    return read_pdf(pdf_of_glyphs(content, {ids[each]: each for each in ids})).text.split("\n")[0]


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (f"(It holds 10) Tj {shifted('4', 5)} ( crates.) Tj", "It holds 10⁴ crates."),
        (f"(It holds 10) Tj {shifted('4', 3)} ( crates.) Tj", "It holds 10⁴ crates."),
        (f"(About 10) Tj {shifted('-3', 5)} ( m of CO) Tj {shifted('2', -2)} ( gas) Tj", "About 10⁻³ m of CO₂ gas"),
        (f"(It costs 8) Tj {shifted('1', 5)} ( francs.) Tj", "It costs 8¹ francs."),
        (f"(They agree.) Tj {shifted('2,3', 4)} ( The end) Tj", "They agree.²,³ The end"),
        (f"(On the 2) Tj {shifted('nd', 4)} ( of May) Tj", "On the 2nd of May"),
        (f"{shifted('3', 4)} (See the annex.) Tj", "³See the annex."),
        (f"(Half: 3) Tj {shifted('1', 4)} (/2 in) Tj", "Half: 3¹/2 in"),
        ("(Pump ) Tj /F1 8 Tf (B52 is small, ) Tj /F1 12 Tf (B61 is not) Tj", "Pump B52 is small, B61 is not"),
    ],
)
def test_digits_that_stand_small_above_or_below_their_line_stay_apart(content: str, read: str) -> None:
    assert first_line(content) == read


def test_a_raised_digit_breaks_no_line_and_stays_in_its_cell_of_a_table() -> None:
    rows = "".join(
        f"1 0 0 1 60 {y} Tm ({name}) Tj 1 0 0 1 200 {y} Tm (10) Tj {shifted(power, 4)} 1 0 0 1 300 {y} Tm (5) Tj "
        for name, power, y in (("Tank", "3", 680), ("Pond", "4", 664), ("Lake", "5", 648))
    )
    head = "/F3 12 Tf 1 0 0 1 60 700 Tm (Place) Tj 140 0 Td (Litres) Tj 100 0 Td (Days) Tj /F1 12 Tf"

    document = read_pdf(pdf_of(f"BT {head} {rows} ET"))

    assert "| Pond | 10⁴ | 5 |" in document.text


def test_small_print_that_begins_a_line_is_not_lowered_from_the_line_before() -> None:
    document = read_pdf(
        pdf_of("BT /F1 12 Tf 50 700 Td (The end of the line.) Tj /F1 8 Tf 0 -9 Td (2 See page 7.) Tj ET")
    )

    assert document.text.split() == ["The", "end", "of", "the", "line.", "2", "See", "page", "7."]


@pytest.mark.parametrize("placed", [at_one_pitch, with_one_gap, drawn_twice])
def test_letters_set_at_one_distance_are_words_without_blanks_inside(placed: Callable[[str], str]) -> None:
    assert first_line(placed(WORDS)) == WORDS


def test_letters_and_numbers_that_stand_alone_keep_their_blanks() -> None:
    spread = " ".join(f"1 0 0 1 {60 + 10 * at} 700 Tm ({each}) Tj" for at, each in enumerate("12345678"))

    assert first_line(spread) == "1 2 3 4 5 6 7 8"


@pytest.mark.parametrize(
    ("shown", "read"),
    [
        (["س", "لا", "ا"], "الاس"),
        (["\ufefb", "س"], "سلا"),
        (["حة", "مض", "لا"], "لامضحة"),
        (["", "", "بوابة"], "بوابة"),
        (["بوابة", " ", "", "المدينة"], "المدينة بوابة"),
        (list("םולש"), "שלום"),
    ],
    ids=["ligature", "sign of two letters", "syllables", "a word of one glyph", "two of them", "letters"],
)
def test_arabic_and_hebrew_are_read_in_order_whatever_a_glyph_stands_for(shown: list[str], read: str) -> None:
    assert glyphs(*shown) == read


def test_a_glyph_without_a_character_becomes_no_letter_of_another_script() -> None:
    assert glyphs("Wat", "", "er") == "Water"


def test_glyphs_without_a_character_are_named_unless_another_has_the_whole_word() -> None:
    content = "BT /F1 12 Tf 50 700 Td <03910392> Tj ET"

    broken = read_pdf(pdf_of_glyphs(content, {0x391: "Sea", 0x392: ""}))
    whole = read_pdf(pdf_of_glyphs(content.replace("0391", "0393"), {0x393: "بوابة", 0x392: ""}))

    assert broken.text.strip() == "Sea"
    assert whole.warnings == ()
