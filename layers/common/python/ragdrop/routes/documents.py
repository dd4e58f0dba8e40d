"""`PUT`, `GET` and `DELETE /documents/{vault}/{path}`, and `GET /documents`."""

import re
import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from ragdrop.domain.documents import Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError
from ragdrop.routes.document_shapes import (
    Accepted,
    DeleteReceipt,
    DocumentList,
    DocumentRecord,
    DocumentText,
    delete_receipt,
    listed,
    record_shape,
    status_path,
)
from ragdrop.usecases.keep_documents import KeepDocuments

METADATA_HEADER = "x-amz-meta-"
MAX_CONTENT_CHARACTERS = 1_000_000  # of four bytes each at most: under the 6 MB of a Lambda response
PATH = "/documents/{vault}/{path:path}"
_SPAN = re.compile(r"(\d{1,9})-(\d{1,9})")


async def raw_body(request: Request) -> bytes:
    """The request's body as it came."""
    return await request.body()


def documents_router(
    keep: Callable[[], KeepDocuments], reader: Callable[..., Caller], writer: Callable[..., Caller]
) -> APIRouter:
    """The routes over *keep*, which is called at the first request; *reader* and *writer* give callers of that role."""
    router = APIRouter(tags=["documents"])

    @router.get("/documents", response_model=DocumentList, summary="List documents")
    def list_documents(
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        vault: Annotated[str | None, Query(max_length=63)] = None,
        prefix: Annotated[str, Query(max_length=900)] = "",
        status: Status | None = None,
        cursor: Annotated[str | None, Query(max_length=4_000)] = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ) -> DocumentList:
        """The tenant's documents by vault and path; without `status` all but the deleted."""
        _only(request, {"vault", "prefix", "status", "cursor", "limit"})
        page = keep().page(who, vault=vault, prefix=prefix, status=status, cursor=cursor, limit=limit)
        documents = [listed(head) for head in page.heads]
        return DocumentList(request_id=request.state.request_id, documents=documents, cursor=page.cursor)

    @router.put(PATH, response_model=Accepted, status_code=202, summary="Put a document")
    def put_document(
        request: Request,
        vault: str,
        path: str,
        body: Annotated[bytes, Depends(raw_body)],
        who: Annotated[Caller, Depends(writer)],
    ) -> Accepted:
        """Write a file of up to 4 MB into the bucket; it is indexed from there.  `x-amz-meta-*` headers are kept."""
        _only(request, set())
        key = DocumentKey.checked(who.tenant, vault, path)
        metadata = {
            name.removeprefix(METADATA_HEADER): value
            for name, value in request.headers.items()
            if name.startswith(METADATA_HEADER)
        }
        media_type = request.headers.get("content-type", "application/octet-stream")
        stored = keep().put(who, key, body, media_type=media_type, metadata=metadata)
        url = f"{str(request.base_url).rstrip('/')}{status_path(key, stored.version_id)}"
        return Accepted(
            request_id=request.state.request_id,
            vault=vault,
            path=path,
            key=key.s3_key,
            version_id=stored.version_id,
            status=Status.PENDING,
            status_url=url,
        )

    @router.get(PATH, response_model=DocumentRecord | DocumentText, summary="Read a document's record or text")
    def get_document(
        request: Request,
        vault: str,
        path: str,
        who: Annotated[Caller, Depends(reader)],
        version: Annotated[str | None, Query(max_length=1_024)] = None,
        content: Annotated[int, Query(ge=0, le=1)] = 0,
        span: Annotated[str | None, Query(pattern=_SPAN.pattern, max_length=20)] = None,
    ) -> DocumentRecord | DocumentText:
        """The record; with `content=1` or `span=start-end` the parsed text of the live revision."""
        _only(request, {"version", "content", "span"})
        key = DocumentKey.checked(who.tenant, vault, path)
        if not content and span is None:
            return record_shape(keep().record(who, key, version_id=version), request.state.request_id)
        start, end = map(int, span.split("-")) if span else (0, MAX_CONTENT_CHARACTERS)
        text = keep().text(who, key, start=start, end=min(end, start + MAX_CONTENT_CHARACTERS))
        return DocumentText(
            request_id=request.state.request_id,
            vault=vault,
            path=path,
            key=key.s3_key,
            start=start,
            end=start + len(text),
            text=text,
        )

    @router.delete(PATH, response_model=DeleteReceipt, summary="Delete a document")
    def delete_document(
        request: Request, vault: str, path: str, who: Annotated[Caller, Depends(writer)]
    ) -> DeleteReceipt:
        """Delete the object; nothing of it is found from the moment that this answers."""
        _only(request, set())
        head = keep().delete(who, DocumentKey.checked(who.tenant, vault, path))
        return delete_receipt(head, request.state.request_id, time.time())

    return router


def _only(request: Request, known: set[str]) -> None:
    """Refuse query parameters that this route does not have."""
    for name in request.query_params:
        if name not in known:
            raise InvalidParamsError(
                f"{name[:80]}: is not a parameter of this request", field=name[:80], allowed=sorted(known)
            )
