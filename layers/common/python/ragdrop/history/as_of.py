"""Answers as of a moment: which revisions counted then, their chunks, and the search over both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import IndexedChunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail
from ragdrop.domain.history import LiveChange, Then, first_id, moment, state_before
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import InvalidParamsError, ProjectNotActivatedError
from ragdrop.history.record import PAGE, change_pages
from ragdrop.history.view import Differences, SearchView, view_of
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ports import LayeredIndex, Registry
from ragdrop.query.scopes import visible_vaults
from ragdrop.tenants.directory import TenantDirectory

MAX_DIFFERING = 2_000  # documents whose chunks of then are read: three reads of the state bucket each
MAX_HIDDEN = 10_000  # documents that an index is asked to leave out
MAX_CHANGES = 50_000  # of a tenant that are read to find them
DETAILS_AT_ONCE = 100  # what one batch read takes
AT_ONCE = 16  # documents read beside each other
VIEWS = 4  # kept by an environment
KEPT_S = 600.0

Revision = tuple[DocumentKey, int]


@dataclass(frozen=True, slots=True)
class HeldView:
    """A view with what it was made of: text and vectors are not read again."""

    changes: Mapping[str, LiveChange]
    details: Mapping[Revision, Detail]
    chunks: Mapping[Revision, Sequence[IndexedChunk]] = field(repr=False)
    view: SearchView = field(repr=False)


class PastViews:
    """Makes views of the past and keeps the last few.

    Every question reads the changes since its moment: a purge takes some away.  Text and vectors of what was replaced
    are read for the first one.
    """

    def __init__(
        self,
        *,
        registry: Registry,
        index: LayeredIndex,
        revisions: RevisionStore,
        directory: TenantDirectory,
        clock: Callable[[], float],
        max_differing: int = MAX_DIFFERING,
    ) -> None:
        self._max_differing = max_differing
        self._registry = registry
        self._index = index
        self._revisions = revisions
        self._directory = directory
        self._clock = clock
        self._held: BoundedCache[tuple[object, ...], HeldView] = BoundedCache(size=VIEWS, ttl_s=KEPT_S)

    def of(self, as_of: str, caller: Caller, deadline: Deadline) -> SearchView:
        """The view of all that *caller* may see, at the time *as_of*.

        Raises:
            InvalidParamsError: It is no time within the retention, or too much has changed since.
            ProjectNotActivatedError: There is no such tenant.
            DependencyError: A service did not answer.
        """
        now_s = self._clock()
        at_ms = moment(as_of, now_s=now_s)
        tenant = self._directory.tenant(caller.tenant, fresh=True)  # a vault of seconds ago must be looked at too
        if tenant is None:
            raise ProjectNotActivatedError("the project of this API key is not active")
        vaults = visible_vaults(tenant.vaults, caller.vaults)
        name = (tenant.name, tenant.active.name, tenant.moves, vaults, at_ms)
        held = self._held.get(name, now_s=now_s)
        changes = {change.id: change for vault in vaults for change in self._changes(tenant.name, vault, at_ms)}
        if held is None or changes.keys() != held.changes.keys():
            held = self._made(tenant, at_ms, changes, held, deadline)
            self._held.put(name, held, now_s=now_s)
        return held.view

    def _changes(self, tenant: str, vault: str, at_ms: int) -> list[LiveChange]:
        """The changes of a vault after *at_ms*."""
        found: list[LiveChange] = []
        for page in change_pages(self._registry, tenant, vault, after=first_id(at_ms + 1)):
            found += page
            if len(page) == PAGE and len(found) > MAX_CHANGES:
                raise self._too_much(f"there were over {MAX_CHANGES:,} changes since then")
        return found

    def _made(
        self, tenant: Tenant, at_ms: int, changes: Mapping[str, LiveChange], held: HeldView | None, deadline: Deadline
    ) -> HeldView:
        then = state_before(changes[name] for name in sorted(changes))
        wanted = {(key, each.revision) for key, each in then.items() if each.revision is not None}
        hidden = frozenset((key, each.now) for key, each in then.items() if each.now is not None)
        if len(wanted) > self._max_differing or len(hidden) > MAX_HIDDEN:
            raise self._too_much(f"{max(len(wanted), len(hidden)):,} documents differ from then")
        details = self._details(wanted, held.details if held is not None else {}, deadline)
        chunks = self._chunks(details, tenant.active.name, held.chunks if held is not None else {}, deadline)
        shown = {revision: detail for revision, detail in details.items() if chunks[revision] or not detail.chunk_count}
        differences = Differences(
            {key: _shown(key, each, shown) for key, each in then.items()},
            hidden,
            until_ms=at_ms,
            lost=len(wanted) - len(shown),
        )
        more = [chunk for revision in shown for chunk in chunks[revision]]
        index = self._index.overlaid(tenant.index, more, deadline) if more else self._index
        return HeldView(changes, details, chunks, view_of(self._registry, index, differences))

    def _details(
        self, wanted: set[Revision], known: Mapping[Revision, Detail], deadline: Deadline
    ) -> dict[Revision, Detail]:
        found = {revision: known[revision] for revision in wanted if revision in known}
        missing = sorted(wanted - found.keys())
        for first in range(0, len(missing), DETAILS_AT_ONCE):
            read = self._registry.details(missing[first : first + DETAILS_AT_ONCE], deadline)
            found |= {(detail.key, detail.revision): detail for detail in read}
        return found

    def _chunks(
        self,
        details: Mapping[Revision, Detail],
        index: str,
        known: Mapping[Revision, Sequence[IndexedChunk]],
        deadline: Deadline,
    ) -> dict[Revision, Sequence[IndexedChunk]]:
        def read(detail: Detail) -> Sequence[IndexedChunk]:
            deadline.timeout_s(1.0, stage="index")
            kept = self._revisions.open(detail.key, detail.revision)
            found = [] if kept is None else list(kept.indexed(index, detail.facts))
            return found if len(found) == detail.chunk_count else []  # what is not whole says what was not said

        missing = [revision for revision in details if revision not in known]
        if len(missing) < 2:
            found = [read(details[revision]) for revision in missing]
        else:
            with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ragdrop-past") as pool:
                found = list(pool.map(read, (details[revision] for revision in missing)))
        return {revision: known.get(revision, ()) for revision in details} | dict(zip(missing, found, strict=True))

    def _too_much(self, what: str) -> InvalidParamsError:
        message = f"as_of: {what}; at most {self._max_differing:,} documents can be looked back over: take a later time"
        return InvalidParamsError(message, field="as_of", value=None, allowed=self._max_differing)


def _shown(key: DocumentKey, then: Then, shown: Mapping[Revision, Detail]) -> Detail | None:
    return None if then.revision is None else shown.get((key, then.revision))
