"""The two engines behind one port: the same questions find the same documents, whichever holds the chunks."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragdrop.adapters.memory_message_queue import MemoryMessageQueue
from ragdrop.adapters.memory_object_store import MemoryObjectStore
from ragdrop.adapters.memory_registry import MemoryRegistry
from ragdrop.adapters.openai_embedder import OpenAiEmbedder
from ragdrop.adapters.openai_http import OpenAiHttp
from ragdrop.adapters.opensearch_chunk_index import OpenSearchChunkIndex
from ragdrop.adapters.sqlite_chunk_index import SqliteChunkIndex
from ragdrop.bootstrap import App, bootstrap
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.deliveries import Change, Delivery
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller, EmbeddingSpace
from tests.contract.opensearch_node import opensearch_url
from tests.integration.conftest import REPOSITORY, LocalStack

VAULT = REPOSITORY / "localstack/sample-vault"
GOLDEN = REPOSITORY / "tests/e2e/golden_sample_vault.jsonl"
TOP = 5
SAME_FIRST = 0.95
SAME_TOP = 0.9


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
    """ragdrop over one index, with the sample vault in it; buckets, registry and queue are fakes."""

    def __init__(self, index: object, embedder: Remembering, environment: dict[str, str], tenant: str) -> None:
        documents, state = MemoryObjectStore("documents"), MemoryObjectStore("state")
        tokenizer = Path(environment["TOKENIZER_FILE"]).read_bytes()
        state.put(environment["EMBEDDING_TOKENIZER"], tokenizer, media_type="application/json")
        self.app: App = bootstrap(
            environment,
            documents=documents,
            state=state,
            registry=MemoryRegistry(),
            queue=MemoryMessageQueue(),
            index=index,
            embedder=embedder,
        )
        self.tenant = tenant
        self.app.operator.create_tenant(tenant)
        keys = [DocumentKey(tenant, "handbook", path.relative_to(VAULT).as_posix()) for path in sample_files()]
        for key, path in zip(keys, sample_files(), strict=True):
            documents.put(key.s3_key, path.read_bytes(), media_type="text/plain")
        message = Delivery("message", "receipt", 1, tuple(Change(key.s3_key) for key in keys))
        assert self.app.converge_keys.batch([message], Deadline.after(300)) == []

    def find(self, question: str) -> list[str]:
        """The paths of the best documents, best first."""
        found = self.app.search(Query(question, limit=TOP), Caller(self.tenant, "admin"), Deadline.after(30))
        return [document.key.path for document in found.documents]


def sample_files() -> list[Path]:
    return sorted(path for path in VAULT.rglob("*") if path.is_file())


def questions() -> list[str]:
    lines: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
    return [line["question"] for line in lines if line["document"]]


@pytest.fixture
def engines(stack: LocalStack, tmp_path: Path) -> Iterator[tuple[Engine, Engine]]:
    """The same vault on both engines; what is put on the shared node goes again."""
    environment = stack.environment
    tokenizer = tmp_path / "tokenizer.json"
    stack.client("s3").download_file(environment["STATE_BUCKET"], environment["EMBEDDING_TOKENIZER"], str(tokenizer))
    environment["TOKENIZER_FILE"] = str(tokenizer)
    tenant = f"agree-{secrets.token_hex(4)}"
    node = OpenSearchChunkIndex.from_url(opensearch_url())
    with httpx.Client(trust_env=False) as client:
        http = OpenAiHttp(environment["EMBEDDING_URL"], api_key=lambda: None, timeout_s=60, client=client)
        embedder = Remembering(OpenAiEmbedder(http, batch_size=32), {})
        other = Engine(node, embedder, environment, tenant)
        yield Engine(SqliteChunkIndex(tmp_path / "index"), embedder, environment, tenant), other
    held = other.app.registry.tenant(tenant)
    assert held is not None
    node.drop(held.index, Deadline.after(60))


def test_both_engines_find_the_same_documents_for_fifty_questions(
    engines: tuple[Engine, Engine], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = questions()
    pairs = [(engines[0].find(question), engines[1].find(question)) for question in asked]
    same_first = sum(one[:1] == other[:1] for one, other in pairs) / len(pairs)
    shared = sum(len({*one} & {*other}) for one, other in pairs)
    same_top = shared / sum(max(len(one), len(other)) for one, other in pairs)
    differing = [question for question, (one, other) in zip(asked, pairs, strict=True) if one[:1] != other[:1]]
    with capsys.disabled():
        print(f"\n{len(asked)} questions: same first document {same_first:.0%}, same top {TOP} {same_top:.1%}")
        for question in differing:
            print(f"  another first document: {question}")

    assert len(asked) == 50
    assert same_first >= SAME_FIRST
    assert same_top >= SAME_TOP
