"""`GET /documents/{vault}/{path}/history` and `GET /changes`: the record of the past."""

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, Field

from ragdrop.api.document_headers import IfNoneMatch
from ragdrop.api.document_shapes import DocumentChunks, DocumentRecord, DocumentText
from ragdrop.api.documents import ReadParameters, read_document
from ragdrop.api.http import Authenticate
from ragdrop.documents.service import DocumentService
from ragdrop.domain.history import LiveChange, moment_of_change
from ragdrop.domain.keys import DocumentKey, check_name
from ragdrop.domain.tenants import Caller
from ragdrop.domain.times import rfc3339
from ragdrop.errors import InvalidParamsError
from ragdrop.past.record import DocumentHistory, DocumentVersion, VersionStatus

MAX_VERSIONS = 100
MAX_CHANGES = 1_000


class HistoryParameters(BaseModel):
    """Which versions, and what of them."""

    changes: Annotated[int, Field(ge=0, le=1, description="1: with the passages that each version changed.")] = 0
    cursor: Annotated[str | None, Field(max_length=100)] = None
    limit: Annotated[int, Field(ge=1, le=MAX_VERSIONS)] = 20


class VersionShape(BaseModel):
    """One version of a document, or its deletion."""

    version_id: str | None = Field(description="The S3 version; null of a deletion.")
    modified_at: str = Field(description="When it began to answer, failed, or was deleted.")
    size_bytes: int | None
    status: VersionStatus = Field(description="`live`, `replaced`, `pending`, `failed` or `deleted`.")
    revision: int | None
    written_by: str | None = Field(description="The label or id of the key that wrote it; null where nobody knows.")
    change_id: str | None = Field(description="What `ragdrop rollback --to` and the cursor of a feed take.")
    added: list[str] | None = Field(default=None, description="Passages that it brought; with `changes=1`.")
    removed: list[str] | None = Field(default=None, description="Passages that went with it; with `changes=1`.")
    cut: bool | None = Field(default=None, description="Whether there are more, or longer ones; with `changes=1`.")


class HistoryResponse(BaseModel):
    """Versions of a document, the newest first; `cursor` asks for those before, null ends."""

    request_id: str
    vault: str
    path: str
    versions: list[VersionShape]
    cursor: str | None


class ChangeShape(BaseModel):
    """What happened to one document."""

    id: str
    at: str
    vault: str
    path: str
    kind: Literal["activated", "failed", "deleted"] = Field(description="It went live, failed, or was deleted.")
    revision: int
    live_revision: int | None = Field(description="The revision that answers from then on.")
    version_id: str | None
    previous_version_id: str | None = Field(description="The S3 version that answered until then.")
    size_bytes: int | None
    written_by: str | None = Field(description="The label or id of the key that did it; null where nobody knows.")


class ChangesResponse(BaseModel):
    """Changes of a vault in the order asked for; `cursor` asks for those behind it, `more` if there are some now."""

    request_id: str
    changes: list[ChangeShape]
    cursor: str
    more: bool


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
            versions=[_version(each) for each in found.versions],
            cursor=found.cursor,
        )

    @router.get("/changes", response_model=ChangesResponse, summary="Read the changes of a vault")
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
            changes=[_change(each) for each in found.changes],
            cursor=found.cursor,
            more=found.more,
        )

    return router


def _version(found: DocumentVersion) -> VersionShape:
    told = {}
    if found.text is not None:
        told = {"added": list(found.text.added), "removed": list(found.text.removed), "cut": found.text.cut}
    return VersionShape(
        version_id=found.version_id,
        modified_at=rfc3339(found.at_ms / 1_000, precision="milliseconds"),
        size_bytes=found.size_bytes,
        status=found.status,
        revision=found.revision,
        written_by=found.written_by,
        change_id=found.change_id,
        **told,
    )


def _change(found: LiveChange) -> ChangeShape:
    return ChangeShape(
        id=found.id,
        at=found.at,
        vault=found.key.vault,
        path=found.key.path,
        kind=found.kind,
        revision=found.revision,
        live_revision=found.after,
        version_id=found.version_id,
        previous_version_id=found.before_version_id,
        size_bytes=found.size_bytes,
        written_by=found.written_by,
    )
