"""Converge: events say that keys changed; each is made to agree with the bucket, failures are told per message."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import DatabaseError, DependencyError, DocumentError, InvalidParamsError
from ragdrop.ingest.activate import ActivateRevisions
from ragdrop.ingest.index_revision import CurrentVersions, IndexRevision, ParsedRevision
from ragdrop.ingest.reconcile_rules import LEASE_S, MAX_RECEIVES, is_older, is_settled, retry_delay_s
from ragdrop.ingest.write_chunks import Known
from ragdrop.ingest.write_parts import Stop, Unfinished, WriteParts, WrittenRevision
from ragdrop.ports import Claim, MessageQueue, ObjectStore, Registry
from ragdrop.ports.message_queue import Change, Delivery
from ragdrop.tenants.apply_settings import ApplySettings
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.settings_in_force import Tunables, in_force

logger = logging.getLogger(__name__)

MIN_TIME_FOR_A_RECORD_S = 20.0  # with less left no record is begun: it would be cut off and come back later than this
MAX_STARTS = 5  # how often one delivery begins again because the key changed under it


@dataclass(slots=True)
class _Batch:
    """What becomes of the messages of one invocation."""

    deadline: Deadline
    prepared: list[tuple[Delivery, ParsedRevision]] = field(default_factory=list)
    unfinished: list[tuple[Delivery, Unfinished]] = field(default_factory=list)
    failed: dict[str, Delivery] = field(default_factory=dict)


class ReconcileKeys:
    """Makes the index agree with the bucket, one batch of messages at a time."""

    def __init__(
        self,
        *,
        documents: ObjectStore,
        registry: Registry,
        queue: MessageQueue,
        directory: TenantDirectory,
        index_revision: IndexRevision,
        write_parts: WriteParts,
        publish: ActivateRevisions,
        apply_settings: ApplySettings,
        environment: Tunables,
        retry_base_s: int,
        clock: Callable[[], float],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._documents = documents
        self._registry = registry
        self._queue = queue
        self._directory = directory
        self._index_revision = index_revision
        self._write_parts = write_parts
        self._publish = publish
        self._apply_settings = apply_settings
        self._environment = environment
        self._retry_base_s = retry_base_s
        self._clock = clock
        self._jitter = jitter

    def batch(self, deliveries: Sequence[Delivery], deadline: Deadline) -> list[Delivery]:
        """Converge all keys of a batch; the deliveries that failed and must come again.

        Documents that fit into one invocation share embedding requests and one refresh of the index, then every
        revision flips; after them the large ones go on while there is time.
        """
        for name in {change.key.partition("/")[0] for delivery in deliveries for change in delivery.changes}:
            self._directory.forget(name)  # a reindex that has begun must be seen by every batch that begins after it
        batch = _Batch(deadline)
        for delivery in deliveries:
            if deadline.remaining_s() < MIN_TIME_FOR_A_RECORD_S:
                self._again(delivery, 0, batch)
                continue
            if not delivery.understood:
                logger.warning(
                    "a message that nobody of us sent was dropped", extra={"message_id": delivery.message_id}
                )
            for change in delivery.changes:
                self._attempt(delivery, change, batch)
        self._flip(self._write(batch.prepared, batch), batch)
        for delivery, unfinished in batch.unfinished:
            self._go_on(delivery, unfinished, batch)
        return list(batch.failed.values())

    def _attempt(self, delivery: Delivery, change: Change, batch: _Batch) -> None:
        try:
            key = DocumentKey.parse(change.key.removesuffix(SIDECAR_SUFFIX))
            if change.key.endswith(SIDECAR_SUFFIX):
                change = Change(key.s3_key)  # sequencers are only comparable within one key
        except InvalidParamsError as exc:
            logger.info("a key that names no document was acknowledged", extra={"problem": exc.message})
            return
        tenant = self._directory.tenant(key.tenant)
        if tenant is None or not tenant.enabled:
            logger.warning("a key of no active tenant was acknowledged", extra={"tenant": key.tenant})
            return
        try:
            work = self._converge(key, change, delivery, tenant, batch.deadline)
        except DependencyError as exc:
            self._failed(key, delivery, exc, batch)
            return
        if isinstance(work, ParsedRevision):
            batch.prepared.append((delivery, work))
        elif work is not None:
            batch.unfinished.append((delivery, work))

    def _converge(
        self, key: DocumentKey, change: Change, delivery: Delivery, tenant: Tenant, deadline: Deadline
    ) -> ParsedRevision | Unfinished | None:
        for _ in range(MAX_STARTS):
            found = self._look(key)
            head = self._registry.head(key)
            if head is not None and is_older(change.sequencer, than=head.sequencer):
                return None
            if found is None:
                if self._removed(key, head, change, tenant, deadline):
                    return None
                continue
            claim = self._claim_for(found, change, delivery)
            settled = is_settled(
                head,
                version_id=claim.version_id,
                sidecar_version_id=claim.sidecar_version_id,
                message_id=claim.message_id,
                now_s=claim.now_s,
            )
            if head is not None and head.status is Status.PENDING and _claimed_for(head, found):
                begun = self._write_parts.find(head, tenant, delivery, change.handed_over, running=settled)
                if begun is not None:
                    return begun
            if settled:
                if head is not None and head.live_revision == head.revision and head.message_id == delivery.message_id:
                    self._publish.clean(key, tenant, deadline)  # it flipped, and was cut off before its own clean-up
                return None
            claimed = self._registry.claim(key, head, claim)
            if claimed is None:
                continue
            now = self._look(key)
            if now is None or now.versions != found.versions:
                continue  # it changed between the look and the claim: another claim would not see that
            try:
                if key.is_settings:
                    if self._apply_settings(claimed, found.document, tenant):
                        return None
                    continue
                work = self._index_revision.prepare(claimed, found, tenant)
            except DocumentError as exc:
                self._refuse(key, claimed.revision, exc, delivery, tenant, deadline)
                return None
            if work is not None:
                return work
        raise DatabaseError("the key kept changing while it was read", service="registry")

    def _look(self, key: DocumentKey) -> CurrentVersions | None:
        """What the bucket holds now of *key*; a sidecar without its document is nothing."""
        document = self._documents.head(key.s3_key)
        return (
            None if document is None else CurrentVersions(document, self._documents.head(key.s3_key + SIDECAR_SUFFIX))
        )

    def _claim_for(self, found: CurrentVersions, change: Change, delivery: Delivery) -> Claim:
        now_s = self._clock()
        etags = found.document.etag, found.sidecar.etag if found.sidecar else None
        return Claim(*found.versions, delivery.message_id, now_s + LEASE_S, change.sequencer, now_s, *etags)

    def _removed(self, key: DocumentKey, head: Head | None, change: Change, tenant: Tenant, deadline: Deadline) -> bool:
        """Bury *key*; False where somebody else was faster and the key must be looked at again."""
        buried = head
        if head is not None and head.status is not Status.DELETED:
            buried = self._registry.tombstone(key, head, change.sequencer, self._clock())
            if buried is None:
                return False
            self._publish.count(tenant, key, head)
        if key.is_settings:
            self._apply_settings.remove(key, buried.revision if buried else None)
        if buried is not None:
            self._publish.clean(key, tenant, deadline)
        return True

    def _write(
        self, prepared: Sequence[tuple[Delivery, ParsedRevision]], batch: _Batch, known: Known | None = None
    ) -> list[tuple[Delivery, WrittenRevision]]:
        """Embed and index what is *prepared*.  Where the shared requests fail, each document is tried by itself."""
        works = [work for _, work in prepared]
        try:
            known = self._index_revision.vectors(works, batch.deadline) if known is None else known
            self._index_revision.index(works, known, batch.deadline)
        except DependencyError as exc:
            if len(prepared) > 1:
                return [each for one in prepared for each in self._write([one], batch, known)]
            for delivery, work in prepared:
                self._failed(work.key, delivery, exc, batch)
            return []
        written: list[tuple[Delivery, WrittenRevision]] = []
        for delivery, work in prepared:
            try:
                written.append((delivery, self._index_revision.keep(work, known)))
            except DependencyError as exc:
                self._failed(work.key, delivery, exc, batch)
        return written

    def _go_on(self, delivery: Delivery, work: Unfinished, batch: _Batch) -> None:
        """Write parts of a large document until it is whole, or the time is over."""
        try:
            done = self._write_parts(work, delivery, batch.deadline)
            if isinstance(done, WrittenRevision):
                self._flip([(delivery, done)], batch)
            elif done is Stop.LOST:
                self._publish.clean(work.key, work.tenant, batch.deadline)
        except DocumentError as exc:
            self._refuse(work.key, work.kept.revision, exc, delivery, work.tenant, batch.deadline)
        except DependencyError as exc:
            self._failed(work.key, delivery, exc, batch)

    def _flip(self, waiting: Sequence[tuple[Delivery, WrittenRevision]], batch: _Batch) -> None:
        try:
            self._publish.refresh((written for _, written in waiting), batch.deadline)
        except DependencyError as exc:
            for delivery, written in waiting:
                self._failed(written.key, delivery, exc, batch)
            return
        for delivery, written in waiting:
            try:
                self._publish.flip(written, batch.deadline)
            except DependencyError as exc:
                self._failed(written.key, delivery, exc, batch)

    def _refuse(
        self,
        key: DocumentKey,
        revision: int,
        exc: DocumentError,
        delivery: Delivery,
        tenant: Tenant,
        deadline: Deadline,
    ) -> None:
        """The document can never be indexed as it is: say so; nothing of it answers, but where the last is kept."""
        kept = key.is_settings or in_force(self._environment, tenant, vaults=[key.vault]).values.keep_last_good
        failure = self._publish.failure(exc.code, exc.message, delivery.receives)
        self._publish.fail(key, revision, failure, keep_live=kept)
        self._publish.clean(key, tenant, deadline)

    def _failed(self, key: DocumentKey, delivery: Delivery, exc: DependencyError, batch: _Batch) -> None:
        """Give the message back to the queue; on its last receive the document says why it is not indexed."""
        logger.warning(
            "a dependency failed", extra={"service": exc.service, "code": exc.code, "receives": delivery.receives}
        )
        last = delivery.receives >= MAX_RECEIVES  # SQS moves it where it would be received once more: at once
        delay = 0 if last else retry_delay_s(delivery.receives, base_s=self._retry_base_s, jitter=self._jitter())
        self._again(delivery, delay, batch)
        try:
            head = self._registry.head(key)
            if head is None or head.message_id != delivery.message_id or head.status is not Status.PENDING:
                return
            if last:
                failure = self._publish.failure(exc.code, exc.message, delivery.receives)
                self._publish.fail(key, head.revision, failure, keep_live=True)
            else:
                self._registry.give_back(key, head.revision)
        except DependencyError as second:  # the lease then ends by itself
            logger.warning("a lease could not be given back", extra={"service": second.service, "code": second.code})

    def _again(self, delivery: Delivery, delay_s: int, batch: _Batch) -> None:
        batch.failed[delivery.message_id] = delivery
        try:
            self._queue.retry_after(delivery.receipt_handle, delay_s)
        except DependencyError as exc:  # then it comes back after the queue's own visibility timeout
            logger.warning("a message keeps its visibility", extra={"service": exc.service, "code": exc.code})


def _claimed_for(head: Head, found: CurrentVersions) -> bool:
    return (head.version_id, head.sidecar_version_id) == found.versions
