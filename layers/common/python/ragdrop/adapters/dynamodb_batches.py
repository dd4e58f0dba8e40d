"""A batch read of DynamoDB that asks again for what was left unprocessed, as long as there is time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from ragdrop.adapters.dynamodb_items import Item
from ragdrop.adapters.dynamodb_table import ItemKey, Table
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DatabaseError

MAX_ITEMS = 100  # items a BatchGetItem takes
BACKOFF_BASE_S = 0.05
BACKOFF_CAP_S = 1.0


def read_batch(
    table: Table, keys: Sequence[ItemKey], deadline: Deadline, sleep: Callable[[float], None] = time.sleep
) -> tuple[list[Item], list[ItemKey]]:
    """Up to 100 items, read consistently, and the keys that stayed unread until the deadline.

    Raises:
        DatabaseError: Not one of them could be read.
        ValueError: More than 100 keys.
    """
    if len(keys) > MAX_ITEMS:
        raise ValueError(f"{len(keys)} items asked for at once, at most {MAX_ITEMS}")
    found: list[Item] = []
    left = list(keys)
    attempt = 0
    while left:
        try:
            items, unprocessed = table.batch_get(left)
        except DatabaseError:
            if len(left) == len(keys):
                raise
            break  # what was read before counts; the rest is unread
        found += items
        left = unprocessed
        # full jitter, so that clients throttled together do not come back together
        pause_s = random.uniform(0, min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2**attempt))  # noqa: S311
        if left and deadline.remaining_s() <= pause_s:
            break
        if left:
            sleep(pause_s)
        attempt += 1
    if left and len(left) == len(keys):
        raise DatabaseError(f"table {table.name} processed none of {len(left)} keys in time", service="registry")
    return found, left
