"""Rebuild an index that lost documents from the state bucket, without embedding."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragdrop.domain.chunks import ChunkRange, IndexedChunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import IndexLostError
from ragdrop.operate.stored_content import ReadContent
from ragdrop.ports import ChunkIndex, Registry
from ragdrop.ports.chunk_index import SOME_BYTES, Reading
from ragdrop.ports.head_pages import head_pages
from ragdrop.ports.metrics import Metrics

logger = logging.getLogger(__name__)

PAGE = 100  # heads of one listing, and ranges of one read
CHUNKS_AT_ONCE = 1_000  # of one write
RESERVE_S = 10.0  # with less time left the next run goes on


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What an index lacked (empty where it was whole), documents written back, and whether it is whole now."""

    fault: str = ""
    documents: int = 0
    whole: bool = True


class RebuildIndex:
    """Writes live documents that a tenant's index does not hold back into it."""

    def __init__(self, *, registry: Registry, index: ChunkIndex, content: ReadContent, metrics: Metrics) -> None:
        self._registry = registry
        self._index = index
        self._content = content
        self._metrics = metrics

    def __call__(
        self, tenant: Tenant, deadline: Deadline, reading: Reading = SOME_BYTES, *, dry_run: bool = False
    ) -> Rebuilt:
        """Verify the index and write back what is missing.

        An index that holds at least the chunks that the registry counts is whole, as superseded ones come on top.  One
        that is damaged is discarded first.  A loss is reported once a document is missing, as counters may be too high.

        Args:
            tenant: Whose active index it is.
            deadline: Some seconds before it the rebuild ends; the index is not whole then.
            reading: How much of the index is read.  By names alone chunks are counted by the manifest.
            dry_run: Find what is missing or damaged; change nothing.

        Raises:
            DependencyError: A service failed, or refuses the credentials; the next run continues.
        """
        if not tenant.documents:
            return Rebuilt()
        fault = ""
        try:
            chunks = self._index.verify(tenant.index, deadline, reading)
            if chunks is None or reading.least_bytes:
                chunks = self._index.count(tenant.index, deadline)
            if chunks >= tenant.chunks:
                return Rebuilt()
        except IndexLostError as exc:
            fault = exc.message
            if dry_run:
                return Rebuilt(fault, whole=False)
            self._index.discard_damaged(tenant.index, deadline)
            self._report(tenant)
        written, whole = 0, True
        for heads in self._live(tenant.name):
            if deadline.remaining_s() < RESERVE_S:
                whole = False
                break
            missing = self._missing(heads, tenant, deadline)
            if missing and not fault:
                fault = f"it holds {chunks} of at least {tenant.chunks} chunks"
                if dry_run:
                    return Rebuilt(fault, whole=False)
                self._report(tenant)
            rewritten = self._write(missing, tenant, deadline)
            written += rewritten
            whole = whole and rewritten == len(missing)
        if fault:
            self._index.refresh([tenant.index], deadline)
            extra = {"tenant": tenant.name, "documents": written, "whole": whole}
            logger.warning("an index was rebuilt", extra=extra)
        return Rebuilt(fault, written, whole)

    def _write(self, missing: Sequence[Head], tenant: Tenant, deadline: Deadline) -> int:
        """Write documents, those of many small ones together; how many had a stored text."""
        waiting: list[IndexedChunk] = []
        written = 0
        for _head, pieces in self._content.of(missing, tenant):
            stored = False
            for piece in pieces:
                stored = True
                waiting += piece
                if len(waiting) >= CHUNKS_AT_ONCE:
                    self._index.upsert(tenant.index, waiting, deadline)
                    waiting = []
            written += int(stored)
        self._index.upsert(tenant.index, waiting, deadline)
        return written

    def _report(self, tenant: Tenant) -> None:
        self._metrics.put({"IndexLosses": 1.0})
        logger.warning("an index lost documents", extra={"tenant": tenant.name, "index": tenant.active.name})

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
