"""Versions of documents, changes of vaults, rollback, and stages: changes that are tried before they are live."""

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, Field

from ragdrop.api.edge import Authenticate, RequestDeadline
from ragdrop.api.routes.document_headers import IfNoneMatch
from ragdrop.api.routes.document_routes import ReadParameters, read_document
from ragdrop.api.shapes.document_shapes import DocumentChunks, DocumentRecord, DocumentText
from ragdrop.api.shapes.history_shapes import (
    ChangesResponse,
    HistoryResponse,
    RollbackRequest,
    RollbackResponse,
    StageResponse,
    StagesResponse,
    change_shape,
    check_shapes,
    stage_shape,
    step_shape,
    version_shape,
)
from ragdrop.documents.service import DocumentService
from ragdrop.domain.history import moment_of_change
from ragdrop.domain.keys import DocumentKey, check_name
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError
from ragdrop.past.record import DocumentHistory, RollBack, WayBack
from ragdrop.past.stages import Stages

MAX_VERSIONS = 100
MAX_CHANGES = 1_000


class HistoryParameters(BaseModel):
    """Which versions, and what of them."""

    changes: Annotated[int, Field(ge=0, le=1, description="1: with the passages that each version changed.")] = 0
    cursor: Annotated[str | None, Field(max_length=100)] = None
    limit: Annotated[int, Field(ge=1, le=MAX_VERSIONS)] = 20


def history_router(
    history: Callable[[], DocumentHistory], keep: Callable[[], DocumentService], reader: Authenticate
) -> APIRouter:
    """The routes over use cases that are made at the first request; they go before those of documents."""
    router = APIRouter(tags=["history"])

    @router.get(
        "/documents/{vault}/{path:path}/history",
        response_model=HistoryResponse | DocumentRecord | DocumentText | DocumentChunks,
        response_model_exclude_unset=True,
        summary="Read a document's versions",
    )
    def get_history(
        vault: str,
        path: str,
        request: Request,
        response: Response,
        who: Annotated[Caller, Depends(reader)],
        asked: Annotated[HistoryParameters, Query()],
        if_none_match: IfNoneMatch = None,
    ) -> HistoryResponse | DocumentRecord | DocumentText | DocumentChunks | Response:
        """Every version of the last 30 days, and what is under way: when, by whom, and what it changed.

        Where there is a document whose own name is `history`, this is its record or text.
        """
        itself = DocumentKey.checked(who.tenant, vault, f"{path}/history")
        if keep().is_known(who, itself):
            read = ReadParameters.model_validate(dict(request.query_params))
            return read_document(keep(), who, itself, read, request, response, if_none_match)
        key = DocumentKey.checked(who.tenant, vault, path)
        found = history().versions(who, key, cursor=asked.cursor, limit=asked.limit, with_text=bool(asked.changes))
        return HistoryResponse(
            request_id=request.state.request_id,
            vault=key.vault,
            path=key.path,
            versions=[version_shape(each) for each in found.versions],
            cursor=found.cursor,
        )

    @router.get("/changes", summary="Read the changes of a vault")
    def get_changes(
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        vault: Annotated[str, Query(max_length=63)],
        since: Annotated[str | None, Query(max_length=60, description="RFC 3339.")] = None,
        cursor: Annotated[str | None, Query(max_length=100)] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_CHANGES)] = 100,
        order: Annotated[Literal["oldest", "newest"], Query(description="Which changes come first.")] = "oldest",
    ) -> ChangesResponse:
        """What went live, failed or was deleted; ask again with the `cursor` to follow the vault.

        With `order=newest` the `cursor` leads back in time, as far as `since`.
        """
        if cursor and moment_of_change(cursor) is None and not cursor.isdigit():
            raise InvalidParamsError("cursor: is not one that was given out", field="cursor", value=cursor[:80])
        name = check_name("vault", vault)
        newest = order == "newest"
        found = history().changes(who, name, since=since, cursor=cursor or None, limit=limit, newest_first=newest)
        return ChangesResponse(
            request_id=request.state.request_id,
            changes=[change_shape(each) for each in found.changes],
            cursor=found.cursor,
            more=found.more,
        )

    return router


def rollback_router(roll_back: Callable[[], RollBack], writer: Authenticate) -> APIRouter:
    """The route over a use case that is made at the first request."""
    router = APIRouter(tags=["history"])

    @router.post("/vaults/{vault}/rollback", summary="Take documents back")
    def post_rollback(
        vault: str,
        body: RollbackRequest,
        request: Request,
        who: Annotated[Caller, Depends(writer)],
        deadline: RequestDeadline,
    ) -> RollbackResponse:
        """Put the versions of a moment back as new versions, and delete what was not there.

        Up to 200 documents a call; the same call again does what is left.  Nothing is embedded again.
        """
        name = check_name("vault", vault)
        found = roll_back()(who, name, WayBack(**body.model_dump()), deadline)
        return RollbackResponse(
            request_id=request.state.request_id,
            vault=name,
            dry_run=body.dry_run,
            steps=[step_shape(each) for each in found.steps],
            total=found.documents,
            deletions=found.deletions,
            cursor=found.cursor,
        )

    return router


def stages_router(stages: Callable[[], Stages], reader: Authenticate, writer: Authenticate) -> APIRouter:
    """The routes over a use case that is made at the first request."""
    router = APIRouter(tags=["stages"])

    @router.get("/stages", summary="List the stages of a vault")
    def get_stages(
        request: Request, who: Annotated[Caller, Depends(reader)], vault: Annotated[str, Query(max_length=63)]
    ) -> StagesResponse:
        """What waits in each stage, and what is still being indexed for it."""
        found = stages().of(who, check_name("vault", vault))
        shown = [stage_shape(each) for each in found]
        return StagesResponse(request_id=request.state.request_id, stages=shown)

    @router.get("/stages/{vault}/{stage}/check", summary="Ask golden questions with a stage")
    def get_check(
        vault: str, stage: str, request: Request, who: Annotated[Caller, Depends(reader)], deadline: RequestDeadline
    ) -> StageResponse:
        """The golden questions of the vault's settings, each asked now and with the stage; nothing is promoted."""
        name = check_name("stage", stage)
        checks = stages().check(who, check_name("vault", vault), name, deadline)
        return StageResponse(
            request_id=request.state.request_id, vault=vault, name=name, total=0, checks=check_shapes(checks)
        )

    @router.post("/stages/{vault}/{stage}/promote", summary="Make a stage live")
    def post_promote(
        vault: str, stage: str, request: Request, who: Annotated[Caller, Depends(writer)], deadline: RequestDeadline
    ) -> StageResponse:
        """Let all that waits in a stage answer, from one moment on: no question sees half of it.

        Where the vault's settings have golden questions they must pass; else 409 says which do not.
        """
        name = check_name("stage", stage)
        done = stages().promote(who, check_name("vault", vault), name, deadline)
        checks = check_shapes(done.checks)
        return StageResponse(
            request_id=request.state.request_id, vault=vault, name=name, total=done.documents, checks=checks
        )

    @router.post("/stages/{vault}/{stage}/discard", summary="Discard a stage")
    def post_discard(
        vault: str, stage: str, request: Request, who: Annotated[Caller, Depends(writer)]
    ) -> StageResponse:
        """Remove the versions that wait in a stage from the bucket; what answers now stays."""
        name = check_name("stage", stage)
        total = stages().discard(who, check_name("vault", vault), name)
        return StageResponse(request_id=request.state.request_id, vault=vault, name=name, total=total)

    return router
