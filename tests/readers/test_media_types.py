"""What a text is told to be by its beginning, whatever stands before its first tag."""

from __future__ import annotations

import time

import pytest

from readers.content import HEAD_BYTES, kind_of
from readers.formats import looks_like_html, other_text_format

PAGE = "<html><body><p>The pump leaks.</p></body></html>"


@pytest.mark.parametrize("length", [100, 5_000, HEAD_BYTES, 2 * HEAD_BYTES])
def test_a_page_is_html_however_long_the_comment_before_it_is(length: int) -> None:
    page = f"<!-- {'the licence ' * (length // 12)} -->\n{PAGE}"

    assert kind_of(page.encode(), "a.html") == "html"


@pytest.mark.parametrize("before", ["<!-- a -->", "<!-- a --> <!-- <b> -->\n", '<?xml version="1.0"?>\n<!-- a -->\n'])
def test_a_page_of_no_telling_name_is_html_behind_its_comments(before: str) -> None:
    assert kind_of((before + PAGE).encode(), "a") == "html"


def test_a_tag_in_a_comment_makes_no_page_of_a_text_that_is_named_so() -> None:
    assert not looks_like_html("<!-- <p> was here -->\nThe pump leaks.", "a.html")


def test_many_comments_take_no_time_to_look_behind() -> None:
    text = "<!---->" * 9_000 + "The pump leaks."
    started_s = time.perf_counter()

    assert not looks_like_html(text, "a.txt")
    assert other_text_format(text) is None
    assert time.perf_counter() - started_s < 1  # a pattern that repeats comments needs minutes for thirty of them


def test_a_drawing_is_known_behind_its_comments() -> None:
    assert other_text_format("<!-- made by hand -->\n<!DOCTYPE svg PUBLIC 'x'>\n<svg>") == "an SVG image"
