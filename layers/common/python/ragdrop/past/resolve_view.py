"""Resolve the view of a query: what is live now, what was live at a moment, or what would be with a stage."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Heads, Name, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.queries import Query
from ragdrop.domain.tenants import Caller
from ragdrop.past.as_of import PastViews, head_then
from ragdrop.ports import Registry, SearchableIndex
from ragdrop.query.scopes import visible_vaults
from ragdrop.query.view import LiveViews, View
from ragdrop.tenants.directory import TenantDirectory


class StagedView(View):
    """What is live, and what waits in some stages: its chunks are in the index, the registry decides what answers.

    Args:
        registry: The registry.
        index: The index.
        stages: Those that count, `vault/stage`; one answer counts the same ones from its first read to its last.
    """

    def __init__(self, registry: Registry, index: SearchableIndex, stages: Collection[str]) -> None:
        super().__init__(registry, index)
        self._stages = frozenset(stages)

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        """The heads of up to 100 documents; one more batch read where some of them wait."""
        return self._staged(self.registry.heads(keys, deadline), deadline)

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """Paths by name, and heads."""
        found, heads = self.registry.named_and_heads(names, keys, deadline)
        return found, self._staged(heads, deadline)

    def _staged(self, live: Heads, deadline: Deadline) -> Heads:
        waiting = {
            key: head
            for key, head in live.found.items()
            if head.status is Status.STAGED and f"{head.key.vault}/{head.stage}" in self._stages
        }
        if not waiting:
            return live
        details = self.registry.details([(key, head.revision) for key, head in waiting.items()], deadline)
        staged = {detail.key: head_then(waiting[detail.key], detail) for detail in details}
        found = {key: head for key, head in live.found.items() if key not in waiting}
        return Heads(found | staged, live.unread | (waiting.keys() - staged.keys()))


class ResolveView:
    """Resolves what a query may read; a view of what is live now costs no request."""

    def __init__(self, *, live: LiveViews, past: PastViews, directory: TenantDirectory) -> None:
        self._live = live
        self._past = past
        self._directory = directory

    def __call__(self, query: Query, caller: Caller, deadline: Deadline, index: SearchableIndex | None = None) -> View:
        """The view of *query*, over *index* where one is given and the query names no moment.

        Raises:
            The errors of PastViews, where it names a moment.
        """
        if query.as_of is not None:
            return self._past.of(query.as_of, caller, deadline)
        tenant = self._directory.tenant(caller.tenant)
        stages = set(tenant.promoted) if tenant is not None else set()
        if query.stage is not None and tenant is not None:
            stages |= {f"{vault}/{query.stage}" for vault in visible_vaults(tenant.vaults, caller.vaults)}
        if not stages:
            return self._live.view(index)
        return StagedView(self._live.registry, index or self._live.index, stages)
