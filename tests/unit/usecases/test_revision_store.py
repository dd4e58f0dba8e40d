"""What is derived of a revision comes back as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragdrop.adapters.memory_object_store import MemoryObjectStore
from ragdrop.domain.chunks import Chunk, vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.parsed import Heading, ParsedDocument
from ragdrop.usecases.revision_store import BLOCK_CHARACTERS, RevisionStore

KEY = DocumentKey("acme", "team", "a.md")


@pytest.fixture
def store() -> RevisionStore:
    return RevisionStore(MemoryObjectStore("state"))


def test_a_document_comes_back_with_its_structure(store: RevisionStore) -> None:
    document = ParsedDocument(
        "# A\n\nüber", "markdown", "text/markdown", headings=(Heading(1, "A", 0),), pages=(0, 5), warnings=("w",)
    )

    store.write_text(KEY, 1, document)

    assert store.read_document(KEY, 1) == document


@given(start=st.integers(0, 3 * BLOCK_CHARACTERS), length=st.integers(0, 2 * BLOCK_CHARACTERS))
def test_any_span_of_a_text_of_several_blocks_is_exactly_its_slice(start: int, length: int) -> None:
    store = RevisionStore(MemoryObjectStore("state"))
    text = "".join(chr(0x20 + n % 0x3000) for n in range(2 * BLOCK_CHARACTERS + 77))
    store.write_text(KEY, 1, ParsedDocument(text, "text", "text/plain"))

    assert store.read_span(KEY, 1, start, start + length) == text[start : start + length]


def test_chunks_come_back_with_their_vectors_pages_and_contexts(store: RevisionStore) -> None:
    text = "| a | b |\n| 1 | 2 |"
    chunk = Chunk(0, 10, 19, text[10:19], ("H",), 3, "| a | b |")

    store.write_chunks(KEY, 1, "index", [chunk], [vector([3.0, 4.0])])

    assert store.read_chunks(KEY, 1, "index", text) == [(chunk, vector([3.0, 4.0]))]
    assert store.chunk_count(KEY, 1, "index") == 1


def test_what_is_not_kept_is_none(store: RevisionStore) -> None:
    assert store.read_document(KEY, 1) is None
    assert store.read_span(KEY, 1, 0, 5) is None
    assert store.chunk_count(KEY, 1, "index") is None
