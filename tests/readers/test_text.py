"""Markdown and text: unchanged, with front matter whose values stay as written."""

from __future__ import annotations

import time
from typing import Any

import pytest

from readers.parsed import ParsedDocument
from readers.text import MAX_WARNINGS, read_markdown
from tests.reading import parse


def read(text: str) -> ParsedDocument:
    return read_markdown(text.encode())


def fields(text: str) -> dict[str, Any]:
    return read(text).metadata


NUMBERS = "0755 08 2.50 1_000 12:30 190:20:30 0x1F 0b11 .5 1e3 +12 -0 1.0 007 0o17 .inf NaN 2024-05-01 2024-5-1"


BASE64 = "R0lGODlhAQABAIAAAAUEBA" * 200


@pytest.mark.parametrize("value", ["NO", "no", "on", "Yes", "off", "y", "true", "False", "Null", *NUMBERS.split()])
def test_a_plain_value_stays_as_it_is_written(value: str) -> None:
    text = f"---\nstate: {value}\nlisted: [{value}]\nattributes:\n  site: {value}\n---\nText"

    assert fields(text) == {"state": value, "listed": [value], "attributes": {"site": value}}


def test_a_name_that_yaml_takes_for_something_else_stays_as_it_is_written() -> None:
    assert fields("---\non: a\nno: b\n12: c\n---\nText") == {"on": "a", "no": "b", "12": "c"}


def test_quoted_folded_and_literal_texts_are_read_as_yaml_has_them() -> None:
    text = "---\na: 'it''s'\nb: \"x\\ty\"\nc: >-\n  one\n  two\nd: |-\n  one\n  two\n---\nText"

    assert fields(text) == {"a": "it's", "b": "x\ty", "c": "one two", "d": "one\ntwo"}


def test_a_field_without_a_value_states_nothing() -> None:
    assert fields("---\na:\nb: ~\nc: null\n---\nText") == {"a": None, "b": None, "c": None}


@pytest.mark.parametrize(
    "text",
    [
        "---\n\n# First slide\n\nThe oil is K-40.\n\n---\n\n# Second slide\n",
        "---\n# First slide K-40\n---\n\nText",
        "---\n- oil K-40\n- water\n---\n\nText",
        "---\nThe oil is K-40.\n---\n\nText",
        "---\n\nOil: it is K-40\n\n---\n\nText",
        "---\noil: K-40\n\nno end\n",
        "---\nOil: it is K-40\n\nand water\n---\nText",
        "---\n> oil K-40\n---\nText",
        "+++\nThe oil is K-40.\n+++\nText",
        '{"oil": "K-40"}\n\nText',
    ],
)
def test_what_stands_between_two_rules_and_is_no_map_is_text(text: str) -> None:
    document = read(text)

    assert document.metadata == {}
    assert "K-40" in document.text[document.body_start :]


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Pump\n---\nText",
        "---   \ntitle: Pump   \n---  \nText",
        "---\r\ntitle: Pump\r\n---\r\nText",
        "---\rtitle: Pump\r---\rText",
        "\ufeff---\ntitle: Pump\n...\nText",
        "---\n\ntitle: Pump\n---\nText",
        "---\ntitle:\tPump\n---\nText",
        "---\n# what it is\ntitle: Pump # a machine\n---\nText",
        "\n\r\n---\ntitle: Pump\n---\nText",
        "<!-- for all -->\n---\ntitle: Pump\n---\nText",
        '+++\ntitle = "Pump"\n+++\nText',
        '{"title": "Pump"}\nText',
    ],
)
def test_a_map_that_ends_is_front_matter(text: str) -> None:
    document = read(text)

    assert document.metadata == {"title": "Pump"}
    assert document.text[document.body_start :] == "Text"


def test_rules_behind_a_blank_line_around_other_words_are_text() -> None:
    assert read("\n---\nMind: the oil is K-40.\n---\nText").body_start == 0


def test_a_front_matter_without_an_end_is_named_in_a_warning() -> None:
    document = read("---\ntitle: Pump\naccess: [hr]\n\nText")

    assert document.warnings == ("the front matter has no line --- at its end and is read as text",)
    assert not read("---\nMind: the oil is K-40.\n\nText").warnings


def test_an_empty_front_matter_is_no_text() -> None:
    document = read("---\n---\nText")

    assert document.text[document.body_start :] == "Text"


def test_toml_keeps_the_writing_of_fractions() -> None:
    text = '+++\nversion = 1.10\nday = 2024-05-01\ntags = ["a"]\n[ship]\nname = "Gull"\n+++\nText'

    found = fields(text)

    assert (found["version"], str(found["day"])) == ("1.10", "2024-05-01")
    assert (found["tags"], found["ship"]) == (["a"], {"name": "Gull"})


def test_toml_that_is_broken_is_text_and_a_warning_names_the_line() -> None:
    document = read('+++\ntitle = "Pump\n+++\nText')

    assert document.body_start == 0
    assert "TOML" in document.warnings[0]
    assert "line 1" in document.warnings[0]


def test_a_value_with_a_colon_is_read_as_it_is_written_with_a_warning() -> None:
    document = read("---\ntitle: Pump: the red one\nby: @mira\n---\nText")

    assert document.metadata == {"title": "Pump: the red one", "by": "@mira"}
    assert document.warnings == (
        "front matter, line 2: the value of 'title' is not valid YAML and is read as written: quote it",
        "front matter, line 3: the value of 'by' is not valid YAML and is read as written: quote it",
    )


def test_a_field_that_cannot_be_read_stays_in_the_text() -> None:
    document = read("---\ntitle: Pump\ntags: [red, K-40\n---\n# Care\n\nText")

    assert document.metadata == {"title": "Pump"}
    assert "K-40" in document.text[document.body_start :]
    assert [heading.text for heading in document.headings] == ["Care"]
    assert document.warnings == (
        "fields of the front matter are not valid YAML and are left in the text: 'tags' (line 3)",
    )


def test_a_map_with_prose_in_it_is_text_and_a_warning_names_the_line() -> None:
    document = read("---\ntitle: Pump\nthe red one\n---\nText")

    assert (document.metadata, document.body_start) == ({}, 0)
    assert "line 3" in document.warnings[0]


def test_a_name_that_stands_twice_is_a_warning() -> None:
    document = read("---\nstate: old\nstate: new\nattributes:\n  site: a\n  site: b\n---\nText")

    assert document.metadata == {"state": "new", "attributes": {"site": "b"}}
    assert document.warnings == (
        "front matter, line 3: 'state' stands there twice; the last value counts",
        "front matter, line 6: 'attributes.site' stands there twice; the last value counts",
    )


def test_a_number_sign_in_a_title_costs_nothing() -> None:
    document = read("---\ntitle: Report 7 - Room #3 (north)\n---\nText")

    assert (document.metadata, document.warnings) == ({"title": "Report 7 - Room #3 (north)"}, ())


@pytest.mark.parametrize("line", ["title: Report # the third", "tags: #red #blue", "state: open #3"])
def test_what_counts_as_a_comment_is_a_warning(line: str) -> None:
    [warning] = read(f"---\n{line}\n---\nText").warnings

    assert "counts as a comment" in warning


def test_a_comment_beside_a_plain_word_is_none() -> None:
    assert read("---\nstate: open # or closed\n---\nText").warnings == ()


def test_an_anchor_is_read_where_it_is_repeated() -> None:
    assert fields("---\nbase: &b {site: a, unit: m}\nship:\n  <<: *b\n  unit: km\n---\nText")["ship"] == {
        "site": "a",
        "unit": "km",
    }


def test_anchors_that_multiply_end_soon_and_stay_in_the_text() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    started = time.process_time()

    document = read("---\n" + "\n".join(lines) + "\n---\nText")

    assert time.process_time() - started < 2
    assert document.body_start == 0
    assert len(document.warnings) == 1


def test_a_long_text_that_anchors_repeat_ends_soon_and_stays_in_the_text() -> None:
    repeated = "".join(f"  b{number}: *long\n" for number in range(900))

    document = read(f"---\nattributes:\n  a: &long {'x' * 40_000}\n{repeated}---\nText")

    assert (document.metadata, document.body_start) == ({}, 0)


def test_a_name_that_stands_a_thousand_times_is_named_a_few_times() -> None:
    assert len(read("---\n" + "state: old\n" * 1_000 + "---\nText").warnings) == MAX_WARNINGS


def test_an_anchor_that_holds_itself_ends() -> None:
    assert read("---\na: &a [*a]\n---\nText").body_start == 0


@pytest.mark.parametrize("name", ["a.md", "a.txt"])
@pytest.mark.parametrize("text", ["# Pump\r\n\r\nIt leaks.\r\n", "\tcode\n\n\n* item  \n", "last line without end"])
def test_markdown_and_text_are_unchanged(name: str, text: str) -> None:
    assert parse(text, name).text == text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"![Hall A](data:image/gif;base64,{BASE64}=) behind", "![Hall A](data:image/gif) behind"),
        (
            f"![Hall A][h]\n\n[h]: data:image/gif;base64,{BASE64}\n\nbehind",
            "![Hall A][h]\n\n[h]: data:image/gif\n\nbehind",
        ),
        (f"<img src='data:image/gif;base64,{BASE64}' alt='Hall A'>", "<img src='data:image/gif' alt='Hall A'>"),
        (f"a {{ src: url(data:font/woff2;charset=utf-8;base64,{BASE64}) }}", "a { src: url(data:font/woff2) }"),
        (f"![](data:image/svg+xml,%3Csvg{'%20a' * 30}) behind", "![](data:image/svg+xml) behind"),
        ("![](data:image/gif;base64," + "\n".join([BASE64[:76]] * 3 + ["UEBA=)"]), "![](data:image/gif)"),
    ],
)
@pytest.mark.parametrize("name", ["a.md", "a.txt"])
def test_an_embedded_picture_is_left_out_and_its_description_stays(name: str, text: str, read: str) -> None:
    document = parse(text, name)

    assert document.text == read
    assert document.warnings[-1].startswith("embedded pictures or files are left out: 1 ")


def test_a_title_with_an_ampersand_costs_no_field() -> None:
    document = parse("---\ntitle: R &D\npromotion_level: critical\n---\nText\n", "a.md")

    assert document.metadata == {"title": "R &D", "promotion_level": "critical"}
    assert document.warnings == ()


def test_a_quoted_name_beside_a_bad_field_is_read() -> None:
    document = parse('---\ntitle: [open\n"promotion_level": critical\n---\nText\n', "a.md")

    assert document.metadata == {"promotion_level": "critical"}
    assert len(document.warnings) == 1


def test_a_date_that_does_not_exist_costs_its_own_field_alone() -> None:
    document = parse("---\ndate: 2025-13-45\npromotion_level: critical\ntags: [a, b]\n---\nText.", "a.md")

    assert document.metadata == {"date": "2025-13-45", "promotion_level": "critical", "tags": ["a", "b"]}
