"""Change counts: how often what answers changed, so that a reader knows which of the heads it holds still hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

from ragdrop.domain.keys import DocumentKey

SLOTS = 128  # a change of one document makes readers forget one of so many parts of what they hold
SHARDS = 2  # items that the slots are spread over: writers of one tenant wait for each other half as often


def slot_of(key: DocumentKey) -> int:
    """The slot that counts the changes of a document, from 0 to SLOTS - 1.

    >>> slot_of(DocumentKey("acme", "team", "a.md"))
    15
    """
    return crc32(key.vault_path.encode("utf-8", "surrogatepass")) % SLOTS


def shard_of(slot: int) -> int:
    """The shard that a slot is in, from 0 to SHARDS - 1."""
    return slot % SHARDS


Stamp = tuple[str, int]
"""When a shard was begun, and the count of a slot in it: the same again means that no document of the slot changed."""


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """The counts of one tenant at one moment.

    Args:
        begun: A random word for each shard, written with its first change; empty before it.  A tenant that is made
            anew has others.
        counts: Changes by slot; slots without any may be left out.
    """

    begun: tuple[str, ...] = ("",) * SHARDS
    counts: Mapping[int, int] | None = None

    def stamp(self, key: DocumentKey) -> Stamp:
        """What stays the same while no document of the key's slot changes.

        >>> key = DocumentKey("acme", "team", "a.md")
        >>> ChangeCounts().stamp(key), ChangeCounts(("x", "y"), {15: 7}).stamp(key)
        (('', 0), ('y', 7))
        """
        slot = slot_of(key)
        return self.begun[shard_of(slot)], (self.counts or {}).get(slot, 0)
