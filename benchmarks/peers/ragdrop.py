"""The program for ragdrop itself, asked like the frameworks: its use cases in process over OpenSearch, or its function.

Configurations, which a further `open` switches: `search` (critical documents, links and whole documents off), `default`
(as `POST /search` does without settings), `function` (as `search`, through the handler of functions/query and an event
of API Gateway), `calls` (the requests that `search` sent for this question, again, by plain clients) and `candidates`
(of those the first alone: an embedding and one `_msearch`).  The registry is in memory: on AWS one BatchGetItem more.

    python -m benchmarks.peers.ragdrop            # over OpenSearch
    python -m benchmarks.peers.ragdrop bucket     # over the bucket index, in a state bucket in memory
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import local
from types import ModuleType
from typing import Any

import httpx
from opensearchpy import OpenSearch

from benchmarks.collections import CollectionDocument
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.peers.serving import Peer, PeerPlace, best_documents, serve
from benchmarks.pipeline import OVER_OPENSEARCH, SETTINGS, TENANT, delivery, ingest, soon, stores_in_memory
from ragdrop import app as application
from ragdrop.app import App, Ports, compose
from ragdrop.config import Settings
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller, IndexRef
from ragdrop.models.splitter import SemanticSplitter
from ragdrop.ports.message_queue import Change
from ragdrop.resilience.breakers import Retries
from ragdrop_opensearch.client import QuietConnection
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from testing.memory_object_store import MemoryObjectStore
from testing.memory_services import MemoryMetrics

ROOT = Path(__file__).resolve().parents[2]
ALONE: dict[str, Any] = {"include_critical": False, "follow_links": False, "expand": "neighbours"}
MODES = {
    "search": "critical documents, links and whole documents off",
    "default": "all defaults",
    "function": "as search, through the function's handler and an event of API Gateway",
    "calls": "the requests of search again, by plain clients",
    "candidates": "an embedding and one _msearch, by plain clients",
}
VAULT = "bench"
BATCH, CONCURRENCY = 5, 5  # messages of one invocation, and invocations at a time, as in the template
THREADS = 40  # of the served handler, as many as FastAPI's own for plain functions

Call = Callable[[], object]
Notes = list[tuple[str, Call]]
"""What was asked, and how to ask it again; `candidates` is an `_msearch`."""


def noting(url: str, notes: Notes) -> type[QuietConnection]:
    """A connection whose requests are noted, to be sent again by a plain client."""
    client = OpenSearch(url)

    class Noting(QuietConnection):
        def perform_request(
            self, method: str, url: str, params: Any = None, body: Any = None, *rest: Any, **more: Any
        ) -> Any:
            again = lambda: client.transport.perform_request(method, url, params=params, body=body)  # noqa: E731
            notes.append(("candidates" if "_msearch" in url else url, again))
            return super().perform_request(method, url, params, body, *rest, **more)

    return Noting


@dataclass(frozen=True)
class Context:
    """What Powertools and ragdrop read of a Lambda context."""

    function_name: str = "query"
    memory_limit_in_mb: int = 1024
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:123456789012:function:query"
    aws_request_id: str = "00000000-0000-4000-8000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


class FilledOnce(OpenSearchChunkIndex):
    """An index that each document comes to once: a deletion by query for each would find nothing."""

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        del index, key, before_revision, deadline, from_revision
        return 0


class Ragdrop(Peer):
    """The composition root with real index, embedder and splitter, and stores in memory."""

    def __init__(self, *, over_opensearch: bool = True) -> None:
        self.over_opensearch = over_opensearch

    def open(self, place: PeerPlace) -> str:
        """Compose it the first time; switch the way of asking each time."""
        if not hasattr(self, "_ways"):
            self._compose(place)
        self._way = self._ways[place.configuration]
        if place.folder:
            self._deliver([self._put("warm.txt", b"It is warm.")])  # what a function makes once is made here
            how = "as ragdrop push: what differs from the bucket is put"
            return f"{how}; events come in batches of 5, five batches at a time"
        index = "Lucene HNSW m 16, ef_construction 100" if self.over_opensearch else "the bucket index"
        return f"240 tokens with 24 of overlap; {index}; {MODES[place.configuration]}"

    def add(self, documents: list[dict[str, str]]) -> int:
        """Push them into a vault and let ingest index them; the title stands as heading in the text."""
        before = self._app.ports.index.count(self._index, soon())
        ingest(
            self._app, self._documents, VAULT, [CollectionDocument(each["id"], "", each["text"]) for each in documents]
        )
        self._notes.clear()  # they hold the vectors of all documents
        return self._app.ports.index.count(self._index, soon()) - before

    def search(self, query: str, limit: int) -> list[str]:
        return self._way(query, limit)

    def sync(self, folder: Path) -> int:
        """Put what differs, remove what is gone, let the events arrive; chunks that there are then."""
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.txt"))}
        changed = [self._put(name, body) for name, body in files.items() if self._differs(name, body)]
        for listed in list(self._documents.entries(f"{TENANT}/{VAULT}/")):
            if not listed.deleted and listed.key.split("/", 2)[2] not in {*files, "warm.txt"}:
                self._documents.delete(listed.key)
                changed.append(listed.key)
        self._deliver(changed)
        return self._app.ports.index.count(self._index, soon()) if changed else 0

    def served(self) -> tuple[Any, str]:
        """An ASGI application of a page: no routes, no checks, as the handler has these.

        The handler runs in threads, each of which serves one event at a time, as an execution environment does.
        """
        pool = ThreadPoolExecutor(THREADS)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":  # uvicorn's start and end
                return
            body, more = b"", True
            while more:
                message = await receive()
                body, more = body + message.get("body", b""), message.get("more_body", False)
            answer = await asyncio.get_running_loop().run_in_executor(pool, self.invoke, json.loads(body))
            headers = [(name.encode(), value.encode()) for name, value in answer["headers"].items()]
            await send({"type": "http.response.start", "status": answer["statusCode"], "headers": headers})
            await send({"type": "http.response.body", "body": answer["body"].encode()})

        return app, "/search"

    def close(self) -> None:
        self._app.ports.index.drop(self._index, soon())
        self._http.close()
        self._copies.cleanup()

    def _compose(self, place: PeerPlace) -> None:
        self._of_thread = local()
        self._notes: list[tuple[str, Callable[[], object]]] = []
        self._asked: dict[str, list[Callable[[], object]]] = {}
        settings = (
            SETTINGS
            | (OVER_OPENSEARCH if self.over_opensearch else {})
            | {
                "EMBEDDING_URL": place.embedding_url,
                "EMBEDDING_CACHE_SIZE": "0",  # each question is new to every contender, each time
                "CACHE_SIZE": "0",
            }
        )
        with LocalEmbeddings() as model:
            tokenizer = model.tokenizer
        self._copies = tempfile.TemporaryDirectory(prefix="ragdrop-bench-")
        self._documents = MemoryObjectStore("documents")
        ports = (
            Ports(Settings.from_environment(settings), function="query")
            .replace(**stores_in_memory(Path(self._copies.name)))
            .replace(documents=self._documents, metrics=MemoryMetrics(), splitter=SemanticSplitter(lambda: tokenizer))
        )
        if self.over_opensearch:
            connection = noting(place.opensearch_url, self._notes)
            index_type = OpenSearchChunkIndex if place.folder else FilledOnce
            index = index_type.from_url(place.opensearch_url, shards=1, connection_class=connection, retries=Retries())
            ports = ports.replace(index=index)
        self._app = compose(ports)
        self._app.operate.operator.create_tenant(TENANT)
        self._key, _ = self._app.operate.operator.create_key(TENANT, "reader")
        tenant = self._app.ports.registry.tenant(TENANT)
        assert tenant is not None
        self._index, self._caller = tenant.index, Caller(TENANT, "reader")
        self._http = httpx.Client(base_url=place.embedding_url, trust_env=False)
        self._model = place.embedding_model
        self._event = (ROOT / "events" / "search.json").read_text("utf-8").replace("rd_local_example_key", self._key)
        self._handler = handler_of(self._app).handler
        self._ways: dict[str, Callable[[str, int], list[str]]] = {
            "search": lambda query, limit: self._searched(query, limit, ALONE),
            "default": lambda query, limit: self._searched(query, limit, {}),
            "function": self._called,
            "calls": lambda query, _: self._replayed(query, 100),
            "candidates": lambda query, _: self._replayed(query, 1),
        }

    def _differs(self, name: str, body: bytes) -> bool:
        values = self._documents.head(DocumentKey(TENANT, VAULT, name).s3_key)
        return values is None or values.etag != hashlib.md5(body, usedforsecurity=False).hexdigest()

    def _put(self, name: str, body: bytes) -> str:
        key = DocumentKey(TENANT, VAULT, name).s3_key
        self._documents.put(key, body, media_type="text/plain", metadata={})
        return key

    def _deliver(self, keys: list[str]) -> None:
        messages = [delivery(Change(key)) for key in keys]
        batches = [messages[at : at + BATCH] for at in range(0, len(messages), BATCH)]
        with ThreadPoolExecutor(CONCURRENCY) as functions:
            for failed in functions.map(lambda batch: self._app.ingest.reconcile(batch, soon()), batches):
                if failed:
                    raise RuntimeError(f"{len(failed)} messages failed")

    def _searched(self, query: str, limit: int, fields: dict[str, Any]) -> list[str]:
        asked = Query(query, limit=limit, min_relevance=0.0, **fields)
        first = len(self._notes)
        found = self._app.query.uncached_search(asked, self._caller, soon())
        calls = [call for _, call in self._notes[first:]]
        if fields and (query not in self._asked or len(calls) < len(self._asked[query])):  # texts are read but once
            self._asked[query] = calls
        return best_documents([each.key.path.removesuffix(".md") for each in found.documents], limit)

    def _called(self, query: str, limit: int) -> list[str]:
        response = self.invoke({"query": query, "limit": limit})
        if response["statusCode"] != 200:
            raise RuntimeError(response["body"])
        return [each["path"].removesuffix(".md") for each in json.loads(response["body"])["results"]]

    def invoke(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What the function's handler answers to an event of API Gateway with the body *asked*."""
        if not hasattr(self._of_thread, "loop"):  # Mangum takes the thread's own, and only the first thread has one
            self._of_thread.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._of_thread.loop)
        body = json.dumps(asked | {"min_relevance": 0.0} | ALONE)
        response: dict[str, Any] = self._handler(json.loads(self._event) | {"body": body}, Context())
        return response

    def _replayed(self, query: str, most: int) -> list[str]:
        reply = self._http.post("embeddings", json={"model": self._model, "input": [query]})
        reply.json()
        for call in self._asked[query][:most]:
            call()
        return []


def handler_of(app: App) -> ModuleType:
    """The module of the query function, composed with *app* in place of what its environment would say."""
    spec = importlib.util.spec_from_file_location("function_query", ROOT / "functions" / "query" / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = {"Reloaded": application.Reloaded, "compose": application.compose}
    reloaded = partial(application.Reloaded, read=lambda **_: app.ports.settings)
    vars(application).update(Reloaded=reloaded, compose=lambda _: app)
    try:
        spec.loader.exec_module(module)
    finally:
        vars(application).update(before)
    return module


if __name__ == "__main__":
    serve(Ragdrop(over_opensearch=sys.argv[1:] != ["bucket"]))
