"""The chunk index of every tenant: the bucket index, or OpenSearch with the bucket index beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit, IndexedChunk, RevisionPage, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import ChangeCounts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef, engine_of
from ragdrop.errors import ConfigurationError
from ragdrop.ports.indexes import SOME_BYTES, BytesToRead, ChunkIndex, IndexFaults, LayeredIndex
from ragdrop.ports.search_services import SearchableIndex

GROUP = "ragdrop.indexes"  # of entry points: what connects to an engine, by the engine's name
# A Lambda layer holds packages without their metadata, and so without entry points.
SHIPPED = {"opensearch": "ragdrop_opensearch.engine:OpenSearchChunkIndex.from_url"}


def connection_to(engine: str) -> Callable[..., ChunkIndex]:
    """Return what connects to *engine*, by its entry point: a function of a URL, `password` and `retries`.

    It also gets `shards` where the setting `index_shards` has a number.

    The password is None or a function that reads it; with `renew=True` it reads it again.

    Raises ConfigurationError: no installed package has the engine.
    """
    from importlib.metadata import EntryPoint, entry_points  # most functions need the bucket index alone

    found = next(iter(entry_points(group=GROUP, name=engine)), None)
    try:
        connect: Callable[..., ChunkIndex] = (found or EntryPoint(engine, SHIPPED[engine], GROUP)).load()
    except KeyError as exc:
        raise ConfigurationError(f"no installed package has an index engine {engine} (entry points {GROUP})") from exc
    except ImportError as exc:
        message = f"INDEX_URL needs the package {exc.name}; `pip install 'ragdrop[{engine}]'` brings it"
        raise ConfigurationError(message) from exc
    return connect


class RoutedIndex:
    """A ChunkIndex that asks the engine that an index's name is of.

    What is written to OpenSearch is written to the bucket index too, which answers while OpenSearch does not.

    Args:
        bucket: The bucket index.
        opensearch: Connects to OpenSearch; None if INDEX_URL names none.
    """

    def __init__(self, bucket: LayeredIndex, opensearch: Callable[[], ChunkIndex] | None) -> None:
        self._bucket = bucket
        self._connect = opensearch

    def drops_superseded(self, index: IndexRef) -> bool:
        return self._of(index).drops_superseded(index)

    def ready(
        self,
        index: IndexRef,
        deadline: Deadline,
        counts: ChangeCounts | None = None,
        queries: Sequence[CandidateQuery] = (),
    ) -> None:
        self._of(index).ready(index, deadline, counts, queries)

    def upsert(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        """Write chunks, into the bucket index first: what OpenSearch has, the fallback has too."""
        if self._is_mirrored(index):
            self._bucket.upsert(index, chunks, deadline)
        self._of(index).upsert(index, chunks, deadline)

    def refresh(self, indexes: Iterable[IndexRef], deadline: Deadline) -> None:
        mirrored = [each for each in indexes if self._is_mirrored(each)]
        if mirrored:
            self._opensearch.refresh(mirrored, deadline)

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        return self._of(index).candidates(index, queries, deadline)

    def overlaid(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> SearchableIndex:
        """The bucket index, which holds what OpenSearch holds, with *chunks* beside it."""
        return self._bucket.overlaid(index, chunks, deadline)

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        return self._of(index).read(index, ranges, deadline)

    def nearest_of(
        self, index: IndexRef, vector: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        return self._of(index).nearest_of(index, vector, revisions, deadline)

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        """Remove chunks of some revisions; from the bucket index beside OpenSearch a merge drops them."""
        return self._of(index).remove(
            index, key, before_revision=before_revision, deadline=deadline, from_revision=from_revision
        )

    def revisions(self, index: IndexRef, *, cursor: str | None, limit: int, deadline: Deadline) -> RevisionPage:
        return self._of(index).revisions(index, cursor=cursor, limit=limit, deadline=deadline)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        return self._of(index).count(index, deadline)

    def faults(self, index: IndexRef, deadline: Deadline) -> IndexFaults:
        return self._of(index).faults(index, deadline)

    def verify(self, index: IndexRef, deadline: Deadline, reading: BytesToRead = SOME_BYTES) -> int | None:
        return self._of(index).verify(index, deadline, reading)

    def discard_damaged(self, index: IndexRef, deadline: Deadline) -> None:
        self._of(index).discard_damaged(index, deadline)

    def damaged(self, index: IndexRef) -> tuple[str, ...]:
        return self._of(index).damaged(index)

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        if self._is_mirrored(index):
            self._bucket.drop(index, deadline)
        return self._of(index).drop(index, deadline)

    def check(self, deadline: Deadline) -> None:
        (self._opensearch if self._connect is not None else self._bucket).check(deadline)

    def _is_mirrored(self, index: IndexRef) -> bool:
        return engine_of(index.name) != "bucket"

    def _of(self, index: IndexRef) -> ChunkIndex:
        return self._opensearch if self._is_mirrored(index) else self._bucket

    @cached_property
    def _opensearch(self) -> ChunkIndex:
        if self._connect is None:
            raise ConfigurationError(
                "this tenant's index is in OpenSearch, and INDEX_URL names none: set it, "
                "or move the tenant by `ragdrop reindex --to bucket` while it is set"
            )
        return self._connect()
