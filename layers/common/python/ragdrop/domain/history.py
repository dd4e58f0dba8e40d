"""The record of the past: what answered for each document, since when, and how often that changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Literal
from zlib import crc32

from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.documents import Detail, Head, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import InvalidParamsError

RETENTION_S = 30 * 86_400  # what was replaced or deleted can be asked for, and put back, for so long
GRACE_S = 86_400  # records stay a day longer than what they record: at the edge a question finds all of it or nothing
WRITTEN_BY = "ragdrop-by"  # of an object's metadata: who wrote it, as the API found it by the key
STAGE = "ragdrop-stage"  # of an object's metadata: the stage that it waits in
WAITING = "waiting"  # the stage of what was put into a vault with admission control without naming one
DIGEST_DIGITS = 12  # of a document in the id of a change
SLOTS = 128  # a change of one document makes readers forget one of so many parts of what they hold
SHARDS = 2  # items that the slots are spread over: writers of one tenant wait for each other half as often

ChangeKind = Literal["activated", "failed", "deleted"]
"""A revision went live, could not be indexed, or the document was deleted."""


@dataclass(frozen=True, slots=True)
class LiveChange:
    """One change of a document, written with the change itself."""

    key: DocumentKey
    at_ms: int  # milliseconds since 1970; of one document's changes the later one never has less
    kind: ChangeKind
    revision: int  # that was activated, failed, or is the tombstone
    before: int | None = None  # the revision that answered until then; None if none did
    after: int | None = None  # the one that answers from then on; the same as `before` where a failure left it live
    # version_id, sidecar_version_id: the S3 versions of `revision`
    version_id: str | None = None
    sidecar_version_id: str | None = None
    # before_version_id, before_sidecar_version_id: those of `before`
    before_version_id: str | None = None
    before_sidecar_version_id: str | None = None
    size_bytes: int | None = None  # of the object that was activated
    written_by: str | None = None  # who wrote it, by the label of a key or its id; None if nobody knows

    @property
    def id(self) -> str:
        """Its id, by which the changes of a vault are in order.

        >>> LiveChange(DocumentKey("acme", "team", "a.md"), 5, "activated", 7).id
        '0000000000005-0000000000000007-2c836104a4f8'
        """
        return f"{self.at_ms:013d}-{self.revision:016d}-{self.key.digest[:DIGEST_DIGITS]}"

    @property
    def at(self) -> str:
        """When it happened, RFC 3339."""
        return rfc3339(self.at_ms / 1_000, precision="milliseconds")

    @property
    def expires_at_s(self) -> int:
        """When its record may go, in seconds since 1970."""
        return self.at_ms // 1_000 + RETENTION_S + GRACE_S


def first_id(at_ms: int) -> str:
    """What sorts before the id of every change of *at_ms* and later.

    >>> first_id(5) < LiveChange(DocumentKey("acme", "team", "a.md"), 5, "activated", 7).id < first_id(6)
    True
    """
    return f"{at_ms:013d}"


def moment_of_change(change_id: str) -> int | None:
    """The milliseconds since 1970 in the id of a change; None if it is no such id.

    >>> moment_of_change("0000000000005-0000000000000007-2c836104a4f8"), moment_of_change("2026-01-31")
    (5, None)
    """
    at, _, rest = change_id.partition("-")
    revision, _, digest = rest.partition("-")
    plain = at.isascii() and at.isdigit() and revision.isascii() and revision.isdigit()
    return int(at) if plain and (len(at), len(revision), len(digest)) == (13, 16, DIGEST_DIGITS) else None


def milliseconds(text: str) -> int:
    """The milliseconds since 1970 of a time as registries keep it; 0 of an empty one.

    >>> milliseconds("1970-01-01T00:00:00.250Z"), milliseconds("")
    (250, 0)
    """
    return round(datetime.fromisoformat(text).timestamp() * 1_000) if text else 0


def was_promoted(head: Head, promoted: Mapping[str, float]) -> bool:
    """Whether *head* waits in a stage that was *promoted* since it joined, by seconds since 1970 of each `vault/stage`.

    A reader may have heard of a promotion and not yet of its end: what joined a later stage of that name waits.

    >>> head = Head(DocumentKey("t", "v", "a.md"), Status.STAGED, 7, stage="may", updated_at="1970-01-01T00:01:00.000Z")
    >>> was_promoted(head, {"v/may": 60.0}), was_promoted(head, {"v/may": 59.0}), was_promoted(head, {})
    (True, False, False)
    """
    at_s = promoted.get(f"{head.key.vault}/{head.stage}")
    return head.status is Status.STAGED and at_s is not None and milliseconds(head.updated_at) <= at_s * 1_000


def head_then(head: Head, detail: Detail) -> Head:
    """The head of a document whose revision with *detail* counts; who may read it stays what it is now."""
    facts = detail.facts
    return replace(
        head,
        status=Status.INDEXED,
        revision=detail.revision,
        live_revision=detail.revision,
        version_id=facts.version_id,
        live_version_id=facts.version_id,
        title=facts.title,
        doc_type=facts.doc_type,
        promotion_level=facts.promotion_level,
        chunk_count=detail.chunk_count,
        error=None,
    )


def head_promoted(head: Head, detail: Detail) -> Head:
    """The head of a document in a promoted stage: its revision with *detail* counts, and who may read that one."""
    return replace(head_then(head, detail), access=detail.facts.access, live_tag=head.tag)


def moment(text: str, *, now_s: float, field: str = "as_of") -> int:
    """The milliseconds since 1970 of a time within the retention.

    Args:
        text: RFC 3339 with its offset.
        now_s: Seconds since 1970.
        field: What it is called in errors.

    Raises:
        InvalidParamsError: It is no such time, in the future, or before the retention.

    >>> moment("1970-01-02T00:00:00Z", now_s=90_000), moment("1970-01-02T00:00:00.001Z", now_s=86_400.0006)
    (86400000, 86400001)
    """
    earliest = rfc3339(max(0.0, now_s - RETENTION_S))
    allowed = {"from": earliest, "to": rfc3339(now_s)}
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        message = f"{field}: {text[:40]!r} is no time of RFC 3339, as 2026-01-31T10:00:00Z"
        raise InvalidParamsError(message, field=field, value=text[:40], allowed=allowed)
    seconds = found.timestamp()
    if round(seconds * 1_000) > round(now_s * 1_000):  # as times of changes are rounded
        message = f"{field}: {text[:40]} is in the future"
        raise InvalidParamsError(message, field=field, value=text[:40], allowed=allowed)
    if seconds < now_s - RETENTION_S:
        message = f"{field}: {text[:40]} is before what is stored: the last 30 days, from {earliest}"
        raise InvalidParamsError(message, field=field, value=text[:40], allowed=allowed)
    return round(seconds * 1_000)


@dataclass(frozen=True, slots=True)
class Then:
    """What answered for a document at a moment, where something else does now or did since.

    `revision` is None if nothing answered; `now` is what the last change since left.
    """

    revision: int | None
    now: int | None
    version_id: str | None = None
    sidecar_version_id: str | None = None


RESTORED_FROM = "ragdrop-restored-from"  # of an object's metadata: the version that a rollback put back with it


def state_before(changes: Iterable[LiveChange], *, all_touched: bool = False) -> dict[DocumentKey, Then]:
    """What answered before the first of *changes*, which come in order, for each document whose answer they changed.

    With *all_touched* also where the same answers again, or still.  Settings files are none of these.

    >>> key = DocumentKey("acme", "team", "a.md")
    >>> found = state_before([LiveChange(key, 5, "activated", 2, 1, 2, before_version_id="v1"),
    ...                       LiveChange(key, 6, "deleted", 3, 2, None)])
    >>> found[key].revision, found[key].now, found[key].version_id
    (1, None, 'v1')
    """
    found: dict[DocumentKey, Then] = {}
    for change in changes:
        first = found.get(change.key)
        if first is None:
            versions = change.before_version_id, change.before_sidecar_version_id
            found[change.key] = Then(change.before, change.after, *versions)
        else:
            found[change.key] = Then(first.revision, change.after, first.version_id, first.sidecar_version_id)
    return {
        key: then for key, then in found.items() if (all_touched or then.revision != then.now) and not key.is_settings
    }


def change_of(
    head: Head,
    kind: ChangeKind,
    after: Mapping[str, object],
    *,
    at_ms: int,
    size_bytes: int | None = None,
    written_by: str | None = None,
) -> LiveChange:
    """The record of a change of *head*, as it was before; *after* are the fields that the change sets.

    >>> from ragdrop.domain.documents import Status
    >>> key = DocumentKey("acme", "team", "a.md")
    >>> head = Head(key, Status.PENDING, 2, live_revision=1, version_id="v2", live_version_id="v1")
    >>> change = change_of(head, "activated", {"live_revision": 2}, at_ms=9)
    >>> change.before, change.after, change.version_id, change.before_version_id
    (1, 2, 'v2', 'v1')
    """
    revision = after.get("revision", head.revision)
    live = after.get("live_revision", head.live_revision)
    deleted = kind == "deleted"
    return LiveChange(
        key=head.key,
        at_ms=max(at_ms, milliseconds(head.updated_at)),  # two clocks may differ: one document's changes never go back
        kind=kind,
        revision=int(str(revision)),
        before=head.live_revision,
        after=None if live is None else int(str(live)),
        version_id=None if deleted else head.version_id,
        sidecar_version_id=None if deleted else head.sidecar_version_id,
        before_version_id=head.live_version_id,
        before_sidecar_version_id=head.live_sidecar_version_id,
        size_bytes=size_bytes,
        written_by=written_by,
    )


@lru_cache(maxsize=16_384)  # the same documents are found again and again
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
    """The counts of one tenant at one moment."""

    # a random word for each shard, written with its first change; empty before it.  A tenant that is created again has
    # others.
    begun: tuple[str, ...] = ("",) * SHARDS
    counts: Mapping[int, int] = field(default_factory=dict)  # changes by slot; slots without any may be left out
    settings: int = 0  # changes of settings files, of which rules of access are a part, and of tags

    def stamp(self, key: DocumentKey) -> Stamp:
        """What stays the same while no document of the key's slot changes.

        >>> key = DocumentKey("acme", "team", "a.md")
        >>> ChangeCounts().stamp(key), ChangeCounts(("x", "y"), {15: 7}).stamp(key)
        (('', 0), ('y', 7))
        """
        slot = slot_of(key)
        return self.begun[shard_of(slot)], self.counts.get(slot, 0)

    @property
    def of_settings(self) -> Stamp:
        """What stays the same while no settings file and no tag changes."""
        return self.begun[0], self.settings
