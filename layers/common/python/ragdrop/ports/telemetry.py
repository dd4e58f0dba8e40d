"""Metrics, tracing and telemetry: the report of a query, hourly counts, use counts and shared query vectors."""

from __future__ import annotations

import hashlib
import hmac
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import USED
from ragdrop.domain.retrieval import Query
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
    "exclude",
    "min_promotion_level",
)
# Which stage a dependency serves, where the error does not say it.
STAGES = {"embedding": "embed", "index": "retrieve", "registry": "registry", "chat": "generate"}
NAMESPACE = "ragdrop"
Unit = Literal["Count", "Milliseconds", "None"]
UNITS: dict[str, Unit] = {
    "Requests": "Count",
    "RequestLatency": "Milliseconds",  # of searches: an alarm on it would count how long chat models write
    "AnswerLatency": "Milliseconds",
    "Errors": "Count",
    "Fallbacks": "Count",
    "Abstentions": "Count",
    "CacheHits": "Count",
    "Tokens": "Count",
    "EmbeddingTokens": "Count",
    "ReaderPairs": "Count",  # of texts, read by the reader or a reranker
    "ReaderTime": "Milliseconds",
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
# ISO 3's R10 series: ten steps a decade of at most 28 %, so a percentile is off by less than that.
_STEPS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
HOUR_S = 3_600
COUNTS_TTL_S = 35 * 86_400  # of an hour's counts: the longest time range and some days
MAX_AGENTS = 20  # named in one environment and hour; the rest is counted together
OTHER_AGENTS = "other"
COST_UNIT = 1_000_000  # cost is counted in millionths, as sums of whole numbers stay exact
Counts = Mapping[str, int]
AGENT, ERROR, BUCKET = "agent:", "error:", "at:"
SEPARATOR = "|"


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
    used, never their values.  Token counts and `cost` (in the currency of the price table) are None if unknown, and
    `answered` says that a chat model answered.
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
    embedding_tokens: int | None = None
    reader_pairs: int = 0
    reader_ms: float = 0.0
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
    """A keyed digest of a question: it shows which questions of one tenant are equal, and nothing else.

    References:
        HMAC: RFC 2104.

    >>> query_hash("pump", b"key") == query_hash("pump", b"key") != query_hash("pump", b"other")
    True
    """
    return hmac.new(key, text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()[:DIGITS_OF_A_HASH]


def metrics_of(report: QueryReport) -> Mapping[str, float]:
    """What a query adds to the metrics.  Zeros are put too: a rate needs its quiet times.

    >>> metrics_of(QueryReport("search", "acme", 12.0))["Errors"]
    0.0
    >>> "RequestLatency" in metrics_of(QueryReport("ask", "acme", 9_000.0))
    False
    """
    found = {
        "Requests": 1.0,
        "RequestLatency" if report.operation == "search" else "AnswerLatency": report.latency_ms,
        "Errors": float(report.failed),
        "Fallbacks": float(report.fallback),
        "Abstentions": float(report.abstain_reason is not None),
        "CacheHits": float(report.cached),
    }
    used = {
        "Tokens": (report.prompt_tokens or 0) + (report.completion_tokens or 0),
        "EmbeddingTokens": report.embedding_tokens or 0,
        "ReaderPairs": report.reader_pairs,
        "ReaderTime": report.reader_ms,
    }
    found |= {name: float(value) for name, value in used.items() if value}
    if report.cost is not None:
        found["Cost"] = report.cost
    return found


BOUNDS_MS: tuple[float, ...] = (*(step * 10**power for power in range(5) for step in _STEPS), 100_000.0)
"""Upper bounds of the buckets in milliseconds, 1 to 100,000; one more bucket holds what took longer."""


def bucket_of(latency_ms: float) -> int:
    """The number of the bucket that holds *latency_ms*, from 0.

    >>> bucket_of(0.2), bucket_of(1.0), bucket_of(1.1), bucket_of(1e9) == len(BOUNDS_MS)
    (0, 0, 1, True)
    """
    return bisect_left(BOUNDS_MS, latency_ms)


def percentile_ms(counts: Mapping[int, int], share: float) -> float | None:
    """The latency that *share* of what was counted did not exceed, in milliseconds; None if nothing was counted.

    Within its bucket latencies count as spread evenly; the last bucket, which has no end, is taken for its lower bound.

    Args:
        counts: How many there were, by bucket.
        share: In (0, 1], such as 0.95.

    References:
        The interpolation of `histogram_quantile`, Prometheus documentation, "Histograms and summaries".

    >>> percentile_ms({bucket_of(100): 10}, 0.5)
    90.0
    >>> percentile_ms({}, 0.5) is None
    True
    """
    total = sum(counts.values())
    if total == 0:
        return None
    rank, before = share * total, 0
    for bucket in sorted(counts):
        if before + counts[bucket] >= rank:
            low = BOUNDS_MS[bucket - 1] if bucket else 0.0
            high = BOUNDS_MS[bucket] if bucket < len(BOUNDS_MS) else low
            return round(low + (high - low) * (rank - before) / counts[bucket], 3)
        before += counts[bucket]
    return BOUNDS_MS[-1]


@dataclass(frozen=True, slots=True)
class DocumentUsage:
    """`query_count` counts answers with the document; `last_retrieved` is RFC 3339 UTC, None if never."""

    query_count: int = 0
    last_retrieved: str | None = None

    def unused_since(self, moment: str) -> bool:
        """Whether the document was found by nobody since *moment* (RFC 3339 UTC).

        >>> used = DocumentUsage(3, "2026-01-02T03:04:05Z")
        >>> used.unused_since("2026-01-05T00:00:00Z"), DocumentUsage().unused_since("2026")
        (True, True)
        """
        return self.last_retrieved is None or self.last_retrieved < moment


def scope_of(vaults: Iterable[str]) -> str:
    """What stands before the hours of keys that are limited to *vaults*; empty for keys that are not.

    >>> scope_of([]), scope_of(["hr", "team"]) == scope_of(["team", "hr"])
    ('', True)
    """
    names = "\n".join(sorted(set(vaults)))
    return f"@{hashlib.sha256(names.encode()).hexdigest()[:16]}/" if names else ""


def hour_of(now_s: float) -> str:
    """The name of the hour that holds *now_s* (seconds since 1970); text order is time order.

    >>> hour_of(0), hour_of(3_600)
    ('1970-01-01T00', '1970-01-01T01')
    """
    return rfc3339(now_s)[:13]


def counts_of(report: QueryReport) -> Counter[str]:
    """What one query adds to its hour.

    >>> counts_of(QueryReport("search", "acme", 12.0, agent="bot"))["agent:bot"]
    1
    """
    failure = report.failure
    found: Counter[str] = Counter(
        {
            "queries": 1,
            "latency_us": round(report.latency_ms * 1_000),
            f"{BUCKET}{bucket_of(report.latency_ms)}": 1,
            "cached": int(report.cached),
            "fallback": int(report.fallback),
            "abstained": int(report.abstain_reason is not None),
            "failed": int(report.failed),
            "answers": int(report.answered),
            "counted": int(
                report.answered and report.prompt_tokens is not None and report.completion_tokens is not None
            ),
            **counts_used({name: getattr(report, name) for name in (*USED, "cost")}),
        }
    )
    if report.agent:
        found[AGENT + report.agent[:LABEL_CHARACTERS]] = 1
    if failure is not None:
        found[error_name(failure)] = 1
    return +found


def counts_used(used: Mapping[str, float | None]) -> dict[str, int]:
    """What calls of models add to an hour; *used* has the names of `domain.models.spent`.

    >>> counts_used({"prompt_tokens": 7, "reader_ms": 7.6, "cost": None})
    {'prompt_tokens': 7, 'reader_ms': 8}
    """
    cost = used.get("cost")
    counts = {name: round(used.get(name) or 0) for name in USED}
    counts |= {"priced": int(cost is not None), "cost_millionths": round((cost or 0) * COST_UNIT)}
    return {name: count for name, count in counts.items() if count}


def error_name(failure: QueryFailure) -> str:
    """The name that counts a failure.

    >>> error_name(QueryFailure("request", "documents", "INVALID_PARAMS", "request"))
    'error:request|documents|INVALID_PARAMS|request'
    """
    return ERROR + SEPARATOR.join((failure.component, failure.operation, failure.code, failure.stage))


def with_few_agents(counts: Counts, named: set[str]) -> Counter[str]:
    """*counts* with agents beyond the twenty of *named* counted together; *named* takes new ones until it is full.

    >>> crowd = {f"agent:{n}" for n in range(20)}
    >>> sorted(with_few_agents({"agent:new": 2, "agent:7": 1}, crowd).items())
    [('agent:7', 1), ('agent:other', 2)]
    """
    found: Counter[str] = Counter()
    for name, count in counts.items():
        if name.startswith(AGENT) and len(named) < MAX_AGENTS:
            named.add(name)
        found[name if not name.startswith(AGENT) or name in named else AGENT + OTHER_AGENTS] += count
    return found


def summed(hours: Iterable[Counts]) -> Counter[str]:
    """The counts of all *hours* together.

    >>> summed([{"queries": 1}, {"queries": 2}])["queries"]
    3
    """
    total: Counter[str] = Counter()
    for counts in hours:
        total.update(counts)
    return total


class Telemetry(Protocol):
    """The telemetry table: shared vectors of questions, use counts of documents, and counts of queries by hour.

    All methods raise DatabaseError, and are quick to, but for `counts` and `forget_tenant`.  `name` of a vector is a
    digest of model, dimension, prefix and text: the store never sees a question.
    """

    def query_vector(self, tenant: str, name: str, now_s: float) -> Vector | None:
        """The vector; None if there is none, or its time has passed at *now_s* (seconds since 1970)."""

    def put_query_vectors(self, tenant: str, vectors: Mapping[str, Vector], expires_at_s: float) -> None:
        """Keep up to 25 vectors until *expires_at_s*; the same name replaces."""

    def add_use(self, key: DocumentKey, count: int, last_retrieved: str) -> None:
        """Add *count* answers with the document; *last_retrieved* is RFC 3339 UTC."""

    def usage(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, DocumentUsage]:
        """The counts of up to 100 documents of one tenant; one that was never found is not in it."""

    def forget_use(self, key: DocumentKey) -> None:
        """Remove the counts of a document: for a purge."""

    def add_counts(self, tenant: str, hour: str, counts: Counts) -> None:
        """Add whole numbers to those of an hour (`YYYY-MM-DDTHH`, UTC, behind its scope), in one write; it is quick."""

    def counts(self, tenant: str, first: str, last: str) -> dict[str, Counts]:
        """What was counted from hour *first* to hour *last*, both included, by hour; empty hours are not in it."""

    def hash_key(self, tenant: str, candidate: bytes) -> bytes:
        """The secret that keys digests of the tenant's questions: *candidate* where there is none yet; quick."""

    def forget_tenant(self, tenant: str) -> int:
        """Remove everything of a tenant but its receipts: how many items went.  Raises DatabaseError."""
