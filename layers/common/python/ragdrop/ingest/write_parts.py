"""Write a large document part by part, over several invocations, from its checkpoint on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import ActiveIndex, Tenant
from ragdrop.errors import DeadlineError, DependencyError, EmptyDocumentError, ObjectStoreError
from ragdrop.ingest.known_vectors import KnownVectors
from ragdrop.ingest.reconcile_rules import LEASE_S
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ingest.stored_revision import StoredRevision
from ragdrop.ingest.write_chunks import WriteChunks
from ragdrop.ports import MessageQueue, Registry
from ragdrop.ports.message_queue import Continuation, Delivery
from ragdrop.ports.registry import Checkpoint, HopLimits
from ragdrop.tenants.settings_in_force import chunking_in_force

MIN_TIME_FOR_A_PART_S = 15.0  # with less left no part is begun; the last one also waits for refresh and activation
PACE = 2.0  # the next part may take twice as long as the slowest so far


@dataclass(frozen=True, slots=True)
class WrittenRevision:
    """A revision whose chunks are written, to these indexes of its tenant, and wait for their activation.

    `first` says that the registry has no older revision of the document, not even one of a worker that died.
    """

    detail: Detail
    tenant: Tenant
    targets: tuple[ActiveIndex, ...]
    first: bool = False

    @property
    def key(self) -> DocumentKey:
        """The document."""
        return self.detail.key


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A large revision that is parsed and kept; `sources` are where vectors for it may be."""

    kept: StoredRevision
    detail: Detail
    tenant: Tenant
    checkpoint: Checkpoint
    sources: Sequence[StoredRevision]

    @property
    def key(self) -> DocumentKey:
        """The document."""
        return self.detail.key


class Stop(Enum):
    """Why a worker leaves a document that is not written whole."""

    HANDED_OVER = auto()  # the time is over, a message goes on
    LOST = auto()  # the revision was superseded, or another worker holds its checkpoint


class WriteParts:
    """Goes on with large documents.

    Whoever moves the checkpoint works on the document; one that finds it moved by another stops.  Writing a part twice
    does no harm: parts, chunks and their ids are the same every time.
    """

    def __init__(
        self,
        *,
        registry: Registry,
        queue: MessageQueue,
        revisions: RevisionStore,
        write_chunks: WriteChunks,
        known_vectors: KnownVectors,
        limits: HopLimits,
        clock: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._queue = queue
        self._revisions = revisions
        self._write_chunks = write_chunks
        self._known_vectors = known_vectors
        self._limits = limits
        self._clock = clock

    def find(
        self, head: Head, tenant: Tenant, delivery: Delivery, handed_over: Continuation | None, *, running: bool
    ) -> Unfinished | None:
        """The revision that *head* has claimed, where it is begun and *delivery* is to go on with it.

        That is where its lease is over, where it was at work itself, and where it was sent to hand the revision over
        and nobody has taken it since.

        Args:
            head: The document's, pending.
            tenant: Its tenant.
            delivery: The message that is delivered.
            handed_over: What it hands over, if it is one that does.
            running: Whether another message has a lease.

        Raises:
            DependencyError: A service failed.
        """
        checkpoint = self._registry.checkpoint(head.key, head.revision)
        if checkpoint is None:
            return None
        here = Continuation(head.key.s3_key, head.revision, checkpoint.part, checkpoint.hop)
        if running and handed_over != here and not checkpoint.worker.startswith(f"{delivery.message_id}:"):
            return None
        detail = self._registry.detail(head.key, head.revision)
        kept = self._revisions.open(head.key, head.revision)
        if detail is None or kept is None:
            return None
        return Unfinished(kept, detail, tenant, checkpoint, self._known_vectors.sources(kept, head.live_revision))

    def __call__(self, work: Unfinished, delivery: Delivery, deadline: Deadline) -> WrittenRevision | Stop:
        """Write parts while there is time; what is left goes on by a message.

        Raises:
            DocumentError: It took too many invocations, or there is no text in it.
            DependencyError: A service failed; the same call goes on from the checkpoint.
        """
        if deadline.remaining_s() < MIN_TIME_FOR_A_PART_S:
            return self._hand_over(work, work.checkpoint)
        taken = work.checkpoint.taken_by(f"{delivery.message_id}:{delivery.receives}", self._limits)
        if not self._registry.advance(work.key, work.kept.revision, work.checkpoint, taken):
            return Stop.LOST
        at = taken
        slowest_s = 0.0
        while at.part < at.parts:
            if deadline.remaining_s() < MIN_TIME_FOR_A_PART_S + PACE * slowest_s:
                return self._hand_over(work, at)
            lease_until_s = self._clock() + LEASE_S
            if not self._registry.renew(work.key, work.kept.revision, delivery.message_id, lease_until_s):
                return Stop.LOST
            started_s = time.monotonic()
            try:
                moved = at.moved(*self._write(work, at, deadline))
            except DeadlineError:
                return self._hand_over(work, at)
            except DependencyError:
                self._registry.advance(work.key, work.kept.revision, at, at.not_counted())
                raise
            if not self._registry.advance(work.key, work.kept.revision, at, moved):
                return Stop.LOST
            at = moved
            slowest_s = max(slowest_s, time.monotonic() - started_s)
        return self._whole(work, at)

    def _write(self, work: Unfinished, at: Checkpoint, deadline: Deadline) -> tuple[dict[str, int], int]:
        """Write the part at the checkpoint; its chunks by index, and those whose vectors were computed."""
        document = work.kept.part(at.part)
        if document is None:
            raise ObjectStoreError("the kept text is gone", service="object_store")
        targets = _targets(work, at)
        cuts = [
            self._write_chunks.cut(
                work.kept,
                at.part,
                document,
                work.detail.facts,
                tenant=work.tenant,
                target=target,
                first_ordinal=at.chunks[target.name],
            )
            for target in targets
        ]
        known = KnownVectors.between(work.sources, work.tenant.targets, work.kept.parts[at.part])
        vectors = self._write_chunks.vectors(cuts, known, deadline)
        written = {cut.target.name: self._write_chunks.write(cut, vectors, deadline) for cut in cuts}
        return written, cuts[0].unknown(known) if cuts else 0

    def _whole(self, work: Unfinished, at: Checkpoint) -> WrittenRevision:
        """All parts are written: note it, so that nothing needs to count them again."""
        targets = _targets(work, at)
        if not any(at.chunks.values()):
            raise EmptyDocumentError("there is no text in this document")
        for target in targets:
            plan = chunking_in_force(work.tenant, work.key.vault, target)
            sizes = plan.sizes_for(work.kept.content_type)
            self._revisions.mark_whole(work.kept, target.name, at.chunks[target.name], sizes=sizes)
        self._known_vectors.remember(work.kept)
        count = at.chunks.get(work.tenant.active.name, max(at.chunks.values()))
        return WrittenRevision(replace(work.detail, chunk_count=count, embedded=at.embedded), work.tenant, targets)

    def _hand_over(self, work: Unfinished, at: Checkpoint) -> Stop:
        self._queue.go_on(Continuation(work.key.s3_key, work.kept.revision, at.part, at.hop))
        return Stop.HANDED_OVER


def _targets(work: Unfinished, at: Checkpoint) -> tuple[ActiveIndex, ...]:
    """The indexes that the revision is written to: those that its tenant had when it began, and still has."""
    return tuple(target for target in work.tenant.targets if target.name in at.chunks)
