"""The change script on ragdrop: its own use cases over the bucket index, events late, doubled and out of order."""

from __future__ import annotations

import random
import sys
from array import array
from collections.abc import Mapping, Sequence

from benchmarks.change.counts import LIMIT, GivenText
from benchmarks.change.script import Step, markers
from benchmarks.peers.generated import GeneratedModel
from benchmarks.quality_pipeline import TENANT, soon
from ragdrop.bootstrap import App
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.queries import Query
from ragdrop.domain.retrieval import FoundDocument
from ragdrop.domain.tenants import Caller
from ragdrop.ports.message_queue import Change, Delivery
from testing.memory_object_store import MemoryObjectStore

VAULT = "changing"
DOUBLED = 0.2  # share of the events that come twice; SQS promises only at least once
LATE = 5  # events of earlier steps that come once more in each step
BATCH = 5  # messages of one invocation, as in the template


class GeneratedEmbedder:
    """An Embedder of vectors that are made from the text's digest, as the frameworks get them from their server."""

    def __init__(self) -> None:
        self._model = GeneratedModel()

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:  # noqa: ARG002 - the port's
        """The vector of a question."""
        return self._vectors([text])[0]

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:  # noqa: ARG002
        """The vectors of passages."""
        return self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        return [array("f", each) for each in self._model.embed(texts).vectors]


class RagdropLife:
    """One tenant whose bucket changes; *documents* is the bucket of *app*."""

    def __init__(self, app: App, documents: MemoryObjectStore, seed: int) -> None:
        self._app, self._documents = app, documents
        self._caller = Caller(TENANT, "admin")
        self._chance = random.Random(seed)
        self._told: list[Change] = []
        self._messages = 0

    def sync(self, step: Step) -> None:
        """Change the bucket, then let the events arrive as unkindly as S3 and SQS may bring them."""
        happened: list[Change] = []
        for path, text in step.changes:
            key = DocumentKey(TENANT, VAULT, path).s3_key
            if text is None:
                self._documents.delete(key)
            else:
                self._documents.put(key, text.encode(), media_type="text/plain", metadata={})
            happened.append(Change(key, f"{len(self._told) + len(happened):018X}"))
        twice = [change for change in happened if self._chance.random() < DOUBLED]
        late = self._chance.sample(self._told, min(LATE, len(self._told)))
        self._told += happened
        arriving = [*happened, *twice, *late]
        self._chance.shuffle(arriving)
        for at in range(0, len(arriving), BATCH):
            messages = [self._message(change) for change in arriving[at : at + BATCH]]
            if self._app.ingest.reconcile(messages, soon()):
                sys.exit(f"ragdrop: a message failed at {step.name!r}")

    def answers(self, words: Sequence[str]) -> list[list[GivenText]]:
        """The chunks that search gives for each."""
        return [
            [
                GivenText(document.key.path, chunk.hit.chunk.text)
                for document in self._search(word)
                for chunk in document.chunks
            ]
            for word in words
        ]

    def whole(self, files: Mapping[str, str]) -> list[GivenText]:
        """The whole texts of the documents that search gives for the first word of each file."""
        asked = [markers(text)[0] for text in files.values()]
        return [GivenText(document.key.path, document.text) for word in asked for document in self._search(word)]

    def _search(self, word: str) -> tuple[FoundDocument, ...]:
        query = Query(word, limit=LIMIT, min_relevance=0.0, vaults=(VAULT,))
        return tuple(self._app.query.uncached_search(query, self._caller, soon()).documents)

    def _message(self, change: Change) -> Delivery:
        self._messages += 1
        return Delivery(f"m{self._messages}", f"r{self._messages}", 1, (change,))
