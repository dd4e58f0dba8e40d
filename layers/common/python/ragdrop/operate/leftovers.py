"""Remove what can never answer again: orphaned chunks of an index, derived objects 30 days after their revision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ragdrop.domain.chunks import IndexedRevision
from ragdrop.domain.deadlines import Deadline, seconds_of
from ragdrop.domain.documents import Head, Status
from ragdrop.domain.tenants import IndexRef, Tenant
from ragdrop.ingest.revision_store import RevisionStore, revision_of, tenant_prefix
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.object_store import ListedObject, ObjectStore
from ragdrop.ports.registry import Registry

PAGE = 1_000
HEADS_AT_ONCE = 100  # what one batch read of the registry takes


@dataclass(frozen=True, slots=True)
class Removed:
    """How many revisions were orphans, and how many chunks of them were removed; none in a dry run."""

    revisions: int
    chunks: int


@dataclass(frozen=True, kw_only=True)
class RemoveOrphans:
    """Looks at every revision of a tenant's indexes, the one being built and the one before too."""

    registry: Registry
    index: ChunkIndex
    min_age_s: float
    clock: Callable[[], float]

    def __call__(self, tenant: Tenant, deadline: Deadline, *, dry_run: bool = False) -> Removed:
        """Remove the chunks of revisions that are neither live nor pending, and old enough.

        Raises DependencyError: the index or the registry failed, or the time was over; the next sweep continues.
        """
        revisions = chunks = 0
        for target in tenant.targets:
            part, cursor = tenant.part_of(target), None
            while not self.index.drops_superseded(part):
                page = self.index.revisions(part, cursor=cursor, limit=PAGE, deadline=deadline)
                for orphan in self._orphans(page.revisions, deadline):
                    revisions += 1
                    chunks += 0 if dry_run else self._remove(part, orphan, deadline)
                cursor = page.cursor
                if cursor is None:
                    break
        return Removed(revisions, chunks)

    def _orphans(self, found: Sequence[IndexedRevision], deadline: Deadline) -> list[IndexedRevision]:
        now_s = self.clock()
        aged = [each for each in found if now_s - seconds_of(each.indexed_at) >= self.min_age_s]
        orphans: list[IndexedRevision] = []
        for first in range(0, len(aged), HEADS_AT_ONCE):
            some = aged[first : first + HEADS_AT_ONCE]
            heads = self.registry.heads(list({each.key for each in some}), deadline)
            known = (each for each in some if each.key not in heads.unread)
            orphans += [each for each in known if is_orphan(each.revision, heads.found.get(each.key))]
        return orphans

    def _remove(self, part: IndexRef, orphan: IndexedRevision, deadline: Deadline) -> int:
        return self.index.remove(
            part, orphan.key, from_revision=orphan.revision, before_revision=orphan.revision + 1, deadline=deadline
        )


MAX_LOOKED_AT = 1_000  # documents whose heads are read in one run; the next one continues behind them
STOP_S = 20.0  # with less time left a run ends


@dataclass(frozen=True, slots=True)
class RemovedDerived:
    """Revisions and objects that went, in a dry run would go; `after` is the prefix the next run begins behind."""

    revisions: int
    objects: int
    after: str


@dataclass(frozen=True, kw_only=True)
class RemoveDerived:
    """Goes through what is stored of a tenant's documents, in the order of their digests, some at a time."""

    state: ObjectStore
    documents: ObjectStore
    registry: Registry
    revisions: RevisionStore
    age_s: float
    clock: Callable[[], float]
    max_looked_at: int = MAX_LOOKED_AT

    def __call__(self, tenant: str, deadline: Deadline, *, after: str = "", dry_run: bool = False) -> RemovedDerived:
        """Remove what expired, beginning behind the document whose prefix is *after*.

        Only documents of which something is old enough are looked at, at most 1,000; each by a consistent read of its
        head just before.

        Raises:
            DependencyError: S3 or the registry failed; the next run begins where this one did.
        """
        revisions = objects = looked_at = 0
        last = after
        start = f"{after[:-1]}0" if after else ""  # "0" follows the "/" that the prefix ends with
        entries = self.state.entries(tenant_prefix(tenant), start_after=start)
        for prefix, found in groupby(entries, key=lambda entry: _document_of(entry.key)):
            if looked_at >= self.max_looked_at or deadline.remaining_s() < STOP_S:
                return RemovedDerived(revisions, objects, last)
            last = prefix
            stored = _revisions(prefix, found)
            now_s = self.clock()
            if not any(now_s - each.written_at_s >= self.age_s for each in stored):
                continue
            looked_at += 1
            for each in self._expired(prefix, stored, now_s):
                revisions += 1
                objects += each.objects if dry_run else self.state.delete_prefix(f"{prefix}{each.revision:016d}/")
        return RemovedDerived(revisions, objects, "")

    def _expired(self, prefix: str, stored: list[DerivedRevision], now_s: float) -> list[DerivedRevision]:
        """What expired of one document; nothing where nobody noted whose it is."""
        owners = (self.revisions.owner(f"{prefix}{each.revision:016d}/") for each in reversed(stored))
        key = next((owner for owner in owners if owner is not None), None)
        if key is None:
            return []
        head = self.registry.head(key)
        if head is None and self.documents.versions(key.s3_key):
            return []  # the registry lost the document, not the bucket: its vectors are needed when it comes again
        return expired(stored, head, now_s=now_s, age_s=self.age_s)


def _document_of(name: str) -> str:
    """The prefix of a document: `revisions/{tenant}/{digest}/`."""
    return "/".join(name.split("/", 3)[:3]) + "/"


def _revisions(prefix: str, entries: Iterable[ListedObject]) -> list[DerivedRevision]:
    return list(_each_revision(prefix, entries))


def _each_revision(prefix: str, entries: Iterable[ListedObject]) -> Iterator[DerivedRevision]:
    for revision, found in groupby(entries, key=lambda entry: revision_of(prefix, entry.key)):
        objects = list(found)
        written_at_s = max(seconds_of(entry.modified_at) for entry in objects)
        whole = any(entry.key.removeprefix(prefix).split("/")[1] == "chunks" for entry in objects)
        yield DerivedRevision(revision, written_at_s, whole, len(objects))


def is_orphan(revision: int, head: Head | None) -> bool:
    """Whether a revision found in the index can never answer: it is neither live nor pending.

    A number is claimed once, so what is an orphan at one consistent read of the head stays one.
    """
    if head is None:
        return True
    pending = head.status in {Status.PENDING, Status.STAGED} and revision == head.revision
    return revision != head.live_revision and not pending


DERIVED_AGE_S = 30 * 86_400


@dataclass(frozen=True, slots=True)
class DerivedRevision:
    """What the state bucket keeps of one revision; `written_at_s` is of its youngest object, in seconds since 1970.

    `whole` says that its chunks are there: only then it can ever have answered.
    """

    revision: int
    written_at_s: float
    whole: bool
    objects: int = 0


def expired(
    stored: Sequence[DerivedRevision], head: Head | None, *, now_s: float, age_s: float
) -> list[DerivedRevision]:
    """The revisions of one document that stopped answering at least *age_s* seconds ago.

    The live and the pending one never are.  One that was replaced stopped when the next whole one was written, the last
    one when the head says that the document was deleted or withdrawn; without a head it is by its own age.

    >>> old, new = DerivedRevision(1, 0.0, True), DerivedRevision(2, 500.0, True)
    >>> [each.revision for each in expired([old, new], None, now_s=1_000.0, age_s=600.0)]
    []
    """
    found = []
    for each in stored:
        if head is not None and each.revision == head.live_revision:
            continue
        if head is not None and each.revision == head.revision and head.status in {Status.PENDING, Status.STAGED}:
            continue
        later = [other.written_at_s for other in stored if other.whole and other.revision > each.revision]
        replaced = later and (head is None or head.live_revision is None or each.revision < head.live_revision)
        changed_at_s = seconds_of(head.updated_at) if head is not None else 0.0
        stopped_at_s = min(later) if replaced else max(each.written_at_s, changed_at_s)
        if now_s - max(stopped_at_s, each.written_at_s) >= age_s:
            found.append(each)
    return found
