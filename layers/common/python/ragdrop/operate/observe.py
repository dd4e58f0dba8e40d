"""Observe queries: one log line, metrics and counts each; a failure here fails no query."""

from __future__ import annotations

import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from threading import Lock

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.deadlines import REQUEST_ID
from ragdrop.domain.models import ModelCall, spent
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DatabaseError, RagdropError
from ragdrop.ports.search_services import Metrics
from ragdrop.ports.telemetry import (
    Counts,
    QueryReport,
    Telemetry,
    counts_of,
    counts_used,
    error_name,
    failure_of,
    hour_of,
    metrics_of,
    query_hash,
    scope_of,
    with_few_agents,
)
from ragdrop.resilience.timing import before_reply

logger = logging.getLogger(__name__)

LOGGED = tuple(each.name for each in fields(QueryReport) if each.name != "failure")
KEY_BYTES = 32
KEYS_CACHED = 1_000  # tenants
KEY_CACHED_S = 86_400.0
KEY_RETRY_S = 60.0  # how long a key of the environment's own stands in where the store did not answer


class ObserveQueries:
    """Says what a query came to.

    The digest of its text is keyed by a secret of the tenant's, made at its first query, so that equal questions can
    be found in the logs of all functions and no question can be guessed from them.

    Prices are of a million tokens read and written, by chat model.
    """

    def __init__(
        self,
        counter: QueryCounter,
        store: Telemetry,
        *,
        metrics: Metrics,
        clock: Callable[[], float],
        prices: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self._prices = prices or {}
        self.counter = counter
        self._metrics = metrics
        self._store = store
        self._clock = clock
        self._own_key = secrets.token_bytes(KEY_BYTES)
        self._keys: BoundedCache[str, bytes] = BoundedCache(size=KEYS_CACHED, ttl_s=KEY_CACHED_S)
        self._no_key_until_s = 0.0

    def __call__(self, report: QueryReport, text: str) -> None:
        """*report* is of the question *text*, of which only a keyed digest is logged."""
        failure = report.failure
        extra = {name: getattr(report, name) for name in LOGGED} | {
            "request_id": REQUEST_ID.get(),
            "query_hash": query_hash(text, self._key(report.tenant)),
            "fallback": report.fallback,
            "error_code": failure and failure.code,
            "error_component": failure and failure.component,
            "error_stage": failure and failure.stage,
        }
        logger.info("a query was answered" if failure is None else "a query failed", extra=extra)
        self._metrics.put(metrics_of(report))
        self.counter.note(report)

    def note_error(self, caller: Caller, operation: str, error: RagdropError) -> None:
        """Count a request that failed outside of a query, such as one whose fields are wrong; each error counts once.

        `operation` is the first segment of its path.
        """
        if not error.counted:
            error.counted = True
            self.counter.add(caller.tenant, {error_name(failure_of(error, operation)): 1}, scope_of(caller.vaults))

    def note_calls(self, caller: Caller, calls: Sequence[ModelCall]) -> None:
        """Count what *calls* of models outside of a query used."""
        if calls:
            self.counter.add(caller.tenant, counts_used(spent(calls, self._prices)), scope_of(caller.vaults))

    def _key(self, tenant: str) -> bytes:
        now_s = self._clock()
        cached = self._keys.get(tenant, now_s=now_s)
        if cached is not None:
            return cached
        if now_s < self._no_key_until_s:
            return self._own_key
        try:
            key = self._store.hash_key(tenant, secrets.token_bytes(KEY_BYTES))
        except DatabaseError as exc:
            self._no_key_until_s = now_s + KEY_RETRY_S
            logger.warning("the key of query digests could not be read", extra={"service": exc.service})
            return self._own_key
        self._keys.put(tenant, key, now_s=now_s)
        return key


logger = logging.getLogger(__name__)

RETRY_S = 10.0  # after a failure: no request waits for a table that is down
FLUSH_BUDGET_S = 0.02  # a request gives no more to it; one write that hangs ends by the store's own time-out
MAX_HOURS = 500  # tenants and hours that wait; beyond them new ones are not counted until the next flush


class QueryCounter:
    """Counts queries, and writes the counts before the reply leaves, beside the making of the reply.

    One write adds all that waits for a tenant and hour: queries that end while another one's counts are being written
    share the next write.  What could not be written goes with a query ten seconds later or after.
    """

    def __init__(
        self, store: Telemetry, *, clock: Callable[[], float], stopwatch: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._clock = clock
        self._stopwatch = stopwatch
        self._waiting: dict[tuple[str, str], Counter[str]] = {}
        self._agents: dict[tuple[str, str], set[str]] = {}
        self._lock = Lock()
        self._write_from_s = 0.0

    def note(self, report: QueryReport) -> None:
        """Count a query that has ended; a failed write fails no query."""
        place = report.tenant, hour_of(self._clock())
        self.add(report.tenant, with_few_agents(counts_of(report), self._agents_of(place)), report.scope)

    def add(self, tenant: str, counts: Counts, scope: str = "") -> None:
        """Count for the tenant, and for the keys of *scope*: a query, a request that was refused, or tokens."""
        for place in dict.fromkeys(("", scope)):  # every hour's item names its queries
            self._keep((tenant, place + hour_of(self._clock())), {"queries": 0, **counts})
        if self._clock() >= self._write_from_s:
            before_reply(self.flush)

    def flush(self) -> None:
        """Write what waits until twenty milliseconds are used up; the rest waits for the next time."""
        end_s, written = self._stopwatch() + FLUSH_BUDGET_S, 0
        while self._stopwatch() < end_s or written == 1:  # a query of a limited key is two writes
            written += 1
            with self._lock:
                if not self._waiting:
                    return
                place = next(iter(self._waiting))
                counts = self._waiting.pop(place)
            try:
                self._store.add_counts(*place, counts)
            except DatabaseError as exc:
                self._keep(place, counts)
                self._write_from_s = self._clock() + RETRY_S
                logger.warning("queries could not be counted", extra={"service": exc.service})
                return

    def _keep(self, place: tuple[str, str], counts: Counts) -> None:
        with self._lock:
            if place in self._waiting or len(self._waiting) < MAX_HOURS:
                self._waiting.setdefault(place, Counter()).update(counts)

    def _agents_of(self, place: tuple[str, str]) -> set[str]:
        """The agents that this environment named in an hour; those of the oldest of many hours are forgotten."""
        with self._lock:
            if place not in self._agents and len(self._agents) >= MAX_HOURS:
                self._agents.pop(next(iter(self._agents)))
            return self._agents.setdefault(place, set())
