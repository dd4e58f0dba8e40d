"""CachedSearch: repeat an answer from memory if the registry confirms its documents."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Protocol, runtime_checkable

from ragdrop.domain.bounded_cache import BoundedCache, HitCounts
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import CircuitOpenError, DatabaseError
from ragdrop.query.query_vectors import QueryVectors
from ragdrop.query.usage import UsageCounter
from ragdrop.query.view import LiveViews
from ragdrop.resilience.breakers import Breakers
from ragdrop.resilience.guarded import INDEX, REGISTRY
from ragdrop.tenants.directory import TenantDirectory

SHARE_EVERY_S = 10.0
MAX_CHARACTERS = 16_000_000  # of all cached texts together: about 64 MB at most, of the function's 1,024
MAX_VERIFIED = 100  # documents that one batch read checks; an answer of more is not cached
UNORDERED = (
    "vaults",
    "folders",
    "doc_types",
    "content_types",
    "categories",
    "tags",
)  # fields whose values may come in any order
LABELS = ("agent",)  # fields that change nothing about the answer
UNCACHED = ("session", "debug", "as_of", "stage")  # historical answers cannot be validated against current heads


class Searching(Protocol):
    """What Search and CachedSearch both do."""

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Find what answers *query*."""
        ...


@runtime_checkable
class OfOneRevision(Protocol):
    """A document of an answer, of whatever kind."""

    key: DocumentKey
    revision: int


class CachedSearch:
    """A Search that caches.

    An answer is served only while every document of it is at the revision that it was made from, by a consistent read
    of the change counts, or of heads: what was deleted or replaced is never served.  The tenant's generation is part of
    the key, so a new document is seen as soon as the tenant's item is read again.

    Args:
        search: Finds what is not cached.
        breakers: Behind an open one of the registry or of the index no search begins, and no question is embedded.
        usage: Counts the documents of every answer, cached or not.
        query_vectors: What it has not shared yet is shared every ten seconds.

    `counts` counts the questions that could have been cached.
    """

    def __init__(
        self,
        *,
        search: Searching,
        breakers: Breakers,
        live_views: LiveViews,
        directory: TenantDirectory,
        usage: UsageCounter,
        query_vectors: QueryVectors,
        size: int,
        ttl_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._search = search
        self._breakers = breakers
        self._live_views = live_views
        self._directory = directory
        self._usage = usage
        self._query_vectors = query_vectors
        self._clock = clock
        self._share_at_s = clock() + SHARE_EVERY_S
        self._answers = BoundedCache[str, Retrieval](size=size, ttl_s=ttl_s, max_weight=MAX_CHARACTERS)
        self._is_on = size > 0 and ttl_s > 0
        self.counts = HitCounts()

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Find what answers *query*.

        Raises:
            CircuitOpenError: A breaker is open; nothing was touched.
            The errors of the search.
        """
        tenant = self._directory.tenant(caller.tenant) if self._is_on and is_cacheable(query) else None
        name = answer_name(query, caller, tenant) if tenant is not None else ""
        found = self._cached(name, caller, tenant, deadline) if tenant is not None else None
        if found is None:
            for dependency in (REGISTRY, INDEX):  # without the registry no hit can be verified, whoever found it
                self._breakers.check(dependency)
            found = self._search(query, caller, deadline)
            if name and not found.degraded and 0 < len(revisions_of(found)) <= MAX_VERIFIED:
                self._answers.put(name, found, now_s=self._clock(), weight=_weight(found))
        self._usage.note(revisions_of(found))
        if self._clock() >= self._share_at_s:
            self._share_at_s = self._clock() + SHARE_EVERY_S
            self._query_vectors.flush()
        return found

    def _cached(self, name: str, caller: Caller, tenant: Tenant, deadline: Deadline) -> Retrieval | None:
        """The answer of this name, if the registry confirms it."""
        cached = self._answers.get(name, now_s=self._clock())
        if cached is not None:
            start = time.perf_counter()
            if self._is_live(cached, deadline):
                self.counts.hits += 1
                taken = round((time.perf_counter() - start) * 1_000, 3)
                return _again(cached, tenant.count_in(caller.vaults)[0], taken)
            self._answers.drop(name)
        self.counts.misses += 1
        return None

    def _is_live(self, found: Retrieval, deadline: Deadline) -> bool:
        """Whether every document of an answer is still at its revision; False too where that cannot be known."""
        revisions = revisions_of(found)
        try:
            heads = self._live_views.view().heads(list(revisions), deadline)
        except (DatabaseError, CircuitOpenError):
            return False  # the search itself then says what an outage of the registry means
        return all(
            key in heads.found and heads.found[key].live_revision == revision for key, revision in revisions.items()
        )


def is_cacheable(query: Query) -> bool:
    """Whether an answer may come from the cache: not where a session, the debug view or a moment changes it.

    >>> is_cacheable(Query("pumps"))
    True
    """
    return not any(getattr(query, name, None) for name in UNCACHED)


def answer_name(query: Query, caller: Caller, tenant: Tenant) -> str:
    """The digest by which an answer is cached: all that it depends on.

    >>> from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, EmbeddingSpace
    >>> tenant = Tenant("acme", ActiveIndex("i-1", EmbeddingSpace("m", 384), ChunkingPlan()))
    >>> whole, scoped = Caller("acme", "reader"), Caller("acme", "reader", ("team",))
    >>> answer_name(Query("a"), whole, tenant) == answer_name(Query("a"), scoped, tenant)
    False
    """
    request = asdict(query)
    for name in LABELS:
        request.pop(name, None)
    for name in UNORDERED:
        if name in request:
            request[name] = sorted(set(request[name]))
    scope = {
        "tenant": tenant.name,
        "generation": tenant.generation,
        "index": tenant.active.name,
        "moves": tenant.moves,
        "promoted": sorted(tenant.promoted),
        "settings": tenant.settings_revision,
        "calibration": repr(tenant.calibration),
        "vaults": sorted(caller.vaults),
    }
    text = json.dumps([scope, request], sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def revisions_of(found: Retrieval) -> dict[DocumentKey, int]:
    """Every document of an answer, wherever it stands, with the revision that it came from."""
    parts = (getattr(found, each.name) for each in fields(found))
    listed = (one for part in parts if isinstance(part, list) for one in part)
    return {one.key: one.revision for one in listed if isinstance(one, OfOneRevision)}


def _weight(found: Retrieval) -> int:
    """Characters of an answer, roughly: texts, and the chunks that they are made of."""
    documents = [*found.documents, *found.critical]
    chunks = sum(len(chunk.hit.chunk.text) for document in documents for chunk in document.chunks)
    return sum(len(document.text) for document in documents) + chunks + len(found.context or "")


def _again(found: Retrieval, total_indexed: int | None, registry_ms: float) -> Retrieval:
    timings = dict.fromkeys(found.timings_ms, 0.0) | {"registry": registry_ms}
    return replace(found, timings_ms=timings, total_indexed=total_indexed, served_by="cache", calls=())
