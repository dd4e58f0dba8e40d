"""`PUT`, `GET` and `DELETE /documents/{vault}/{path}`, its `retry`, `GET /documents` and `POST /uploads`."""

import mimetypes
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, Field

from ragdrop.api.edge import Authenticate, RequestDeadline
from ragdrop.api.routes.document_headers import (
    DocumentWrite,
    IdempotencyKey,
    IfMatch,
    IfNoneMatch,
    etag_of,
    not_modified,
    object_metadata,
    precondition,
)
from ragdrop.api.shapes.document_shapes import (
    Accepted,
    DeleteReceipt,
    DocumentChunks,
    DocumentList,
    DocumentRecord,
    DocumentTables,
    DocumentText,
    OriginalLink,
    OriginalPageShape,
    UploadForm,
    UploadRequest,
    accepted,
    chunks_shape,
    delete_receipt,
    listed,
    original_link,
    original_page,
    purge_receipt,
    record_shape,
    tables_shape,
    text_shape,
    upload_form,
)
from ragdrop.documents.originals import LINK_S, ReadOriginals
from ragdrop.documents.purge import PurgeDocuments
from ragdrop.documents.service import FORM_EXPIRES_S, DocumentService, RetryDocuments, WriteOnce
from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.documents import ContentType, DetailFilters, Page, Status, in_lower_case
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.errors import ForbiddenError, InvalidParamsError, did_you_mean
from ragdrop.ingest.index_revision import MAX_OBJECT_BYTES
from ragdrop.past.record import DocumentHistory

ATTRIBUTE = "attributes."
FORM = "application/x-www-form-urlencoded"
MAX_CONTENT_CHARACTERS = 1_000_000  # of four bytes each at most: under the 6 MB of a Lambda response
PATH = "/documents/{vault}/{path:path}"
_SPAN = r"^[0-9]{1,9}-[0-9]{1,9}$"
Word = Annotated[str | None, Field(max_length=900)]
Version = Annotated[str | None, Query(max_length=1_024)]
Flag = Annotated[int, Field(ge=0, le=1)]
Shown = DocumentRecord | DocumentText | DocumentChunks


async def raw_body(request: Request) -> bytes:
    """The request's body as it came."""
    return await request.body()


class ListParameters(BaseModel):
    """Which documents a list is to have."""

    vault: Annotated[str | None, Field(max_length=63)] = None
    prefix: Annotated[str, Field(max_length=900)] = ""
    status: Status | None = None
    content_type: Annotated[ContentType | None, BeforeValidator(in_lower_case)] = None
    category: Word = None
    tag: Word = None
    session_id: Word = None
    outdated: Flag = 0
    unused_days: Annotated[int | None, Field(ge=1, le=3_650)] = None
    broken_links: Flag = 0
    links_to: Annotated[str | None, Field(max_length=1_000, description="`vault/path` of a document.")] = None
    as_groups: Annotated[
        str | None,
        Field(max_length=8_000, description="Role admin: what a reader of these groups would see; commas between."),
    ] = None
    as_of: Annotated[
        str | None, Field(max_length=60, description="RFC 3339: what answered then; with `vault` and `prefix` alone.")
    ] = None
    cursor: Annotated[str | None, Field(max_length=4_000)] = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100

    def filters(self, tenant: str, attributes: Mapping[str, str]) -> DetailFilters:
        """What only details hold. Raises InvalidParamsError: `links_to` is no `vault/path`."""
        vault, _, path = (self.links_to or "").partition("/")
        unused_s = None if self.unused_days is None else time.time() - self.unused_days * 86_400
        return DetailFilters(
            self.content_type,
            self.category,
            self.tag,
            self.session_id,
            attributes,
            outdated=bool(self.outdated),
            unused_since=None if unused_s is None else rfc3339(unused_s),
            broken_links=bool(self.broken_links),
            links_to=None if self.links_to is None else DocumentKey.checked(tenant, vault, path),
        )


class ReadParameters(BaseModel):
    """What of a document is to be read."""

    version: Annotated[str | None, Field(max_length=1_024)] = None
    content: Annotated[int, Field(ge=0, le=1, description="1: the parsed text instead of the record.")] = 0
    chunks: Annotated[int, Field(ge=0, le=1, description="1: where the chunks of the live revision are.")] = 0
    span: Annotated[str | None, Field(pattern=_SPAN, max_length=20)] = None

    @property
    def wants_text(self) -> bool:
        """Whether the text is requested, not the record."""
        return bool(self.content) or self.span is not None

    @property
    def bounds(self) -> tuple[int, int]:
        """Start and end of the requested text, in code points."""
        start, end = map(int, self.span.split("-")) if self.span else (0, MAX_CONTENT_CHARACTERS)
        return start, min(end, start + MAX_CONTENT_CHARACTERS)


def documents_router(
    keep: Callable[[], DocumentService],
    originals: Callable[[], ReadOriginals],
    retry: Callable[[], RetryDocuments],
    purge: Callable[[], PurgeDocuments],
    once: Callable[[], WriteOnce],
    history: Callable[[], DocumentHistory],
    reader: Authenticate,
    writer: Authenticate,
) -> APIRouter:
    """The routes over use cases that are made at the first request; *reader* and *writer* give callers of that role."""
    router = APIRouter(tags=["documents"])

    async def write_of(
        request: Request,
        response: Response,
        who: Annotated[Caller, Depends(writer)],
        idempotency_key: IdempotencyKey = None,
    ) -> DocumentWrite:
        return DocumentWrite(request, response, who, once, idempotency_key)

    _add_originals(router, keep, originals, reader)
    _add_reading(router, keep, history, reader)
    _add_writing(router, keep, retry, writer, write_of)
    _add_deleting(router, keep, purge, write_of)
    return router


def _add_originals(
    router: APIRouter, keep: Callable[[], DocumentService], originals: Callable[[], ReadOriginals], reader: Authenticate
) -> None:
    @router.get(f"{PATH}/original/pages/{{number}}", summary="Read a page of a PDF as it looks")
    def get_original_page(
        request: Request,
        vault: str,
        path: str,
        number: int,
        who: Annotated[Caller, Depends(reader)],
        version: Version = None,
        span: Annotated[str | None, Query(pattern=_SPAN, max_length=20)] = None,
    ) -> OriginalPageShape:
        """A page of the live version, or of `version`, as a picture; the words of `span` have marks on it.

        `span` counts code points of the parsed text, as citations do.
        """
        _only(request, {"version", "span"})
        key = DocumentKey.checked(who.tenant, vault, path)
        first, last = map(int, span.split("-")) if span else (0, 0)
        page = originals().page(who, key, number, version_id=version, span=(first, last))
        return original_page(key, page, request.state.request_id)

    @router.get(f"{PATH}/original", summary="Ask for a link to a document's file")
    def get_original(
        request: Request, vault: str, path: str, who: Annotated[Caller, Depends(reader)], version: Version = None
    ) -> OriginalLink:
        """A presigned link to the file of the live version, or of `version`, which works for a minute.

        What a browser may show is served as that; all else is a download.
        """
        _only(request, {"version"})
        key = DocumentKey.checked(who.tenant, vault, path)
        link = originals().link(who, key, version_id=version)
        return original_link(key, link, time.time() + LINK_S, request.state.request_id)

    @router.get(f"{PATH}/tables", summary="Read a document's tables, or ask them")
    def get_tables(
        request: Request,
        vault: str,
        path: str,
        who: Annotated[Caller, Depends(reader)],
        query: Annotated[str | None, Query(min_length=1, max_length=1_000, description="What they are asked.")] = None,
        table: Annotated[str | None, Query(alias="range", max_length=300, description="The table of `rows`.")] = None,
        rows: Annotated[str, Query(pattern=_SPAN, max_length=20, description="Numbers of rows.")] = "0-200",
    ) -> DocumentTables:
        """The tables of the live revision as typed columns; with `query` what they answer, by their cells alone.

        With `range` the cells of that table's `rows`, by their numbers in the sheet; at most 5,000 cells.
        """
        from ragdrop.tables.answer_tables import answer_from_tables  # no other route needs it

        _only(request, {"query", "range", "rows"})
        key = DocumentKey.checked(who.tenant, vault, path)
        tables = keep().tables(who, key)
        given = answer_from_tables(query, tables, datetime.now(UTC).date()) if query else None
        shown = None if table is None else originals().rows(who, key, table, *map(int, rows.split("-")))
        return tables_shape(key, tables, request.state.request_id, given, is_asked=query is not None, rows=shown)


def _add_reading(
    router: APIRouter, keep: Callable[[], DocumentService], history: Callable[[], DocumentHistory], reader: Authenticate
) -> None:
    @router.get("/documents", summary="List documents")
    def list_documents(
        request: Request, who: Annotated[Caller, Depends(reader)], asked: Annotated[ListParameters, Query()]
    ) -> DocumentList:
        """The tenant's documents by vault and path; without `status` all but the deleted.

        What only details hold (`content_type` to `session_id`, `attributes.NAME`, `outdated` to `broken_links`): a
        page then looks at up to 100 documents and may hold fewer, or none, while `cursor` continues.  With `as_of`
        those that answered at that moment of the last 30 days, as they were then and without settings files.
        """
        given = {name: value for name, value in request.query_params.items() if name.startswith(ATTRIBUTE)}
        _only(request, {*ListParameters.model_fields, *given})
        attributes = {name.removeprefix(ATTRIBUTE): value for name, value in given.items()}
        if asked.as_of is not None:
            _only(request, {"as_of", "vault", "prefix", "cursor", "limit"})
            page = history().documents(
                who, asked.as_of, vault=asked.vault, prefix=asked.prefix, cursor=asked.cursor, limit=asked.limit
            )
            return _page_shape(page, request.state.request_id)
        return list_of(keep(), who, asked, attributes, request.state.request_id)

    @router.get(
        PATH,
        response_model=DocumentRecord | DocumentText | DocumentChunks,
        summary="Read a document's record, text or chunks",
    )
    def get_document(
        request: Request,
        vault: str,
        path: str,
        who: Annotated[Caller, Depends(reader)],
        response: Response,
        asked: Annotated[ReadParameters, Query()],
        if_none_match: IfNoneMatch = None,
    ) -> DocumentRecord | DocumentText | DocumentChunks | Response:
        """The record; with `content=1` or `span=start-end` the parsed text of the live revision.

        With `version` beside these that S3 version's text, for 30 days after it was replaced.  With `chunks=1` the
        places of the live revision's chunks, of those in `span` if it is given.
        """
        _only(request, set(ReadParameters.model_fields))
        key = DocumentKey.checked(who.tenant, vault, path)
        return read_document(keep(), who, key, asked, request, response, if_none_match)


def _add_writing(
    router: APIRouter,
    keep: Callable[[], DocumentService],
    retry: Callable[[], RetryDocuments],
    writer: Authenticate,
    write_of: Callable[..., Awaitable[DocumentWrite]],
) -> None:
    @router.put(PATH, status_code=202, summary="Put a document")
    def put_document(
        vault: str,
        path: str,
        body: Annotated[bytes, Depends(raw_body)],
        write: Annotated[DocumentWrite, Depends(write_of)],
        metadata: Annotated[str | None, Query(max_length=3_000)] = None,
        if_match: IfMatch = None,
        if_none_match: IfNoneMatch = None,
    ) -> Accepted:
        """Write a file of up to 4 MB into the bucket; it is indexed from there.

        `x-amz-meta-*` headers are stored, and what `metadata` says: a JSON object of what front matter may say.
        """
        request = write.request
        _only(request, {"metadata"})
        key = DocumentKey.checked(write.who.tenant, vault, path)
        stated = object_metadata(request.headers, metadata)
        media_type = media_type_of(request.headers.get("content-type"), path)
        only_if = precondition(if_match, if_none_match)

        def put() -> Accepted:
            stored = keep().put(write.who, key, body, media_type=media_type, metadata=stated, only_if=only_if)
            write.response.headers["etag"] = f'"{stored.etag}"'
            return accepted(request, key, stored.version_id, Status.PENDING)

        return write.once(put, Accepted, body)

    @router.post(f"{PATH}/retry", status_code=202, summary="Try a document again")
    def retry_document(vault: str, path: str, write: Annotated[DocumentWrite, Depends(write_of)]) -> Accepted:
        """Let ingest look at a document again, one that failed above all."""
        _only(write.request, set())

        def again() -> Accepted:
            tried = retry()(write.who, DocumentKey.checked(write.who.tenant, vault, path))
            return accepted(write.request, tried.key, tried.version_id, tried.status)

        return write.once(again, Accepted)

    @router.post("/uploads", status_code=201, summary="Ask for an upload form")
    def post_upload(body: UploadRequest, request: Request, who: Annotated[Caller, Depends(writer)]) -> UploadForm:
        """A form (presigned POST) by which a file of up to 50 MB goes straight into the bucket, for 15 minutes.

        Post it as `multipart/form-data`: its `fields` first, the file last, as `file`.
        """
        _only(request, set())
        key = DocumentKey.checked(who.tenant, body.vault, body.path)
        form = keep().upload_form(who, key, media_type=body.media_type, stage=body.stage)
        return upload_form(request, key, form, MAX_OBJECT_BYTES, time.time() + FORM_EXPIRES_S)


def _add_deleting(
    router: APIRouter,
    keep: Callable[[], DocumentService],
    purge: Callable[[], PurgeDocuments],
    write_of: Callable[..., Awaitable[DocumentWrite]],
) -> None:
    @router.delete(PATH, summary="Delete a document")
    def delete_document(
        vault: str,
        path: str,
        write: Annotated[DocumentWrite, Depends(write_of)],
        deadline: RequestDeadline,
        purge_all: Annotated[int, Query(ge=0, le=1, alias="purge")] = 0,
        if_match: IfMatch = None,
    ) -> DeleteReceipt:
        """Delete the object; nothing of it is found from the moment that this answers.

        `purge=1` (admin) also removes all its versions and all that is stored of it: nothing can be restored.
        """
        who, request_id = write.who, write.request.state.request_id
        _only(write.request, {"purge"})
        key = DocumentKey.checked(who.tenant, vault, path)
        if purge_all and who.role != "admin":
            raise ForbiddenError(f"a purge needs the role admin, the key has {who.role}", role=who.role, needed="admin")

        def remove() -> DeleteReceipt:
            keep().check(who, key, precondition(if_match, None))
            if purge_all:
                return purge_receipt(key, purge()(who, key, deadline), request_id)
            return delete_receipt(key, keep().delete(who, key), request_id, time.time())

        return write.once(remove, DeleteReceipt)


def read_document(
    keep: DocumentService,
    who: Caller,
    key: DocumentKey,
    asked: ReadParameters,
    request: Request,
    response: Response,
    if_none_match: str | None,
) -> DocumentRecord | DocumentText | DocumentChunks | Response:
    """The record of a document, or of its text what *asked* names; 304 where the caller has it."""
    request_id = request.state.request_id
    if asked.chunks:
        start, end = asked.bounds if asked.span else (0, None)
        shown = chunks_shape(key, keep.chunks(who, key, start=start, end=end), request_id)
        return _unless_known(shown, None, response, if_none_match)
    if asked.wants_text:
        return _unless_known(text_of(keep, who, key, asked, request_id), None, response, if_none_match)
    record = record_shape(keep.record(who, key, version_id=asked.version), request_id)
    return _unless_known(record, record.etag, response, if_none_match)


def list_of(
    keep: DocumentService, who: Caller, asked: ListParameters, attributes: Mapping[str, str], request_id: str
) -> DocumentList:
    """One page of the documents that *asked* and *attributes* select."""
    page = keep.page(
        who,
        vault=asked.vault,
        prefix=asked.prefix,
        status=asked.status,
        cursor=asked.cursor,
        limit=asked.limit,
        filters=asked.filters(who.tenant, attributes),
        groups=None if asked.as_groups is None else asked.as_groups.replace(",", " ").split(),
    )
    return _page_shape(page, request_id)


def _page_shape(page: Page, request_id: str) -> DocumentList:
    return DocumentList(request_id=request_id, documents=[listed(head) for head in page.heads], cursor=page.cursor)


def text_of(
    keep: DocumentService, who: Caller, key: DocumentKey, asked: ReadParameters, request_id: str
) -> DocumentText:
    """The parsed text of a document, or the part that *asked* names."""
    start, end = asked.bounds
    return text_shape(key, start, keep.text(who, key, start=start, end=end, version_id=asked.version), request_id)


def _unless_known(
    shown: Shown, object_etag: str | None, response: Response, if_none_match: str | None
) -> Shown | Response:
    """*shown* with its ETag, or 304 where the caller has it."""
    etag = etag_of(shown, object_etag)
    response.headers["etag"] = f'"{etag}"'
    return not_modified(etag, if_none_match) or shown


def media_type_of(header: str | None, path: str) -> str:
    """The media type of a body: as its header says, else by the name; ingest looks at the bytes of what has neither.

    curl names every body a form where it is given no type, and no document is one.

    >>> media_type_of("text/plain", "a.md"), media_type_of(None, "a.md"), media_type_of(FORM, "a")
    ('text/plain', 'text/markdown', 'application/octet-stream')
    """
    given = (header or "").strip()
    if given and given.partition(";")[0].lower() != FORM:
        return given
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _only(request: Request, known: set[str]) -> None:
    """Refuse query parameters that this route does not have."""
    for name in request.query_params:
        if name not in known:
            raise InvalidParamsError(
                f"{name[:80]}: is not a parameter of this request{did_you_mean(name[:80], known)}",
                field=name[:80],
                allowed=sorted(known),
            )
