"""The sample vault on an index of the test's own choice, and its golden questions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from ragdrop.app import App, Ports, compose
from ragdrop.config import Settings
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.models.embedder import OpenAiEmbedder
from ragdrop.models.http import OpenAiHttp
from ragdrop.ports.message_queue import Change, Delivery
from testing.memory_breakers import MemoryBreakers
from testing.memory_manifests import MemoryManifests
from testing.memory_message_queue import MemoryMessageQueue
from testing.memory_object_store import MemoryObjectStore
from testing.memory_registry import MemoryRegistry
from testing.memory_telemetry import MemoryTelemetry, MemoryVisitedCache
from tests.stacks import REPOSITORY, LocalStack

VAULT = REPOSITORY / "localstack/sample-vault"
GOLDEN = REPOSITORY / "tests/e2e/golden_sample_vault.jsonl"


@dataclass(frozen=True)
class Remembering:
    """The real embedding service, asked once for each text: both engines get the very same vectors."""

    embedder: OpenAiEmbedder
    seen: dict[tuple[str, str], Vector]

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        if ("query", text) not in self.seen:
            self.seen["query", text] = self.embedder.query(text, space, deadline)
        return self.seen["query", text]

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        missing = [text for text in dict.fromkeys(texts) if ("passage", text) not in self.seen]
        made = self.embedder.passages(missing, space, deadline)
        self.seen.update({("passage", text): vector for text, vector in zip(missing, made, strict=True)})
        return [self.seen["passage", text] for text in texts]


class Engine:
    """ragdrop over one index, with the sample vault in it; buckets, registry and queue are fakes.

    Args:
        index: None for that of INDEX_URL.
        embedder, environment: As `model_of` gives them.
        tenant: Made here.
        parts: Other ports.
    """

    def __init__(
        self, index: object | None, embedder: Remembering, environment: dict[str, str], tenant: str, **parts: Any
    ) -> None:
        documents, state = MemoryObjectStore("documents"), MemoryObjectStore("state")
        tokenizer = Path(environment["TOKENIZER_FILE"]).read_bytes()
        state.put(environment["EMBEDDING_TOKENIZER"], tokenizer, media_type="application/json")
        ports = Ports(Settings.from_environment(environment)).replace(
            documents=documents,
            state=state,
            registry=MemoryRegistry(),
            manifests=MemoryManifests(),
            queue=MemoryMessageQueue(),
            embedder=embedder,
            telemetry=MemoryTelemetry(),
            visited=MemoryVisitedCache(),
            breaker_store=MemoryBreakers(),
        )
        if index is not None:
            parts["index"] = index
        self.app: App = compose(ports.replace(**parts))
        self.documents = documents
        self.tenant = tenant
        self.app.operate.operator.create_tenant(tenant)
        keys = [DocumentKey(tenant, "handbook", path.relative_to(VAULT).as_posix()) for path in sample_files()]
        for key, path in zip(keys, sample_files(), strict=True):
            documents.put(key.s3_key, path.read_bytes(), media_type="text/plain")
        message = Delivery("message", "receipt", 1, tuple(Change(key.s3_key) for key in keys))
        assert self.app.ingest.reconcile([message], Deadline.after(300)) == []

    def find(self, question: str, *, limit: int) -> list[str]:
        """The paths of the best documents, best first."""
        return [document.key.path for document in self.search(question, limit=limit).documents]

    def search(self, question: str, *, limit: int) -> Retrieval:
        """All that a search gives."""
        return self.app.query.search(Query(question, limit=limit), Caller(self.tenant, "admin"), Deadline.after(30))

    def delete(self, path: str) -> None:
        """Delete a document, and let its event arrive."""
        key = DocumentKey(self.tenant, "handbook", path).s3_key
        self.documents.delete(key)
        assert self.app.ingest.reconcile([Delivery("gone", "receipt", 1, (Change(key),))], Deadline.after(60)) == []


def sample_files() -> list[Path]:
    return sorted(path for path in VAULT.rglob("*") if path.is_file())


def golden() -> dict[str, str]:
    """The golden questions that have an answer, each with the path of its document."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
    return {line["question"]: line["document"] for line in lines if line["document"]}


@contextmanager
def model_of(stack: LocalStack, folder: Path) -> Iterator[tuple[Remembering, dict[str, str]]]:
    """The embedding service of a stack, and what an Engine needs of the stack's environment."""
    environment = stack.environment
    tokenizer = folder / "tokenizer.json"
    stack.client("s3").download_file(environment["STATE_BUCKET"], environment["EMBEDDING_TOKENIZER"], str(tokenizer))
    environment["TOKENIZER_FILE"] = str(tokenizer)
    with httpx.Client(trust_env=False) as client:
        http = OpenAiHttp(environment["EMBEDDING_URL"], api_key=lambda: None, timeout_s=60, client=client)
        yield Remembering(OpenAiEmbedder(http, batch_size=32), {}), environment
