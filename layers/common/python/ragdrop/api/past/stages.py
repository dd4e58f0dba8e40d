"""`GET /stages`, and `check`, `promote` and `discard` of one: changes that are tried before they are live."""

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field

from ragdrop.api.http import Authenticate, RequestDeadline
from ragdrop.domain.keys import check_name
from ragdrop.domain.tenants import Caller
from ragdrop.past.stages import GoldenResult, Stages

SHOWN = 1_000


class StageShape(BaseModel):
    """A stage of a vault."""

    vault: str
    name: str = Field(description="Its name; `waiting` is that of files without one.")
    waiting: list[str] = Field(description="Paths of the documents that wait in it, at most 1,000.")
    total: int = Field(description="How many documents wait in it.")
    pending: int = Field(description="Documents that are still being indexed for it.")
    promoted: bool = Field(description="Whether it counts for every search already.")


class StagesResponse(BaseModel):
    """The stages of a vault, by name."""

    request_id: str
    stages: list[StageShape]


class CheckShape(BaseModel):
    """A golden question: whether what it expects is among the first three documents, now and with the stage."""

    question: str
    expected: str = Field(description="The document or the text that it expects.")
    live: bool = Field(description="Whether it is answered now.")
    staged: bool = Field(description="Whether it is answered with the stage.")


class StageResponse(BaseModel):
    """What was done to a stage."""

    request_id: str
    vault: str
    name: str
    total: int = Field(description="Documents that went live, or were discarded.")
    checks: list[CheckShape] = Field(default=[], description="The golden questions that were asked.")


def stages_router(stages: Callable[[], Stages], reader: Authenticate, writer: Authenticate) -> APIRouter:
    """The routes over a use case that is made at the first request."""
    router = APIRouter(tags=["stages"])

    @router.get("/stages", response_model=StagesResponse, summary="List the stages of a vault")
    def get_stages(
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        vault: Annotated[str, Query(max_length=63)],
    ) -> StagesResponse:
        """What waits in each stage, and what is still being indexed for it."""
        found = stages().of(who, check_name("vault", vault))
        shown = [
            StageShape(
                vault=each.vault,
                name=each.name,
                waiting=[key.path for key in each.waiting[:SHOWN]],
                total=len(each.waiting),
                pending=each.pending,
                promoted=each.promoted,
            )
            for each in found
        ]
        return StagesResponse(request_id=request.state.request_id, stages=shown)

    @router.get(
        "/stages/{vault}/{stage}/check", response_model=StageResponse, summary="Ask golden questions with a stage"
    )
    def get_check(
        vault: str,
        stage: str,
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        deadline: RequestDeadline,
    ) -> StageResponse:
        """The golden questions of the vault's settings, each asked now and with the stage; nothing is promoted."""
        name = check_name("stage", stage)
        checks = stages().check(who, check_name("vault", vault), name, deadline)
        return StageResponse(
            request_id=request.state.request_id, vault=vault, name=name, total=0, checks=_shown(checks)
        )

    @router.post("/stages/{vault}/{stage}/promote", response_model=StageResponse, summary="Make a stage live")
    def post_promote(
        vault: str,
        stage: str,
        request: Request,
        who: Annotated[Caller, Depends(writer)],
        deadline: RequestDeadline,
    ) -> StageResponse:
        """Let all that waits in a stage answer, from one moment on: no question sees half of it.

        Where the vault's settings have golden questions they must pass; else 409 says which do not.
        """
        name = check_name("stage", stage)
        done = stages().promote(who, check_name("vault", vault), name, deadline)
        checks = _shown(done.checks)
        return StageResponse(
            request_id=request.state.request_id, vault=vault, name=name, total=done.documents, checks=checks
        )

    @router.post("/stages/{vault}/{stage}/discard", response_model=StageResponse, summary="Discard a stage")
    def post_discard(
        vault: str, stage: str, request: Request, who: Annotated[Caller, Depends(writer)]
    ) -> StageResponse:
        """Remove the versions that wait in a stage from the bucket; what answers now stays."""
        name = check_name("stage", stage)
        total = stages().discard(who, check_name("vault", vault), name)
        return StageResponse(request_id=request.state.request_id, vault=vault, name=name, total=total)

    return router


def _shown(checks: Sequence[GoldenResult]) -> list[CheckShape]:
    return [
        CheckShape(question=each.question, expected=each.expected, live=each.live, staged=each.staged)
        for each in checks
    ]
