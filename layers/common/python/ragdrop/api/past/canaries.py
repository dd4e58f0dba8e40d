"""`GET /canaries` and `POST /canaries/{vault}`: golden questions of vaults, as they were asked last, and asked now."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from ragdrop.api.http import Authenticate, RequestDeadline
from ragdrop.domain.golden import CanaryRun
from ragdrop.domain.keys import check_name
from ragdrop.domain.tenants import Caller
from ragdrop.domain.times import rfc3339
from ragdrop.operate.canaries import Canaries


class CanaryShape(BaseModel):
    """The golden questions of a vault, as they were asked last."""

    vault: str
    questions: int = Field(description="Golden questions that were asked; 0 before the first run.")
    answered: int = Field(description="Golden questions that are answered.")
    dropped: list[str] = Field(description="Golden questions that are not answered and once were.")
    measured_at: str | None = Field(description="When all of them could be asked last.")
    not_measured: str | None = Field(description="The code of what kept the last run from asking all, else null.")


class OutcomeShape(BaseModel):
    """A golden question of a run, shortened to 200 characters."""

    question: str
    expected: str = Field(description="The document or the text that it expects.")
    answered: bool | None = Field(description="Whether it is answered; null while it could not be asked.")
    dropped: bool = Field(description="Whether it is not answered and once was.")


class RunShape(CanaryShape):
    """A run of a vault's golden questions."""

    outcomes: list[OutcomeShape] = Field(description="Each golden question.")


class RunResponse(RunShape):
    """The run that was asked for."""

    request_id: str


class CanariesResponse(BaseModel):
    """The last run of each vault that has golden questions."""

    request_id: str
    canaries: list[RunShape]


def canaries_router(canaries: Callable[[], Canaries], reader: Authenticate, writer: Authenticate) -> APIRouter:
    """The routes over a use case that is made at the first request."""
    router = APIRouter(tags=["operations"])

    @router.get("/canaries", response_model=CanariesResponse, summary="Read how golden questions are answered")
    def get_canaries(request: Request, who: Annotated[Caller, Depends(reader)]) -> CanariesResponse:
        """The last run of each vault with golden questions that the key may see; nothing is asked."""
        runs = [RunShape(**run_fields(run)) for run in canaries().last(who)]
        return CanariesResponse(request_id=request.state.request_id, canaries=runs)

    @router.post("/canaries/{vault}", response_model=RunResponse, summary="Ask the golden questions of a vault")
    def post_canaries(
        vault: str,
        request: Request,
        who: Annotated[Caller, Depends(writer)],
        deadline: RequestDeadline,
    ) -> RunResponse:
        """Ask the golden questions of the vault's settings now, and compare with the run before."""
        run = canaries().run(who, check_name("vault", vault), deadline)
        return RunResponse(request_id=request.state.request_id, **run_fields(run))

    return router


def canary_shapes(runs: Sequence[CanaryRun]) -> list[CanaryShape]:
    """The runs of a tenant in short."""
    return [CanaryShape(**run_fields(run)) for run in runs]


def run_fields(run: CanaryRun) -> dict[str, object]:
    """A run by the names of the API."""
    return {
        "vault": run.vault,
        "questions": len(run.outcomes),
        "answered": run.answered,
        "dropped": [each.question for each in run.dropped],
        "measured_at": None if run.measured_at_s is None else rfc3339(run.measured_at_s),
        "not_measured": run.not_measured,
        "outcomes": [asdict(each) for each in run.outcomes],
    }
