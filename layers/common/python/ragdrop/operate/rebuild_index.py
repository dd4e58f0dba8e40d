"""Rebuild an index that lost documents from the state bucket, without embedding."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from ragdrop.domain.chunks import ChunkRange, IndexedChunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Head, searched_revisions
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import IndexLostError
from ragdrop.ingest.revision_store import RevisionStore, StoredRevision
from ragdrop.ports.indexes import SOME_BYTES, BytesToRead, ChunkIndex
from ragdrop.ports.registry import Registry, head_pages
from ragdrop.ports.search_services import Metrics

logger = logging.getLogger(__name__)

PAGE = 100  # heads of one listing, and ranges of one read
CHUNKS_AT_ONCE = 1_000  # of one write
RESERVE_S = 10.0  # with less time left the next run continues


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What an index lacked (empty where it was whole), documents written back, and whether it is whole now."""

    fault: str = ""
    documents: int = 0
    whole: bool = True


@dataclass(frozen=True, kw_only=True)
class RebuildIndex:
    """Writes live documents, and those that wait in a stage, back into a tenant's index that does not hold them."""

    registry: Registry
    index: ChunkIndex
    content: ReadContent
    metrics: Metrics

    def __call__(
        self, tenant: Tenant, deadline: Deadline, reading: BytesToRead = SOME_BYTES, *, dry_run: bool = False
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
            chunks = self.index.verify(tenant.index, deadline, reading)
            if chunks is None or reading.least_bytes:
                chunks = self.index.count(tenant.index, deadline)
            if chunks >= tenant.chunks:
                return Rebuilt()
        except IndexLostError as exc:
            fault = exc.message
            if dry_run:
                return Rebuilt(fault, whole=False)
            self.index.discard_damaged(tenant.index, deadline)
            self._report(tenant)
        written, whole = 0, True
        for heads in self._searched(tenant.name):
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
            self.index.refresh([tenant.index], deadline)
            extra = {"tenant": tenant.name, "documents": written, "whole": whole}
            logger.warning("an index was rebuilt", extra=extra)
        return Rebuilt(fault, written, whole)

    def _write(self, missing: Sequence[SearchedRevision], tenant: Tenant, deadline: Deadline) -> int:
        """Write documents, those of many small ones together; how many had a stored text."""
        waiting: list[IndexedChunk] = []
        written = 0
        for pieces in self.content.of(missing, tenant):
            stored = False
            for piece in pieces:
                stored = True
                waiting += piece
                if len(waiting) >= CHUNKS_AT_ONCE:
                    self.index.upsert(tenant.index, waiting, deadline)
                    waiting = []
            written += int(stored)
        self.index.upsert(tenant.index, waiting, deadline)
        return written

    def _report(self, tenant: Tenant) -> None:
        self.metrics.put({"IndexLosses": 1.0})
        logger.warning("an index lost documents", extra={"tenant": tenant.name, "index": tenant.active.name})

    def _missing(self, heads: Sequence[Head], tenant: Tenant, deadline: Deadline) -> list[SearchedRevision]:
        """Revisions whose last chunk is not in the index: what was written in part is written again."""
        places = [
            SearchedRevision(head.key, revision, self._chunks(head, revision, tenant))
            for head in heads
            for revision in searched_revisions(head)
        ]
        there = [each for each in places if each.chunks]
        last = [ChunkRange(each.key, each.revision, each.chunks - 1, each.chunks - 1) for each in there]
        found = self.index.read(tenant.index, last, deadline) if last else []
        return [each for each, chunks in zip(there, found, strict=True) if not chunks]

    def _chunks(self, head: Head, revision: int, tenant: Tenant) -> int:
        """The chunks of a revision; the head counts those of the live one alone."""
        if revision == head.live_revision:
            return head.chunk_count
        return self.content.revisions.chunk_count(head.key, revision, tenant.active.name) or 0

    def _searched(self, tenant: str) -> Iterator[list[Head]]:
        for heads in head_pages(self.registry, tenant, size=PAGE):
            yield [head for head in heads if searched_revisions(head) and not head.key.is_settings]


AT_ONCE = 8  # documents read beside each other: each is three reads of S3 and one of the registry
MAX_CHUNKS_AT_ONCE = 2_000  # of all of these together; a larger document is read alone, part by part
CHUNKS_A_PIECE = 256

Pieces = Iterator[list[IndexedChunk]]


class SearchedRevision(NamedTuple):
    """A revision that an index should hold, with its chunks."""

    key: DocumentKey
    revision: int
    chunks: int


@dataclass(frozen=True, kw_only=True)
class ReadContent:
    """Reads documents for an index.  Raises ObjectStoreError and DatabaseError when a service does not answer."""

    registry: Registry
    revisions: RevisionStore

    def of(self, places: Sequence[SearchedRevision], tenant: Tenant) -> Iterator[Pieces]:
        """The chunks of each in the tenant's active index, a few hundred at a time; none where they are gone."""
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ragdrop-content") as pool:
            for window in windows(places):
                whole = len(window) > 1
                yield from pool.map(lambda place, whole=whole: self._pieces(place, tenant, whole=whole), window)

    def _pieces(self, place: SearchedRevision, tenant: Tenant, *, whole: bool) -> Pieces:
        stored_revision = self.revisions.open(place.key, place.revision)
        detail = self.registry.detail(place.key, place.revision)
        if stored_revision is None or detail is None:
            return iter(())
        pieces = _of_revision(stored_revision, detail, tenant.active.name)
        return iter(list(pieces)) if whole else pieces


def _of_revision(stored_revision: StoredRevision, detail: Detail, index: str) -> Pieces:
    """The chunks of one revision as they are written to an index."""
    chunks = stored_revision.indexed(index, detail.facts)
    while piece := list(islice(chunks, CHUNKS_A_PIECE)):
        yield piece


def windows(places: Sequence[SearchedRevision]) -> Iterator[list[SearchedRevision]]:
    """*places* in order, as many at a time as may be read beside each other.

    >>> places = [SearchedRevision(DocumentKey("a", "b", str(size)), 1, size) for size in (10, 10, 5_000, 10)]
    >>> [[place.chunks for place in window] for window in windows(places)]
    [[10, 10], [5000], [10]]
    """
    window: list[SearchedRevision] = []
    for place in places:
        if window and sum(each.chunks for each in window) + place.chunks > MAX_CHUNKS_AT_ONCE:
            yield window
            window = []
        window.append(place)
        if len(window) == 4 * AT_ONCE:
            yield window
            window = []
    if window:
        yield window
