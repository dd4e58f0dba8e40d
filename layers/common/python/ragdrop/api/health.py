"""`GET /health`: the state of the service and of each dependency; `GET /queue`: what waits for ingest."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, Field

from ragdrop import __version__
from ragdrop.api.http import Authenticate
from ragdrop.api.past.canaries import CanaryShape, canary_shapes
from ragdrop.domain.tenants import Caller
from ragdrop.operate.canaries import Canaries
from ragdrop.operate.health import CheckHealth, DependencyHealth
from ragdrop.ports import MessageQueue
from ragdrop.tenants.directory import TenantDirectory

UNAVAILABLE = 503


class DependencyShape(BaseModel):
    """One dependency; `absent` is one not made yet, `unknown` one of which nothing can be said."""

    status: Literal["healthy", "degraded", "unavailable", "absent", "unknown"]
    latency_ms: float | None
    circuit_breaker_open: bool
    detail: str | None


class QueueShape(BaseModel):
    """About how many messages of all tenants wait for ingest; `dead_letters` were given up on."""

    request_id: str
    waiting: int
    in_flight: int
    delayed: int
    dead_letters: int | None


class RedriveShape(BaseModel):
    """How many dead letters went back into the queue; 0 when none is left."""

    request_id: str
    moved: int


class HealthShape(BaseModel):
    """How the service is; without a key `healthy`, `status` and `version` alone."""

    request_id: str
    healthy: bool
    status: Literal["healthy", "degraded", "unavailable"] = Field(
        description="`unavailable` (503) only where no level of the fallback chain can answer."
    )
    version: str
    dependencies: dict[str, DependencyShape] = Field(
        default_factory=dict, description="`index`, `embedding`, `chat`, `registry`, `object_store`."
    )
    indexed_documents: int | None = Field(default=None, description="Live documents of the tenant.")
    canaries: list[CanaryShape] = Field(
        default_factory=list, description="Of vaults with golden questions: how they were answered last."
    )
    latency_ms: float | None = None


def health_router(
    check: Callable[[], CheckHealth],
    canaries: Callable[[], Canaries],
    directory: TenantDirectory,
    caller: Callable[..., Awaitable[Caller | None]],
) -> APIRouter:
    """The route over use cases that are made at the first request; *caller* is None for whoever has no key."""
    router = APIRouter(tags=["operations"])

    @router.get(
        "/health",
        response_model=HealthShape,
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
        shown = health_of(check(), canaries(), directory, request.state.request_id, who, deep=deep)
        if shown.status == "unavailable":
            response.status_code = UNAVAILABLE
        return shown

    return router


def queue_router(queue: Callable[[], MessageQueue], reader: Authenticate, admin: Authenticate) -> APIRouter:
    """The routes over the queue that feeds ingest, which is made at the first request."""
    router = APIRouter(tags=["operations"])

    @router.get("/queue", response_model=QueueShape, summary="Ask how much waits for ingest")
    def get_queue(request: Request, _who: Annotated[Caller, Depends(reader)]) -> QueueShape:
        """About how many messages wait, are worked on, are delayed, and were given up on, of all tenants."""
        return QueueShape(request_id=request.state.request_id, **asdict(queue().depth()))

    @router.post("/queue/redrive", response_model=RedriveShape, summary="Try dead letters again")
    def post_redrive(request: Request, _who: Annotated[Caller, Depends(admin)]) -> RedriveShape:
        """Move up to ten dead letters, of all tenants, back into the queue; ingest does nothing twice.  Role admin."""
        return RedriveShape(request_id=request.state.request_id, moved=queue().redrive())

    return router


def health_of(
    check: CheckHealth,
    canaries: Canaries,
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
    runs = canary_shapes(canaries.last(who)) if registry_is_up else []
    return HealthShape.model_validate(
        {
            **brief,
            "dependencies": {name: _dependency(name, each, who) for name, each in found.dependencies.items()},
            "indexed_documents": None if tenant is None else tenant.count_in(who.vaults)[0],
            **({"canaries": runs} if runs else {}),
            "latency_ms": found.latency_ms,
        }
    )


def _dependency(name: str, found: DependencyHealth, who: Caller) -> dict[str, Any]:
    """A dependency; the detail of the index counts documents of all vaults, so a key limited to some gets no figure."""
    shown = asdict(found)
    if name == "index" and who.vaults and found.status != "healthy":
        shown["detail"] = "it is not whole"
    return shown
