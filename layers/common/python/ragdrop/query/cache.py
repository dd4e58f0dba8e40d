"""CachedSearch: repeat an answer from memory if the registry confirms its documents."""

from __future__ import annotations

import contextvars
import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import cache, partial
from threading import Lock

from ragdrop.domain.bounded_cache import BoundedCache, HitCounts
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import CircuitOpenError, DatabaseError
from ragdrop.ports.model_services import Embedder
from ragdrop.ports.telemetry import Telemetry
from ragdrop.query.view import LiveViews, for_caller
from ragdrop.resilience.breakers import INDEX, REGISTRY, Breakers
from ragdrop.resilience.timing import before_reply
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.permissions import Permissions

logger = logging.getLogger(__name__)

SHARED_TTL_S = 7 * 86_400.0  # a model's vector never changes; a question that nobody asked for a week is dropped
MAX_PENDING = 25  # what one write takes
REST_S = 30.0  # a store that failed is not asked for so long


class QueryVectors:
    """Vectors of questions, each made once.

    A vector is shared when its question is asked again: most are asked once, and to share one costs more than to make
    it.  `flush` does it, many vectors at a time, so that no question waits for the write.

    Args:
        embedder: Makes the vectors.
        store: The shared cache; its failures are misses.
        size: Vectors cached in the environment; 0 turns both caches off.
        clock: Seconds since 1970.

    `own` and `shared` count the hits of the two caches.
    """

    def __init__(self, *, embedder: Embedder, store: Telemetry, size: int, clock: Callable[[], float]) -> None:
        self._embedder = embedder
        self._store = store
        self._on = size > 0
        self._clock = clock
        self._cached_vectors: BoundedCache[tuple[str, str], Vector] = BoundedCache(size=size)
        self._own: BoundedCache[tuple[str, str], Vector] = BoundedCache(size=size)  # made here, and not shared
        self._pending: dict[tuple[str, str], Vector] = {}
        self._lock = Lock()
        self._rests_until_s = 0.0
        self.own = HitCounts()
        self.shared = HitCounts()

    def __call__(self, text: str, tenant: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        """The vector of *text* in *space*, as *tenant* asks it: tenants share no vector, so none can tell by the time.

        Raises:
            EmbeddingServiceError: It had to be made, and could not be.
        """
        if not self._on:
            return self._embedder.query(text, space, deadline)
        name = vector_name(text, space)
        cached = self._cached_vectors.get((tenant, name), now_s=self._clock())
        _count(self.own, hit=cached is not None)
        if cached is not None:
            self._share((tenant, name), cached)
            return cached
        found = self._shared(tenant, name, space.dimension)
        if found is None:
            found = self._embedder.query(text, space, deadline)
            self._own.put((tenant, name), found, now_s=self._clock())
        self._cached_vectors.put((tenant, name), found, now_s=self._clock())
        return found

    def flush(self) -> None:
        """Share what was asked again; a store that fails loses it."""
        with self._lock:
            pending, self._pending = self._pending, {}
        if self._resting():
            return
        expires_at_s = self._clock() + SHARED_TTL_S
        try:
            for tenant in sorted({tenant for tenant, _ in pending}):
                vectors = {name: found for (owner, name), found in pending.items() if owner == tenant}
                self._store.put_query_vectors(tenant, vectors, expires_at_s)
        except DatabaseError as exc:
            self._rest(exc)

    def _share(self, place: tuple[str, str], found: Vector) -> None:
        if self._own.get(place, now_s=self._clock()) is not None:
            with self._lock:
                if len(self._pending) < MAX_PENDING:
                    self._pending[place] = found
                    self._own.drop(place)

    def _shared(self, tenant: str, name: str, dimension: int) -> Vector | None:
        if self._resting():
            return None
        try:
            found = self._store.query_vector(tenant, name, self._clock())
        except DatabaseError as exc:
            self._rest(exc)
            return None
        if found is not None and len(found) != dimension:
            found = None
        _count(self.shared, hit=found is not None)
        return found

    def _resting(self) -> bool:
        return self._clock() < self._rests_until_s

    def _rest(self, exc: DatabaseError) -> None:
        self._rests_until_s = self._clock() + REST_S
        logger.warning("the shared cache of query vectors did not answer", extra={"service": exc.service})


def vector_name(text: str, space: EmbeddingSpace) -> str:
    """The digest by which the vector of a question is cached: model, dimension, prefix and text, each with its length.

    >>> space = EmbeddingSpace("m", 384, "query: ")
    >>> vector_name("pump", space) == vector_name("query: pump", EmbeddingSpace("m", 384))
    False
    """
    parts = (space.model, str(space.dimension), space.query_prefix, text)
    encoded = (part.encode(errors="surrogatepass") for part in parts)
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in encoded)).hexdigest()


def _count(counts: HitCounts, *, hit: bool) -> None:
    if hit:
        counts.hits += 1
    else:
        counts.misses += 1


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


Searching = Callable[[Query, Caller, Deadline], Retrieval]
"""A search, or a wrapper of one."""


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
        permissions: Permissions,
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
        self._permissions = permissions
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
            if self._is_live(cached, caller, deadline):
                self.counts.hits += 1
                taken = round((time.perf_counter() - start) * 1_000, 3)
                return _again(cached, tenant.counted_for(caller)[0], taken)
            self._answers.drop(name)
        self.counts.misses += 1
        return None

    def _is_live(self, found: Retrieval, caller: Caller, deadline: Deadline) -> bool:
        """Whether every document of an answer is at its revision, and *caller* may read it; False if nobody knows."""
        revisions = revisions_of(found)
        try:
            view = for_caller(self._live_views.view(), caller, self._permissions)
            if view.readable(deadline) != found.readable:
                return False  # a rule or a tag has changed: there may be more to read as well
            heads = view.heads(list(revisions), deadline)
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
    >>> answer_name(Query("a"), whole, tenant) == answer_name(Query("a"), replace(whole, groups=("hr",)), tenant)
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
        "calibration": repr((tenant.calibration, sorted(tenant.fits.items()))),
        "vaults": sorted(caller.vaults),
        "reads": "all" if caller.reads_all else sorted(set(caller.groups)),
    }
    text = json.dumps([scope, request], sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def revisions_of(found: Retrieval) -> dict[DocumentKey, int]:
    """Every document of an answer, wherever it stands, with the revision that it came from."""
    documents = (*found.documents, *found.critical, *found.linked, *found.nearest)
    return {one.key: one.revision for one in documents}


def _weight(found: Retrieval) -> int:
    """Characters of an answer, roughly: texts, and the chunks that they are made of."""
    documents = [*found.documents, *found.critical]
    chunks = sum(len(chunk.hit.chunk.text) for document in documents for chunk in document.chunks)
    return sum(len(document.text) for document in documents) + chunks + len(found.context or "")


def _again(found: Retrieval, total_indexed: int | None, registry_ms: float) -> Retrieval:
    timings = dict.fromkeys(found.timings_ms, 0.0) | {"registry": registry_ms}
    return replace(found, timings_ms=timings, total_indexed=total_indexed, served_by="cache")


MAX_AT_ONCE = 60  # documents that an environment writes in a burst: those of ten answers or so
WRITES_A_SECOND = 5.0  # documents in the long run; more wait for the next answer, and add up until then
THREADS = 8  # most answers hold no more documents: one round trip
RETRY_S = 10.0  # after a failure: no answer waits for a table that is down
MAX_COUNTED = 1_000  # documents; beyond them new ones are not counted until the next flush


class UsageCounter:
    """Counts uses of documents, and writes them before the reply ends, beside the making of the reply.

    A frozen environment writes nothing, so nothing waits that the budget has room for.

    Args:
        store: Where counts are added.
        clock: Seconds since 1970.
    """

    def __init__(self, store: Telemetry, *, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._counts: dict[DocumentKey, tuple[int, float]] = {}
        self._lock = Lock()
        self._budget = float(MAX_AT_ONCE)
        self._at_s = clock()
        self._write_from_s = 0.0

    def note(self, keys: Iterable[DocumentKey]) -> None:
        """An answer cached the documents of *keys*; a failed write fails no answer."""
        now_s = self._clock()
        with self._lock:
            for key in set(keys):
                if key in self._counts or len(self._counts) < MAX_COUNTED:
                    self._counts[key] = (self._counts.get(key, (0, 0.0))[0] + 1, now_s)
            waits = bool(self._counts)
        if waits:
            before_reply(self.flush)

    def flush(self) -> None:
        """Write what the budget allows, all at once; the rest waits for the next answer."""
        with self._lock:
            now_s = self._clock()
            if now_s < self._write_from_s:
                return
            grown = self._budget + (now_s - self._at_s) * WRITES_A_SECOND
            self._budget, self._at_s = min(MAX_AT_ONCE, grown), now_s
            keys = list(self._counts)[: int(self._budget)]
            self._budget -= len(keys)
            taken = {key: self._counts.pop(key) for key in keys}
        writes = [
            _pool().submit(contextvars.copy_context().run, partial(self._write, key, *use))
            for key, use in taken.items()
        ]
        for each in writes:
            each.result()

    def _write(self, key: DocumentKey, count: int, used_at_s: float) -> None:
        try:
            self._store.add_use(key, count, rfc3339(used_at_s))
        except DatabaseError as exc:
            self._write_from_s = self._clock() + RETRY_S
            logger.warning("uses of documents could not be counted", extra={"service": exc.service})


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="ragdrop-uses")
