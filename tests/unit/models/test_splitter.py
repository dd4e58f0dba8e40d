"""Chunks: exact slices, nothing lost, none too long, cut where the content ends."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragdrop.domain.chunks import Chunk
from ragdrop.models.splitter import SemanticSplitter, estimate_passage_tokens
from readers.content import ContentParser
from readers.formats import read_here
from tests import document_files

SPLITTER = SemanticSplitter(lambda: None)


def chunks_of(text: str, name: str = "a.md", *, max_tokens: int = 40, overlap_tokens: int = 0) -> list[Chunk]:
    document = ContentParser(read_here).parse(text.encode(), name=name)
    return SPLITTER.split(document, max_tokens=max_tokens, overlap_tokens=overlap_tokens)


MARKS = ["# Head\n", "\n", "\n\n", "| a | b |\n", "|---|---|\n", "[Ann] hi\n", "- item\n", "```\n", "    "]


PIECES = st.sampled_from([*MARKS, "word ", "A sentence ends. ", "水泵。", "x" * 1_200, "é"])


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=120).map("".join), st.sampled_from(["a.md", "a.txt", "a.py"]))
def test_chunks_are_slices_that_cover_all_text_within_the_limit(text: str, name: str) -> None:
    if not text.strip():
        return
    chunks = chunks_of(text, name, overlap_tokens=6)
    covered = {place for chunk in chunks for place in range(chunk.start, chunk.end)}

    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert all(text[place].isspace() for place in range(len(text)) if place not in covered)
    assert all(estimate_passage_tokens(chunk.in_context) <= 40 for chunk in chunks)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))


def test_a_table_that_fits_stays_whole() -> None:
    table = "| part | code |\n|---|---|\n| seal | 1 |\n| rotor | 2 |\n"

    chunks = chunks_of(f"# Pump\n\n{'Some words stand here first. ' * 4}\n\n{table}\nAnd after it. {'More. ' * 20}")

    assert any(table.strip() in chunk.text for chunk in chunks)


def test_a_table_that_does_not_fit_repeats_its_header() -> None:
    rows = [f"| part {number} | code {number} |" for number in range(30)]
    header = "| part | code |\n|---|---|"

    chunks = chunks_of("\n".join([header, *rows]))

    assert chunks[0].text.startswith(header)
    assert all(chunk.context == header for chunk in chunks[1:])
    assert [line for chunk in chunks for line in chunk.text.strip().splitlines()] == [*header.splitlines(), *rows]


def test_a_chunk_of_a_chat_starts_with_its_speaker() -> None:
    chat = "".join(f"[Ann] I think that pump {n} leaks.\n[Bob] It did so on Monday too.\n" for n in range(10))

    chunks = chunks_of(chat, "a.txt")

    assert len(chunks) > 3
    assert all(chunk.text.startswith("[") for chunk in chunks)


def test_functions_stay_whole_where_they_fit() -> None:
    code = "\n".join(f"def start_{n}(pump):\n    pump.open_valve({n})\n    return pump.pressure\n" for n in range(9))

    chunks = chunks_of(code, "pump.py")

    assert all(chunk.text.startswith("def ") for chunk in chunks)
    assert chunks[-1].heading_path


def test_a_heading_begins_a_chunk_rather_than_ending_one() -> None:
    text = "".join(f"## Part {n}\n\n{'It has a seal and a rotor. ' * 4}\n\n" for n in range(6))

    assert all(chunk.text.startswith("## Part") for chunk in chunks_of(text))


def test_neighbours_overlap_by_whole_sentences() -> None:
    text = " ".join(f"Sentence number {n} is about a pump." for n in range(40))

    chunks = chunks_of(text, "a.txt", max_tokens=60, overlap_tokens=20)

    assert all(after.start < before.end for before, after in pairwise(chunks))
    assert all(chunk.text.startswith("Sentence") for chunk in chunks)


def test_a_chunk_of_a_pdf_has_the_page_on_which_it_starts() -> None:
    lines = [f"Line {n} of the manual says something." for n in range(12)]
    document = ContentParser(read_here).parse(document_files.pdf(lines, lines), name="a.pdf")

    chunks = SPLITTER.split(document, max_tokens=40, overlap_tokens=0)

    assert chunks[0].page == 1
    assert chunks[-1].page == 2


@pytest.mark.parametrize("text", ["a" * 100_000, "ab/+" * 25_000, "a" + " " * 100_000 + "b", "水泵" * 20_000])
def test_endless_lines_are_cut_and_no_chunk_is_endless(text: str) -> None:
    assert max(len(chunk.text) for chunk in chunks_of(text, "a.txt")) <= 40 * 16


def test_a_chunk_of_a_chat_repeats_the_whole_messages_before_it() -> None:
    chat = "".join(f"[Ann] Pump {n} leaks.\n[Bob] On Monday too.\n" for n in range(20))

    chunks = chunks_of(chat, "a.txt", max_tokens=60, overlap_tokens=16)

    assert len(chunks) > 3
    assert all(after.start < before.end for before, after in pairwise(chunks))
    assert all(chunk.text.startswith("[") for chunk in chunks)
    assert all(estimate_passage_tokens(chunk.text) <= 60 for chunk in chunks)


def test_a_chunk_of_code_repeats_the_lines_before_it() -> None:
    code = "\n".join(f"def start_{n}(pump):\n    pump.open_valve({n})\n    return pump.pressure\n" for n in range(12))

    chunks = chunks_of(code, "pump.py", max_tokens=80, overlap_tokens=20)

    assert len(chunks) > 2
    assert all(after.start < before.end for before, after in pairwise(chunks))
    assert all(code[chunk.start - 1 : chunk.start] in {"", "\n"} for chunk in chunks)


def test_a_heading_alone_makes_no_chunk_that_the_next_one_repeats() -> None:
    text = "# The pump of the north hall\n\n" + "It has a seal and a rotor. " * 8

    chunks = chunks_of(text, max_tokens=40, overlap_tokens=12)

    assert chunks[0].text.startswith("# The pump")
    assert all(after.start > before.start for before, after in pairwise(chunks))
    assert "seal" in chunks[0].text
