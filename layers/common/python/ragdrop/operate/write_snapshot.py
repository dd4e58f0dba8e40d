"""Write a tenant's snapshot from the texts and vectors in the state bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import InvalidParamsError
from ragdrop.operate.snapshot_content import ReadContent
from ragdrop.ports import Registry
from ragdrop.ports.snapshots import Bounds, Snapshot, SnapshotDraft, SnapshotWriter, fitting, in_order

STOP_S = 45.0  # with less time left no more documents are added: packing 300 MB takes half of it
PAGE = 1_000
HEADS = 100  # what one batch read takes
CHECKS = 3  # how often the snapshot is written again without documents that were deleted meanwhile

Progress = Callable[[int, int], None]
Revision = tuple[DocumentKey, int]


def _silent(_done: int, _total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class WrittenSnapshot:
    """A snapshot as it was written, and how much of it was done now.

    `added` and `removed` count documents; `anew` says that it did not begin as the last one.
    """

    snapshot: Snapshot
    added: int
    removed: int
    anew: bool


class WriteSnapshot:
    """Writes snapshots, one tenant at a time."""

    def __init__(
        self,
        *,
        registry: Registry,
        content: ReadContent,
        snapshots: SnapshotWriter,
        clock: Callable[[], float],
        bounds: Bounds | None = None,
    ) -> None:
        self._registry = registry
        self._content = content
        self._snapshots = snapshots
        self._clock = clock
        self._bounds = bounds or Bounds()

    def is_due(self, tenant: Tenant) -> bool:
        """Whether the tenant changed, or moved to another index, since its snapshot was written; by one HeadObject.

        Raises:
            ObjectStoreError: S3 did not answer.
        """
        last = self._snapshots.stored(tenant.name)
        if last is None:
            return tenant.documents > 0
        return not last.finished or (last.generation, last.index) != (tenant.generation, tenant.active.name)

    def __call__(
        self, name: str, deadline: Deadline, *, anew: bool = False, progress: Progress = _silent
    ) -> WrittenSnapshot:
        """Write the snapshot of a tenant's active index, beginning with the last one unless *anew*.

        *progress* is told documents added and how many there are to add.  Some seconds before *deadline* the rest is
        left out, and the next call adds it.

        Raises:
            InvalidParamsError: There is no such tenant.
            DependencyError: A service failed; the snapshot that was there stays.
        """
        tenant = self._registry.tenant(name)
        if tenant is None:
            raise InvalidParamsError(f"there is no tenant named {name!r}", field="tenant", value=name)
        now_s = self._clock()
        live = in_order(self._live(name))
        with self._snapshots.drafting(tenant.index, deadline, anew=anew) as draft:
            writing = _Writing(self._content, tenant, draft, self._bounds, deadline)
            removed = writing.keep_only({(head.key, head.live_revision or 0) for head in live})
            added = writing.add(live, progress)
            snapshot = self._published(draft, writing, tenant, _total(live), now_s, deadline)
            return WrittenSnapshot(snapshot, added, removed, draft.basis is None)

    def _published(
        self, draft: SnapshotDraft, writing: _Writing, tenant: Tenant, total: int, now_s: float, deadline: Deadline
    ) -> Snapshot:
        """Publish, and look once more: a document purged while its text was on its way must not stay in the object.

        A purge buries the document first and removes the snapshot later, so whatever was buried before the object was
        written is seen here, and whatever was buried after it removes the object itself.
        """
        for _ in range(CHECKS):
            snapshot = draft.publish(
                Snapshot(
                    index=tenant.active.name,
                    dimension=tenant.active.space.dimension,
                    generation=tenant.generation,
                    created_at_s=now_s,
                    chunks=draft.chunks.count(tenant.index, deadline),
                    documents=len(writing.present),
                    live_chunks=total,
                    finished=writing.finished,
                )
            )
            if not writing.keep_only(self._not_gone(writing.present, deadline)):
                return snapshot
        self._snapshots.remove(tenant.name)
        return snapshot

    def _not_gone(self, present: set[Revision], deadline: Deadline) -> set[Revision]:
        """Those whose document was neither deleted nor purged; one that cannot be read counts as gone."""
        keys = list({key for key, _ in present})
        gone = set(keys)
        for start in range(0, len(keys), HEADS):
            heads = self._registry.heads(keys[start : start + HEADS], deadline).found
            gone -= {key for key, head in heads.items() if head.status is not Status.DELETED}
        return {(key, revision) for key, revision in present if key not in gone}

    def _live(self, tenant: str) -> Iterator[Head]:
        """The heads of live documents; the listing may lag, which costs a hit its check and nothing else."""
        cursor = None
        while True:
            page = self._registry.page(tenant, vault=None, prefix="", status=None, cursor=cursor, limit=PAGE)
            yield from (head for head in page.heads if head.live_revision is not None and not head.key.is_settings)
            cursor = page.cursor
            if cursor is None:
                return


class _Writing:
    """One draft and what is in it."""

    def __init__(
        self, content: ReadContent, tenant: Tenant, draft: SnapshotDraft, bounds: Bounds, deadline: Deadline
    ) -> None:
        self._content = content
        self._tenant = tenant
        self._draft = draft
        self._bounds = bounds
        self._deadline = deadline
        self.present = set(self._revisions())
        self.finished = True

    def keep_only(self, wanted: set[Revision]) -> int:
        """Remove every revision that is not among *wanted*; how many."""
        unwanted = self.present - wanted
        for key, revision in unwanted:
            self._remove(key, revision)
        return len(unwanted)

    def add(self, live: Sequence[Head], progress: Progress) -> int:
        """Add what is missing of *live*, the first ones first, as far as the bounds and the time go; how many."""
        chosen = fitting(live, self._bounds.chunks)
        self.keep_only({(head.key, head.live_revision or 0) for head in chosen})
        missing = [head for head in chosen if (head.key, head.live_revision) not in self.present]
        evictable = [head for head in reversed(chosen) if (head.key, head.live_revision) in self.present]
        rank = {head.key: place for place, head in enumerate(chosen)}
        added = 0
        for head, pieces in self._content.of(missing, self._tenant):
            if self._deadline.remaining_s() < STOP_S:
                self.finished = False
                break
            wrote = False
            for piece in pieces:
                self._draft.chunks.upsert(self._tenant.index, piece, self._deadline)
                wrote = True
            if not wrote:
                continue  # replaced or deleted meanwhile, or not written to this index yet
            self.present.add((head.key, head.live_revision or 0))
            added += 1
            progress(added, len(missing))
            while self._draft.size_bytes() > self._bounds.size_bytes:
                last = evictable.pop(0) if evictable and rank[evictable[0].key] > rank[head.key] else head
                self._remove(last.key, last.live_revision or 0)
                if last is head:
                    return added - 1
        return added

    def _remove(self, key: DocumentKey, revision: int) -> None:
        self._draft.chunks.remove(
            self._tenant.index, key, before_revision=revision + 1, deadline=self._deadline, from_revision=revision
        )
        self.present.discard((key, revision))

    def _revisions(self) -> Iterator[Revision]:
        cursor = None
        while True:
            page = self._draft.chunks.revisions(self._tenant.index, cursor=cursor, limit=PAGE, deadline=self._deadline)
            yield from ((each.key, each.revision) for each in page.revisions)
            cursor = page.cursor
            if cursor is None:
                return


def _total(live: Sequence[Head]) -> int:
    return sum(head.chunk_count for head in live)
