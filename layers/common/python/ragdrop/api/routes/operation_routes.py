"""How the service is: health, queue, figures, vaults, golden questions."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from ragdrop import __version__
from ragdrop.api.edge import Authenticate, RequestDeadline
from ragdrop.api.shapes.knowledge_base_shapes import knowledge_base_id
from ragdrop.api.shapes.operation_shapes import (
    CanariesResponse,
    CanaryShape,
    HealthShape,
    ModelTest,
    ModelTested,
    NearServers,
    NearServerShape,
    QueueShape,
    RedriveShape,
    RunResponse,
    RunShape,
    StatsShape,
    VaultList,
    VaultShape,
    run_fields,
    stats_shape,
)
from ragdrop.domain.keys import check_name
from ragdrop.domain.tenants import Caller
from ragdrop.errors import NotFoundError
from ragdrop.operate.costs import ReadCosts
from ragdrop.operate.golden_questions import GoldenRuns
from ragdrop.operate.health import CheckHealth, DependencyHealth
from ragdrop.operate.stats import ReadStats, ReadVaults, TimeRange
from ragdrop.ports.message_queue import MessageQueue
from ragdrop.ports.model_services import TriedModels
from ragdrop.tenants.directory import TenantDirectory

UNAVAILABLE = 503


def health_router(
    check: Callable[[], CheckHealth],
    golden: Callable[[], GoldenRuns],
    directory: TenantDirectory,
    caller: Callable[..., Awaitable[Caller | None]],
) -> APIRouter:
    """The route over use cases that are made at the first request; *caller* is None for whoever has no key."""
    router = APIRouter(tags=["operations"])

    @router.get(
        "/health",
        response_model_exclude_unset=True,
        summary="Ask how the service is",
        responses={UNAVAILABLE: {"model": HealthShape, "description": "No level of the fallback chain can answer."}},
    )
    def get_health(
        request: Request,
        response: Response,
        who: Annotated[Caller | None, Depends(caller)],
        deep: Annotated[  # noqa: FBT002 - a query parameter
            bool, Query(description="With a key: one embedding and one completion of one token, in 5 s.")
        ] = False,
    ) -> HealthShape:
        """How the service is, looked at within two seconds; a look is shown to others for two seconds more."""
        shown = health_of(check(), golden(), directory, request.state.request_id, who, deep=deep)
        if shown.status == "unavailable":
            response.status_code = UNAVAILABLE
        return shown

    return router


def queue_router(queue: Callable[[], MessageQueue], reader: Authenticate, admin: Authenticate) -> APIRouter:
    """The routes over the queue that feeds ingest, which is made at the first request."""
    router = APIRouter(tags=["operations"])

    @router.get("/queue", summary="Ask how much waits for ingest")
    def get_queue(request: Request, _who: Annotated[Caller, Depends(reader)]) -> QueueShape:
        """About how many messages wait, are worked on, are delayed, and were given up on, of all tenants."""
        return QueueShape(request_id=request.state.request_id, **asdict(queue().depth()))

    @router.post("/queue/redrive", summary="Try dead letters again")
    def post_redrive(request: Request, _who: Annotated[Caller, Depends(admin)]) -> RedriveShape:
        """Move up to ten dead letters, of all tenants, back into the queue; ingest does nothing twice.  Role admin."""
        return RedriveShape(request_id=request.state.request_id, moved=queue().redrive())

    return router


def health_of(
    check: CheckHealth,
    golden: GoldenRuns,
    directory: TenantDirectory,
    request_id: str,
    who: Caller | None,
    *,
    deep: bool = False,
) -> HealthShape:
    """How the service is; all of it for a caller with a key."""
    found = check(tenant=None if who is None else who.tenant, deep=deep and who is not None)
    brief = {"request_id": request_id, "healthy": found.healthy, "status": found.status, "version": __version__}
    if who is None:
        return HealthShape.model_validate(brief)
    registry_is_up = found.dependencies["registry"].status == "healthy"
    tenant = directory.tenant(who.tenant) if registry_is_up else None
    runs = [CanaryShape(**run_fields(run)) for run in golden.last(who)] if registry_is_up else []
    return HealthShape.model_validate(
        {
            **brief,
            "dependencies": {
                name: _dependency(name, each, whole=not (who.vaults or (tenant and tenant.may_hide(who))))
                for name, each in found.dependencies.items()
            },
            "indexed_documents": None if tenant is None else tenant.counted_for(who)[0],
            **({"canaries": runs} if runs else {}),
            "latency_ms": found.latency_ms,
        }
    )


def _dependency(name: str, found: DependencyHealth, *, whole: bool) -> dict[str, Any]:
    """A dependency; the detail of the index counts all documents, so only who may see the *whole* gets a figure."""
    shown = asdict(found)
    if name == "index" and not whole and found.status != "healthy":
        shown["detail"] = "it is not whole"
    return shown


def stats_router(stats: Callable[[], ReadStats], costs: Callable[[], ReadCosts], caller: Authenticate) -> APIRouter:
    """The route over use cases that are made at the first request."""
    router = APIRouter(tags=["operations"])

    @router.get("/stats", response_model_exclude_unset=True, summary="Read figures of a time range")
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


def vaults_router(vaults: Callable[[], ReadVaults], caller: Authenticate) -> APIRouter:
    """The route over a use case that is made at the first request."""
    router = APIRouter(tags=["documents"])

    @router.get("/vaults", summary="List vaults")
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
            vaults=[VaultShape(**asdict(each), knowledge_base_id=knowledge_base_id(each.name)) for each in found],
            cursor=found[-1].name if len(found) == limit else None,
        )

    return router


def models_router(models: Callable[[], TriedModels], is_local: Callable[[], bool], admin: Authenticate) -> APIRouter:
    """The routes over a use case that is made at the first request; *is_local* is asked for each."""
    router = APIRouter(prefix="/models", tags=["operations"])

    def check_local() -> None:
        if not is_local():
            raise NotFoundError("models are looked for and tried on a laptop alone; on AWS parameters name them")

    @router.get("/near", summary="Find chat models on this machine")
    def get_near(request: Request, _who: Annotated[Caller, Depends(admin)], deadline: RequestDeadline) -> NearServers:
        """Ollama, LM Studio and llama.cpp on their usual ports of the local stack's machine.  Role admin.

        404 on AWS.
        """
        check_local()
        found = [NearServerShape(**asdict(each)) for each in models().near(deadline)]
        return NearServers(request_id=request.state.request_id, servers=found)

    @router.post("/test", summary="Try a chat model")
    def post_test(
        body: ModelTest, request: Request, _who: Annotated[Caller, Depends(admin)], deadline: RequestDeadline
    ) -> ModelTested:
        """Ask a chat model for one word, from the local stack.  Role admin; 404 on AWS.

        The key is used for this one request: nothing stores or logs it.
        """
        check_local()
        start = time.perf_counter()
        key = body.api_key.get_secret_value() if body.api_key is not None else None
        problem = models().attempt(body.url, body.model, key or None, deadline)
        took_ms = round((time.perf_counter() - start) * 1_000, 1)
        more = {"works": problem is None, "problem": problem, "latency_ms": took_ms}
        return ModelTested.model_validate({"request_id": request.state.request_id, **more})

    return router


def golden_questions_router(golden: Callable[[], GoldenRuns], reader: Authenticate, writer: Authenticate) -> APIRouter:
    """The routes over a use case that is made at the first request."""
    router = APIRouter(tags=["operations"])

    @router.get("/canaries", summary="Read how golden questions are answered")
    def get_canaries(request: Request, who: Annotated[Caller, Depends(reader)]) -> CanariesResponse:
        """The last run of each vault with golden questions that the key may see; nothing is asked."""
        runs = [RunShape(**run_fields(run)) for run in golden().last(who)]
        return CanariesResponse(request_id=request.state.request_id, canaries=runs)

    @router.post("/canaries/{vault}", summary="Ask the golden questions of a vault")
    def post_canaries(
        vault: str, request: Request, who: Annotated[Caller, Depends(writer)], deadline: RequestDeadline
    ) -> RunResponse:
        """Ask the golden questions of the vault's settings now, and compare with the run before."""
        run = golden().run(who, check_name("vault", vault), deadline)
        return RunResponse(request_id=request.state.request_id, **run_fields(run))

    return router
