"""Markdown: headings, tables and links."""

import time

import pytest

from readers.parsed import Heading, WrittenLink
from readers.text import read_markdown
from tests.reading import of_table, parse


def links(text: str) -> list[tuple[str, str]]:
    return [(link.target, link.text) for link in read_markdown(text.encode()).links]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](b.md)", [("b.md", "a")]),
        ('[a *b*](<b c.md> "a title")', [("b c.md", "a *b*")]),
        ("[a](b(1).md) [c](d\\_e.md)", [("b(1).md", "a"), ("d_e.md", "c")]),
        ("[a][B  c] [b C][] [b c]\n\n[b c]: ../d.md 'x'", [("../d.md", "a"), ("../d.md", "b C"), ("../d.md", "b c")]),
        ("[[a]] [[b|B]] [[c#d]] ![[e]]", [("[[a]]", "a"), ("[[b]]", "B"), ("[[c#d]]", "c#d"), ("![[e]]", "e")]),
        ('<a class="x" href="b.md#top">to <b>b</b></a>', [("b.md#top", "to b")]),
        ("<../b.md> <https://a.example/x.md>", [("../b.md", "../b.md")]),
        ("[![badge](b.svg)](c.md)", [("c.md", "badge")]),
        ("[a](https://a.example/b)", [("https://a.example/b", "a")]),
        ("| [[a\\|b]] | [[c#d\\|e]] |\n|---|---|\n", [("[[a]]", "b"), ("[[c#d]]", "e")]),
        ("![[a\\|100]] [[b|c\\|d]]", [("![[a]]", "100"), ("[[b]]", "c|d")]),
        ("[a](R&amp;D.md) [b](caf&eacute;.md) [c](x&#43;y.md)", [("R&D.md", "a"), ("café.md", "b"), ("x+y.md", "c")]),
        ("[a](r\\&amp;d.md) [b](c.md?x=1&copy=2)", [("r&amp;d.md", "a"), ("c.md?x=1&copy=2", "b")]),
        ("[a][R]\n\n[r]: R&amp;D.md", [("R&D.md", "a")]),
        ('<a href="R&amp;D.md">a</a>', [("R&D.md", "a")]),
        ("Text.[^1]\n\n[^1]: Look at [[b]] and [c](c.md).", [("[[b]]", "b"), ("c.md", "c")]),
        ("[a][b]\n\n[b]:\n  c.md 'title'", [("c.md", "a")]),
        ("[a \\] b](c.md)", [("c.md", "a \\] b")]),
    ],
)
def test_every_form_of_link_is_found_with_its_text(text: str, expected: list[tuple[str, str]]) -> None:
    assert links(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "![a](b.png)",
        "`[a](b.md)` and ``[[c]]``",
        "```\n[a](b.md)\n```\ntext",
        "text\n\n    [a](b.md)\n",
        "<!-- [a](b.md) -->",
        r"\[a](b.md)",
        r"\[[a]]",
        "Text.[^1]\n\n[^1]: Look there.\n[^note]: pump.md",
        "[note]\n\n[note]: look at the pump",
        "[a](#top) [b](javascript:alert) [[]]",
        "---\nrelated: '[[a]]'\n---\n[b] and [c][d]",
    ],
)
def test_images_code_comments_escapes_and_anchors_are_no_links(text: str) -> None:
    assert links(text) == []


@pytest.mark.parametrize("piece", ["[", "[a](", "![[", "`", "<a href=", "[a]: ", "<!--", "[[a|", "``` \n", "[]("])
def test_hostile_text_of_a_million_characters_takes_seconds_and_not_hours(piece: str) -> None:
    started = time.process_time()

    read_markdown((piece * (1_000_000 // len(piece))).encode())

    assert time.process_time() - started < 20


def test_links_are_taken_from_a_text_too_long_for_the_markdown_parser() -> None:
    text = "filler words\n" * 20_000 + "```\n[no](no.md)\n```\n[a](b.md)\n"

    assert read_markdown(text.encode()).links == (WrittenLink("b.md", "a"),)


def test_markdown_has_headings_and_tables() -> None:
    document = parse("# Pump\n\n| part | code |\n|---|---|\n| seal | 1 |\n\n```\n# no heading\n```\n", "a.md")

    assert document.headings == (Heading(1, "Pump", 0),)
    assert of_table(document) == ("| part | code |\n|---|---|\n", "| seal | 1 |\n")


def test_a_long_markdown_text_has_the_same_headings_by_a_line_scan() -> None:
    text = "# Pump\n\n" + "It leaks.\n\n" * 25_000 + "## Parts\n\n| part | code |\n|---|---|\n| seal | 1 |\n"

    document = parse(text, "a.md")

    assert [heading.text for heading in document.headings] == ["Pump", "Parts"]
    assert of_table(document)[1] == "| seal | 1 |\n"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("The **north** *hall*, _shut_", "The north hall, shut"),
        ("[Valves](v.md) and [[Pumps|pump]] [[Gate]]", "Valves and pump Gate"),
        ("`List<str>` of `a*b*c`", "List<str> of a*b*c"),
        ("Scope {#scope}", "Scope"),
        ("Scope {: .wide }", "Scope"),
        ('<a name="s"></a>Scope &amp; size <br>', "Scope & size"),
        ("![Logo](l.png) Guide", "Guide"),
        ("[![Logo](l.png)](a.md)", "Logo"),
        (
            "snake_case_name and 2*3*4, C#, a_b \\* c, ~~old~~ {x}",
            "snake_case_name and 2*3*4, C#, a_b * c, ~~old~~ {x}",
        ),
    ],
)
@pytest.mark.parametrize("filler", ["", "It leaks.\n\n" * 25_000])
def test_a_heading_is_named_as_a_reader_sees_it(written: str, shown: str, filler: str) -> None:
    assert parse(f"{filler}# {written}\n\nText\n", "a.md").headings[0].text == shown


def test_headings_in_html_are_headings_too() -> None:
    text = (
        "<p>\n<img src='l.png'>\n</p>\n\n<div>\n<h1 align='center'>The\n<b>pump</b></h1>\n</div>\n\nText\n\n## Parts\n"
    )

    document = parse(text, "a.md")

    assert document.headings == (Heading(1, "The pump", text.index("<h1")), Heading(2, "Parts", text.index("##")))
