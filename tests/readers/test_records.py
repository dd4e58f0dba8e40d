"""CSV, JSON and subtitles."""

import json

import pytest

from readers.formats import read_here
from readers.parsed import ParsedDocument, Place, document_of
from readers.read_errors import UnsafeFileError
from tests.reading import of_table, parse, place_of

BASE64 = "R0lGODlhAQABAIAAAAUEBA" * 200


VTT = (
    "WEBVTT\n\nNOTE made by hand\n\n1\n00:00:01.000 --> 00:00:03.000\n<v Ann>The pump <i>leaks</i>.\n\n"
    "00:01:20.500 --> 00:01:22.000\nSince May &amp; June.\n"
)


def test_pictures_of_a_notebook_are_left_out() -> None:
    cell = {"outputs": [{"data": {"image/png": BASE64 + "\n", "text/plain": "<Figure>"}}]}
    shown = parse(json.dumps({"cells": [cell]}), "a.json").text

    assert shown == (
        "cells[0].outputs[0].data.image/png: (base64 of 4401 characters is left out)\n"
        "cells[0].outputs[0].data.text/plain: <Figure>\n"
    )


def test_csv_rows_are_a_table_whatever_separates_them() -> None:
    document = parse('part;price\nseal;"3,50"\n', "a.csv")

    assert of_table(document) == ("| part | price |\n| --- | --- |\n", "| seal | 3,50 |\n")


def test_json_records_are_lines_that_say_where_they_stand() -> None:
    document = parse('[{"pump": {"code": "QX-1", "parts": ["seal", "rotor"]}}, {"pump": {"code": "QX-2"}}]', "a.json")

    assert document.text == "pump.code: QX-1\npump.parts: seal, rotor\n\npump.code: QX-2\n"


def test_json_lines_keep_a_line_that_is_broken_and_say_so() -> None:
    document = parse('{"a": 1}\n{"a": \n{"a": 3}\n', "a.jsonl")

    assert document.text.split("\n\n") == ["a: 1", '{"a": ', "a: 3\n"]
    assert "1 lines" in document.warnings[0]


def test_a_document_survives_its_way_through_json() -> None:
    document = parse("| part | code |\n|---|---|\n| seal | 1 |\n\n# Pump\n", "a.md")

    assert document_of(document.fields()) == document


@pytest.mark.parametrize(
    ("body", "above"),
    [
        ("Keys of the gates,,\nGate,Place,Keys\nNorth,hall,2\n", "Keys of the gates\n\n"),
        ("Keys of the gates\n\nGate;Place;Keys\nNorth;hall;2\n", "Keys of the gates\n\n"),
        ("sep=;\nKeys;;\n;;\nGate;Place;Keys\nNorth;hall;2\n", "Keys\n\n"),
        ("Date,2026-05-01\nBy,Ann\n\nGate,Place,Keys\nNorth,hall,2\n", "Date 2026-05-01\n\nBy Ann\n\n"),
        ("\n\nGate\tPlace\tKeys\nNorth\thall\t2\n", ""),
    ],
)
def test_what_stands_above_the_header_of_a_csv_file_is_text(body: str, above: str) -> None:
    document = parse(body, "a.csv")

    assert document.text == above + "| Gate | Place | Keys |\n| --- | --- | --- |\n| North | hall | 2 |\n"
    assert document.warnings == ()


@pytest.mark.parametrize("body", ["1,2.5\n3,4\n", "2026-05-01;1,5\n2026-05-02;2,5\n"])
def test_a_csv_file_of_numbers_keeps_its_first_row_as_a_row(body: str) -> None:
    header, rows = of_table(parse(body, "a.csv"))

    assert header == "| column 1 | column 2 |\n| --- | --- |\n"
    assert rows.count("\n") == 2


def test_a_csv_file_in_utf16_with_line_breaks_in_its_cells_is_a_table() -> None:
    document = parse('Gate\tNote\nNorth\t"shut\nsince May"\n'.encode("utf-16"), "a.csv")

    assert of_table(document) == ("| Gate | Note |\n| --- | --- |\n", "| North | shut since May |\n")


def test_subtitles_are_lines_at_their_times() -> None:
    document = parse(VTT, "a.vtt")

    assert document.text == "Ann: The pump leaks.\nSince May & June.\n"
    assert (place_of(document, "leaks"), place_of(document, "June")) == ("00:00:01", "00:01:20")
    assert parse(VTT.partition("\n\n1\n")[2].replace(".000", ",000"), "a.srt").text.startswith("Ann: ")


@pytest.mark.parametrize("mark", [";", "^", "\t"])
def test_a_first_line_that_names_the_separator_is_obeyed_and_is_no_row(mark: str) -> None:
    body = f"sep={mark}\r\nname{mark}place\r\npump{mark}hall\r\n".encode("utf-8-sig")

    assert parse(body, "a.csv").text == "| name | place |\n| --- | --- |\n| pump | hall |\n"


def test_titles_above_the_rows_of_a_csv_are_placed_as_their_rows_are() -> None:
    document = read_here("csv", b"My costs\n\nitem,EUR\nDog,10\n", "a.csv")

    assert document.places_in(0, 8) == ((0, "A1:B1"),)
    assert document.places_in(document.text.index("| Dog"), len(document.text)) == ((0, "A4:B4"),)


def test_a_part_before_the_first_place_has_none() -> None:
    document = ParsedDocument("title | a |", "markdown", "text/csv", places=(Place(6, "page 1"),))

    assert document.places_in(0, 5) == ()


def test_lines_of_a_notebook_are_not_separated_again_and_codes_of_colours_are_left_out() -> None:
    cell = {"source": ["x = 1\n", "print(x)"], "traceback": ["\x1b[0;31mValueError\x1b[0m: x"]}

    assert parse(json.dumps(cell), "a.ipynb").text == "source: x = 1\nprint(x)\ntraceback: ValueError: x\n"
    assert parse("\x1b[31mERROR\x1b[0m the pump leaks\n", "a.log").text == "ERROR the pump leaks\n"


def test_numbers_of_json_stay_as_they_are_written() -> None:
    assert (
        parse('{"version": 1.10, "far": 1e400, "none": NaN}', "a.json").text == "version: 1.10\nfar: 1e400\nnone: NaN\n"
    )


@pytest.mark.parametrize("innermost", ["[]", "{}", "1, []"])
def test_json_that_is_nested_too_deep_is_refused_even_where_it_is_empty(innermost: str) -> None:
    with pytest.raises(UnsafeFileError, match="deeper than 100"):
        parse("[" * 101 + innermost + "]" * 101, "a.json")


CUE = "00:00:0{}.000 --> 00:00:0{}.000\n"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (CUE.format(1, 2) + "\nIt leaks.\n", "It leaks.\n"),
        (f"1\n{CUE.format(1, 2)}It leaks.\n\nBadly.\n\n2\n{CUE.format(3, 4)}Yes.", "It leaks.\nBadly.\nYes.\n"),
        (f"1\n{CUE.format(1, 2)}It leaks.\n2\n{CUE.format(3, 4)}Yes.", "It leaks.\nYes.\n"),
        (
            f"{CUE.format(1, 2)}it\n\n{CUE.format(2, 3)}it\nleaks\n\n{CUE.format(3, 4)}leaks\nbadly",
            "it\nleaks\nbadly\n",
        ),
        (f"{CUE.format(1, 2)}- No.\n\n{CUE.format(4, 5)}- No.\n- Why?", "- No.\n- No. - Why?\n"),
        ("1\n0:00:01.5 --> 0:00:02.0\nIt leaks.\n\n2\n00:00:03 --> 00:00:04\nYes.", "It leaks.\nYes.\n"),
    ],
)
def test_subtitles_of_sloppy_programs_are_read_line_by_line_and_once(body: str, text: str) -> None:
    document = parse(body, "a.srt")

    assert document.text == text
    assert not document.warnings


def test_a_second_table_of_a_csv_file_has_its_own_header() -> None:
    document = parse("gate,keys\nnorth,4\n\nStaff\nname,role\nAnn,cook\n", "a.csv")

    assert document.text == (
        "| gate | keys |\n| --- | --- |\n| north | 4 |\n\nStaff\n\n| name | role |\n| --- | --- |\n| Ann | cook |\n"
    )
    assert document.places_in(document.text.index("| Ann"), len(document.text)) == ((0, "A6:B6"),)


def test_blank_lines_between_all_rows_of_a_csv_file_end_no_table() -> None:
    assert len(parse("name,role\n\nAnn,cook\n\nBo,cook\n", "a.csv").tables) == 1
