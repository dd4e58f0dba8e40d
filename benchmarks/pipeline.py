"""ragdrop in memory: its ports over fakes, and a collection pushed through real parsing, chunking, index and search."""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.collections import Collection, CollectionDocument
from benchmarks.embeddings import DIMENSION, MODEL, LocalEmbeddings
from bucketindex.index import BucketChunkIndex
from ragdrop.app import App, Ports, compose
from ragdrop.config import Settings
from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Filters, Hit
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from ragdrop.models.answerer import quoted_answer, read_by
from ragdrop.models.splitter import SemanticSplitter
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.message_queue import Change, Delivery
from ragdrop.ports.object_store import ObjectStore
from testing.memory_breakers import MemoryBreakers
from testing.memory_manifests import MemoryManifests
from testing.memory_message_queue import MemoryMessageQueue
from testing.memory_object_store import MemoryObjectStore
from testing.memory_registry import MemoryRegistry
from testing.memory_telemetry import (
    MemoryReceipts,
    MemoryRequestCounts,
    MemoryStoredReplies,
    MemoryTelemetry,
    MemoryVisitedCache,
)
from testing.models import ScriptedChatModel

MAX_COPIES_BYTES = 8 << 30
TENANT = "bench"
BATCH = 500  # documents that share a refresh: so many segments fewer are merged while it is filled
SETTINGS = {
    "INDEX_URL": "s3://",
    "EMBEDDING_URL": "http://127.0.0.1:1",
    "EMBEDDING_MODEL": MODEL,
    "EMBEDDING_DIMENSION": str(DIMENSION),
    "CHAT_URL": "http://127.0.0.1:1",
    "CHAT_MODELS": "ragdrop-extractive",
    "DOCUMENT_BUCKET": "documents",
    "STATE_BUCKET": "state",
    "REGISTRY_TABLE": "registry",
    "VISITED_TABLE": "visited",
    "TELEMETRY_TABLE": "telemetry",
    "QUEUE_URL": "http://127.0.0.1:1/queue",
}
_NUMBERS = itertools.count(1)
OVER_OPENSEARCH = {"INDEX_URL": "http://127.0.0.1:1"}  # where an OpenSearch index is given


def stores_in_memory(index_folder: Path) -> dict[str, Any]:
    """Ports, empty: all that AWS holds but the documents, which a benchmark puts itself."""
    return {
        "state": MemoryObjectStore("state"),
        "manifests": MemoryManifests(),
        "index_folder": index_folder,
        "registry": MemoryRegistry(),
        "receipts": MemoryReceipts(),
        "stored_replies": MemoryStoredReplies(),
        "request_counts": MemoryRequestCounts(),
        "queue": MemoryMessageQueue(),
        "visited": MemoryVisitedCache(),
        "telemetry": MemoryTelemetry(),
        "breaker_store": MemoryBreakers(),
    }


def bucket_index(folder: Path) -> BucketChunkIndex:
    """An empty bucket index without anything around it; its local copies go into *folder*."""
    return BucketChunkIndex(MemoryObjectStore("state"), MemoryManifests(), folder, max_bytes=MAX_COPIES_BYTES)


def soon() -> Deadline:
    return Deadline.after(900.0)


def delivery(change: Change) -> Delivery:
    """A new message with a change, as the queue would bring it."""
    number = next(_NUMBERS)
    return Delivery(f"m{number}", f"r{number}", 1, (change,))


class Pushed:
    """A collection that was pushed and ingested: the vault has the collection's name."""

    def __init__(self, app: App, collection: Collection, model: LocalEmbeddings) -> None:
        self.app, self.collection, self._model = app, collection, model
        self.caller = Caller(TENANT, "admin")
        tenant = app.ports.registry.tenant(TENANT)
        assert tenant is not None
        self._index = tenant.index

    def answer_locally(self) -> None:
        """Let the laptop's extractive answerer be the chat model, with the reader where there is one."""
        similarity, reader = self._model.similarity, self._model.reader
        read = None if reader is None else read_by(reader)
        self.app.ports.reader = reader
        self.app.ports.chat = ScriptedChatModel(lambda messages: quoted_answer(messages[-1].content, similarity, read))

    def candidates(self, question: str, limit: int) -> Candidates:
        """What the index gives for *question*: up to *limit* hits of each retriever."""
        vector = self._model.embed([question])[0]
        asked = CandidateQuery(question, vector, Filters(), limit)
        return self.app.ports.index.candidates(self._index, [asked], soon())[0]

    def chunks(self, paths: Iterable[str]) -> Iterator[Hit]:
        keys = [DocumentKey(TENANT, self.collection.name, path) for path in paths]
        for key in keys:
            head = self.app.ports.registry.head(key)
            if head is not None and head.live_revision is not None:
                required = ChunkRange(key, head.live_revision, 0, head.chunk_count)
                yield from self.app.ports.index.read(self._index, [required], soon())[0]

    def search(self, question: str, limit: int) -> list[str]:
        """Ids of the documents that ragdrop's search gives, best first, all of its settings at their defaults.

        Only the fused ranking is measured: no threshold, critical documents, links or boosts.
        """
        query = Query(
            question,
            limit=limit,
            min_relevance=0.0,
            include_critical=False,
            follow_links=False,
            apply_boosting=False,
            expand="neighbours",
        )
        found = self.app.query.uncached_search(query, self.caller, soon())
        return [document.key.path.removesuffix(".md") for document in found.documents]


@contextmanager
def pushed(collection: Collection, model: LocalEmbeddings, *, index: ChunkIndex | None = None) -> Iterator[Pushed]:
    """Push every document of *collection* and let ingest index it, into OpenSearch where it is given as *index*."""
    model.embed(list(collection.questions.values()))
    with tempfile.TemporaryDirectory(prefix="ragdrop-quality-") as folder:
        documents = MemoryObjectStore("documents")
        settings = SETTINGS if index is None else SETTINGS | OVER_OPENSEARCH
        ports = (
            Ports(Settings.from_environment(settings))
            .replace(**stores_in_memory(Path(folder)))
            .replace(documents=documents, embedder=model, splitter=SemanticSplitter(lambda: model.tokenizer))
        )
        if index is not None:
            ports = ports.replace(index=index)
        app = compose(ports)
        app.operate.operator.create_tenant(TENANT)
        ingest(app, documents, collection.name, collection.documents)
        app.tenants.directory.forget(TENANT)  # ingest fitted it, which a search sees some seconds later
        yield Pushed(app, collection, model)


def ingest(app: App, documents: ObjectStore, vault: str, sources: Sequence[CollectionDocument]) -> None:
    """Put every document into *vault* and let its event arrive; ends the program where one is not indexed."""
    for first in range(0, len(sources), BATCH):
        deliveries = []
        for number, source in enumerate(sources[first : first + BATCH], start=first):
            key = DocumentKey(TENANT, vault, source.path)
            documents.put(key.s3_key, source.markdown.encode(), media_type="text/markdown", metadata={})
            deliveries.append(delivery(Change(key.s3_key, f"{number:018X}")))
        failed = app.ingest.reconcile(deliveries, soon())
        if failed:
            sys.exit(f"{vault}: {len(failed)} documents were not indexed")
