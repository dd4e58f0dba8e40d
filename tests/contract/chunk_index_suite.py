"""What the suites of the chunk indexes share: the engines, and short ways to write chunks and ask for them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from bucketindex.index import BucketChunkIndex
from ragdrop.domain.chunks import (
    CandidateQuery,
    Chunk,
    ChunkRange,
    Filters,
    HiddenFolder,
    Hit,
    IndexedChunk,
    Vector,
    vector,
)
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.object_store import ObjectStore
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from testing.models import word_vector
from tests.contract.opensearch_node import opensearch_url

ENGINES = ("memory", "bucket", "bucket by range", "sharded", "opensearch")
DIMENSION = 16


def now() -> Deadline:
    return Deadline.after(30.0)


def new_ref(*, tenant: str | None = None, dimension: int = DIMENSION) -> IndexRef:
    """A tenant that no other test uses, in an index that all tests of that dimension share."""
    return IndexRef(tenant or f"t-{uuid4().hex[:12]}", f"ragdrop-test-{dimension}", dimension)


@dataclass(frozen=True)
class Engine:
    """One kind of index and a tenant in it."""

    kind: str
    chunks: ChunkIndex
    ref: IndexRef
    replaces: bool = True  # whether a chunk that is written again with other words is not found by the first ones

    @property
    def cosine_error(self) -> float:
        """How far a cosine may be off: the bucket index keeps vectors in 8 bits a number."""
        return 0.01 if self.kind.startswith("bucket") else 1e-4

    def key(self, path: str, *, vault: str = "team") -> DocumentKey:
        return DocumentKey(self.ref.tenant, vault, path)

    def piece(
        self,
        path: str,
        text: str = "words",
        *,
        vault: str = "team",
        revision: int = 1,
        ordinal: int = 0,
        near: Vector | None = None,
        headings: tuple[str, ...] = (),
        title: str = "untitled",
        **facts: Any,
    ) -> IndexedChunk:
        return IndexedChunk(
            self.key(path, vault=vault),
            revision,
            Chunk(ordinal, 100 * ordinal, 100 * ordinal + len(text), text, headings, page=ordinal + 1),
            Facts(title=title, version_id=f"s3-{revision}", indexed_at="2026-01-02T03:04:05Z", **facts),
            word_vector(text, self.ref.dimension) if near is None else near,
        )

    def write(self, *pieces: IndexedChunk) -> None:
        self.chunks.upsert(self.ref, pieces, now())
        self.chunks.refresh([self.ref], now())

    def words(self, text: str, **query: Any) -> list[Hit]:
        """Lexical hits."""
        return list(self._one(text, None, **query).lexical)

    def near(self, wanted: Vector, **query: Any) -> list[Hit]:
        """Vector hits."""
        return list(self._one(None, wanted, **query).vector)

    def both(self, text: str, **query: Any) -> tuple[set[str], set[str]]:
        """The paths of the vector and of the lexical hits for *text*."""
        found = self._one(text, word_vector(text, self.ref.dimension), **query)
        return set(paths(found.vector)), set(paths(found.lexical))

    def read(
        self, path: str, *, vault: str = "team", revision: int = 1, first: int = 0, last: int = 10_000
    ) -> list[Hit]:
        wanted = ChunkRange(self.key(path, vault=vault), revision, first, last)
        return self.chunks.read(self.ref, [wanted], now())[0]

    def remove(self, path: str, *, before_revision: int) -> int:
        removed = self.chunks.remove(self.ref, self.key(path), before_revision=before_revision, deadline=now())
        self.chunks.refresh([self.ref], now())
        return removed

    def count(self) -> int:
        return self.chunks.count(self.ref, now())

    def _one(
        self,
        text: str | None,
        wanted: Vector | None,
        *,
        filters: Filters | None = None,
        limit: int = 50,
        without: frozenset[tuple[DocumentKey, int]] = frozenset(),
        hidden: tuple[HiddenFolder, ...] = (),
    ) -> Any:
        query = CandidateQuery(text, wanted, filters or Filters(), limit, without, hidden)
        return self.chunks.candidates(self.ref, [query], now())[0]


@contextmanager
def chunk_index_engine(kind: str, folder: Path) -> Iterator[Engine]:
    """A fresh tenant in an index of this kind.  A new kind joins here and in ENGINES."""
    if kind == "memory":
        yield Engine(kind, MemoryChunkIndex(), new_ref())
    elif kind == "bucket":
        yield Engine(kind, bucket_index(folder), new_ref())
    elif kind == "sharded":
        yield Engine("bucket", sharded_index(folder), new_ref(), replaces=False)
    elif kind == "bucket by range":
        yield Engine(kind, bucket_by_range(folder), new_ref())
    elif kind == "opensearch":
        index, ref = OpenSearchChunkIndex.from_url(opensearch_url(), shards=2), new_ref()
        yield Engine(kind, index, ref)
        index.drop(ref, now())
    else:
        raise ValueError(kind)


def bucket_index(folder: Path, state: ObjectStore | None = None, **named: Any) -> BucketChunkIndex:
    """A bucket index over fakes, with its copies in *folder*."""
    manifests = named.pop("manifests", None) or MemoryManifests()
    return BucketChunkIndex(state or MemoryObjectStore("state"), manifests, folder, **{"max_bytes": 1 << 30} | named)


def sharded_index(folder: Path, *, shard_chunks: int = 1, **named: Any) -> BucketChunkIndex:
    """A bucket index of shards of so many chunks, which another environment answers for, by JSON."""
    state, manifests = MemoryObjectStore("state"), MemoryManifests()
    worker = bucket_index(folder / "worker", state, manifests=manifests)

    def ask(request: Any, deadline: Deadline) -> Any:
        return json.loads(json.dumps(worker.answer_shard(json.loads(json.dumps(request)), deadline)))

    named = {"shard_chunks": shard_chunks, "ask_shard": ask, **named}
    return bucket_index(folder / "asker", state, manifests=manifests, **named)


class BucketByRange(BucketChunkIndex):
    """A bucket index whose searches go to *reader*, another environment, which never waits for a copy."""

    def __init__(self, reader: BucketChunkIndex, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._reader = reader

    def __getattribute__(self, name: str) -> Any:
        if name not in {"ready", "candidates", "read", "nearest_of"}:
            return super().__getattribute__(name)
        found = getattr(self._reader, name)

        def asked(index: IndexRef, *arguments: Any, **named: Any) -> Any:
            self._reader._views.forget(index)
            return found(index, *arguments, **named)

        return asked


def bucket_by_range(folder: Path) -> BucketByRange:
    state, manifests = MemoryObjectStore("state"), MemoryManifests()
    named: dict[str, Any] = {"max_bytes": 1 << 30}
    reader = BucketChunkIndex(state, manifests, folder / "reader", far_bytes=-1, **named)
    return BucketByRange(reader, state, manifests, folder / "writer", **named)


def paths(hits: Sequence[Hit]) -> list[str]:
    return [hit.key.path for hit in hits]


def random_vector(source: random.Random, dimension: int = DIMENSION) -> Vector:
    return vector(source.gauss(0.0, 1.0) for _ in range(dimension))


def cosine(left: Vector, right: Vector) -> float:
    return sum(one * other for one, other in zip(left, right, strict=True))
