"""The chunks of a collection as ragdrop makes them on the laptop, with their vectors from the cache."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.collections import RETRIEVAL, Collection, data_folder, load, load_squad
from benchmarks.embedding_server import MODEL
from benchmarks.local_embeddings import DIMENSION, SPACE, LocalEmbeddings
from ragdrop.domain.chunks import Chunk, IndexedChunk
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.ingest.metadata import facts_of
from ragdrop.models.splitter import SemanticSplitter
from readers.text import TextParser

CHUNK_TOKENS, OVERLAP_TOKENS = 240, 24  # the local default: the model's window of 256 less 16
REVISION = 1


def index_ref(tenant: str) -> IndexRef:
    """The tenant's part of an index for the local default model."""
    return IndexRef(tenant, f"bench-{MODEL.lower()}", DIMENSION)


def indexed_chunks(collection: Collection, model: LocalEmbeddings, *, tenant: str = "bench") -> list[IndexedChunk]:
    """Every chunk of *collection*, in order of its documents; key `{tenant}/{collection}/{id}.md`, revision 1."""
    splitter, parser = SemanticSplitter(lambda: model.tokenizer), TextParser()
    pieces = list(_pieces(collection, splitter, parser, tenant))
    vectors = model.embed([chunk.in_context for _, chunk, _ in pieces])
    return [
        IndexedChunk(key, REVISION, chunk, facts, vector)
        for (key, chunk, facts), vector in zip(pieces, vectors, strict=True)
    ]


def _pieces(
    collection: Collection, splitter: SemanticSplitter, parser: TextParser, tenant: str
) -> Iterator[tuple[DocumentKey, Chunk, Facts]]:
    for source in collection.documents:
        key = DocumentKey(tenant, collection.name, source.path)
        document = parser.read(source.markdown.encode(), markdown=True)
        facts, _, _ = facts_of(key, document, version_id="v1", indexed_at="2026-01-01T00:00:00Z")
        for chunk in splitter.split(document, max_tokens=CHUNK_TOKENS, overlap_tokens=OVERLAP_TOKENS):
            yield key, chunk, facts


def fill() -> int:
    """Embed the questions and chunks of every collection, those of squad2 too, so that later runs need no model."""
    folder = data_folder()
    if folder is None:
        print("RAGDROP_EVAL_DATA is not set")
        return 0
    with LocalEmbeddings() as model:
        squad = load_squad(folder / "squad2")
        collections = [load(folder / name) for name in RETRIEVAL]
        for collection in collections:
            model.embed(list(collection.questions.values()))
        model.embed([question.question for question in squad])
        for collection in collections:
            chunks = indexed_chunks(collection, model)
            print(f"{collection.name}: {len(chunks)} chunks of {SPACE.model}", file=sys.stderr, flush=True)
        model.embed([question.context for question in squad])
    return 0


if __name__ == "__main__":
    sys.exit(fill())
