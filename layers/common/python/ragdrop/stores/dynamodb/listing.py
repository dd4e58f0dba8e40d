"""List documents from the table's `listing` index, merged in order of vault and path."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge

from ragdrop.domain.documents import Head, Page, Status
from ragdrop.stores.dynamodb.items import LISTING_SHARDS, Item, head_of, listing_pk
from ragdrop.stores.dynamodb.table import DynamoDbTable
from ragdrop.stores.listing_cursor import Listing

LISTING_INDEX = "listing"
HIGHEST = "\U0010ffff"  # sorts behind every character a path may have


class DynamoDbListing:
    """The part of the registry that lists documents; eventually consistent, never for answers."""

    def __init__(self, table: DynamoDbTable) -> None:
        self._table = table

    def page(
        self, tenant: str, *, vault: str | None, prefix: str, status: Status | None, cursor: str | None, limit: int
    ) -> Page:
        """One page.  A prefix without a vault holds in every vault and reads past the documents it leaves out."""
        listing = Listing(tenant, vault, prefix, status)
        after = listing.position(cursor)
        streams = [
            self._stream(listing, state, shard, after, limit)
            for state in listing.statuses
            for shard in range(LISTING_SHARDS)
        ]
        heads: list[Head] = []
        for item in _each_once(merge(*streams, key=lambda item: str(item["GSK"]))):
            head = head_of(item)
            if not listing.admits(head.key.vault, head.key.path):
                continue
            if len(heads) == limit:
                return Page(heads, listing.cursor_after(heads[-1].key.vault_path))
            heads.append(head)
        return Page(heads, None)

    def _stream(self, listing: Listing, status: Status, shard: int, after: str, limit: int) -> Iterator[Item]:
        within = f"{listing.vault}/{listing.prefix}" if listing.vault else ""
        # the character 0 behind the last one: the first text that sorts after it
        low = max(within, after + "\0" if after else "") or " "
        partition = listing_pk(listing.tenant, status, shard)
        return self._table.query(partition, between=(low, within + HIGHEST), index=LISTING_INDEX, page_size=limit + 1)


def _each_once(items: Iterator[Item]) -> Iterator[Item]:
    """A document that changes its status between two queries is in both; the first one is taken."""
    last = None
    for item in items:
        if item["GSK"] != last:
            yield item
        last = item["GSK"]
