"""Heads that an environment holds, for as long as the change counts of their documents stay the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from threading import Lock
from typing import Any, cast

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import CandidateQuery
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Heads, Name, Promoted
from ragdrop.domain.history import ChangeCounts, Stamp
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.ports import Registry, SearchableIndex

MAX_HELD = 10_000  # heads, and names, of all tenants: some 1.5 KB each
HELD_S = 300.0  # what is held is read again after this, should counts ever lie: a table restored to an earlier time
MAX_LOOKUPS = 100  # items of one batch read


class KnownHeads:
    """What the registry said of documents.  Safe to share between threads; one per environment.

    Every change of what answers is counted in the transaction that makes it.  A search reads the counts first, all at
    once; a head that was read at the same count of its slot is still true of what answers.

    Args:
        registry: Where counts and heads are.
        clock: Seconds since 1970.
    """

    def __init__(self, registry: Registry, *, clock: Callable[[], float]) -> None:
        self.registry = registry
        self.clock = clock
        self.heads = BoundedCache[DocumentKey, tuple[Stamp, Head | None]](size=MAX_HELD, ttl_s=HELD_S)
        self.names = BoundedCache[Name, tuple[ChangeCounts, tuple[str, ...]]](size=MAX_HELD, ttl_s=HELD_S)
        self.promoted = BoundedCache[str, tuple[ChangeCounts, list[Promoted]]](size=MAX_HELD, ttl_s=HELD_S)

    def for_one_search(self) -> Registry:
        """The registry as one search reads it: by one reading of the counts, from its first hit to its last link."""
        return cast("Registry", RegistryOfOneSearch(self))


class IndexOfOneSearch:
    """An index that reads nothing again which the counts of the same search show to be unchanged.

    Args:
        index: The index.
        registry: That of the search, whose one reading of the counts both use.
    """

    def __init__(self, index: SearchableIndex, registry: RegistryOfOneSearch) -> None:
        self._index = index
        self._registry = registry

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def ready(
        self,
        index: IndexRef,
        deadline: Deadline,
        counts: ChangeCounts | None = None,
        queries: Sequence[CandidateQuery] = (),
    ) -> None:
        """Do what a search can do before its vector is known, at this search's counts."""
        counts = counts or self._registry.change_counts(index.tenant, deadline)
        self._index.ready(index, deadline, counts, queries)


def index_of_one_search(index: SearchableIndex, registry: Registry) -> SearchableIndex:
    """*index* as the search over *registry* asks it: by its counts, where it reads any."""
    if isinstance(registry, RegistryOfOneSearch):
        return cast("SearchableIndex", IndexOfOneSearch(index, registry))
    return index


class RegistryOfOneSearch:
    """A registry that answers from what is known.  Of a head only what describes the live revision is up to date.

    The counts are read when they are first needed.  Whatever answers after that read was live at it or later.
    """

    def __init__(self, known: KnownHeads) -> None:
        self._known = known
        self._lock = Lock()
        self._counts: dict[str, ChangeCounts] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known.registry, name)

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        """The tenant's important and critical documents: pointers are written before the change that is counted."""
        counts, now_s = self.change_counts(tenant, deadline), self._known.clock()
        held = self._known.promoted.get(tenant, now_s=now_s)
        if held is not None and held[0] == counts:
            return held[1]
        found = self._known.registry.promoted(tenant, deadline)
        self._known.promoted.put(tenant, (counts, found), now_s=now_s)
        return found

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        """The heads of up to 100 documents."""
        return self.named_and_heads((), keys, deadline)[1]

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """Paths by name, and heads; what is not known is read at once."""
        if len(names) + len(keys) > MAX_LOOKUPS:
            raise ValueError(f"{len(names) + len(keys)} items asked for at once, at most {MAX_LOOKUPS}")
        tenants = {name.tenant for name in names} | {key.tenant for key in keys}
        counts = {tenant: self.change_counts(tenant, deadline) for tenant in tenants}
        stamps = {key: counts[key.tenant].stamp(key) for key in keys}
        now_s = self._known.clock()
        paths = self._known_paths(names, counts, now_s)
        heads = self._known_heads(stamps, now_s)
        asked_names = [name for name in names if name not in paths]
        asked = [key for key in stamps if key not in heads]
        unread: frozenset[DocumentKey] = frozenset()
        if asked_names or asked:
            named, read = self._known.registry.named_and_heads(asked_names, asked, deadline)
            unread = read.unread
            for name, found in named.items():
                paths[name] = found
                self._known.names.put(name, (counts[name.tenant], found), now_s=now_s)
            for key in asked:
                if key not in unread:
                    heads[key] = read.found.get(key)
                    self._known.heads.put(key, (stamps[key], heads[key]), now_s=now_s)
        return paths, Heads({key: head for key, head in heads.items() if head is not None}, unread)

    def _known_paths(
        self, names: Collection[Name], counts: dict[str, ChangeCounts], now_s: float
    ) -> dict[Name, tuple[str, ...]]:
        held = {name: self._known.names.get(name, now_s=now_s) for name in names}
        return {name: known[1] for name, known in held.items() if known and known[0] == counts[name.tenant]}

    def _known_heads(self, stamps: dict[DocumentKey, Stamp], now_s: float) -> dict[DocumentKey, Head | None]:
        held = {key: self._known.heads.get(key, now_s=now_s) for key in stamps}
        return {key: known[1] for key, known in held.items() if known and known[0] == stamps[key]}

    def change_counts(self, tenant: str, deadline: Deadline) -> ChangeCounts:
        """The counts that this search goes by, read when they are first needed."""
        with self._lock:
            counts = self._counts.get(tenant)
            if counts is None:
                counts = self._counts[tenant] = self._known.registry.change_counts(tenant, deadline)
            return counts
