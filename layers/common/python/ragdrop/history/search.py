"""Search now, as of a moment, or as if a stage were promoted: one search over the registry that counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, cast

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Heads, Name, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.queries import Query
from ragdrop.domain.retrieval import Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.history.as_of import PastViews
from ragdrop.history.view import Differences, SearchView, head_then
from ragdrop.ports import Registry, SearchableIndex
from ragdrop.query.cache import Searching
from ragdrop.query.scopes import visible_vaults
from ragdrop.resilience.known_heads import KnownHeads, index_of_one_search
from ragdrop.tenants.directory import TenantDirectory


class StagedRegistry:
    """The registry as a search reads it, in which what waits in some stages is live.

    The chunks of what waits are in the index: which revision answers is the registry's to say.

    Args:
        registry: As it is.
        stages: Those that count, `vault/stage`; one answer counts the same ones from its first read to its last.
    """

    def __init__(self, registry: Registry, stages: Collection[str]) -> None:
        self._registry = registry
        self._stages = frozenset(stages)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        """The heads of up to 100 documents; one more batch read where some of them wait."""
        return self._counted(self._registry.heads(keys, deadline), deadline)

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """Paths by name, and heads."""
        found, heads = self._registry.named_and_heads(names, keys, deadline)
        return found, self._counted(heads, deadline)

    def _counted(self, live: Heads, deadline: Deadline) -> Heads:
        waiting = {key: head for key, head in live.found.items() if self._counts(head)}
        if not waiting:
            return live
        details = self._registry.details([(key, head.revision) for key, head in waiting.items()], deadline)
        counted = {detail.key: head_then(waiting[detail.key], detail) for detail in details}
        found = {key: head for key, head in live.found.items() if key not in waiting}
        return Heads(found | counted, live.unread | (waiting.keys() - counted.keys()))

    def _counts(self, head: Head) -> bool:
        return head.status is Status.STAGED and f"{head.key.vault}/{head.stage}" in self._stages


class SearchThen:
    """A search that answers as of a moment or with a stage where the query names one, else by what counts now.

    Args:
        views: What registry and index a query counts.
        over: Makes a search over a registry and an index.
        index: That of a search of now.
    """

    def __init__(
        self,
        views: Callable[[], CountedViews],
        over: Callable[[Registry, SearchableIndex], Searching],
        index: SearchableIndex,
    ) -> None:
        self._index = index
        self._views = views
        self._over = over

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Find what answers *query*; raises what Search and PastViews raise."""
        view = self._views().of(query, caller, deadline)
        index = view.index or index_of_one_search(self._index, view.registry)
        found = self._over(view.registry, index)(query, caller, deadline)
        if query.as_of is None:
            return found
        lost = view.differences.lost
        told = [f"{lost} documents of then are not kept any more and are left out"] if lost else []
        warnings = [*told, *found.warnings]
        return replace(found, total_indexed=None, warnings=warnings, degraded=found.degraded or bool(lost))


class CountedViews:
    """Says which view a query counts: the registry as it is, by heads that are known, costs no request more."""

    def __init__(
        self,
        *,
        known: Callable[[], KnownHeads],
        directory: TenantDirectory,
        past: Callable[[], PastViews],
    ) -> None:
        self._known = known
        self._directory = directory
        self._past = past

    def of(self, query: Query, caller: Caller, deadline: Deadline) -> SearchView:
        """The view that *query* counts.

        Raises:
            The errors of PastViews, where it names a moment.
        """
        if query.as_of is not None:
            return self._past().of(query.as_of, caller, deadline)
        tenant = self._directory.tenant(caller.tenant)
        stages = set(tenant.promoted) if tenant is not None else set()
        if query.stage is not None and tenant is not None:
            stages |= {f"{vault}/{query.stage}" for vault in visible_vaults(tenant.vaults, caller.vaults)}
        if not stages:
            return SearchView(Differences(), self._known().for_one_search(), None)
        staged = cast("Registry", StagedRegistry(self._known().registry, stages))
        return SearchView(Differences(), staged, None)

    def registry_for(self, query: Query, caller: Caller, deadline: Deadline) -> Registry:
        """The registry by which the hits of *query* are verified; raises as `of` does."""
        return self.of(query, caller, deadline).registry
