"""Observe queries: of each one structured log line, its metrics and its counts; what fails here fails no query."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from dataclasses import fields

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.correlation import REQUEST_ID
from ragdrop.domain.metric_names import metrics_of
from ragdrop.domain.query_reports import QueryReport, query_hash
from ragdrop.errors import DatabaseError
from ragdrop.ports.metrics import Metrics
from ragdrop.ports.telemetry import HourStore
from ragdrop.usecases.query_counter import QueryCounter

logger = logging.getLogger(__name__)

TOLD = tuple(each.name for each in fields(QueryReport) if each.name != "failure")
KEY_BYTES = 32
KEYS_HELD = 1_000  # tenants
KEY_HELD_S = 86_400.0
KEY_RETRY_S = 60.0  # how long a key of the environment's own stands in where the store did not answer


class ObserveQueries:
    """Says what a query came to.

    The digest of its text is keyed by a secret of the tenant's, made at its first query, so that equal questions can
    be found in the logs of all functions and no question can be guessed from them.

    Args:
        counter: Counts what is said.
        store: Keeps the keys.
        metrics: Takes what a query adds to the metrics.
        clock: Seconds since 1970.
    """

    def __init__(
        self, counter: QueryCounter, store: HourStore, *, metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self.counter = counter
        self._metrics = metrics
        self._store = store
        self._clock = clock
        self._own_key = secrets.token_bytes(KEY_BYTES)
        self._keys: BoundedCache[str, bytes] = BoundedCache(size=KEYS_HELD, ttl_s=KEY_HELD_S)
        self._no_key_until_s = 0.0

    def __call__(self, report: QueryReport, text: str) -> None:
        """*report* is of the question *text*, of which only a keyed digest is kept."""
        failure = report.failure
        told = {name: getattr(report, name) for name in TOLD} | {
            "request_id": REQUEST_ID.get(),
            "query_hash": query_hash(text, self._key(report.tenant)),
            "fallback": report.fallback,
            "error_code": failure and failure.code,
            "error_component": failure and failure.component,
            "error_stage": failure and failure.stage,
        }
        logger.info("a query was answered" if failure is None else "a query failed", extra=told)
        self._metrics.put(metrics_of(report))
        self.counter.note(report)

    def _key(self, tenant: str) -> bytes:
        now_s = self._clock()
        held = self._keys.get(tenant, now_s=now_s)
        if held is not None:
            return held
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
