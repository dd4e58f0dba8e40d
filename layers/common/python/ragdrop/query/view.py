"""A view: what one question may read of registry and index, resolved once and passed to every step of its search."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from threading import Lock

from ragdrop.domain.access import Readable
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Heads, Name, Promoted
from ragdrop.domain.history import ChangeCounts, Stamp
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller, IndexRef
from ragdrop.ports.search_services import SearchableIndex, SearchableRegistry
from ragdrop.tenants.permissions import Permissions, may_read

MAX_CACHED = 10_000  # heads, and names, of all tenants: some 1.5 KB each
CACHED_S = 300.0  # a cached head is read again after this, should counts ever lie: a table restored to an earlier time
MAX_LOOKUPS = 100  # items of one batch read


class View:
    """Registry and index as one question reads them; this one changes nothing of either.

    Attributes:
        registry: For what no view changes: tenants, and pages of heads.
        index: Where chunks are searched and read.
        warnings: What the view could not include; an answer over it is degraded.
    """

    def __init__(self, registry: SearchableRegistry, index: SearchableIndex, warnings: list[str] | None = None) -> None:
        self.registry = registry
        self.index = index
        self.warnings = [] if warnings is None else warnings

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        """The important and critical documents of a tenant."""
        return self.registry.promoted(tenant, deadline)

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        """The heads of up to 100 documents."""
        return self.viewed(self.registry.heads(keys, deadline), deadline)

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """Paths by name, and heads, in one batch read."""
        found, heads = self.registry.named_and_heads(names, keys, deadline)
        return found, self.viewed(heads, deadline)

    def viewed(self, heads: Heads, deadline: Deadline) -> Heads:
        """The live *heads* as this view has them."""
        del deadline
        return heads

    def change_counts(self, tenant: str, deadline: Deadline) -> ChangeCounts:
        """How often what answers changed, and the rules of who may read it."""
        return self.registry.change_counts(tenant, deadline)

    def readable(self, deadline: Deadline) -> Readable | None:
        """What the caller may read, by the rules in force; None of whoever reads everything."""
        del deadline
        return None

    def shows_folder(self, name: str, deadline: Deadline) -> bool:
        """Whether the caller may know of a folder, `vault/path`."""
        del name, deadline
        return True

    def moved_on(self, keys: Collection[DocumentKey], deadline: Deadline) -> bool:
        """Whether one of the documents changed since the view began; from here on the view is of this moment."""
        del keys, deadline
        return False

    def ready(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> None:
        """Do what a search can do before its vector is known."""
        self.index.ready(index, deadline, queries=queries)

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of every query."""
        return self.index.candidates(index, queries, deadline)

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """The chunks of each range."""
        return self.index.read(index, ranges, deadline)

    def nearest_of(
        self, index: IndexRef, vector: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        """Of each revision the chunk nearest to *vector*, the first chunk without one."""
        return self.index.nearest_of(index, vector, revisions, deadline)


ResolveQueryView = Callable[[Query, Caller, Deadline, SearchableIndex | None], View]
"""Resolves what a query may read; over another index than the tenant's where one is given.  May read the registry."""


class ReadableView(View):
    """A view without what its caller may not read: the one place where documents come to a question.

    The index leaves out early what it can, and every head is checked again by the rules in force.

    Args:
        view: All that there is.
        caller: Who asks.
        permissions: Who may read what.
    """

    def __init__(self, view: View, caller: Caller, permissions: Permissions) -> None:
        super().__init__(view.registry, view.index, view.warnings)
        self._view = view
        self._caller = caller
        self._permissions = permissions
        self._lock = Lock()
        self._readable: Readable | None = None

    def readable(self, deadline: Deadline) -> Readable:
        """What the caller may read, resolved once."""
        with self._lock:
            if self._readable is None:
                counts = self._view.change_counts(self._caller.tenant, deadline)
                self._readable = self._permissions.of(self._caller, deadline, counts)
            return self._readable

    def shows_folder(self, name: str, deadline: Deadline) -> bool:
        """Whether the rules let the caller know of a folder, `vault/path`."""
        vault, _, path = name.partition("/")
        return self.readable(deadline).allows(vault, path, None)

    def change_counts(self, tenant: str, deadline: Deadline) -> ChangeCounts:
        """The counts that the view goes by."""
        return self._view.change_counts(tenant, deadline)

    def moved_on(self, keys: Collection[DocumentKey], deadline: Deadline) -> bool:
        """Whether one of the documents changed since the view began; the rules are those of this moment from here."""
        moved = self._view.moved_on(keys, deadline)
        with self._lock:
            self._readable = None
        return moved

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        """The important and critical documents, without those whose path a rule hides."""
        readable, found = self.readable(deadline), self._view.promoted(tenant, deadline)
        return [each for each in found if readable.allows(each.key.vault, each.key.path, None)]

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        """The heads of up to 100 documents; a hidden one has none."""
        return self._shown(self._view.heads(keys, deadline), deadline)

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """Paths by name, which may be those of hidden documents, and heads, which none of these has."""
        found, heads = self._view.named_and_heads(names, keys, deadline)
        return found, self._shown(heads, deadline)

    def ready(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> None:
        """Do what a search can do before its vector is known, without what is hidden."""
        self._view.ready(index, self._narrowed(queries, deadline), deadline)

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of every query, as far as the index knows what is hidden."""
        return self._view.candidates(index, self._narrowed(queries, deadline), deadline)

    def _narrowed(self, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[CandidateQuery]:
        readable = self.readable(deadline)
        return [replace(query, hidden=readable.hidden, groups=readable.groups) for query in queries]

    def _shown(self, heads: Heads, deadline: Deadline) -> Heads:
        readable = self.readable(deadline)
        return Heads({key: head for key, head in heads.found.items() if may_read(readable, head)}, heads.unread)


def for_caller(view: View, caller: Caller, permissions: Permissions) -> View:
    """The *view* without what *caller* may not read."""
    return view if caller.reads_all else ReadableView(view, caller, permissions)


class LiveViews:
    """Makes views of what is live now, which share the heads that the registry returned; thread-safe, one per process.

    Every change of what answers is counted in the transaction that makes it.  A view reads the counts first, all at
    once; a head that was cached at the same count of its slot is still true of what answers.

    Args:
        registry: Where counts and heads are.
        index: What a view searches, where it is given no other.
        clock: Seconds since 1970.
    """

    def __init__(self, registry: SearchableRegistry, index: SearchableIndex, *, clock: Callable[[], float]) -> None:
        self.registry = registry
        self.index = index
        self.clock = clock
        self.heads = BoundedCache[DocumentKey, tuple[Stamp, Head | None]](size=MAX_CACHED, ttl_s=CACHED_S)
        self.names = BoundedCache[Name, tuple[ChangeCounts, tuple[str, ...]]](size=MAX_CACHED, ttl_s=CACHED_S)
        self.promoted = BoundedCache[str, tuple[ChangeCounts, list[Promoted]]](size=MAX_CACHED, ttl_s=CACHED_S)

    def view(self, index: SearchableIndex | None = None) -> LiveView:
        """The view of one search: by one reading of the counts, from its first hit to its last link."""
        return LiveView(self, index or self.index)


class LiveView(View):
    """What is live, from the cached heads.  Of a head only what describes the live revision is up to date.

    The counts are read when they are first needed.  Whatever answers after that read was live at it or later.
    """

    def __init__(self, cached: LiveViews, index: SearchableIndex) -> None:
        super().__init__(cached.registry, index)
        self._cached = cached
        self._lock = Lock()
        self._counts: dict[str, ChangeCounts] = {}

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        """The important and critical documents: pointers are written before the change that is counted."""
        counts, now_s = self.change_counts(tenant, deadline), self._cached.clock()
        cached = self._cached.promoted.get(tenant, now_s=now_s)
        if cached is not None and cached[0] == counts:
            return cached[1]
        found = self.registry.promoted(tenant, deadline)
        self._cached.promoted.put(tenant, (counts, found), now_s=now_s)
        return found

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        """The heads of up to 100 documents."""
        return self.named_and_heads((), keys, deadline)[1]

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        """Paths by name, and heads; those that are not cached are read in one batch."""
        if len(names) + len(keys) > MAX_LOOKUPS:
            raise ValueError(f"{len(names) + len(keys)} items requested at once, at most {MAX_LOOKUPS}")
        tenants = {name.tenant for name in names} | {key.tenant for key in keys}
        counts = {tenant: self.change_counts(tenant, deadline) for tenant in tenants}
        stamps = {key: counts[key.tenant].stamp(key) for key in keys}
        now_s = self._cached.clock()
        named_so = self._cached.names.many(names, now_s=now_s)
        paths = {name: found for name, (stamp, found) in named_so.items() if stamp == counts[name.tenant]}
        read_so = self._cached.heads.many(stamps, now_s=now_s)
        heads = {key: head for key, (stamp, head) in read_so.items() if stamp == stamps[key]}
        missing_names = [name for name in names if name not in paths]
        missing = [key for key in stamps if key not in heads]
        unread: frozenset[DocumentKey] = frozenset()
        if missing_names or missing:
            named, read = self.registry.named_and_heads(missing_names, missing, deadline)
            unread = read.unread
            for name, found in named.items():
                paths[name] = found
                self._cached.names.put(name, (counts[name.tenant], found), now_s=now_s)
            for key in missing:
                if key not in unread:
                    heads[key] = read.found.get(key)
                    self._cached.heads.put(key, (stamps[key], heads[key]), now_s=now_s)
        return paths, Heads({key: head for key, head in heads.items() if head is not None}, unread)

    def ready(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> None:
        """Do what a search can do before its vector is known, at the counts of this view."""
        self.index.ready(index, deadline, self.change_counts(index.tenant, deadline), queries)

    def moved_on(self, keys: Collection[DocumentKey], deadline: Deadline) -> bool:
        """Whether one of the documents changed since the counts were read; they are read again."""
        before = dict(self._counts)
        for tenant in before:
            self._counts[tenant] = self.registry.change_counts(tenant, deadline)
        return any(before[key.tenant].stamp(key) != self._counts[key.tenant].stamp(key) for key in keys)

    def change_counts(self, tenant: str, deadline: Deadline) -> ChangeCounts:
        """The counts that this view goes by, read when they are first needed."""
        with self._lock:
            counts = self._counts.get(tenant)
            if counts is None:
                counts = self._counts[tenant] = self.registry.change_counts(tenant, deadline)
            return counts
