"""`PUT`, `GET` and `DELETE /documents/{vault}/{path}`, its `retry`, `GET /documents` and `POST /uploads`."""

import re
import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BeforeValidator

from ragdrop.api.document_headers import (
    IdempotencyKey,
    IfMatch,
    IfNoneMatch,
    answered_once,
    etag_of,
    not_modified,
    object_metadata,
    precondition,
)
from ragdrop.api.document_shapes import (
    Accepted,
    DeleteReceipt,
    DocumentList,
    DocumentRecord,
    DocumentText,
    UploadForm,
    UploadRequest,
    accepted,
    delete_receipt,
    listed,
    purge_receipt,
    record_shape,
    upload_form,
)
from ragdrop.api.http import deadline_of
from ragdrop.documents.idempotency import WriteOnce
from ragdrop.documents.purge import PurgeDocuments
from ragdrop.documents.retry import RetryDocuments
from ragdrop.documents.service import DocumentService
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import ContentType, DetailFilters, Status, lowered
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.domain.times import rfc3339
from ragdrop.errors import ForbiddenError, InvalidParamsError

ATTRIBUTE = "attributes."
MAX_CONTENT_CHARACTERS = 1_000_000  # of four bytes each at most: under the 6 MB of a Lambda response
PATH = "/documents/{vault}/{path:path}"
_SPAN = re.compile(r"(\d{1,9})-(\d{1,9})")
Word = Annotated[str | None, Query(max_length=900)]
Flag = Annotated[int, Query(ge=0, le=1)]


async def raw_body(request: Request) -> bytes:
    """The request's body as it came."""
    return await request.body()


def documents_router(
    keep: Callable[[], DocumentService],
    retry: Callable[[], RetryDocuments],
    purge: Callable[[], PurgeDocuments],
    once: Callable[[], WriteOnce],
    reader: Callable[..., Caller],
    writer: Callable[..., Caller],
) -> APIRouter:
    """The routes over use cases that are made at the first request; *reader* and *writer* give callers of that role."""
    router = APIRouter(tags=["documents"])

    @router.get("/documents", response_model=DocumentList, summary="List documents")
    def list_documents(
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        vault: Annotated[str | None, Query(max_length=63)] = None,
        prefix: Annotated[str, Query(max_length=900)] = "",
        status: Status | None = None,
        content_type: Annotated[ContentType | None, BeforeValidator(lowered)] = None,
        category: Word = None,
        tag: Word = None,
        session_id: Word = None,
        outdated: Flag = 0,
        unused_days: Annotated[int | None, Query(ge=1, le=3_650)] = None,
        broken_links: Flag = 0,
        cursor: Annotated[str | None, Query(max_length=4_000)] = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ) -> DocumentList:
        """The tenant's documents by vault and path; without `status` all but the deleted.

        What only details hold (`content_type` to `session_id`, `attributes.NAME`, `outdated` to `broken_links`): a
        page then looks at up to 100 documents and may hold fewer, or none, while `cursor` goes on.
        """
        attributes = {name: value for name, value in request.query_params.items() if name.startswith(ATTRIBUTE)}
        known = {"vault", "prefix", "status", "cursor", "limit"}
        known |= {"content_type", "category", "tag", "session_id", "outdated", "unused_days", "broken_links"}
        _only(request, known | set(attributes))
        filters = DetailFilters(
            content_type,
            category,
            tag,
            session_id,
            {name.removeprefix(ATTRIBUTE): value for name, value in attributes.items()},
            outdated=bool(outdated),
            unused_since=None if unused_days is None else rfc3339(time.time() - unused_days * 86_400),
            broken_links=bool(broken_links),
        )
        page = keep().page(who, vault=vault, prefix=prefix, status=status, cursor=cursor, limit=limit, filters=filters)
        documents = [listed(head) for head in page.heads]
        return DocumentList(request_id=request.state.request_id, documents=documents, cursor=page.cursor)

    @router.put(PATH, response_model=Accepted, status_code=202, summary="Put a document")
    def put_document(
        request: Request,
        vault: str,
        path: str,
        body: Annotated[bytes, Depends(raw_body)],
        who: Annotated[Caller, Depends(writer)],
        response: Response,
        metadata: Annotated[str | None, Query(max_length=3_000)] = None,
        if_match: IfMatch = None,
        if_none_match: IfNoneMatch = None,
        idempotency_key: IdempotencyKey = None,
    ) -> Accepted:
        """Write a file of up to 4 MB into the bucket; it is indexed from there.

        `x-amz-meta-*` headers are kept, and what `metadata` says: a JSON object of what front matter may say.
        """
        _only(request, {"metadata"})
        key = DocumentKey.checked(who.tenant, vault, path)
        kept = object_metadata(request.headers, metadata)
        media_type = request.headers.get("content-type", "application/octet-stream")
        only_if = precondition(if_match, if_none_match)

        def write() -> Accepted:
            stored = keep().put(who, key, body, media_type=media_type, metadata=kept, only_if=only_if)
            response.headers["etag"] = f'"{stored.etag}"'
            return accepted(request, key, stored.version_id, Status.PENDING)

        return answered_once(once, request, response, who, idempotency_key, body, write, Accepted)

    @router.get(PATH, response_model=DocumentRecord | DocumentText, summary="Read a document's record or text")
    def get_document(
        request: Request,
        vault: str,
        path: str,
        who: Annotated[Caller, Depends(reader)],
        response: Response,
        version: Annotated[str | None, Query(max_length=1_024)] = None,
        content: Annotated[int, Query(ge=0, le=1, description="1: the parsed text instead of the record.")] = 0,
        span: Annotated[str | None, Query(pattern=_SPAN.pattern, max_length=20)] = None,
        if_none_match: IfNoneMatch = None,
    ) -> DocumentRecord | DocumentText | Response:
        """The record; with `content=1` or `span=start-end` the parsed text of the live revision.

        With `version` beside these that S3 version's text, for 30 days after it was replaced.
        """
        _only(request, {"version", "content", "span"})
        key = DocumentKey.checked(who.tenant, vault, path)
        if not content and span is None:
            record = record_shape(keep().record(who, key, version_id=version), request.state.request_id)
            return _unless_known(record, record.etag, response, if_none_match)
        start, end = map(int, span.split("-")) if span else (0, MAX_CONTENT_CHARACTERS)
        end = min(end, start + MAX_CONTENT_CHARACTERS)
        text = keep().text(who, key, start=start, end=end, version_id=version)
        shown = DocumentText(
            request_id=request.state.request_id,
            vault=vault,
            path=path,
            key=key.s3_key,
            start=start,
            end=start + len(text),
            text=text,
        )
        return _unless_known(shown, None, response, if_none_match)

    @router.delete(PATH, response_model=DeleteReceipt, summary="Delete a document")
    def delete_document(
        request: Request,
        vault: str,
        path: str,
        who: Annotated[Caller, Depends(writer)],
        deadline: Annotated[Deadline, Depends(deadline_of)],
        response: Response,
        purge_all: Annotated[int, Query(ge=0, le=1, alias="purge")] = 0,
        if_match: IfMatch = None,
        idempotency_key: IdempotencyKey = None,
    ) -> DeleteReceipt:
        """Delete the object; nothing of it is found from the moment that this answers.

        `purge=1` (admin) also removes all its versions and all that is kept of it: nothing can be restored.
        """
        _only(request, {"purge"})
        key = DocumentKey.checked(who.tenant, vault, path)
        if purge_all and who.role != "admin":
            raise ForbiddenError(f"a purge needs the role admin, the key has {who.role}", role=who.role, needed="admin")

        def remove() -> DeleteReceipt:
            keep().check(who, key, precondition(if_match, None))
            if purge_all:
                return purge_receipt(key, purge()(who, key, deadline), request.state.request_id)
            return delete_receipt(key, keep().delete(who, key), request.state.request_id, time.time())

        return answered_once(once, request, response, who, idempotency_key, b"", remove, DeleteReceipt)

    @router.post(f"{PATH}/retry", response_model=Accepted, status_code=202, summary="Try a document again")
    def retry_document(
        request: Request,
        response: Response,
        vault: str,
        path: str,
        who: Annotated[Caller, Depends(writer)],
        idempotency_key: IdempotencyKey = None,
    ) -> Accepted:
        """Let ingest look at a document again, one that failed above all."""
        _only(request, set())

        def again() -> Accepted:
            tried = retry()(who, DocumentKey.checked(who.tenant, vault, path))
            return accepted(request, tried.key, tried.version_id, tried.status)

        return answered_once(once, request, response, who, idempotency_key, b"", again, Accepted)

    @router.post("/uploads", response_model=UploadForm, status_code=201, summary="Ask for an upload form")
    def post_upload(body: UploadRequest, request: Request, who: Annotated[Caller, Depends(writer)]) -> UploadForm:
        """A form (presigned POST) by which a file of up to 50 MB goes straight into the bucket, for 15 minutes.

        Post it as `multipart/form-data`: its `fields` first, the file last, as `file`.
        """
        _only(request, set())
        key = DocumentKey.checked(who.tenant, body.vault, body.path)
        return upload_form(request, key, keep().upload_form(who, key, media_type=body.media_type), time.time())

    return router


def _unless_known(
    shown: DocumentRecord | DocumentText, object_etag: str | None, response: Response, if_none_match: str | None
) -> DocumentRecord | DocumentText | Response:
    """*shown* with its ETag, or 304 where the caller has it."""
    etag = etag_of(shown, object_etag)
    response.headers["etag"] = f'"{etag}"'
    return not_modified(etag, if_none_match) or shown


def _only(request: Request, known: set[str]) -> None:
    """Refuse query parameters that this route does not have."""
    for name in request.query_params:
        if name not in known:
            raise InvalidParamsError(
                f"{name[:80]}: is not a parameter of this request", field=name[:80], allowed=sorted(known)
            )
