"""The embedding model reads a chunk to its end: truncation would show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from bucketindex.index import BucketChunkIndex
from ragdrop.config import Settings
from ragdrop.domain.chunks import CandidateQuery, Chunk, Filters, IndexedChunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.models.embedder import OpenAiEmbedder
from ragdrop.models.http import OpenAiHttp
from ragdrop.models.splitter import SemanticSplitter
from readers.parsed import ParsedDocument
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.stacks import LocalStack

FILLER = (
    "The committee met on a grey morning and went through the minutes of the previous meeting line by line. "
    "Members spoke about chairs, curtains, the paint of the corridor and who would bring biscuits next time. "
)
FACT = "Penguins breed on the frozen shore of Antarctica."


def test_a_fact_in_the_last_sentence_of_a_full_size_chunk_is_found_by_vector_alone(
    stack: LocalStack, tmp_path: Path
) -> None:
    settings = Settings.from_environment(stack.environment)
    active = settings.seed_index()
    size = active.chunking.max_tokens
    tokenizer = stack.client("s3").get_object(Bucket=settings.state_bucket, Key=settings.embedding_tokenizer)
    splitter = SemanticSplitter(tokenizer["Body"].read)
    plain = _fill(splitter, size, "")
    with_fact = _fill(splitter, size, FACT)
    assert _pieces(splitter, with_fact, size - 8) > 1  # it is a full-size chunk

    texts, deadline = [plain, with_fact, plain.replace("grey", "bright")], Deadline.after(60)
    with httpx.Client(trust_env=False) as client:
        http = OpenAiHttp(settings.embedding_url, api_key=lambda: None, timeout_s=30, client=client)
        embedder = OpenAiEmbedder(http)
        vectors = embedder.passages(texts, active.space, deadline)
        question = embedder.query("Where do seabirds that cannot fly raise their young?", active.space, deadline)
    index = BucketChunkIndex(MemoryObjectStore("state"), MemoryManifests(), tmp_path, max_bytes=2**30)
    ref = IndexRef("acme", active.name, active.space.dimension)
    index.upsert(ref, [_indexed(n, text, vectors[n]) for n, text in enumerate(texts)], deadline)
    index.refresh([ref], deadline)

    [found] = index.candidates(ref, [CandidateQuery(None, question, Filters(), 3)], deadline)

    assert found.vector[0].chunk.ordinal == 1
    assert found.vector[0].score - found.vector[1].score > 0.02


def _fill(splitter: SemanticSplitter, size: int, ending: str) -> str:
    """As many filler words as fit into one chunk with *ending* behind them."""
    words = (FILLER * 20).split()
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _pieces(splitter, _text(words, middle, ending), size) == 1 else (low, middle - 1)
    return _text(words, low, ending)


def _text(words: list[str], count: int, ending: str) -> str:
    return f"{' '.join(words[:count])}. {ending}".strip()


def _pieces(splitter: SemanticSplitter, text: str, size: int) -> int:
    document = ParsedDocument(text, "text", "text/plain")
    return len(splitter.split(document, max_tokens=size, overlap_tokens=0))


def _indexed(ordinal: int, text: str, vector: Any) -> IndexedChunk:
    facts = Facts(title="t", version_id="v", indexed_at="2026-01-01T00:00:00Z")
    key = DocumentKey("acme", "team", f"{ordinal}.txt")
    return IndexedChunk(key, 1, Chunk(ordinal, 0, len(text), text), facts, vector)
