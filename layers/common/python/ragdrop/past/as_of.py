"""Answers as of a moment: which revisions counted then, their chunks, and the search over both."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import CandidateQuery, Candidates, IndexedChunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Head, Heads, Name, Promoted, Status, name_of
from ragdrop.domain.history import (
    LiveChange,
    Then,
    first_id,
    head_promoted,
    head_then,
    milliseconds,
    moment,
    state_before,
    was_promoted,
)
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller, IndexRef, Tenant
from ragdrop.errors import InvalidParamsError, ProjectNotActivatedError
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.past.record import PAGE, change_pages
from ragdrop.ports.indexes import LayeredIndex
from ragdrop.ports.registry import Registry
from ragdrop.ports.search_services import SearchableIndex, SearchableRegistry
from ragdrop.query.understand import visible_vaults
from ragdrop.query.view import LiveViews, View, for_caller
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.permissions import Permissions

MAX_DIFFERING = 2_000  # documents whose chunks of then are read: three reads of the state bucket each
MAX_HIDDEN = 10_000  # documents that an index is asked to leave out
MAX_CHANGES = 50_000  # of a tenant that are read to find them
DETAILS_AT_ONCE = 100  # what one batch read takes
AT_ONCE = 16  # documents read in parallel
CHANGED = "documents changed while this was answered, and some of that moment may be missing: ask again"
SKEW_MS = 1_000  # by which the clocks of two functions may differ
VIEWS = 4  # cached by an environment
CACHED_S = 600.0

Revision = tuple[DocumentKey, int]


@dataclass(frozen=True, slots=True)
class Differences:
    """Which revision counts for documents that differ from what is live."""

    # of the revisions that count, by document; None of a document that does not count at all
    details: Mapping[DocumentKey, Detail | None] = field(default_factory=dict)
    hidden: frozenset[Revision] = frozenset()  # revisions that are live, or were since, and do not count
    until_ms: int | None = None  # what went live later is excluded; None excludes nothing
    lost: int = 0  # how many documents differ and cannot be shown, as their content is no longer stored


class PastView(View):
    """Registry and index with other revisions live for some documents.

    The head of each document is read all the same: what was purged since has none, and is in no view.
    """

    def __init__(
        self,
        registry: SearchableRegistry,
        index: SearchableIndex,
        differences: Differences,
        changed: Callable[[str], Collection[DocumentKey]] = lambda _since: (),
        since: str = "",
    ) -> None:
        lost = differences.lost
        warnings = [f"{lost} documents of that moment are no longer stored and are left out"] if lost else []
        super().__init__(registry, index, warnings)
        self.differences = differences
        self._changed, self._since = changed, since

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        """The important and critical documents of the view."""
        details = self.differences.details
        unchanged = [each for each in self.registry.promoted(tenant, deadline) if each.key not in details]
        changed = [
            Promoted(key, detail.facts.promotion_level)
            for key, detail in details.items()
            if detail is not None and detail.facts.promotion_level != "standard"
        ]
        return sorted([*unchanged, *changed])

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """Paths by name, those of the view too, and heads."""
        found, heads = super().named_and_heads(names, keys, deadline)
        more: dict[Name, set[str]] = {}
        requested = set(names)
        for key, detail in self.differences.details.items():
            if detail is not None and (name := name_of(key)) in requested:
                more.setdefault(name, set()).add(key.path)
        for name, paths in more.items():
            found[name] = tuple(sorted({*found.get(name, ()), *paths}))
        return found, heads

    def ready(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> None:
        """Do what a search can do before its vector is known, without the hidden revisions."""
        super().ready(index, self._without_hidden(queries), deadline)

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of every query, none of a hidden revision; says so where some may be missing."""
        found = super().candidates(index, self._without_hidden(queries), deadline)
        if CHANGED not in self.warnings and self._changed(self._since):
            self.warnings.append(CHANGED)
        return found

    def _without_hidden(self, queries: Sequence[CandidateQuery]) -> list[CandidateQuery]:
        return [replace(query, without=query.without | self.differences.hidden) for query in queries]

    def viewed(self, heads: Heads, deadline: Deadline) -> Heads:
        """The *heads* with the revisions that count."""
        del deadline
        found: dict[DocumentKey, Head] = {}
        late: set[DocumentKey] = set()
        for key, head in heads.found.items():
            if key in self.differences.details:
                detail = self.differences.details[key]
                if detail is not None:
                    found[key] = head_then(head, detail)
            elif self._is_late(head):
                late.add(key)
            else:
                found[key] = head
        late |= self._late_and_claimed([head for key, head in found.items() if key not in self.differences.details])
        return Heads({key: head for key, head in found.items() if key not in late}, heads.unread | late)

    def _is_late(self, head: Head) -> bool:
        """Whether a head changed between the view and this read, so that its earlier state is unknown.

        A document's first revision is the time of its claim, so one above the moment is of a document that came later.
        """
        until_ms = self.differences.until_ms
        if until_ms is None:
            return False
        changed = head.status is Status.INDEXED and milliseconds(head.updated_at) > until_ms
        return changed or (head.live_revision or 0) > until_ms

    def _late_and_claimed(self, heads: Iterable[Head]) -> set[DocumentKey]:
        """Documents that changed so and were claimed again: their heads do not say it, and the changes are read."""
        until_ms = self.differences.until_ms
        claimed = {
            head.key
            for head in heads
            if until_ms is not None
            and head.status is not Status.INDEXED
            and head.live_revision is not None
            and milliseconds(head.updated_at) > until_ms
        }
        return claimed.intersection(self._changed(first_id((until_ms or 0) + 1))) if claimed else claimed


@dataclass(frozen=True, slots=True)
class _CachedView:
    """A view with what it was made of: text and vectors are not read again."""

    changes: Mapping[str, LiveChange]
    details: Mapping[Revision, Detail]
    chunks: Mapping[Revision, Sequence[IndexedChunk]] = field(repr=False)
    view: PastView = field(repr=False)


class PastViews:
    """Makes views of the past and caches the last few.

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
        self._cached: BoundedCache[tuple[object, ...], _CachedView] = BoundedCache(size=VIEWS, ttl_s=CACHED_S)

    def of(self, as_of: str, caller: Caller, deadline: Deadline) -> PastView:
        """The view of all that *caller* may see, at the time *as_of*.

        Raises:
            InvalidParamsError: It is no time within the retention, or too much has changed since.
            ProjectNotActivatedError: There is no such tenant.
            DependencyError: A service did not answer.
        """
        now_s = self._clock()
        at_ms = moment(as_of, now_s=now_s)
        tenant = self._directory.tenant(caller.tenant, fresh=True)  # a vault of seconds ago counts too
        if tenant is None:
            raise ProjectNotActivatedError("the project of this API key is not active")
        vaults = visible_vaults(tenant.vaults, caller.vaults)
        name = (tenant.name, tenant.active.name, tenant.moves, vaults, at_ms)
        cached = self._cached.get(name, now_s=now_s)
        changes = {change.id: change for vault in vaults for change in self._changes(tenant.name, vault, at_ms)}
        if cached is None or changes.keys() != cached.changes.keys():
            cached = self._made(tenant, at_ms, changes, cached, deadline)
            self._cached.put(name, cached, now_s=now_s)
        view, since = cached.view, first_id(max(at_ms + 1, round(now_s * 1_000) - SKEW_MS))
        changed = partial(self._changed, tenant.name, vaults, changes.keys())
        return PastView(view.registry, view.index, view.differences, changed, since)

    def _changed(self, tenant: str, vaults: Sequence[str], known: Collection[str], since: str) -> set[DocumentKey]:
        """Documents with a change behind the id *since* that is not *known*: what it took from the index was there."""
        pages = (page for vault in vaults for page in change_pages(self._registry, tenant, vault, after=since))
        return {change.key for page in pages for change in page if change.id not in known}

    def _changes(self, tenant: str, vault: str, at_ms: int) -> list[LiveChange]:
        """The changes of a vault after *at_ms*."""
        found: list[LiveChange] = []
        for page in change_pages(self._registry, tenant, vault, after=first_id(at_ms + 1)):
            found += page
            if len(page) == PAGE and len(found) > MAX_CHANGES:
                raise self._too_much(f"there were over {MAX_CHANGES:,} changes since then")
        return found

    def _made(
        self,
        tenant: Tenant,
        at_ms: int,
        changes: Mapping[str, LiveChange],
        cached: _CachedView | None,
        deadline: Deadline,
    ) -> _CachedView:
        then = state_before(changes[name] for name in sorted(changes))
        requested = {(key, each.revision) for key, each in then.items() if each.revision is not None}
        hidden = frozenset((key, each.now) for key, each in then.items() if each.now is not None)
        if len(requested) > self._max_differing or len(hidden) > MAX_HIDDEN:
            raise self._too_much(f"{max(len(requested), len(hidden)):,} documents differ from then")
        details = self._details(requested, cached.details if cached is not None else {}, deadline)
        chunks = self._chunks(details, tenant.active.name, cached.chunks if cached is not None else {}, deadline)
        shown = {revision: detail for revision, detail in details.items() if chunks[revision] or not detail.chunk_count}
        differences = Differences(
            {key: _shown(key, each, shown) for key, each in then.items()},
            hidden,
            until_ms=at_ms,
            lost=len(requested) - len(shown),
        )
        more = [chunk for revision in shown for chunk in chunks[revision]]
        index = self._index.overlaid(tenant.index, more, deadline) if more else self._index
        return _CachedView(changes, details, chunks, PastView(self._registry, index, differences))

    def _details(
        self, requested: set[Revision], known: Mapping[Revision, Detail], deadline: Deadline
    ) -> dict[Revision, Detail]:
        found = {revision: known[revision] for revision in requested if revision in known}
        missing = sorted(requested - found.keys())
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
            stored = self._revisions.open(detail.key, detail.revision)
            found = [] if stored is None else list(stored.indexed(index, detail.facts))
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


class StagedView(View):
    """What is live, and what waits in some stages: its chunks are in the index, the registry decides what answers.

    Args:
        registry: The registry.
        index: The index.
        stages: Those that count, `vault/stage`, with seconds since 1970 until which a document joined them; one answer
            counts the same ones from its first read to its last.
    """

    def __init__(self, registry: SearchableRegistry, index: SearchableIndex, stages: Mapping[str, float]) -> None:
        super().__init__(registry, index)
        self._stages = dict(stages)

    def moved_on(self, keys: Collection[DocumentKey], deadline: Deadline) -> bool:
        """Whether one of the documents may have changed since the view began, which has read no counts."""
        del deadline
        return bool(keys)

    def viewed(self, heads: Heads, deadline: Deadline) -> Heads:
        """The *heads* with what waits; one more batch read where something does."""
        waiting = {key: head for key, head in heads.found.items() if was_promoted(head, self._stages)}
        if not waiting:
            return heads
        details = self.registry.details([(key, head.revision) for key, head in waiting.items()], deadline)
        staged = {detail.key: head_promoted(waiting[detail.key], detail) for detail in details}
        found = {key: head for key, head in heads.found.items() if key not in waiting}
        return Heads(found | staged, heads.unread | (waiting.keys() - staged.keys()))


class ResolveView:
    """Resolves what a query may read; a view of what is live now costs no request."""

    def __init__(
        self, *, live: LiveViews, past: PastViews, directory: TenantDirectory, permissions: Permissions
    ) -> None:
        self._permissions = permissions
        self._live = live
        self._past = past
        self._directory = directory

    def __call__(self, query: Query, caller: Caller, deadline: Deadline, index: SearchableIndex | None = None) -> View:
        """The view of *query*, over *index* where one is given and the query names no moment.

        Whatever the moment, the permissions are those of now.

        Raises:
            The errors of PastViews, where it names a moment.
        """
        return for_caller(self._whole(query, caller, deadline, index), caller, self._permissions)

    def _whole(self, query: Query, caller: Caller, deadline: Deadline, index: SearchableIndex | None) -> View:
        if query.as_of is not None:
            return self._past.of(query.as_of, caller, deadline)
        tenant = self._directory.tenant(caller.tenant)
        stages = dict(tenant.promoted) if tenant is not None else {}
        if query.stage is not None and tenant is not None:
            stages |= {f"{vault}/{query.stage}": inf for vault in visible_vaults(tenant.vaults, caller.vaults)}
        if not stages:
            return self._live.view(index)
        return StagedView(self._live.registry, index or self._live.index, stages)
