"""Read chunks of live revisions from the state bucket, as an index takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from ragdrop.domain.chunks import IndexedChunk
from ragdrop.domain.documents import Detail, Head
from ragdrop.domain.tenants import Tenant
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ingest.stored_revision import StoredRevision
from ragdrop.ports import Registry

AT_ONCE = 8  # documents read beside each other: each is three reads of S3 and one of the registry
MAX_CHUNKS_AT_ONCE = 2_000  # of all of these together; a larger document is read alone, part by part
CHUNKS_A_PIECE = 256

Pieces = Iterator[list[IndexedChunk]]


class ReadContent:
    """Reads documents for an index.  Raises ObjectStoreError and DatabaseError when a service does not answer."""

    def __init__(self, *, registry: Registry, revisions: RevisionStore) -> None:
        self._registry = registry
        self._revisions = revisions

    def of(self, heads: Sequence[Head], tenant: Tenant) -> Iterator[tuple[Head, Pieces]]:
        """Each head with its chunks in the tenant's active index, a few hundred at a time; none where they are gone."""
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ragdrop-content") as pool:
            for window in windows(heads):
                whole = len(window) > 1
                read = pool.map(lambda head, whole=whole: self._pieces(head, tenant, whole=whole), window)
                yield from zip(window, read, strict=True)

    def _pieces(self, head: Head, tenant: Tenant, *, whole: bool) -> Pieces:
        revision = head.live_revision or 0
        kept = self._revisions.open(head.key, revision)
        detail = self._registry.detail(head.key, revision)
        if kept is None or detail is None:
            return iter(())
        pieces = _of_revision(kept, detail, tenant.active.name)
        return iter(list(pieces)) if whole else pieces


def _of_revision(kept: StoredRevision, detail: Detail, index: str) -> Pieces:
    """The chunks of one revision as they are written to an index."""
    chunks = kept.indexed(index, detail.facts)
    while piece := list(islice(chunks, CHUNKS_A_PIECE)):
        yield piece


def windows(heads: Sequence[Head]) -> Iterator[list[Head]]:
    """*heads* in order, as many at a time as may be read beside each other.

    >>> from ragdrop.domain.documents import Status
    >>> from ragdrop.domain.keys import DocumentKey
    >>> sizes = [10, 10, 5_000, 10]
    >>> heads = [Head(DocumentKey("a", "b", str(n)), Status.INDEXED, 1, 1, chunk_count=n) for n in sizes]
    >>> [[head.chunk_count for head in window] for window in windows(heads)]
    [[10, 10], [5000], [10]]
    """
    window: list[Head] = []
    for head in heads:
        if window and sum(each.chunk_count for each in window) + head.chunk_count > MAX_CHUNKS_AT_ONCE:
            yield window
            window = []
        window.append(head)
        if len(window) == 4 * AT_ONCE:
            yield window
            window = []
    if window:
        yield window
