"""Read stats: sum the hourly counts of a tenant over a time range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from ragdrop.domain.golden import GoldenRun
from ragdrop.domain.tenants import Caller
from ragdrop.operate.golden_questions import GoldenRuns
from ragdrop.ports.registry import Registry
from ragdrop.ports.telemetry import (
    AGENT,
    BUCKET,
    COST_UNIT,
    ERROR,
    HOUR_S,
    MAX_AGENTS,
    OTHER_AGENTS,
    SEPARATOR,
    Counts,
    Telemetry,
    hour_of,
    percentile_ms,
    scope_of,
    summed,
)
from ragdrop.query.understand import visible_vaults
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.permissions import Permissions


@dataclass(frozen=True, slots=True)
class TenantStats:
    """The tenant's counters of what is live, the figures of its queries, and the last runs of golden questions."""

    documents: int | None
    chunks: int | None
    queries: Statistics
    golden_runs: list[GoldenRun]


@dataclass(frozen=True, kw_only=True)
class ReadStats:
    """Figures of the caller's tenant."""

    directory: TenantDirectory
    store: Telemetry
    golden_runs: GoldenRuns
    clock: Callable[[], float]

    def __call__(self, caller: Caller, time_range: TimeRange) -> TenantStats:
        """The figures of *time_range* up to now, in whole hours, with every query that has been answered.

        A key that is limited to vaults gets the documents of these, and the queries of keys with the same limit.  Where
        documents may be hidden from the caller, nothing is counted.

        Raises:
            DatabaseError: The registry or the telemetry table did not answer.
        """
        now_s = self.clock()
        tenant = self.directory.tenant(caller.tenant)
        scope = scope_of(caller.vaults)
        first, last = hour_of(first_hour_s(now_s, time_range)), hour_of(now_s)
        hours = self.store.counts(caller.tenant, scope + first, scope + last)
        documents, chunks = (None, None) if tenant is None else tenant.counted_for(caller)
        return TenantStats(
            documents=documents,
            chunks=chunks,
            queries=statistics({name.removeprefix(scope): counts for name, counts in hours.items()}),
            golden_runs=self.golden_runs.last(caller),
        )


MAX_HEADS = 10_000  # that one request looks at: ten pages


@dataclass(frozen=True, slots=True)
class VaultFigures:
    """A vault; `documents` counts its records by status, and `last_change` is the latest of theirs (RFC 3339).

    `complete` is False where it has more records than one request looks at: then both are of the first of them.
    """

    name: str
    documents: Mapping[str, int]
    chunks: int | None
    last_change: str | None
    complete: bool


@dataclass(frozen=True, kw_only=True)
class ReadVaults:
    """The vaults that a caller may see."""

    directory: TenantDirectory
    registry: Registry
    permissions: Permissions

    def __call__(
        self, caller: Caller, *, after: str = "", limit: int = 1, only: str | None = None
    ) -> list[VaultFigures]:
        """Up to *limit* vaults by name, behind *after* or the *only* one, with what *caller* may read of them.

        Raises DatabaseError: the registry did not answer.
        """
        tenant = self.directory.tenant(caller.tenant)
        if tenant is None:
            return []
        seen_vaults = visible_vaults(tenant.vaults, caller.vaults)
        names = [name for name in seen_vaults if name > after and only in {None, name}][:limit]
        left = MAX_HEADS
        found = []
        for name in names:
            counts, last, cursor, seen = Counter[str](), "", None, 0
            while left > 0:
                page = self.registry.page(
                    tenant.name, vault=name, prefix="", status=None, cursor=cursor, limit=min(left, 1_000)
                )
                shown = self.permissions.readable(caller, page.heads)
                counts.update(head.status.value for head in shown)
                last = max([last, *(head.updated_at for head in shown)])
                seen += sum(head.chunk_count for head in shown)
                left -= max(1, len(page.heads))
                cursor = page.cursor
                if cursor is None:
                    break
            is_whole = cursor is None and left > 0
            counted = tenant.count_in([name])[1] if not tenant.may_hide(caller, [name]) else seen if is_whole else None
            found.append(VaultFigures(name, dict(counts), counted, last or None, is_whole))
        return found


TimeRange = Literal["1h", "24h", "7d", "30d"]
HOURS: dict[TimeRange, int] = {"1h": 1, "24h": 24, "7d": 168, "30d": 720}


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How often something failed."""

    component: str
    operation: str
    code: str
    stage: str
    count: int


@dataclass(frozen=True, slots=True)
class HourFigures:
    """One hour (`YYYY-MM-DDTHH`, UTC); latencies in milliseconds, None where nothing was asked.

    `tokens` are those of questions and answers; `cost` is None without a price.
    """

    hour: str
    queries: int
    failed: int
    fallbacks: int
    abstained: int
    tokens: int
    cost: float | None
    p50_latency_ms: float | None
    p95_latency_ms: float | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures of a time range.

    Latencies are in milliseconds, percentiles interpolated within fixed buckets; rates are shares of all queries in
    [0, 1]; `cost` is in the currency of the price table;
    `answers` counts those of a chat model.  What cannot be known is None: rates and latencies without a
    query, tokens that no endpoint counted, a cost without a price.  `reader_ms` are the milliseconds of a reader or a
    reranker, and `embedding_tokens` those that endpoints counted.
    """

    total_queries: int
    avg_latency_ms: float | None
    p50_latency_ms: float | None
    p95_latency_ms: float | None
    p99_latency_ms: float | None
    cache_hit_rate: float | None
    fallback_rate: float | None
    abstention_rate: float | None
    error_rate: float | None
    queries_by_agent: dict[str, int]
    errors: list[ErrorCount]
    prompt_tokens: int | None
    completion_tokens: int | None
    embedding_tokens: int
    reader_pairs: int
    reader_ms: int
    cost: float | None
    answers: int
    hours: list[HourFigures]

    @property
    def errors_by_code(self) -> dict[str, int]:
        """How often each code was returned, those that the caller could fix too; the most frequent first."""
        counts: dict[str, int] = {}
        for error in self.errors:
            counts[error.code] = counts.get(error.code, 0) + error.count
        return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def first_hour_s(now_s: float, time_range: TimeRange) -> float:
    """A moment in the first hour of a range that ends now; hours are counted whole, so up to one more comes along.

    >>> first_hour_s(7_200.0, "1h")
    3600.0
    """
    return now_s - HOURS[time_range] * HOUR_S


def statistics(by_hour: Mapping[str, Counts]) -> Statistics:
    """The figures of all hours together.

    >>> found = statistics({"2026-01-02T03": {"queries": 4, "cached": 1, "latency_us": 8_000, "at:0": 4}})
    >>> found.total_queries, found.cache_hit_rate, found.avg_latency_ms, found.cost
    (4, 0.25, 2.0, None)
    """
    total = summed(by_hour.values())
    queries = total["queries"]
    buckets = _buckets(total)
    counted = not total["answers"] or bool(total["counted"])

    def rate(name: str) -> float | None:
        return round(total[name] / queries, 6) if queries else None

    return Statistics(
        total_queries=queries,
        avg_latency_ms=round(total["latency_us"] / queries / 1_000, 3) if queries else None,
        p50_latency_ms=percentile_ms(buckets, 0.50),
        p95_latency_ms=percentile_ms(buckets, 0.95),
        p99_latency_ms=percentile_ms(buckets, 0.99),
        cache_hit_rate=rate("cached"),
        fallback_rate=rate("fallback"),
        abstention_rate=rate("abstained"),
        error_rate=rate("failed"),
        queries_by_agent=_agents(total),
        errors=_errors(total),
        prompt_tokens=total["prompt_tokens"] if counted else None,
        completion_tokens=total["completion_tokens"] if counted else None,
        embedding_tokens=total["embedding_tokens"],
        reader_pairs=total["reader_pairs"],
        reader_ms=total["reader_ms"],
        cost=total["cost_millionths"] / COST_UNIT if total["priced"] else None,
        answers=total["answers"],
        hours=[_figures(hour, by_hour[hour]) for hour in sorted(by_hour)],
    )


def _figures(hour: str, counts: Counts) -> HourFigures:
    buckets = _buckets(counts)
    return HourFigures(
        hour=hour,
        queries=counts.get("queries", 0),
        failed=counts.get("failed", 0),
        fallbacks=counts.get("fallback", 0),
        abstained=counts.get("abstained", 0),
        tokens=counts.get("prompt_tokens", 0) + counts.get("completion_tokens", 0),
        cost=counts.get("cost_millionths", 0) / COST_UNIT if counts.get("priced") else None,
        p50_latency_ms=percentile_ms(buckets, 0.50),
        p95_latency_ms=percentile_ms(buckets, 0.95),
    )


def _buckets(counts: Counts) -> dict[int, int]:
    return {int(name.removeprefix(BUCKET)): count for name, count in counts.items() if name.startswith(BUCKET)}


def _agents(counts: Counts) -> dict[str, int]:
    """The twenty agents that asked most, most first; all others together as `other`."""
    by_name = {name.removeprefix(AGENT): count for name, count in counts.items() if name.startswith(AGENT)}
    others = by_name.pop(OTHER_AGENTS, 0)
    ranked = sorted(by_name.items(), key=lambda each: (-each[1], each[0]))
    others += sum(count for _, count in ranked[MAX_AGENTS:])
    return dict(ranked[:MAX_AGENTS]) | ({OTHER_AGENTS: others} if others else {})


def _errors(counts: Counts) -> list[ErrorCount]:
    found = []
    for name, count in counts.items():
        if name.startswith(ERROR):
            component, operation, code, stage = name.removeprefix(ERROR).split(SEPARATOR, 3)
            found.append(ErrorCount(component, operation, code, stage, count))
    return sorted(found, key=lambda each: (-each.count, each.code, each.component, each.operation, each.stage))
