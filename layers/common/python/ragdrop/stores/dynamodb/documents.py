"""Heads and details in DynamoDB: claim, activate, fail and tombstone as conditional writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Failure, Head, Heads, Name, Status
from ragdrop.domain.history import GRACE_S, RETENTION_S, LiveChange, change_of, milliseconds
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DatabaseError
from ragdrop.ports import Claim
from ragdrop.ports.registry import Checkpoint
from ragdrop.stores import head_changes
from ragdrop.stores.dynamodb.history import CHANGE, DynamoDbHistory, recorded
from ragdrop.stores.dynamodb.items import (
    HEAD_SK,
    checkpoint_attributes,
    checkpoint_of,
    detail_item,
    detail_of,
    detail_sk,
    document_pk,
    head_of,
    listing_pk,
    listing_shard,
    stage_key,
)
from ragdrop.stores.dynamodb.pointers import NAME_SK, DynamoDbPointers, name_key, paths_of
from ragdrop.stores.dynamodb.table import Absent, DynamoDbTable, Put, Update, Write, read_batch
from ragdrop.stores.head_changes import Changes

FORGOTTEN_AT_ONCE = 5  # items of revisions that one request reads to find those that never answered


class DynamoDbDocuments(DynamoDbPointers, DynamoDbHistory):
    """The part of the registry that knows documents."""

    def __init__(self, table: DynamoDbTable, sleep: Callable[[float], None] = time.sleep) -> None:
        self._table = table
        self._sleep = sleep

    def head(self, key: DocumentKey) -> Head | None:
        item = self._table.get((document_pk(key), HEAD_SK))
        return head_of(item) if item else None

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        """The heads of up to 100 documents; keys that stay unprocessed until the deadline are `unread`.

        Raises:
            DatabaseError: Not one of them could be read.
            ValueError: More than 100 documents.
        """
        return self.named_and_heads((), keys, deadline)[1]

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """Both by one batch read; heads that stay unprocessed until the deadline are `unread`, such names are left out.

        Raises:
            DatabaseError: Nothing could be read.
            ValueError: More than 100 names and documents.
        """
        by_name = {name_key(name): name for name in names}
        by_head = {(document_pk(key), HEAD_SK): key for key in keys}
        found, left = read_batch(self._table, [*by_name, *by_head], deadline, self._sleep)
        heads = [head_of(item) for item in found if item["SK"] == HEAD_SK]
        paths: dict[Name, tuple[str, ...]] = {name: () for item, name in by_name.items() if item not in left}
        paths |= {by_name[item["PK"], NAME_SK]: paths_of(item) for item in found if item["SK"] == NAME_SK}
        unread = frozenset(by_head[item] for item in left if item in by_head)
        return paths, Heads({head.key: head for head in heads}, unread)

    def detail(self, key: DocumentKey, revision: int) -> Detail | None:
        item = self._table.get((document_pk(key), detail_sk(revision)))
        return detail_of(item, key) if item else None

    def details(self, revisions: Collection[tuple[DocumentKey, int]], deadline: Deadline) -> list[Detail]:
        asked = {(document_pk(key), detail_sk(revision)): key for key, revision in revisions}
        found, left = read_batch(self._table, list(asked), deadline, self._sleep) if asked else ([], [])
        if left:
            raise DatabaseError(f"{len(left)} of {len(asked)} revisions could not be read", service="registry")
        details = (detail_of(item, asked[item["PK"], item["SK"]]) for item in found)
        return [detail for detail in details if detail is not None]

    def begin(self, detail: Detail, checkpoint: Checkpoint) -> None:
        """Keep the detail and the first checkpoint in one item, which the activation replaces."""
        expires_at = milliseconds(detail.facts.indexed_at) // 1_000 + RETENTION_S + GRACE_S
        self._table.put(detail_item(detail) | checkpoint_attributes(checkpoint) | {"expires_at": expires_at})

    def checkpoint(self, key: DocumentKey, revision: int) -> Checkpoint | None:
        item = self._table.get((document_pk(key), detail_sk(revision)))
        return checkpoint_of(item) if item else None

    def advance(self, key: DocumentKey, revision: int, before: Checkpoint, after: Checkpoint) -> bool:
        update = Update(checkpoint_attributes(after), expected={"position": before.position})
        outcome = self._table.update((document_pk(key), detail_sk(revision)), update, returning="NONE")
        # a write whose answer was lost is repeated by the SDK, and finds itself in its way
        return outcome.won or (outcome.item is not None and checkpoint_of(outcome.item) == after)

    def renew(self, key: DocumentKey, revision: int, message_id: str, lease_until_s: float) -> bool:
        """Take the lease over; repeated, the same write is won again."""
        changes = {"message_id": message_id, "lease_until_s": lease_until_s}
        update = Update(changes, expected={"revision": revision, "status": Status.PENDING})
        return self._table.update((document_pk(key), HEAD_SK), update, returning="NONE").won

    def claim(self, key: DocumentKey, seen: Head | None, claim: Claim) -> Head | None:
        """Take the next revision; None where another claim or tombstone was first.

        The condition is on the revision alone.  An activation of the revision seen is no conflict: its writer may have
        read S3 before the change that this claim is for.
        """
        changes = head_changes.claimed(seen, claim)
        if seen is None:
            changes["GSK"] = key.vault_path
        return self._take(key, {"revision": seen.revision} if seen else {}, changes)

    def give_back(self, key: DocumentKey, revision: int) -> None:
        update = Update({"lease_until_s": 0.0}, expected={"revision": revision, "status": Status.PENDING})
        self._table.update((document_pk(key), HEAD_SK), update, returning="NONE")

    def activate(self, detail: Detail, now_s: float) -> Head | None:
        before = self.head(detail.key)
        if before is None:
            return None
        changes = head_changes.activated(detail, now_s) | head_changes.live_versions(before)
        record = change_of(
            before,
            "activated",
            changes,
            at_ms=round(now_s * 1_000),
            size_bytes=detail.size_bytes,
            written_by=detail.written_by,
        )
        return self._finish(before, detail.revision, changes, record, detail)

    def put_in_stage(self, detail: Detail, now_s: float) -> Head | None:
        before, key = self.head(detail.key), detail.key
        if before is None or (before.revision, before.status) != (detail.revision, Status.PENDING):
            return before if before and head_changes.waits_as(before, detail) else None
        changes = head_changes.staged(detail, now_s)
        expected = {"revision": detail.revision, "status": Status.PENDING}
        absent = Absent(stage_key(key.tenant, f"{key.vault}/{detail.stage}"))
        if self._wrote(key, expected, changes, [Put(detail_item(detail)), absent]):
            return before
        head = self.head(key)
        if head and (head.revision, head.status) == (detail.revision, Status.PENDING):
            raise DatabaseError(f"stage {detail.stage} is being promoted", service="registry")
        return head if head and head_changes.waits_as(head, detail) else None

    def fail(self, key: DocumentKey, revision: int, failure: Failure, *, keep_live: bool) -> Head | None:
        before = self.head(key)
        if before is None:
            return None
        changes = head_changes.failed(failure, keep_live=keep_live)
        record = change_of(before, "failed", changes, at_ms=milliseconds(failure.at))
        return self._finish(before, revision, changes, record)

    def tombstone(
        self, key: DocumentKey, seen: Head, sequencer: str | None, now_s: float, *, by: str | None = None
    ) -> Head | None:
        """Claim the next revision as deleted; the new head, or None where another write was first.

        The condition is on the status too: what was live when it was buried is counted, and recorded.
        """
        changes = head_changes.buried(seen, sequencer, now_s)
        record = change_of(seen, "deleted", changes, at_ms=round(now_s * 1_000), written_by=by)
        if self._wrote(key, {"revision": seen.revision, "status": seen.status}, changes, recorded(record, None)):
            return replace(seen, **changes)
        head = self.head(key)
        return head if head and head_changes.taken_by(head, changes) else None

    def forget(self, key: DocumentKey, before_revision: int) -> None:
        """Remove the details below *before_revision* that no change is recorded with, down to the first with one.

        What a worker that died leaves below that one goes by its time to live.
        """
        if before_revision < 1:
            return
        bounds = (detail_sk(0), detail_sk(before_revision - 1))
        for item in self._table.query(document_pk(key), between=bounds, page_size=FORGOTTEN_AT_ONCE, newest_first=True):
            if CHANGE in item:
                return
            self._table.delete((item["PK"], item["SK"]))

    def forget_document(self, key: DocumentKey) -> int:
        """Remove pointers, changes and the partition; the head last, so that a purge cut off can be repeated."""
        items = list(self._table.query(document_pk(key)))
        listed = self._forget_changes(items, key)
        for head in (head_of(item) for item in items if item["SK"] == HEAD_SK):
            self.unpoint(head)
        found = [(item["PK"], item["SK"]) for item in items]
        for place in sorted(found, key=lambda place: place[1] == HEAD_SK):
            self._table.delete(place)
        return len(found) + listed

    def _take(self, key: DocumentKey, expected: Changes, changes: Changes) -> Head | None:
        update = Update(_listed(key, changes), expected=expected, only_new=not expected)
        outcome = self._table.update((document_pk(key), HEAD_SK), update, returning="ALL_NEW")
        head = head_of(outcome.item) if outcome.item else None
        return head if head and (outcome.won or head_changes.taken_by(head, changes)) else None

    def _finish(
        self, before: Head, revision: int, changes: Changes, record: LiveChange, detail: Detail | None = None
    ) -> Head | None:
        """End a pending revision as *changes* say; the head as it was before, None where it was superseded."""
        head: Head | None = before
        if before.revision == revision and before.status in {Status.PENDING, Status.STAGED}:
            expected = {"revision": revision, "status": before.status}
            if self._wrote(before.key, expected, changes, recorded(record, detail)):
                return before
            head = self.head(before.key)
        return head if head and head_changes.finished_as(head, revision, changes) else None

    def _wrote(self, key: DocumentKey, expected: Changes, changes: Changes, records: list[Write]) -> bool:
        """Change the head and write the *records* in one transaction; False where the head is not as *expected*."""
        update = Update(_listed(key, changes), expected=expected)
        return self._table.transact([((document_pk(key), HEAD_SK), update), *records])


def _listed(key: DocumentKey, changes: Changes) -> Changes:
    return changes | {"GPK": listing_pk(key.tenant, changes["status"], listing_shard(key))}
