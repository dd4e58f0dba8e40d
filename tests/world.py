"""The World: ragdrop's own composition root with fakes in place of S3, DynamoDB, SQS, the index and the models."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from ragdrop.app import App, Ports, compose
from ragdrop.config import Settings
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import Calibration, Curve
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.ports.message_queue import Change, Delivery
from testing.memory_breakers import MemoryBreakers
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_ledger import MemoryWorkLedger
from testing.memory_manifests import MemoryManifests
from testing.memory_message_queue import MemoryMessageQueue
from testing.memory_object_store import MemoryObjectStore
from testing.memory_registry import MemoryRegistry
from testing.memory_services import MemoryMetrics, MemoryModelList, MemoryWiring
from testing.memory_telemetry import (
    MemoryReceipts,
    MemoryRequestCounts,
    MemoryStoredReplies,
    MemoryTelemetry,
    MemoryVisitedCache,
)
from testing.models import HashingEmbedder, ScriptedChatModel

COPIES = tempfile.TemporaryDirectory(prefix="ragdrop-tests-")
TENANT = "acme"
DIMENSION = 64
ENVIRONMENT = {
    "INDEX_URL": "s3://",
    "EMBEDDING_URL": "http://127.0.0.1:1",
    "EMBEDDING_MODEL": "hashing",
    "EMBEDDING_DIMENSION": str(DIMENSION),
    "CHAT_URL": "http://127.0.0.1:1",
    "CHAT_MODELS": "scripted",
    "MIN_RELEVANCE": "0",  # nobody calibrated the fake model: a test that is about relevance says what it wants
    "DOCUMENT_BUCKET": "documents",
    "STATE_BUCKET": "state",
    "REGISTRY_TABLE": "registry",
    "VISITED_TABLE": "visited",
    "TELEMETRY_TABLE": "telemetry",
    "QUEUE_URL": "http://127.0.0.1:1/queue",
}


class World:
    """A tenant with everything that it needs, and a clock that stands still unless it is moved.

    *settings* differ from the defaults; *parts* are given in place of the fakes: real adapters, fakes that misbehave.
    """

    def __init__(self, tenant: str = TENANT, *, settings: Mapping[str, str] | None = None, **parts: Any) -> None:
        self.tenant = tenant
        self.now_s = 1_800_000_000.0
        self.documents: Any = parts.get("documents") or MemoryObjectStore("documents")
        self.state: Any = parts.get("state") or MemoryObjectStore("state")
        self.registry: Any = parts.get("registry") or MemoryRegistry()
        self.index: Any = parts.get("index") or MemoryChunkIndex()
        self.queue: Any = parts.get("queue") or MemoryMessageQueue()
        self.visited: Any = parts.get("visited") or MemoryVisitedCache()
        self.embedder: Any = parts.get("embedder") or HashingEmbedder(dimension=DIMENSION)
        self.chat = ScriptedChatModel()
        self.embedding_models, self.chat_models = MemoryModelList("hashing"), MemoryModelList("scripted")
        self.metrics, self.wiring = MemoryMetrics(), MemoryWiring()
        self.telemetry = parts.get("telemetry") or MemoryTelemetry()
        self.receipts = parts.get("receipts") or MemoryReceipts()
        self.breaker_store = parts.get("breaker_store") or MemoryBreakers()
        self.stored_replies = parts.get("stored_replies") or MemoryStoredReplies()
        self.request_counts = parts.get("request_counts") or MemoryRequestCounts()
        ports = Ports(Settings.from_environment({**ENVIRONMENT, **(settings or {})}), clock=lambda: self.now_s).replace(
            sleep=lambda _seconds: None,
            documents=self.documents,
            state=self.state,
            registry=self.registry,
            index=self.index,
            queue=self.queue,
            embedder=self.embedder,
            chat=self.chat,
            embedding_models=self.embedding_models,
            chat_models=self.chat_models,
            telemetry=self.telemetry,
            metrics=self.metrics,
            wiring=self.wiring,
            visited=self.visited,
            receipts=self.receipts,
            stored_replies=self.stored_replies,
            request_counts=self.request_counts,
            breaker_store=self.breaker_store,
        )
        named = ("hop_limits", "revisions", "bucket_index", "parser", "reader")
        given = {name: parts[name] for name in named if name in parts}
        manifests = parts.get("manifests") or MemoryManifests()
        given["work_ledger"] = self.work_ledger = parts.get("work_ledger") or MemoryWorkLedger()
        folder = parts.get("index_folder") or Path(COPIES.name) / uuid4().hex
        self.app: App = compose(ports.replace(index_folder=folder, manifests=manifests, **given))
        if self.registry.tenant(tenant) is None:
            self.app.operate.operator.create_tenant(tenant)
        self.caller = Caller(tenant, "admin")
        self._messages = itertools.count(1)
        self._sequence = itertools.count(1)

    def calibrate(self, curve: Curve) -> None:
        """Say what cosines are worth in the world's tenant."""
        tenant = self.registry.tenant(self.tenant)
        assert tenant is not None
        self.registry.put_calibration(self.tenant, Calibration(tenant.active.space, curve))
        self.app.tenants.directory.forget(self.tenant)

    def put(
        self,
        path: str,
        text: str | bytes,
        metadata: Mapping[str, str] | None = None,
        *,
        ingest: bool = True,
        **named: str,
    ) -> str:
        """Put an object and, unless *ingest* is False, let its event arrive; its version id."""
        body = text.encode() if isinstance(text, str) else text
        stored = self.documents.put(
            self.key(path).s3_key, body, media_type="text/plain", metadata={**(metadata or {}), **named}
        )
        if ingest:
            self.changed(path)
        return str(stored.version_id)

    def delete(self, path: str, *, ingest: bool = True) -> None:
        """Put a delete marker on an object and, unless *ingest* is False, let its event arrive."""
        self.documents.delete(self.key(path).s3_key)
        if ingest:
            self.changed(path)

    def changed(self, *paths: str, message_id: str | None = None, receives: int = 1) -> list[Delivery]:
        """Let one message that names *paths* arrive; what failed."""
        changes = tuple(self.change(path) for path in paths)
        return self.deliver(self.message(*changes, message_id=message_id, receives=receives))

    def change(self, path: str) -> Change:
        """The next event of a key."""
        return Change(self.key(path).s3_key, f"{next(self._sequence):018X}")

    def message(self, *changes: Change, message_id: str | None = None, receives: int = 1) -> Delivery:
        """A message as the queue would deliver it."""
        id_ = message_id or f"message-{next(self._messages)}"
        return Delivery(id_, f"receipt-{id_}", receives, changes)

    def deliver(self, *deliveries: Delivery, left_s: float = 60.0) -> list[Delivery]:
        """One Lambda batch; what failed."""
        return self.app.ingest.reconcile(deliveries, Deadline.after(left_s))

    def handed_over(self) -> list[Delivery]:
        """The messages by which large documents were handed over since this was asked last."""
        continued, self.queue.continued = self.queue.continued, []
        return [self.message(Change(each.key, handed_over=each)) for each in continued]

    def search(self, text: str, **fields: Any) -> Retrieval:
        """Search as the tenant's admin."""
        return self.app.query.search(Query(text, **fields), self.caller, Deadline.after(10))

    def texts(self, text: str, **fields: Any) -> list[str]:
        """The text of every matching chunk, best first."""
        found = self.search(text, **fields)
        return [chunk.hit.chunk.text for document in found.documents for chunk in document.chunks]

    def head(self, path: str) -> Head:
        """The registry's head of a document, which must be there."""
        head: Head | None = self.registry.head(self.key(path))
        assert head is not None
        return head

    def key(self, path: str) -> DocumentKey:
        """The key of `vault/path` in the world's tenant."""
        return DocumentKey.parse(f"{self.tenant}/{path}")

    def chunk_count(self) -> int:
        """Chunks in the index, superseded ones too."""
        tenant = self.registry.tenant(self.tenant)
        assert tenant is not None
        return int(self.index.count(tenant.index, Deadline.after(10)))


def as_json(value: str | bytes) -> Any:
    """A response's body."""
    return json.loads(value)


def error_of(head: Head) -> str | None:
    """The code of the failure that *head* records."""
    return head.error.code if head.error else None
