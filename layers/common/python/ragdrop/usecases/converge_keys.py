"""Converge: events say that keys changed; each is made to agree with the bucket, failures are told per message."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.convergence import LEASE_S, MAX_RECEIVES, is_older, is_settled, obsolete_before, retry_delay_s
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.deliveries import Change, Delivery
from ragdrop.domain.documents import Failure, Head, Status
from ragdrop.domain.folder_ranking import folder_of
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.settings_in_force import Tunables, in_force
from ragdrop.domain.tenants import Tenant
from ragdrop.domain.times import rfc3339
from ragdrop.errors import DatabaseError, DependencyError, DocumentError, InvalidParamsError
from ragdrop.ports import ChunkIndex, Claim, MessageQueue, ObjectStore, Registry
from ragdrop.usecases.apply_settings import ApplySettings
from ragdrop.usecases.index_revision import Found, IndexRevision, Written
from ragdrop.usecases.tenants import Directory

logger = logging.getLogger(__name__)

MIN_TIME_FOR_A_RECORD_S = 20.0  # with less left no record is begun: it would be cut off and come back later than this
MAX_STARTS = 5  # how often one delivery begins again because the key changed under it


class ConvergeKeys:
    """Makes the index agree with the bucket, one batch of messages at a time."""

    def __init__(
        self,
        *,
        documents: ObjectStore,
        registry: Registry,
        index: ChunkIndex,
        queue: MessageQueue,
        directory: Directory,
        index_revision: IndexRevision,
        apply_settings: ApplySettings,
        environment: Tunables,
        retry_base_s: int,
        clock: Callable[[], float],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._documents = documents
        self._registry = registry
        self._index = index
        self._queue = queue
        self._directory = directory
        self._index_revision = index_revision
        self._apply_settings = apply_settings
        self._environment = environment
        self._retry_base_s = retry_base_s
        self._clock = clock
        self._jitter = jitter
        self._folders: BoundedCache[tuple[str, str], str] = BoundedCache(size=10_000, ttl_s=3_600.0)

    def batch(self, deliveries: Sequence[Delivery], deadline: Deadline) -> list[Delivery]:
        """Converge all keys of a batch; the deliveries that failed and must come again.

        What was written becomes visible by one refresh of the index for the whole batch, then every revision flips.
        """
        for name in {change.key.partition("/")[0] for delivery in deliveries for change in delivery.changes}:
            self._directory.forget(name)  # a reindex that has begun must be seen by every batch that begins after it
        failed: dict[str, Delivery] = {}
        waiting: list[tuple[Delivery, Written]] = []
        for delivery in deliveries:
            if deadline.remaining_s() < MIN_TIME_FOR_A_RECORD_S:
                self._again(delivery, 0, failed)
                continue
            if not delivery.understood:
                logger.warning(
                    "a message that nobody of us sent was dropped", extra={"message_id": delivery.message_id}
                )
            for change in delivery.changes:
                self._attempt(delivery, change, deadline, waiting, failed)
        self._publish(waiting, deadline, failed)
        return list(failed.values())

    def _attempt(
        self,
        delivery: Delivery,
        change: Change,
        deadline: Deadline,
        waiting: list[tuple[Delivery, Written]],
        failed: dict[str, Delivery],
    ) -> None:
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
            written = self._converge(key, change, delivery, tenant, deadline)
        except DependencyError as exc:
            self._failed(key, delivery, exc, failed)
        else:
            if written is not None:
                waiting.append((delivery, written))

    def _converge(
        self, key: DocumentKey, change: Change, delivery: Delivery, tenant: Tenant, deadline: Deadline
    ) -> Written | None:
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
            if settled:
                if head is not None and head.live_revision == head.revision and head.message_id == delivery.message_id:
                    self._clean(key, tenant, deadline)  # it flipped, and was cut off before its own clean-up
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
                written = self._index_revision(claimed, found, tenant, deadline)
            except DocumentError as exc:
                keep_live = key.is_settings or self._keeps_last_good(key, tenant)
                self._record(key, claimed, exc.code, exc.message, delivery, keep_live=keep_live)
                self._clean(key, tenant, deadline)
                return None
            if written is not None:
                return written
        raise DatabaseError("the key kept changing while it was read", service="registry")

    def _look(self, key: DocumentKey) -> Found | None:
        """What the bucket holds now of *key*; a sidecar without its document is nothing."""
        document = self._documents.head(key.s3_key)
        return None if document is None else Found(document, self._documents.head(key.s3_key + SIDECAR_SUFFIX))

    def _claim_for(self, found: Found, change: Change, delivery: Delivery) -> Claim:
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
            self._count(tenant, key, head, documents=0, chunks=0)
        if key.is_settings:
            self._apply_settings.remove(key, buried.revision if buried else None)
        if buried is not None:
            self._clean(key, tenant, deadline)
        return True

    def _publish(
        self, waiting: list[tuple[Delivery, Written]], deadline: Deadline, failed: dict[str, Delivery]
    ) -> None:
        try:
            if waiting:
                refs = {w.tenant.part_of(target) for _, w in waiting for target in w.targets}
                self._index.refresh(refs, deadline)
        except DependencyError as exc:
            for delivery, written in waiting:
                self._failed(written.key, delivery, exc, failed)
            return
        for delivery, written in waiting:
            try:
                self._flip(written, deadline)
            except DependencyError as exc:
                self._failed(written.key, delivery, exc, failed)

    def _flip(self, written: Written, deadline: Deadline) -> None:
        self._registry.point(written.detail)
        before = self._registry.flip(written.detail, self._clock())
        if before is not None:
            self._count(written.tenant, written.key, before, documents=1, chunks=written.detail.chunk_count)
            self._note_folder(written.key)
        tenant = self._directory.tenant(written.key.tenant, fresh=True) or written.tenant
        if before is not None and tenant.targets != written.targets:
            self._index_revision.catch_up(written, tenant, deadline)
        # only a document that was promoted can be in the list: the common one saves a write
        self._clean(written.key, tenant, deadline, pointers=before is None or before.promotion_level != "standard")

    def _count(self, tenant: Tenant, key: DocumentKey, before: Head, *, documents: int, chunks: int) -> None:
        """Move the tenant's counters from what was live *before* to what is now."""
        if key.is_settings:
            return
        was_live = before.live_revision is not None
        self._registry.add_to_tenant(
            tenant.name,
            vault=key.vault,
            documents=documents - int(was_live),
            chunks=chunks - (before.chunk_count if was_live else 0),
        )

    def _keeps_last_good(self, key: DocumentKey, tenant: Tenant) -> bool:
        return in_force(self._environment, tenant, vaults=[key.vault]).values.keep_last_good

    def _note_folder(self, key: DocumentKey) -> None:
        """Let the folder of a live document be known, once an environment."""
        folder = folder_of(key)
        if folder is None or self._folders.get((key.tenant, folder), now_s=self._clock()):
            return
        self._registry.note_folder(key.tenant, folder)
        self._folders.put((key.tenant, folder), folder, now_s=self._clock())

    def _clean(self, key: DocumentKey, tenant: Tenant, deadline: Deadline, *, pointers: bool = True) -> None:
        """Remove what can never answer again, by what the registry says now (a consistent read)."""
        head = self._registry.head(key)
        if head is not None and pointers:
            self._registry.unpoint(head)
        before = obsolete_before(head)
        if before:
            for target in tenant.targets:
                self._index.remove(tenant.part_of(target), key, before_revision=before, deadline=deadline)
            self._registry.forget(key, before)

    def _failed(self, key: DocumentKey, delivery: Delivery, exc: DependencyError, failed: dict[str, Delivery]) -> None:
        """Give the message back to the queue; on its last receive the document says why it is not indexed."""
        logger.warning(
            "a dependency failed", extra={"service": exc.service, "code": exc.code, "receives": delivery.receives}
        )
        last = delivery.receives >= MAX_RECEIVES  # SQS moves it where it would be received once more: at once
        delay = 0 if last else retry_delay_s(delivery.receives, base_s=self._retry_base_s, jitter=self._jitter())
        self._again(delivery, delay, failed)
        try:
            head = self._registry.head(key)
            if head is None or head.message_id != delivery.message_id or head.status is not Status.PENDING:
                return
            if last:
                self._record(key, head, exc.code, exc.message, delivery, keep_live=True)
            else:
                self._registry.give_back(key, head.revision)
        except DependencyError as second:  # the lease then ends by itself
            logger.warning("a lease could not be given back", extra={"service": second.service, "code": second.code})

    def _again(self, delivery: Delivery, delay_s: int, failed: dict[str, Delivery]) -> None:
        failed[delivery.message_id] = delivery
        try:
            self._queue.retry_after(delivery.receipt_handle, delay_s)
        except DependencyError as exc:  # then it comes back after the queue's own visibility timeout
            logger.warning("a message keeps its visibility", extra={"service": exc.service, "code": exc.code})

    def _record(
        self, key: DocumentKey, head: Head, code: str, message: str, delivery: Delivery, *, keep_live: bool
    ) -> None:
        at = rfc3339(self._clock())
        failure = Failure(code, message, delivery.receives, at)
        before = self._registry.fail(key, head.revision, failure, keep_live=keep_live)
        tenant = self._directory.tenant(key.tenant)
        if before is not None and tenant is not None and not keep_live:
            self._count(tenant, key, before, documents=0, chunks=0)
