"""A view: the registry and the index as they were, or would be, for documents that differ from what is live."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Head, Heads, Name, Promoted, Status, name_of
from ragdrop.domain.history import ChangeCounts, milliseconds
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.ports import Registry, SearchableIndex


@dataclass(frozen=True, slots=True)
class Differences:
    """Which revision counts for documents that differ from what is live.

    Args:
        details: Of the revisions that count, by document; None of a document that does not count at all.
        hidden: Revisions that are live, or were since, and do not count.
        until_ms: What went live later is none of this; None where nothing is too late.
        lost: How many documents differ and cannot be shown, as nothing of them is kept.
    """

    details: Mapping[DocumentKey, Detail | None] = field(default_factory=dict)
    hidden: frozenset[tuple[DocumentKey, int]] = frozenset()
    until_ms: int | None = None
    lost: int = 0


class ViewedRegistry:
    """The registry as a search reads it, with other revisions live for some documents.

    The head of each document is read all the same: what was purged since has none, and is in no view.
    """

    def __init__(self, registry: Registry, view: Differences) -> None:
        self._registry = registry
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        """The heads of up to 100 documents, as the view has them."""
        return self._viewed(self._registry.heads(keys, deadline))

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """Paths by name, those that the view has too, and heads."""
        found, heads = self._registry.named_and_heads(names, keys, deadline)
        more: dict[Name, set[str]] = {}
        wanted = set(names)
        for key, detail in self._view.details.items():
            if detail is not None and (name := name_of(key)) in wanted:
                more.setdefault(name, set()).add(key.path)
        for name, paths in more.items():
            found[name] = tuple(sorted({*found.get(name, ()), *paths}))
        return found, self._viewed(heads)

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        """The important and critical documents of the view."""
        details = self._view.details
        live = [each for each in self._registry.promoted(tenant, deadline) if each.key not in details]
        own = [
            Promoted(key, detail.facts.promotion_level)
            for key, detail in details.items()
            if detail is not None and detail.facts.promotion_level != "standard"
        ]
        return sorted([*live, *own])

    def _viewed(self, live: Heads) -> Heads:
        found: dict[DocumentKey, Head] = {}
        late: set[DocumentKey] = set()
        for key, head in live.found.items():
            if key in self._view.details:
                detail = self._view.details[key]
                if detail is not None:
                    found[key] = head_then(head, detail)
            elif self._is_late(head):
                late.add(key)
            else:
                found[key] = head
        return Heads(found, live.unread | late)

    def _is_late(self, head: Head) -> bool:
        """Whether a head changed between the view and this read, so that what it was then is not known."""
        until_ms = self._view.until_ms
        return until_ms is not None and head.status is Status.INDEXED and milliseconds(head.updated_at) > until_ms


class ViewedIndex:
    """An index in which the revisions that a view hides are not looked for."""

    def __init__(self, index: SearchableIndex, view: Differences) -> None:
        self._index = index
        self._hidden = view.hidden

    def ready(
        self,
        index: IndexRef,
        deadline: Deadline,
        counts: ChangeCounts | None = None,
        queries: Sequence[CandidateQuery] = (),
    ) -> None:
        """Do what a search can do before its vector is known."""
        self._index.ready(index, deadline, counts, self._asked(queries))

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of every query."""
        return self._index.candidates(index, self._asked(queries), deadline)

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """The chunks of each range."""
        return self._index.read(index, ranges, deadline)

    def nearest_of(
        self, index: IndexRef, wanted: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        """Of each revision the chunk nearest to *wanted*."""
        return self._index.nearest_of(index, wanted, revisions, deadline)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        """Chunks of the tenant, hidden ones too."""
        return self._index.count(index, deadline)

    def _asked(self, queries: Sequence[CandidateQuery]) -> list[CandidateQuery]:
        return [replace(query, without=query.without | self._hidden) for query in queries]


@dataclass(frozen=True, slots=True)
class SearchView:
    """Registry and index of a view, for a search over both; None where any index of the tenant will do."""

    differences: Differences
    registry: Registry
    index: SearchableIndex | None


def view_of(registry: Registry, index: SearchableIndex, differences: Differences) -> SearchView:
    """The view of *differences*; *index* holds the chunks of the revisions that count."""
    viewed = cast("Registry", ViewedRegistry(registry, differences))
    return SearchView(differences, viewed, ViewedIndex(index, differences))


def head_then(head: Head, detail: Detail) -> Head:
    """The head of a document whose revision with *detail* counts."""
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
