"""Metrics and tracing, and the report of a query that they are made of."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ragdrop.domain.queries import Query
from ragdrop.errors import CallerError, DeadlineError, DependencyError, RagdropError

Operation = Literal["search", "ask", "chat"]
LEVEL_2 = 2  # the fallback level from which on an answer counts as a fallback
LABEL_CHARACTERS = 64
DIGITS_OF_A_HASH = 16
FILTERS = (
    "vaults",
    "folders",
    "prefer_folders",
    "doc_types",
    "content_types",
    "categories",
    "tags",
    "session_ids",
    "date_from",
    "date_to",
    "attributes",
    "min_promotion_level",
)
# Which stage a dependency serves, where the error does not say it.
STAGES = {"embedding": "embed", "index": "retrieve", "registry": "registry", "chat": "generate"}


@dataclass(frozen=True, slots=True)
class QueryFailure:
    """What failed: a component of the service, in which operation, with which public code, at which stage.

    `by_caller` says that the caller can fix it: then the service did not fail.
    """

    component: str
    operation: str
    code: str
    stage: str
    by_caller: bool = False


@dataclass(frozen=True, slots=True)
class QueryReport:
    """One query.  No text of it or of any document, and no key.

    `latency_ms` is that of the use case; `timings_ms` the same by stage.  `filters` are the names of those that were
    used, never their values.  Token counts and `cost` (in the currency of the price table) are None where nobody told
    them, and `answered` says that a chat model answered.  `open_breakers` names the dependencies that were not asked.
    `scope` is that of a key which is limited to vaults: its figures are counted apart, too.
    """

    operation: Operation
    tenant: str
    latency_ms: float
    agent: str | None = None
    results: int = 0
    fallback_level: int = 1
    circuit_breaker_open: bool = False
    degraded: bool = False
    cached: bool = False
    abstain_reason: str | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    filters: tuple[str, ...] = ()
    answered: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    failure: QueryFailure | None = None
    scope: str = ""

    @property
    def fallback(self) -> bool:
        """Whether less than the whole search answered."""
        return self.fallback_level >= LEVEL_2

    @property
    def failed(self) -> bool:
        """Whether the service, not the caller, is the reason that there is no answer."""
        return self.failure is not None and not self.failure.by_caller


def filters_of(query: Query) -> tuple[str, ...]:
    """The names of the filters that *query* uses.

    >>> filters_of(Query("pump", tags=("a",), date_from="2026"))
    ('tags', 'date_from')
    """
    return tuple(name for name in FILTERS if getattr(query, name))


def failure_of(exc: BaseException, operation: str) -> QueryFailure:
    """What *exc* says that failed; whatever nobody foresaw is INTERNAL_ERROR.

    >>> from ragdrop.errors import DatabaseError
    >>> failure_of(DatabaseError("down", service="index"), "search")
    QueryFailure(component='index', operation='search', code='DATABASE_ERROR', stage='retrieve', by_caller=False)
    >>> failure_of(KeyError("a"), "ask").code
    'INTERNAL_ERROR'
    """
    if not isinstance(exc, RagdropError):
        return QueryFailure("ragdrop", operation, "INTERNAL_ERROR", "unknown")
    if isinstance(exc, CallerError):
        return QueryFailure("request", operation, exc.code, "request", by_caller=True)
    component = exc.service if isinstance(exc, DependencyError) else "ragdrop"
    stage = exc.details.get("stage") if isinstance(exc, DeadlineError) else STAGES.get(component)
    return QueryFailure(component, operation, exc.code, str(stage or component))


def query_hash(text: str, key: bytes) -> str:
    """A keyed digest of a question: equal questions of one tenant are told to be equal, and nothing else is.

    References:
        HMAC: RFC 2104.

    >>> query_hash("pump", b"key") == query_hash("pump", b"key") != query_hash("pump", b"other")
    True
    """
    return hmac.new(key, text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()[:DIGITS_OF_A_HASH]


NAMESPACE = "ragdrop"
Unit = Literal["Count", "Milliseconds", "None"]

UNITS: dict[str, Unit] = {
    "Requests": "Count",
    "RequestLatency": "Milliseconds",
    "Errors": "Count",
    "Fallbacks": "Count",
    "Abstentions": "Count",
    "CacheHits": "Count",
    "Tokens": "Count",
    "Cost": "None",  # in the currency of the price table
    "DependencyErrors": "Count",
    "Throttles": "Count",
    "BreakersOpened": "Count",
    "IndexLosses": "Count",  # searches and sweeps that met an index without the documents that the registry knows
    "GoldenDrops": "Count",  # golden questions that are not answered and once were
    "IndexedDocuments": "Count",
    "FailedDocuments": "Count",
}
"""Every metric by its name.  `DependencyErrors`, `Throttles` and `BreakersOpened` are of one dependency."""


def metrics_of(report: QueryReport) -> Mapping[str, float]:
    """What a query adds to the metrics.  Zeros are told too: a rate needs its quiet times.

    >>> metrics_of(QueryReport("search", "acme", 12.0))["Errors"]
    0.0
    """
    found = {
        "Requests": 1.0,
        "RequestLatency": report.latency_ms,
        "Errors": float(report.failed),
        "Fallbacks": float(report.fallback),
        "Abstentions": float(report.abstain_reason is not None),
        "CacheHits": float(report.cached),
    }
    tokens = (report.prompt_tokens or 0) + (report.completion_tokens or 0)
    if tokens:
        found["Tokens"] = float(tokens)
    if report.cost is not None:
        found["Cost"] = report.cost
    return found


class Metrics(Protocol):
    """Takes metrics; never raises, never waits."""

    def put(self, values: Mapping[str, float], *, dependency: str | None = None) -> None:
        """Emit *values* by the names of `domain.metric_names.UNITS`, of *dependency* if they are of one."""


class Tracer(Protocol):
    """Tells of stages to whoever collects traces; never fails a request."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """A span of the request's trace for as long as the block runs; one that ends by an error says its type."""
        ...
