"""The lane for bulk work: messages of vaults that change much are moved to a queue of their own.

S3 writes every change into one queue, and gives it no tenant that the queue could be fair between.  So whoever takes a
message of a vault with many changes moves it on, which takes milliseconds: a small edit behind thousands of files of
another vault is reached in seconds.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence

from ragdrop.errors import DependencyError
from ragdrop.ports import MessageQueue
from ragdrop.ports.message_queue import Delivery

logger = logging.getLogger(__name__)

FEW = 10  # changes of a vault in WINDOW_S that one environment takes without moving any
WINDOW_S = 60.0
MAX_GROUPS = 10_000  # counted at once; the one that was not seen for longest is counted from 0 again


class BulkLane:
    """Counts changes of each vault as this environment sees them.

    Args:
        queue: Moves messages.
        clock: Seconds since 1970.
    """

    def __init__(self, queue: MessageQueue, *, clock: Callable[[], float]) -> None:
        self._queue = queue
        self._clock = clock
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def rest(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Move messages of vaults with many changes; the others, which are for this batch.

        A message is moved once, at its first receive.  If it cannot be moved it is for this batch.
        """
        moved = [each for each in deliveries if self._is_many(each)]
        if not moved:
            return list(deliveries)
        try:
            self._queue.move(moved)
        except DependencyError as exc:
            logger.warning("could not move messages to the bulk queue", extra={"code": exc.code})
            return list(deliveries)
        logger.info("moved messages to the bulk queue", extra={"messages": len(moved)})
        gone = {each.message_id for each in moved}
        return [each for each in deliveries if each.message_id not in gone]

    def _is_many(self, delivery: Delivery) -> bool:
        if not self._queue.has_bulk or not delivery.changes or delivery.receives > 1 or self._queue.is_bulk(delivery):
            return False
        now_s, group = self._clock(), delivery.group
        since_s, count = self._counts.pop(group, (now_s, 0))
        if now_s - since_s >= WINDOW_S:  # what was many a minute ago stays so, unless it became few meanwhile
            since_s, count = now_s, min(count, FEW) if count > FEW and now_s - since_s < 2 * WINDOW_S else 0
        self._counts[group] = (since_s, count + 1)
        if len(self._counts) > MAX_GROUPS:
            self._counts.popitem(last=False)
        return count >= FEW
