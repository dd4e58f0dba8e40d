"""Rebuild an index that lost documents from the state bucket, without embedding."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from ragdrop.domain.chunks import ChunkRange, IndexedChunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import IndexLostError
from ragdrop.operate.stored_content import ReadContent
from ragdrop.ports import ChunkIndex, Registry
from ragdrop.ports.head_pages import head_pages
from ragdrop.ports.metrics import Metrics

logger = logging.getLogger(__name__)

PAGE = 100  # heads of one listing, and ranges of one read
CHUNKS_AT_ONCE = 1_000  # of one write
RESERVE_S = 10.0  # with less time left the next run goes on


class RebuildIndex:
    """Writes live documents that a tenant's index does not hold back into it."""

    def __init__(self, *, registry: Registry, index: ChunkIndex, content: ReadContent, metrics: Metrics) -> None:
        self._registry = registry
        self._index = index
        self._content = content
        self._metrics = metrics

    def __call__(self, tenant: Tenant, deadline: Deadline) -> int:
        """Rebuild what is missing; how many documents were written.

        An index that holds at least the chunks that the registry counts is whole, as superseded ones come on top.  One
        that is damaged is discarded first.  A loss is reported once a document is missing, as counters may be too high.

        Raises:
            DependencyError: A service failed, or refuses the credentials; the next run goes on.
        """
        if not tenant.documents:
            return 0
        reported = self._discarded_damaged(tenant, deadline)
        if not reported and self._index.count(tenant.index, deadline) >= tenant.chunks:
            return 0
        written = 0
        for heads in self._live(tenant.name):
            if deadline.remaining_s() < RESERVE_S:
                break
            missing = self._missing(heads, tenant, deadline)
            if missing and not reported:
                reported = self._report(tenant)
            written += self._write(missing, tenant, deadline)
        self._index.refresh([tenant.index], deadline)
        return written

    def _write(self, missing: Sequence[Head], tenant: Tenant, deadline: Deadline) -> int:
        """Write documents, those of many small ones together; how many."""
        waiting: list[IndexedChunk] = []
        written = 0
        for _head, pieces in self._content.of(missing, tenant):
            for piece in pieces:
                waiting += piece
                if len(waiting) >= CHUNKS_AT_ONCE:
                    self._index.upsert(tenant.index, waiting, deadline)
                    waiting = []
            written += 1
        self._index.upsert(tenant.index, waiting, deadline)
        return written

    def _discarded_damaged(self, tenant: Tenant, deadline: Deadline) -> bool:
        """Discard what is damaged of the index; whether anything was."""
        try:
            self._index.verify(tenant.index, deadline)
        except IndexLostError:
            self._index.discard_damaged(tenant.index, deadline)
            return self._report(tenant)
        return False

    def _report(self, tenant: Tenant) -> bool:
        self._metrics.put({"IndexLosses": 1.0})
        logger.warning("an index lost documents", extra={"tenant": tenant.name, "index": tenant.active.name})
        return True

    def _missing(self, heads: Sequence[Head], tenant: Tenant, deadline: Deadline) -> list[Head]:
        """Those whose last chunk is not in the index: what was written in part is written again."""
        last = [
            ChunkRange(head.key, head.live_revision or 0, head.chunk_count - 1, head.chunk_count - 1) for head in heads
        ]
        found = self._index.read(tenant.index, last, deadline)
        return [head for head, chunks in zip(heads, found, strict=True) if not chunks]

    def _live(self, tenant: str) -> Iterator[list[Head]]:
        for heads in head_pages(self._registry, tenant, size=PAGE):
            yield [
                head
                for head in heads
                if head.live_revision is not None and head.chunk_count and not head.key.is_settings
            ]
