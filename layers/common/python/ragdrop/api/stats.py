"""`GET /stats`: documents of a tenant, and figures of its queries."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field

from ragdrop.api.http import Authenticate
from ragdrop.api.past.canaries import CanaryShape, canary_shapes
from ragdrop.domain.tenants import Caller
from ragdrop.operate.costs import Basis, CostLine, ReadCosts
from ragdrop.operate.stats import ReadStats, ReadVaults, TenantStats, TimeRange


class TokensShape(BaseModel):
    """Tokens that chat models read and wrote, as they counted them; null where none of them told."""

    prompt: int | None
    completion: int | None
    total: int | None


class ErrorShape(BaseModel):
    """How often something failed: which component, in which operation, with which code, at which stage."""

    component: str
    operation: str
    code: str
    stage: str
    count: int


class HourShape(BaseModel):
    """One hour."""

    hour: str = Field(description="YYYY-MM-DDTHH, UTC.")
    queries: int
    failed: int
    fallbacks: int
    abstained: int = Field(description="Questions without an answer in the documents.")
    tokens: int = Field(description="Tokens of questions and answers, as far as endpoints counted.")
    cost: float | None
    p50_latency_ms: float | None
    p95_latency_ms: float | None


class CostLineShape(BaseModel):
    """One thing that is paid."""

    name: str
    count: int | None
    usd: float | None = Field(description="Null without a price; `chat tokens` are in the currency of CHAT_PRICES.")
    basis: Basis = Field(description="Of the count: exact, an estimate, or the first 20,000 changes alone.")


class StatsShape(BaseModel):
    """Figures of a tenant; rates are shares of `total_queries` in [0, 1], null where nothing was asked."""

    request_id: str
    time_range: TimeRange
    total_documents: int | None
    total_chunks: int | None
    total_queries: int
    avg_latency_ms: float | None
    p50_latency_ms: float | None = Field(description="Interpolated within fixed buckets: off by under 28 %.")
    p95_latency_ms: float | None
    p99_latency_ms: float | None
    cache_hit_rate: float | None
    fallback_rate: float | None
    abstention_rate: float | None
    error_rate: float | None = Field(description="Queries that failed, but those that the caller could fix.")
    queries_by_agent: dict[str, int] = Field(description="The twenty that asked most; `other` are all others.")
    errors_by_code: dict[str, int] = Field(description="Errors told, those that the caller could fix too.")
    tokens: TokensShape
    cost: float | None = Field(description="In the currency of CHAT_PRICES; null without a price.")
    canaries: list[CanaryShape] = Field(
        default_factory=list, description="Of vaults with golden questions: how they were answered last."
    )
    costs: list[CostLineShape] = Field(default_factory=list, description="With `cost=1`: see docs/cost.md.")
    errors: list[ErrorShape] = Field(default_factory=list, description="With `detail=1`.")
    hours: list[HourShape] = Field(default_factory=list, description="With `detail=1`: hours with a query.")


def stats_router(stats: Callable[[], ReadStats], costs: Callable[[], ReadCosts], caller: Authenticate) -> APIRouter:
    """The route over use cases that are made at the first request."""
    router = APIRouter(tags=["operations"])

    @router.get(
        "/stats", response_model=StatsShape, response_model_exclude_unset=True, summary="Read figures of a time range"
    )
    def get_stats(
        request: Request,
        who: Annotated[Caller, Depends(caller)],
        time_range: Annotated[TimeRange, Query(description="Up to now, in whole hours.")] = "24h",
        detail: Annotated[bool, Query(description="Adds `errors` and `hours`.")] = False,  # noqa: FBT002
        cost: Annotated[bool, Query(description="Adds `costs`.")] = False,  # noqa: FBT002
    ) -> StatsShape:
        """What the tenant holds, and what its queries came to; counts of the last ten seconds may be missing."""
        found = stats()(who, time_range)
        lines = costs()(who, time_range, found) if cost and not who.vaults else None
        return stats_shape(found, request.state.request_id, time_range, detail=detail, costs=lines)

    return router


class VaultShape(BaseModel):
    """A vault and what it holds."""

    name: str = Field(description="Its name.")
    documents: dict[str, int] = Field(description="Documents by `status`, without the deleted.")
    chunks: int | None = Field(description="Chunks of its live documents; null while that is not known.")
    last_change: str | None = Field(description="When one of its documents changed last, RFC 3339.")
    complete: bool = Field(description="False for a vault of over 10,000 documents: then only those are counted.")


class VaultList(BaseModel):
    """A page of vaults by name."""

    request_id: str
    vaults: list[VaultShape] = Field(description="In the order of their names.")
    cursor: str | None = Field(description="Give it back for the next page; null at the end.")


def vaults_router(vaults: Callable[[], ReadVaults], caller: Authenticate) -> APIRouter:
    """The route over a use case that is made at the first request."""
    router = APIRouter(tags=["documents"])

    @router.get("/vaults", response_model=VaultList, summary="List vaults")
    def get_vaults(
        request: Request,
        who: Annotated[Caller, Depends(caller)],
        cursor: Annotated[str, Query(max_length=63, description="The last vault of the page before.")] = "",
        limit: Annotated[int, Query(ge=1, le=100, description="Vaults of a page.")] = 20,
    ) -> VaultList:
        """The vaults that the key may read, each with its documents by status, chunks and last change."""
        found = vaults()(who, after=cursor, limit=limit)
        return VaultList(
            request_id=request.state.request_id,
            vaults=[VaultShape(**asdict(each)) for each in found],
            cursor=found[-1].name if len(found) == limit else None,
        )

    return router


def stats_shape(
    found: TenantStats,
    request_id: str,
    time_range: TimeRange,
    *,
    detail: bool = False,
    costs: Sequence[CostLine] | None = None,
) -> StatsShape:
    """The figures of a tenant; with *detail* its errors and hours, with *costs* what they cost."""
    queries = found.queries
    told = (queries.prompt_tokens, queries.completion_tokens)
    more: dict[str, Any] = {}
    if detail:
        more = {
            "errors": [asdict(each) for each in queries.errors],
            "hours": [asdict(each) for each in queries.hours],
        }
    if found.canaries:
        more["canaries"] = canary_shapes(found.canaries)
    if costs is not None:
        more["costs"] = [asdict(each) for each in costs]
    return StatsShape(
        request_id=request_id,
        time_range=time_range,
        total_documents=found.documents,
        total_chunks=found.chunks,
        total_queries=queries.total_queries,
        avg_latency_ms=queries.avg_latency_ms,
        p50_latency_ms=queries.p50_latency_ms,
        p95_latency_ms=queries.p95_latency_ms,
        p99_latency_ms=queries.p99_latency_ms,
        cache_hit_rate=queries.cache_hit_rate,
        fallback_rate=queries.fallback_rate,
        abstention_rate=queries.abstention_rate,
        error_rate=queries.error_rate,
        queries_by_agent=queries.queries_by_agent,
        errors_by_code=queries.errors_by_code,
        tokens=TokensShape(
            prompt=told[0], completion=told[1], total=None if None in told else sum(each or 0 for each in told)
        ),
        cost=queries.cost,
        **more,
    )
