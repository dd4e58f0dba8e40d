"""Reconcile a batch of messages: make each changed key agree with the bucket."""

from __future__ import annotations

import logging
import random
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.tenants import IndexRef, Tenant
from ragdrop.errors import DependencyError, DocumentError, InvalidParamsError, ScanUnfinishedError
from ragdrop.ingest.activate import ActivateRevisions
from ragdrop.ingest.index_revision import IndexRevision, ParsedRevision
from ragdrop.ingest.reconcile_key import ReconcileKey, Work
from ragdrop.ingest.reconcile_rules import MAX_RECEIVES, obsolete_before, retry_delay_s
from ragdrop.ingest.write_chunks import AT_ONCE, Known, Stop, Unfinished, WriteParts, WrittenRevision
from ragdrop.ports.indexes import MergingIndex
from ragdrop.ports.message_queue import Change, Delivery, MergeRequest, MessageQueue, WorkRequest
from ragdrop.ports.registry import Registry
from ragdrop.tenants.directory import TenantDirectory

logger = logging.getLogger(__name__)

MAX_MERGE_TRIES = 3
WORK_RETRY_S = 120  # three of these are longer than a worker holds an item of a plan
MERGE_S = 150.0  # twice what the largest merge takes of a core
MIN_TIME_FOR_A_RECORD_S = 20.0  # with less left no record is begun: it would be cut off and come back later than this


class _Parsed(NamedTuple):
    """A document that fits into one invocation, with the message that asked for it."""

    delivery: Delivery
    work: ParsedRevision


class _Begun(NamedTuple):
    """What the messages of a batch came to: documents to write, large ones to continue, messages that failed."""

    parsed: list[_Parsed]
    large: list[tuple[Delivery, Unfinished]]
    failed: list[Delivery]


@dataclass(frozen=True, kw_only=True)
class ReconcileBatch:
    """Makes the index agree with the bucket, one batch of messages at a time."""

    directory: TenantDirectory
    reconcile_key: ReconcileKey
    index_revision: IndexRevision
    write_parts: WriteParts
    live: ActivateRevisions
    redelivery: Redelivery
    bulk_lane: BulkLane
    merge_segments: MergeSegments
    calibrate: Callable[[str, Deadline], None]
    work: Callable[[WorkRequest, str, Deadline], bool]
    work_retry_s: int = WORK_RETRY_S

    def __call__(self, deliveries: Sequence[Delivery], deadline: Deadline) -> list[Delivery]:
        """Reconcile all keys of a batch; the deliveries that failed and must come again.

        Messages of vaults with many changes are moved to the queue for bulk work first.
        Documents that fit into one invocation share embedding requests and one refresh of the index.  Then each
        revision is activated; after them the large documents continue while there is time.  At last a tenant that grew
        enough is calibrated, so that its scores are worth something from its first twenty documents on.
        """
        deliveries = self.bulk_lane.rest(deliveries)
        for name in {change.key.partition("/")[0] for delivery in deliveries for change in delivery.changes}:
            self.directory.forget(name)  # a reindex that has begun must be seen by every batch that begins after it
        begun = self._begin(deliveries, deadline)
        written, failed = self._write(begun.parsed, deadline)
        failed = [*begun.failed, *failed, *self._activate(written, deadline)]
        for each in begun.parsed:
            if each.delivery not in failed:
                failed += self._bring_current(each.delivery, each.work)
        for delivery, work in begun.large:
            failed += self._continue(delivery, work, deadline)
        self.merge_segments.ask_where_due({each.tenant.part_of(t) for _, each in written for t in each.targets})
        failed += self._merge(deliveries, deadline)
        failed += self._work(deliveries, deadline)
        for name in {each.key.tenant for _, each in written}:
            self.calibrate(name, deadline)
        return list({delivery.message_id: delivery for delivery in failed}.values())

    def _begin(self, deliveries: Sequence[Delivery], deadline: Deadline) -> _Begun:
        begun = _Begun([], [], [])
        for delivery in deliveries:
            if deadline.remaining_s() < MIN_TIME_FOR_A_RECORD_S:
                self.redelivery.after(delivery, 0)
                begun.failed.append(delivery)
                continue
            if not delivery.understood:
                logger.warning("dropped unrecognised SQS message", extra={"message_id": delivery.message_id})
            for change in delivery.changes:
                try:
                    key = DocumentKey.of_object(change.key.removesuffix(SIDECAR_SUFFIX))
                except InvalidParamsError as exc:
                    logger.info("ignored a key that names no document", extra={"problem": exc.message})
                    continue
                try:
                    work = self._begin_key(key, change, delivery, deadline)
                except DependencyError as exc:
                    if not self._continues(key, delivery, exc, alone=delivery is deliveries[0]):
                        begun.failed.append(delivery)
                    continue
                if isinstance(work, ParsedRevision):
                    begun.parsed.append(_Parsed(delivery, work))
                elif work is not None:
                    begun.large.append((delivery, work))
        return begun

    def _continues(self, key: DocumentKey, delivery: Delivery, exc: DependencyError, *, alone: bool) -> bool:
        """Whether another message continues a long scan; else this one is given back.

        A scan that had the whole time of the invocation for itself must have got further.
        """
        if isinstance(exc, ScanUnfinishedError) and (exc.details["recognized"] or not alone):
            try:
                self.redelivery.continue_scan(key, delivery)
            except DependencyError as second:
                exc = second
            else:
                logger.info("another message continues a scan", extra={"pages": exc.details["recognized"]})
                return True
        self.redelivery.after_failure(key, delivery, exc)
        return False

    def _merge(self, deliveries: Sequence[Delivery], deadline: Deadline) -> list[Delivery]:
        """Merge segments as messages ask; the messages of merges that failed and are tried again.

        After other work of the batch one begins only if there is time for the largest; alone it always does.
        """
        failed, is_alone = [], not any(delivery.changes for delivery in deliveries)
        for delivery in deliveries:
            if delivery.merge is None:
                continue
            if not is_alone and deadline.remaining_s() < MERGE_S and delivery.receives < MAX_MERGE_TRIES:
                self.redelivery.after(delivery, 0)
                failed.append(delivery)
                continue
            is_alone = False
            try:
                merged = self.merge_segments(delivery.merge, deadline)
            except DependencyError as exc:
                logger.warning("a merge failed", extra={"tenant": delivery.merge.tenant, "code": exc.code})
                if delivery.receives < MAX_MERGE_TRIES:  # a later batch asks again: no dead letter is worth an alarm
                    failed.append(delivery)
                continue
            logger.info("segments were merged", extra={"tenant": delivery.merge.tenant, "segments": merged})
        return failed

    def _work(self, deliveries: Sequence[Delivery], deadline: Deadline) -> list[Delivery]:
        """Do the items of plans that messages ask for; the messages of those that are not done."""
        failed = []
        for delivery in deliveries:
            if delivery.work is None:
                continue
            try:
                if self.work(delivery.work, f"{delivery.message_id}:{delivery.receives}", deadline):
                    continue
                delay_s = self.work_retry_s  # another worker has it, or died with it
            except DependencyError as exc:
                logger.warning("an item of a plan failed", extra={"tenant": delivery.work.tenant, "code": exc.code})
                delay_s = 0
            self.redelivery.after(delivery, delay_s)
            failed.append(delivery)
        return failed

    def _begin_key(self, key: DocumentKey, change: Change, delivery: Delivery, deadline: Deadline) -> Work | None:
        tenant = self.directory.tenant(key.tenant)
        if tenant is None or not tenant.enabled:
            logger.warning("ignored a key of no active tenant", extra={"tenant": key.tenant})
            return None
        if change.key.endswith(SIDECAR_SUFFIX):
            change = Change(key.s3_key)  # sequencers are only comparable within one key
        return self.reconcile_key(key, change, delivery, tenant, deadline)

    def _write(
        self, parsed: Sequence[_Parsed], deadline: Deadline, known: Known | None = None
    ) -> tuple[list[tuple[Delivery, WrittenRevision]], list[Delivery]]:
        """Embed and index what is *parsed*.  Where the shared requests fail, each document is tried alone.

        Returns:
            What was written, and the messages that failed.
        """
        works = [work for _, work in parsed]
        try:
            known = self.index_revision.vectors(works, deadline) if known is None else known
            self.index_revision.index(works, known, deadline)
        except DependencyError as exc:
            if len(parsed) > 1:
                tried = [self._write([one], deadline, known) for one in parsed]
                return [each for done, _ in tried for each in done], [each for _, failed in tried for each in failed]
            return [], [self._failed(each.work.key, each.delivery, exc) for each in parsed]
        written: list[tuple[Delivery, WrittenRevision]] = []
        failed: list[Delivery] = []
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="keep") as pool:  # two writes to S3 a document
            saved = [pool.submit(self.index_revision.keep, work, known) for work in works]
        for (delivery, work), done in zip(parsed, saved, strict=True):
            try:
                written.append((delivery, done.result()))
            except DependencyError as exc:
                failed.append(self._failed(work.key, delivery, exc))
        return written, failed

    def _continue(self, delivery: Delivery, work: Unfinished, deadline: Deadline) -> list[Delivery]:
        """Write parts of a large document until it is whole or the time is over; the message if it failed."""
        try:
            done = self.write_parts(work, delivery, deadline)
            if done is Stop.HANDED_OVER:
                return []
            if done is Stop.LOST:
                self.live.clean(work.key, work.tenant, deadline)
            elif failed := self._activate([(delivery, done)], deadline):
                return failed
        except DocumentError as exc:
            self.live.refuse(work.key, work.saved.revision, exc, delivery.receives, work.tenant, deadline)
        except DependencyError as exc:
            return [self._failed(work.key, delivery, exc)]
        return self._bring_current(delivery, work)

    def _bring_current(self, delivery: Delivery, work: Work) -> list[Delivery]:
        """Ask for the version above one that this message finished; the message if that failed."""
        try:
            if not work.is_current:
                self.redelivery.queue.send(work.key.s3_key)
        except DependencyError as exc:
            return [self._failed(work.key, delivery, exc)]
        return []

    def _activate(self, waiting: Sequence[tuple[Delivery, WrittenRevision]], deadline: Deadline) -> list[Delivery]:
        """Let the revisions answer, after one refresh of the index; the messages that failed."""
        try:
            self.live.refresh((written for _, written in waiting), deadline)
        except DependencyError as exc:
            return [self._failed(written.key, delivery, exc) for delivery, written in waiting]
        failed: list[Delivery] = []
        for delivery, written in waiting:
            try:
                self.live.activate(written, deadline)
            except DependencyError as exc:
                failed.append(self._failed(written.key, delivery, exc))
        return failed

    def _failed(self, key: DocumentKey, delivery: Delivery, exc: DependencyError) -> Delivery:
        self.redelivery.after_failure(key, delivery, exc)
        return delivery


@dataclass(frozen=True, kw_only=True)
class Redelivery:
    """Lets messages come again, and ends the leases of the documents that they are about."""

    queue: MessageQueue
    registry: Registry
    live: ActivateRevisions
    retry_base_s: int
    jitter: Callable[[], float] = random.random

    def after_failure(self, key: DocumentKey, delivery: Delivery, exc: DependencyError) -> None:
        """Give the message back; on its last receive the document's record says why it is not indexed."""
        logger.warning(
            "a dependency failed", extra={"service": exc.service, "code": exc.code, "receives": delivery.receives}
        )
        last = delivery.receives >= MAX_RECEIVES  # SQS moves it where it would be received once more: at once
        self.after(delivery, 0 if last else self._delay_s(delivery))
        try:
            head = self._pending(key, delivery)
            if head is None:
                return
            if last:
                failure = self.live.failure(exc.code, exc.message, delivery.receives)
                self.live.fail(key, head.revision, failure, keep_live=True)
            else:
                self.registry.give_back(key, head.revision)
        except DependencyError as second:  # the lease then expires
            logger.warning("could not end a lease", extra={"service": second.service, "code": second.code})

    def continue_scan(self, key: DocumentKey, delivery: Delivery) -> None:
        """Let a new message continue with the pages that are left; this one is done.

        The lease ends first: the next message would take it for another worker's.

        Raises:
            DependencyError: It could not be sent; then this message comes again.
        """
        head = self._pending(key, delivery)
        if head is not None:
            self.registry.give_back(key, head.revision)
        self.queue.send(key.s3_key)

    def _pending(self, key: DocumentKey, delivery: Delivery) -> Head | None:
        """The document's head, where this message holds its lease."""
        head = self.registry.head(key)
        holds = head is not None and head.message_id == delivery.message_id and head.status is Status.PENDING
        return head if holds else None

    def after(self, delivery: Delivery, delay_s: int) -> None:
        """Let the message come again after *delay_s*; never fails."""
        try:
            self.queue.retry_after(delivery, delay_s)
        except DependencyError as exc:  # then it comes back after the queue's own visibility timeout
            logger.warning("could not extend message visibility", extra={"service": exc.service, "code": exc.code})

    def _delay_s(self, delivery: Delivery) -> int:
        return retry_delay_s(delivery.receives, base_s=self.retry_base_s, jitter=self.jitter())


FEW = 10  # changes of a vault in WINDOW_S that one environment takes without moving any
WINDOW_S = 60.0
MAX_GROUPS = 10_000  # counted at once; the one that was not seen for longest is counted from 0 again


@dataclass(frozen=True)
class BulkLane:
    """Counts changes of each vault as this environment sees them."""

    queue: MessageQueue
    clock: Callable[[], float] = field(kw_only=True)
    _counts: OrderedDict[str, tuple[float, int]] = field(init=False, default_factory=OrderedDict)

    def rest(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Move messages of vaults with many changes; the others, which are for this batch.

        A message is moved once, at its first receive.  If it cannot be moved it is for this batch.
        """
        moved = [each for each in deliveries if self._is_many(each)]
        if not moved:
            return list(deliveries)
        try:
            self.queue.move(moved)
        except DependencyError as exc:
            logger.warning("could not move messages to the bulk queue", extra={"code": exc.code})
            return list(deliveries)
        logger.info("moved messages to the bulk queue", extra={"messages": len(moved)})
        gone = {each.message_id for each in moved}
        return [each for each in deliveries if each.message_id not in gone]

    def _is_many(self, delivery: Delivery) -> bool:
        if not self.queue.has_bulk or not delivery.changes or delivery.receives > 1 or self.queue.is_bulk(delivery):
            return False
        now_s, group = self.clock(), delivery.group
        since_s, count = self._counts.pop(group, (now_s, 0))
        if now_s - since_s >= WINDOW_S:  # what was many a minute ago stays so, unless it became few meanwhile
            since_s, count = now_s, min(count, FEW) if count > FEW and now_s - since_s < 2 * WINDOW_S else 0
        self._counts[group] = (since_s, count + 1)
        if len(self._counts) > MAX_GROUPS:
            self._counts.popitem(last=False)
        return count >= FEW


WASTEFUL = 1.5  # times the live chunks: of an index that holds more, a third and more is waste
SLACK_CHUNKS = 500  # a small index is not worth it


@dataclass(frozen=True, kw_only=True)
class MergeSegments:
    """Asks for merges, and does them."""

    registry: Registry
    index: MergingIndex
    queue: MessageQueue

    def ask_where_due(self, indexes: Iterable[IndexRef]) -> None:
        """Send a message for each index that has many segments; one that is not sent is asked for by a later batch."""
        for index in indexes:
            if self.index.merge_is_due(index):
                try:
                    self.queue.merge(MergeRequest(index.tenant, index.name))
                except DependencyError as exc:
                    logger.warning("could not request a merge", extra={"tenant": index.tenant, "code": exc.code})

    def __call__(self, request: MergeRequest, deadline: Deadline) -> int:
        """Merge segments of an index that its tenant still has; how many.

        Raises DependencyError: a service failed, or the time was over: nothing has changed, and a later merge does it.
        """
        tenant = self.registry.tenant(request.tenant)
        targets = tenant.targets if tenant is not None and tenant.enabled else ()
        for target in targets:
            if tenant is not None and target.name == request.index:
                part = tenant.part_of(target)
                merged = self.index.merge(part, deadline, lambda found: self.dead(found, deadline))
                self.ask_where_due([part])  # the next segment, where many removals remain
                return merged
        return 0

    def tidy(self, tenant: Tenant, deadline: Deadline) -> int:
        """Remove segments that no reader needs any more, of all indexes of *tenant*; how many.

        First the active index is written again where most of what it holds can never answer: merges that were asked
        for reach large segments late.

        Raises:
            DependencyError: A service failed, or the time was over; the next sweep continues.
        """
        chunks = self.index.count(tenant.index, deadline)
        if chunks > WASTEFUL * tenant.chunks + SLACK_CHUNKS:
            merged = self.index.merge(tenant.index, deadline, lambda found: self.dead(found, deadline), everything=True)
            logger.info("rewrote an index", extra={"tenant": tenant.name, "segments": merged})
        parts = [tenant.part_of(target) for target in tenant.targets]
        tidied = sum(self.index.tidy(part, deadline) for part in parts)
        self.ask_where_due(parts)  # where purges left many removals
        return tidied

    def dead(self, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline) -> set[tuple[DocumentKey, int]]:
        """Which of up to 100 revisions can never answer again; one whose head cannot be read may."""
        heads = self.registry.heads(list({key for key, _ in revisions}), deadline).found
        return {(key, revision) for key, revision in revisions if revision < obsolete_before(heads.get(key))}
