"""Documents in the registry table: heads, details, changes, pointers and the listing, by conditional writes.

A change is in the item of its revision and in its vault's list, and is counted for readers: all in one transaction with
the head that it records.  What expires goes by the table's time to live.  A pointer carries the revision that wrote it,
and is removed on condition that no later one did, so a clean-up cannot take the pointer of a newer revision away.
"""

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, replace
from heapq import merge
from itertools import islice

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import (
    MAX_PATHS_OF_A_NAME,
    Detail,
    Failure,
    Head,
    Heads,
    Name,
    Page,
    Promoted,
    Status,
    name_of,
    nothing_answers_until,
    nothing_is_promoted_until,
)
from ragdrop.domain.history import (
    GRACE_S,
    RETENTION_S,
    SHARDS,
    ChangeCounts,
    LiveChange,
    change_of,
    milliseconds,
    shard_of,
    slot_of,
)
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DatabaseError
from ragdrop.ports.registry import Checkpoint, Claim
from ragdrop.stores import registry_rules
from ragdrop.stores.dynamodb.items import (
    HEAD_SK,
    LISTING_SHARDS,
    Item,
    change_counts_pk,
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
from ragdrop.stores.dynamodb.table import Absent, DynamoDbTable, ItemKey, Put, Update, Write, read_batch
from ragdrop.stores.registry_rules import Changes, Listing

CHANGE = "change"  # of the item of a revision: what it changed
LAST = "~"  # sorts behind every id
SETTINGS_COUNT = "settings"  # of a shard's item: changes of settings files
SLOT = "c"  # and the number of a slot: an attribute of a shard's item
PAGE = 200  # changes of one request, if more are requested
NAME_SK = "N"
PATH_PREFIX = "P/"  # an attribute a path; without the prefix a path could be called PK
LISTING_INDEX = "listing"
HIGHEST = "\U0010ffff"  # sorts behind every character a path may have
FORGOTTEN_AT_ONCE = 5  # items of revisions that one request reads to find those that never answered


def recorded(change: LiveChange, detail: Detail | None) -> list[Write]:
    """The writes that record and count *change*, of a revision with *detail* where it was activated."""
    fields = _fields(change)
    record = {CHANGE: fields, **({} if change.after == change.revision else {"expires_at": change.expires_at_s})}
    item = {"PK": document_pk(change.key), "SK": detail_sk(change.revision)} if detail is None else detail_item(detail)
    listed = {"PK": _vault_pk(change.key.tenant, change.key.vault), "SK": change.id, "path": change.key.path}
    writes: list[Write] = [Put(item | record), Put(listed | fields | {"expires_at": change.expires_at_s})]
    if change.before is not None and change.before != change.after:
        replaced = document_pk(change.key), detail_sk(change.before)
        writes.append((replaced, Update({"expires_at": change.expires_at_s}, whatever_is_there=True)))
    if change.before != change.after:
        slot = slot_of(change.key)
        writes.append((counts_keys(change.key.tenant)[shard_of(slot)], _one_more(f"{SLOT}{slot}")))
    return writes


def settings_count(tenant: str) -> Write:
    """The write that counts a change of a settings file, beside the change."""
    return counts_keys(tenant)[0], _one_more(SETTINGS_COUNT)


def _one_more(*names: str) -> Update:
    return Update(additions=dict.fromkeys(names, 1), initial={"begun": secrets.token_hex(4)}, whatever_is_there=True)


def counts_keys(tenant: str) -> list[ItemKey]:
    """Where the change counts of a tenant are, by shard."""
    return [(change_counts_pk(tenant), str(shard)) for shard in range(SHARDS)]


def _vault_pk(tenant: str, vault: str) -> str:
    return f"H#{tenant}/{vault}"


def _fields(change: LiveChange) -> Item:
    values = asdict(change)
    del values["key"]
    return values


def _change_of(item: Item, key: DocumentKey) -> LiveChange:
    names = LiveChange.__slots__
    return LiveChange(**{name: value for name, value in item.items() if name in names} | {"key": key})


def _promoted_key(key: DocumentKey) -> ItemKey:
    return f"C#{key.tenant}", key.vault_path


def name_key(name: Name) -> ItemKey:
    """The item with the paths of a name."""
    return f"N#{name.tenant}/{name.vault}#{name.name}", NAME_SK


def paths_of(item: Item) -> tuple[str, ...]:
    """The paths in the decoded item of a name, sorted.

    >>> paths_of({"PK": "N#acme/team#b", "SK": "N", "count": 2, "P/c/b.md": 7, "P/b.md": 8})
    ('b.md', 'c/b.md')
    """
    return tuple(sorted(name.removeprefix(PATH_PREFIX) for name in item if name.startswith(PATH_PREFIX)))


def _each_once(items: Iterator[Item]) -> Iterator[Item]:
    """A document that changes its status between two queries is in both; the first one is taken."""
    last = None
    for item in items:
        if item["GSK"] != last:
            yield item
        last = item["GSK"]


class DynamoDbDocuments:
    """The part of the registry that has documents; `page` is eventually consistent, never for answers."""

    def __init__(self, table: DynamoDbTable, sleep: Callable[[float], None] = time.sleep) -> None:
        self._table = table
        self._sleep = sleep

    def head(self, key: DocumentKey) -> Head | None:
        item = self._table.get((document_pk(key), HEAD_SK))
        return head_of(item) if item else None

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        return self.named_and_heads((), keys, deadline)[1]

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
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
        """Put the detail and the first checkpoint into one item, which the activation replaces."""
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
        """Take over the lease; the same write, repeated, wins again."""
        changes = {"message_id": message_id, "lease_until_s": lease_until_s}
        update = Update(changes, expected={"revision": revision, "status": Status.PENDING})
        return self._table.update((document_pk(key), HEAD_SK), update, returning="NONE").won

    def claim(self, key: DocumentKey, seen: Head | None, claim: Claim) -> Head | None:
        """Write on the condition of the revision alone, and that what waits was not promoted.

        An activation of the revision seen is no conflict: its writer may have read S3 before the change that this claim
        is for.
        """
        changes = registry_rules.claimed(seen, claim)
        if seen is not None and seen.status is Status.STAGED:
            absent = Absent(stage_key(key.tenant, f"{key.vault}/{seen.stage}"))
            self._wrote(key, {"revision": seen.revision, "status": Status.STAGED}, changes, [absent])
            head = self.head(key)
            return head if head and registry_rules.taken_by(head, changes) else None
        if seen is None:
            changes["GSK"] = key.vault_path
        return self._take(key, {"revision": seen.revision} if seen else {}, changes)

    def retag(self, seen: Head, version_id: str, tag: str) -> bool:
        expected = {"revision": seen.revision, "status": seen.status}
        update = Update(registry_rules.retagged(seen, version_id, tag), expected=expected)
        slot, items = slot_of(seen.key), counts_keys(seen.key.tenant)
        counts = {items[shard_of(slot)]: [f"{SLOT}{slot}"]}
        counts.setdefault(items[0], []).append(SETTINGS_COUNT)  # a transaction writes an item once
        counted = [(item, _one_more(*names)) for item, names in counts.items()]
        return self._table.transact([((document_pk(seen.key), HEAD_SK), update), *counted])

    def give_back(self, key: DocumentKey, revision: int) -> None:
        update = Update({"lease_until_s": 0.0}, expected={"revision": revision, "status": Status.PENDING})
        self._table.update((document_pk(key), HEAD_SK), update, returning="NONE")

    def activate(self, detail: Detail, now_s: float) -> Head | None:
        before = self.head(detail.key)
        if before is None:
            return None
        changes = registry_rules.activated(detail, now_s) | registry_rules.live_versions(before)
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
            return before if before and registry_rules.waits_as(before, detail) else None
        changes = registry_rules.staged(before, detail, now_s)
        expected = {"revision": detail.revision, "status": Status.PENDING}
        absent = Absent(stage_key(key.tenant, f"{key.vault}/{detail.stage}"))
        if self._wrote(key, expected, changes, [Put(detail_item(detail)), absent]):
            return before
        head = self.head(key)
        if head and (head.revision, head.status) == (detail.revision, Status.PENDING):
            raise DatabaseError(f"stage {detail.stage} is being promoted", service="registry")
        return head if head and registry_rules.waits_as(head, detail) else None

    def fail(self, key: DocumentKey, revision: int, failure: Failure, *, keep_live: bool) -> Head | None:
        before = self.head(key)
        if before is None:
            return None
        changes = registry_rules.failed(failure, keep_live=keep_live)
        record = change_of(before, "failed", changes, at_ms=milliseconds(failure.at))
        return self._finish(before, revision, changes, record)

    def tombstone(
        self, key: DocumentKey, seen: Head, sequencer: str | None, now_s: float, *, by: str | None = None
    ) -> Head | None:
        """Claim the next revision as deleted; the new head, or None if another write was first.

        The condition is on the status too: what was live when it was tombstoned is counted, and recorded.
        """
        changes = registry_rules.tombstoned(seen, sequencer, now_s)
        record = change_of(seen, "deleted", changes, at_ms=round(now_s * 1_000), written_by=by)
        if self._wrote(key, {"revision": seen.revision, "status": seen.status}, changes, recorded(record, None)):
            return replace(seen, **changes)
        head = self.head(key)
        return head if head and registry_rules.taken_by(head, changes) else None

    def forget(self, key: DocumentKey, before_revision: int) -> None:
        """Remove details without a recorded change, down to the first with one; time to live removes lower ones."""
        if before_revision < 1:
            return
        bounds = (detail_sk(0), detail_sk(before_revision - 1))
        for item in self._table.query(document_pk(key), between=bounds, page_size=FORGOTTEN_AT_ONCE, newest_first=True):
            if CHANGE in item:
                return
            self._table.delete((item["PK"], item["SK"]))

    def forget_document(self, key: DocumentKey, *, last: int | None = None) -> int:
        """Remove the head last, so that an interrupted purge can be repeated."""
        found = list(self._table.query(document_pk(key)))
        heads = [head_of(item) for item in found if item["SK"] == HEAD_SK]
        until = max((head.revision for head in heads), default=0) if last is None else last
        items = [item for item in found if item["SK"] != HEAD_SK and (last is None or item["SK"] <= detail_sk(last))]
        gone = len(items) + self._forget_changes(items, key)
        for head in (head for head in heads if head.revision <= until):
            self.unpoint(head)
        for item in items:
            self._table.delete((item["PK"], item["SK"]))
        gone += self._table.delete_if((document_pk(key), HEAD_SK), "revision <= :last", {":last": until})
        return gone

    def _take(self, key: DocumentKey, expected: Changes, changes: Changes) -> Head | None:
        update = Update(_listed(key, changes), expected=expected, only_new=not expected)
        outcome = self._table.update((document_pk(key), HEAD_SK), update, returning="ALL_NEW")
        head = head_of(outcome.item) if outcome.item else None
        return head if head and (outcome.won or registry_rules.taken_by(head, changes)) else None

    def _finish(
        self, before: Head, revision: int, changes: Changes, record: LiveChange, detail: Detail | None = None
    ) -> Head | None:
        """End a pending revision with *changes*; the head before them, None if the revision was superseded."""
        head: Head | None = before
        if before.revision == revision and before.status in {Status.PENDING, Status.STAGED}:
            expected = {"revision": revision, "status": before.status}
            tagged = {} if detail is None or before.tag is None else {"tag": before.tag}  # that becomes the live one
            if self._wrote(before.key, expected | tagged, changes, recorded(record, detail)):
                return before
            head = self.head(before.key)
            if detail is not None and head is not None and head == replace(before, tag=head.tag):
                return self._finish(head, revision, changes | {"live_tag": head.tag}, record, detail)
        return head if head and registry_rules.finished_as(head, revision, changes) else None

    def _wrote(self, key: DocumentKey, expected: Changes, changes: Changes, records: list[Write]) -> bool:
        """Change the head and write the *records* in one transaction; False if the head is not as *expected*."""
        update = Update(_listed(key, changes), expected=expected)
        return self._table.transact([((document_pk(key), HEAD_SK), update), *records])

    def change_counts(self, tenant: str, deadline: Deadline) -> ChangeCounts:
        found, left = read_batch(self._table, counts_keys(tenant), deadline, self._sleep)
        if left:
            raise DatabaseError("not all change counts could be read", service="registry")
        begun = [""] * SHARDS
        counts: dict[int, int] = {}
        settings = 0
        for item in found:
            settings += int(item.get(SETTINGS_COUNT, 0))
            begun[int(item["SK"])] = item["begun"]
            counts |= {int(name[1:]): count for name, count in item.items() if name[0] == SLOT and name[1:].isdigit()}
        return ChangeCounts(tuple(begun), counts, settings)

    def changes(
        self, tenant: str, vault: str, *, after: str, limit: int, before: str | None = None
    ) -> list[LiveChange]:
        bounds = (f"{after}\0" if after else " ", before or LAST)
        size, newest_first = min(limit + 1, PAGE), before is not None
        items = self._table.query(_vault_pk(tenant, vault), between=bounds, page_size=size, newest_first=newest_first)
        found = (_change_of(item, DocumentKey(tenant, vault, item["path"])) for item in items)
        return list(islice((change for change in found if change.id != before), limit))

    def changes_of(self, key: DocumentKey, *, before_revision: int | None, limit: int) -> list[LiveChange]:
        found: list[LiveChange] = []
        last = "R#~" if before_revision is None else detail_sk(before_revision - 1)
        pages = self._table.query(
            document_pk(key), between=(detail_sk(0), last), page_size=min(limit, PAGE), newest_first=True
        )
        for item in pages:
            if CHANGE in item:
                found.append(_change_of(item[CHANGE], key))
            if len(found) == limit:
                break
        return found

    def _forget_changes(self, items: list[Item], key: DocumentKey) -> int:
        """Remove a document's entries in the list of its vault, by the *items* of its partition; how many."""
        gone = 0
        for item in items:
            if CHANGE in item:
                self._table.delete((_vault_pk(key.tenant, key.vault), _change_of(item[CHANGE], key).id))
                gone += 1
        return gone

    def point(self, detail: Detail, *, known: bool = False) -> None:
        if not (known and self._note_again(detail.key, detail.revision)):
            self._note_name(detail.key, detail.revision)
        level = detail.facts.promotion_level
        if level != "standard":
            self._table.conditional(
                _promoted_key(detail.key),
                "SET #level = :level, revision = :revision",
                "attribute_not_exists(PK) OR revision <= :revision",
                values={":level": level, ":revision": detail.revision},
                names={"#level": "level"},
            )

    def unpoint(self, head: Head) -> None:
        gone = nothing_answers_until(head)
        if gone:
            self._forget_name(head.key, gone)
        standard = nothing_is_promoted_until(head)
        if standard:
            self._table.delete_if(_promoted_key(head.key), "revision <= :revision", {":revision": standard})

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        deadline.timeout_s(1.0, stage="registry")
        found = []
        for item in self._table.query(f"C#{tenant}"):
            vault, path = item["SK"].split("/", 1)
            found.append(Promoted(DocumentKey(tenant, vault, path), item["level"]))
        return sorted(found)

    def _note_name(self, key: DocumentKey, revision: int) -> None:
        names = {"#path": PATH_PREFIX + key.path, "#count": "count"}
        added = self._table.conditional(
            name_key(name_of(key)),
            "SET #path = :revision ADD #count :one",
            "attribute_not_exists(#path) AND (attribute_not_exists(#count) OR #count < :most)",
            values={":revision": revision, ":one": 1, ":most": MAX_PATHS_OF_A_NAME},
            names=names,
        )
        if added.won or names["#path"] not in (added.item or {}):
            return  # noted, or no room
        if not self._note_again(key, revision):
            self._note_name(key, revision)  # a clean-up was in between

    def _note_again(self, key: DocumentKey, revision: int) -> bool:
        """Note a later revision of a path that the name has; False if it has not."""
        path = PATH_PREFIX + key.path
        noted = self._table.conditional(
            name_key(name_of(key)),
            "SET #path = :revision",
            "#path <= :revision",
            values={":revision": revision},
            names={"#path": path},
        )
        return noted.won or path in (noted.item or {})

    def _forget_name(self, key: DocumentKey, revision: int) -> None:
        removed = self._table.conditional(
            name_key(name_of(key)),
            "REMOVE #path ADD #count :less",
            "#path <= :revision",
            values={":revision": revision, ":less": -1},
            names={"#path": PATH_PREFIX + key.path, "#count": "count"},
        )
        if removed.won and removed.item and removed.item["count"] < 1:
            self._table.delete_if(name_key(name_of(key)), "#count < :one", {":one": 1}, {"#count": "count"})

    def page(
        self,
        tenant: str,
        *,
        vault: str | None,
        prefix: str,
        status: Status | None,
        cursor: str | None,
        limit: int,
        after: str = "",
    ) -> Page:
        """Read past the documents of other vaults if a prefix has no vault."""
        listing = Listing(tenant, vault, prefix, status)
        after = after or listing.position(cursor)
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


def _listed(key: DocumentKey, changes: Changes) -> Changes:
    return changes | {"GPK": listing_pk(key.tenant, changes["status"], listing_shard(key))}
