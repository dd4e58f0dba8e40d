"""A world whose index is an OpenSearch, which can be cut off, with the bucket index beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bucketindex.index import BucketChunkIndex
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.domain.tenants import Caller, IndexRef
from ragdrop.errors import CircuitOpenError, DatabaseError, DependencyError
from ragdrop.stores.routed_index import RoutedIndex
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.world import World

SOME_URL = "http://127.0.0.1:1"


class DeadIndex(MemoryChunkIndex):
    """An index whose searches and reads fail once it is told so."""

    error: DatabaseError | CircuitOpenError | None = None

    def candidates(self, *args: Any, **named: Any) -> Any:
        if self.error:
            raise self.error
        return super().candidates(*args, **named)

    def read(self, *args: Any, **named: Any) -> Any:
        if self.error:
            raise self.error
        return super().read(*args, **named)


class FallbackWorld(World):
    """A world whose tenant is in an OpenSearch; `opensearch` stands for it, `bucket` is the real bucket index."""

    def __init__(self, folder: Path, **parts: Any) -> None:
        self.opensearch = DeadIndex()
        state, manifests = MemoryObjectStore("state"), MemoryManifests()
        self.bucket = BucketChunkIndex(state, manifests, folder, max_bytes=1 << 30, clock=lambda: self.now_s)
        super().__init__(
            settings={"INDEX_URL": SOME_URL},
            index=RoutedIndex(self.bucket, lambda: self.opensearch),
            bucket_index=self.bucket,
            state=state,
            manifests=manifests,
            **parts,
        )

    def cut(self, error: DatabaseError | CircuitOpenError | None = None) -> None:
        """Let every search and read of the OpenSearch fail."""
        self.opensearch.error = error or DatabaseError("the index did not answer", service="index")

    def ref(self) -> IndexRef:
        """The tenant's part of its index."""
        tenant = self.registry.tenant(self.tenant)
        assert tenant is not None
        return tenant.index

    def segments(self) -> list[str]:
        """The objects of the tenant's bucket index."""
        return [each.key for each in self.state.entries(f"index/{self.tenant}/")]

    def paths(self, text: str, **fields: Any) -> list[str]:
        """The documents found, best first."""
        return [document.key.path for document in self.search(text, **fields).documents]


class BucketDouble:
    """A search of a bucket index that notes what it is asked, and finds nothing, or raises."""

    def __init__(self, error: DependencyError | None = None) -> None:
        self.error = error
        self.asked: list[Query] = []
        self.left_s: list[float] = []

    def holds(self, _caller: Caller) -> bool:
        return True

    def __call__(self, query: Query, _caller: Caller, deadline: Deadline) -> Retrieval:
        self.asked.append(query)
        self.left_s.append(deadline.remaining_s())
        if self.error:
            raise self.error
        return Retrieval([], 0, 0, {}, served_by="fallback")
