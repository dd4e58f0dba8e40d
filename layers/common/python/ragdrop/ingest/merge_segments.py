"""Merge segments of an index, as messages of the ingest queue ask: without what can never answer again."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef, Tenant
from ragdrop.errors import DependencyError
from ragdrop.ingest.reconcile_rules import obsolete_before
from ragdrop.ports import MergingIndex, MessageQueue, Registry
from ragdrop.ports.message_queue import MergeRequest

logger = logging.getLogger(__name__)

WASTEFUL = 1.5  # times the live chunks: of an index that holds more, a third and more is waste
SLACK_CHUNKS = 500  # a small index is not worth it


class MergeSegments:
    """Asks for merges, and does them."""

    def __init__(self, *, registry: Registry, index: MergingIndex, queue: MessageQueue) -> None:
        self._registry = registry
        self._index = index
        self._queue = queue

    def ask_where_due(self, indexes: Iterable[IndexRef]) -> None:
        """Send a message for each index that has many segments; one that is not sent is asked for by a later batch."""
        for index in indexes:
            if self._index.merge_is_due(index):
                try:
                    self._queue.merge(MergeRequest(index.tenant, index.name))
                except DependencyError as exc:
                    logger.warning("a merge could not be asked for", extra={"tenant": index.tenant, "code": exc.code})

    def __call__(self, wanted: MergeRequest, deadline: Deadline) -> int:
        """Merge segments of an index that its tenant still has; how many.

        Raises:
            DependencyError: A service failed, or the time was over: nothing has changed, and a later merge does it.
        """
        tenant = self._registry.tenant(wanted.tenant)
        targets = tenant.targets if tenant is not None and tenant.enabled else ()
        for target in targets:
            if tenant is not None and target.name == wanted.index:
                return self._index.merge(tenant.part_of(target), deadline, lambda found: self.dead(found, deadline))
        return 0

    def tidy(self, tenant: Tenant, deadline: Deadline) -> int:
        """Remove segments that no reader needs any more, of all indexes of *tenant*; how many.

        First the active index is written again where most of what it holds can never answer: merges that were asked
        for reach large segments late.

        Raises:
            DependencyError: A service failed, or the time was over; the next sweep goes on.
        """
        held = self._index.count(tenant.index, deadline)
        if held > WASTEFUL * tenant.chunks + SLACK_CHUNKS:
            merged = self._index.merge(
                tenant.index, deadline, lambda found: self.dead(found, deadline), everything=True
            )
            logger.info("an index was written again", extra={"tenant": tenant.name, "segments": merged})
        return sum(self._index.tidy(tenant.part_of(target), deadline) for target in tenant.targets)

    def dead(self, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline) -> set[tuple[DocumentKey, int]]:
        """Which of up to 100 revisions can never answer again; one whose head cannot be read may."""
        heads = self._registry.heads(list({key for key, _ in revisions}), deadline).found
        return {(key, revision) for key, revision in revisions if revision < obsolete_before(heads.get(key))}
