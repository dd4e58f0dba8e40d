"""Remove chunks of superseded revisions that a crash or a failed clean-up left in the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragdrop.domain.chunks import IndexedRevision
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef, Tenant
from ragdrop.operate.sweeping import is_orphan, seconds_of
from ragdrop.ports import ChunkIndex, Registry

PAGE = 1_000
HEADS_AT_ONCE = 100  # what one batch read of the registry takes


@dataclass(frozen=True, slots=True)
class Removed:
    """How many revisions were orphans, and how many chunks of them were removed; none in a dry run."""

    revisions: int
    chunks: int


class RemoveOrphans:
    """Looks at every revision of a tenant's indexes, the one being built and the one before too."""

    def __init__(self, *, registry: Registry, index: ChunkIndex, min_age_s: float, clock: Callable[[], float]) -> None:
        self._registry = registry
        self._index = index
        self._min_age_s = min_age_s
        self._clock = clock

    def __call__(self, tenant: Tenant, deadline: Deadline, *, dry_run: bool = False) -> Removed:
        """Remove the chunks of revisions that are neither live nor pending, and old enough.

        Raises:
            DependencyError: The index or the registry failed, or the time was over; the next sweep goes on.
        """
        revisions = chunks = 0
        for target in tenant.targets:
            part, cursor = tenant.part_of(target), None
            while not self._index.drops_superseded(part):
                page = self._index.revisions(part, cursor=cursor, limit=PAGE, deadline=deadline)
                for orphan in self._orphans(page.revisions, deadline):
                    revisions += 1
                    chunks += 0 if dry_run else self._remove(part, orphan, deadline)
                cursor = page.cursor
                if cursor is None:
                    break
        return Removed(revisions, chunks)

    def _orphans(self, found: Sequence[IndexedRevision], deadline: Deadline) -> list[IndexedRevision]:
        now_s = self._clock()
        aged = [each for each in found if now_s - seconds_of(each.indexed_at) >= self._min_age_s]
        orphans: list[IndexedRevision] = []
        for first in range(0, len(aged), HEADS_AT_ONCE):
            some = aged[first : first + HEADS_AT_ONCE]
            heads = self._registry.heads(list({each.key for each in some}), deadline)
            known = (each for each in some if each.key not in heads.unread)
            orphans += [each for each in known if is_orphan(each.revision, heads.found.get(each.key))]
        return orphans

    def _remove(self, part: IndexRef, orphan: IndexedRevision, deadline: Deadline) -> int:
        return self._index.remove(
            part,
            orphan.key,
            from_revision=orphan.revision,
            before_revision=orphan.revision + 1,
            deadline=deadline,
        )
