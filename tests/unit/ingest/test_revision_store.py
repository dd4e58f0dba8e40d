"""What is derived of a revision comes back as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragdrop.domain.chunks import Chunk, vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.ingest.revision_store import BLOCK_CHARACTERS, RevisionStore
from readers.parsed import Heading, ParsedDocument, Table
from testing.memory_object_store import MemoryObjectStore

KEY = DocumentKey("acme", "team", "a.md")


@pytest.fixture
def store() -> RevisionStore:
    return RevisionStore(MemoryObjectStore("state"))


def test_a_document_comes_back_with_its_structure(store: RevisionStore) -> None:
    document = ParsedDocument(
        "# A\n\nüber", "markdown", "text/markdown", headings=(Heading(1, "A", 0),), pages=(0, 5), warnings=("w",)
    )

    store.write_text(KEY, 1, document)

    kept = store.open(KEY, 1)
    assert kept is not None
    assert kept.document() == document


@given(start=st.integers(0, 3 * BLOCK_CHARACTERS), length=st.integers(0, 2 * BLOCK_CHARACTERS))
def test_any_span_of_a_text_of_several_blocks_is_exactly_its_slice(start: int, length: int) -> None:
    store = RevisionStore(MemoryObjectStore("state"))
    text = "".join(chr(0x20 + n % 0x3000) for n in range(2 * BLOCK_CHARACTERS + 77))
    store.write_text(KEY, 1, ParsedDocument(text, "text", "text/plain"))

    assert store.read_span(KEY, 1, start, start + length) == text[start : start + length]


def test_chunks_come_back_with_their_vectors_pages_and_contexts(store: RevisionStore) -> None:
    text = "| a | b |\n| 1 | 2 |"
    chunk = Chunk(0, 10, 19, text[10:19], ("H",), 3, "| a | b |")

    kept = store.write_text(KEY, 1, ParsedDocument(text, "markdown", "text/markdown"))

    store.write_chunks(kept, "index", [chunk], [vector([3.0, 4.0])])

    assert kept.chunks("index", 0) == [(chunk, vector([3.0, 4.0]))]
    assert store.chunk_count(KEY, 1, "index") == 1


def test_what_is_not_stored_is_none(store: RevisionStore) -> None:
    assert store.open(KEY, 1) is None
    assert store.read_span(KEY, 1, 0, 5) is None
    assert store.chunk_count(KEY, 1, "index") is None


def test_a_long_text_has_parts_whose_chunks_are_stored_one_by_one() -> None:
    small = RevisionStore(MemoryObjectStore("state"), part_characters=12)
    kept = small.write_text(KEY, 1, ParsedDocument("one two\n\nthree four", "text", "text/plain"))

    small.write_chunks(kept, "index", [Chunk(0, 0, 7, "one two")], [vector([1.0])], number=0)
    small.write_chunks(kept, "index", [Chunk(1, 9, 19, "three four")], [vector([1.0])], number=1)

    assert kept.parts == [(0, 9), (9, 19)]
    assert small.chunk_count(KEY, 1, "index") is None
    small.mark_whole(kept, "index", 2)
    assert small.chunk_count(KEY, 1, "index") == 2
    assert [chunk for chunk, _ in kept.chunks_between("index", 0, 19)] == [
        Chunk(0, 0, 7, "one two", after="\n\n"),
        Chunk(1, 9, 19, "three four"),
    ]
    assert [chunk.text for chunk, _ in kept.chunks_between("index", 9, 10)] == ["three four"]


def test_a_part_takes_its_headings_and_the_header_of_a_cut_table_along() -> None:
    text = "# A\n\n| n | m |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n"
    document = ParsedDocument(
        text, "markdown", "text/markdown", headings=(Heading(1, "A", 0),), tables=(Table(5, 25, len(text)),)
    )
    kept = RevisionStore(MemoryObjectStore("state"), part_characters=40).write_text(KEY, 1, document)

    part = kept.part(1)

    assert part is not None
    assert text.endswith(part.text)
    assert part.heading_path(0) == ("A",)
    assert part.tables == (Table(0, 0, len(part.text), "| n | m |\n|---|---|"),)
