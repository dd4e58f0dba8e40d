"""Return messages to the queue with growing delays, until SQS moves them to the dead-letter queue."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DependencyError
from ragdrop.ingest.activate import ActivateRevisions
from ragdrop.ingest.reconcile_rules import MAX_RECEIVES, retry_delay_s
from ragdrop.ports import MessageQueue, Registry
from ragdrop.ports.message_queue import Delivery

logger = logging.getLogger(__name__)


class Redelivery:
    """Lets messages come again, and ends the leases of the documents that they are about."""

    def __init__(
        self,
        *,
        queue: MessageQueue,
        registry: Registry,
        live: ActivateRevisions,
        retry_base_s: int,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._queue = queue
        self._registry = registry
        self._live = live
        self._retry_base_s = retry_base_s
        self._jitter = jitter

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
                failure = self._live.failure(exc.code, exc.message, delivery.receives)
                self._live.fail(key, head.revision, failure, keep_live=True)
            else:
                self._registry.give_back(key, head.revision)
        except DependencyError as second:  # the lease then ends by itself
            logger.warning("a lease could not be given back", extra={"service": second.service, "code": second.code})

    def go_on_with_scan(self, key: DocumentKey, delivery: Delivery) -> None:
        """Let a message of its own go on with the pages that are left; this one is done.

        The lease ends first: the next message would take it for another worker's.

        Raises:
            DependencyError: It could not be sent; then this message comes again.
        """
        head = self._pending(key, delivery)
        if head is not None:
            self._registry.give_back(key, head.revision)
        self._queue.send(key.s3_key)

    def _pending(self, key: DocumentKey, delivery: Delivery) -> Head | None:
        """The document's head, where this message holds its lease."""
        head = self._registry.head(key)
        holds = head is not None and head.message_id == delivery.message_id and head.status is Status.PENDING
        return head if holds else None

    def after(self, delivery: Delivery, delay_s: int) -> None:
        """Let the message come again after *delay_s*; never fails."""
        try:
            self._queue.retry_after(delivery, delay_s)
        except DependencyError as exc:  # then it comes back after the queue's own visibility timeout
            logger.warning("a message keeps its visibility", extra={"service": exc.service, "code": exc.code})

    def _delay_s(self, delivery: Delivery) -> int:
        return retry_delay_s(delivery.receives, base_s=self._retry_base_s, jitter=self._jitter())
