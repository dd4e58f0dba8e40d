"""What the document routes take and reply (docs/api.md, "Documents")."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from ragdrop.api.shapes.answer_shapes import TableProofShape
from ragdrop.api.shapes.fields import (
    At,
    CharCount,
    ChunkIndex,
    Cursor,
    HeadingPath,
    Keyed,
    Page,
    Replied,
    SizeBytes,
    Spanned,
    Summary,
    Text,
    VersionId,
    VersionIdOrNull,
    Warnings,
    base_of,
    placed,
    shaped,
)
from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.documents import ContentType, Head, PromotionLevel, Status
from ragdrop.domain.keys import NAME_PATTERN, DocumentKey
from ragdrop.tables.cell_values import ColumnKind

if TYPE_CHECKING:
    from starlette.requests import Request

    from ragdrop.documents.originals import FileLink, OriginalPage, TableRow
    from ragdrop.documents.purge import Purged
    from ragdrop.documents.service import KnownDocument, LiveChunks
    from ragdrop.ports.object_store import PresignedForm
    from ragdrop.tables.answer_tables import TableAnswer
    from ragdrop.tables.typed import TypedTable

RETENTION = timedelta(days=30)  # the bucket keeps noncurrent versions this long: RetentionDays of the template

DocumentStatus = Annotated[Status, Field(description="`pending`, `staged`, `indexed`, `failed` or `deleted`.")]


class Accepted(Keyed, Replied):
    """A new version is in the bucket; `status_url` says `pending` until it is indexed."""

    version_id: VersionId
    status: DocumentStatus
    status_url: str = Field(description="Where the status of this version can be read.")


class UploadRequest(BaseModel):
    """What is to be uploaded; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    vault: str = Field(max_length=63, description="The vault that the document lies in.")
    path: str = Field(min_length=1, max_length=900, description="The document's path in its vault.")
    media_type: str = Field(
        default="application/octet-stream",
        min_length=1,
        max_length=200,
        pattern=r"^[ -~]+$",
        description="The media type that the file has.",
    )
    stage: str | None = Field(
        default=None, pattern=f"^{NAME_PATTERN.pattern}$", description="The stage that it is to wait in; null for none."
    )


class UploadForm(Keyed, Replied):
    """Post `fields` and then the file as `file` to `url`, as `multipart/form-data`, until `expires_at`."""

    url: str = Field(description="Where to post the form.")
    fields: dict[str, str] = Field(description="The form's fields; they go before the file.")
    max_bytes: int = Field(description="The largest file that the form takes.")
    expires_at: str = Field(description="Until when it can be used.")


class PurgedCounts(BaseModel):
    """What a purge removed from each place; caches hold nothing that would answer without the registry."""

    versions: int = Field(description="Versions of the object.")
    derived: int = Field(description="Objects of the state bucket.")
    chunks: int = Field(description="Chunks of the index.")
    registry_items: int = Field(description="Items of the registry.")
    receipts: int = Field(description="Receipts of answers.")


class DeleteReceipt(Keyed, Replied):
    """From this answer on nothing of the document is found; `chunks_removed` is null while the clean-up runs.

    `version_id` is the delete marker's: to remove that version from the bucket restores the document.
    `restorable_until` is null, and `purged` says what went, where the document was purged.
    """

    version_id: str | None = Field(description="The S3 version of the delete marker.")
    status: DocumentStatus
    restorable_until: str | None = Field(
        description="Until when a delete can be undone in the bucket; null after a purge."
    )
    chunks_removed: int | None = Field(description="Chunks removed; null while the clean-up runs.")
    purged: PurgedCounts | None = Field(default=None, description="What a purge removed, by place.")


class FailureShape(BaseModel):
    """Why a document is not indexed."""

    code: str = Field(description="The stable code.")
    message: str = Field(description="What happened, in words.")
    attempts: int = Field(description="How often it was tried.")
    at: At


class ListedDocument(Keyed):
    """A document in a list."""

    status: DocumentStatus
    revision: int = Field(description="The last attempt to index it, counted up.")
    live_revision: int | None = Field(description="The revision that answers; null where none does.")
    version_id: VersionIdOrNull
    live_version_id: str | None = Field(description="The S3 version that answers now; null where none does.")
    etag: str | None = Field(description="S3's ETag of the version that was indexed last.")
    sidecar_etag: str | None = Field(description="S3's ETag of the sidecar that was read with it.")
    title: str | None = Field(description="As stated, else the first heading, else the file's name.")
    doc_type: str | None = Field(description="What it is about, a free word.")
    promotion_level: PromotionLevel = Field(description="standard, important or critical.")
    chunk_count: int = Field(description="Chunks of the live revision.")
    error: FailureShape | None = Field(description="Why it is not indexed; null where nothing failed.")
    created_at: str | None = Field(description="When it was first seen.")
    updated_at: str | None = Field(description="When its state changed last.")
    stage: str | None = Field(default=None, description="The stage that it waits in; null for none.")


class DocumentList(Replied):
    """One page, by vault and path; `cursor` asks for the next one, null ends."""

    documents: list[ListedDocument] = Field(description="Documents, by vault and path.")
    cursor: Cursor


class AccessNeed(BaseModel):
    """A list of groups of which a caller needs one to read a document."""

    groups: list[str] = Field(description="`*` is everybody who may see the vault; no group is nobody but admins.")
    by: str = Field(description="What says so: `rule PATH` of the vault, `file`, or `tag`, with why it is not read.")


class DocumentRecord(ListedDocument, Replied):
    """All that is known of a document."""

    content_hash: str | None = Field(description="SHA-256 of the parsed text.")
    summary: Summary
    content_type: ContentType | None = Field(description="chat, decision, code or documentation.")
    content_type_basis: str | None = Field(description="`stated` by the document, or `detected` from its text.")
    tags: list[str] = Field(description="Words to find it by.")
    category: str | None = Field(description="A free word, unless settings list the allowed ones.")
    session_id: str | None = Field(description="The session that it belongs to.")
    agent: str | None = Field(description="Who wrote it.")
    date: str | None = Field(description="The date that the document states.")
    attributes: dict[str, str] = Field(description="Values of the document's own naming.")
    links: list[str] = Field(description="Links as they are written.")
    broken_links: list[str] = Field(default=[], description="Links that lead to no document.")
    chunks_done: int | None = Field(description="Chunks written so far, of a large document that is being indexed.")
    chunks_total: int | None = Field(description="Chunks in all; null while it is being indexed.")
    char_count: int | None = Field(description="Code points of the parsed text.")
    size_bytes: SizeBytes
    warnings: Warnings
    indexed_at: str | None = Field(description="When its live revision was indexed.")
    query_count: int | None = Field(
        default=None, description="How many answers used it; null where that cannot be known."
    )
    last_retrieved: str | None = Field(default=None, description="When an answer used it last.")
    access: list[AccessNeed] | None = Field(
        default=None,
        description="Role admin: who may read it, a group of each list; empty is everybody who may see the vault.",
    )


class DocumentText(Spanned, Keyed, Replied):
    """Parsed text: code points `start` to `end`."""

    text: Text


class PartShape(BaseModel):
    """Where a part of a document begins in a chunk: a slide, a mail, an attachment, cells of a sheet."""

    start: int = Field(description="Its first code point in the parsed text.")
    name: str = Field(description="Such as `slide 2`.")


class ChunkPlace(Spanned):
    """Where a chunk is: code points `start` to `end` of the parsed text."""

    index: ChunkIndex
    heading_path: HeadingPath
    page: Page
    parts: list[PartShape] = Field(description="The document's parts in it; empty if it has only pages, or none.")


class DocumentChunks(Keyed, Replied):
    """The chunks of the live revision, at most 5,000 from the start of `span` on."""

    char_count: CharCount
    chunks: list[ChunkPlace] = Field(description="In the order of the text.")


class MarkShape(BaseModel):
    """A box on a page, in shares of its width and height from the top left."""

    left: float = Field(description="Where it begins, 0 to 1.")
    top: float = Field(description="Where its upper edge is, 0 to 1.")
    width: float = Field(description="How wide it is, 0 to 1.")
    height: float = Field(description="How high it is, 0 to 1.")


class OriginalPageShape(Spanned, Keyed, Replied):
    """A page of a PDF as it looks; `start` to `end` is its part of the parsed text."""

    version_id: VersionId
    page: int = Field(description="Its number, from 1.")
    pages: int = Field(description="How many pages the document has.")
    width: int = Field(description="The picture's width in pixels.")
    height: int = Field(description="The picture's height in pixels.")
    picture: str = Field(description="A PNG, in base64.")
    marks: list[MarkShape] = Field(description="Where the words of `span` stand, a box for each piece of a line.")
    located: float = Field(description="The share of the letters of `span` that `marks` cover: 0 of a scanned page.")


class OriginalLink(Keyed, Replied):
    """Where the bytes of a version can be read without a key until `expires_at`."""

    version_id: VersionId
    url: str = Field(description="The address: whoever has it can read the file.")
    expires_at: str = Field(description="Until when it can be used.")
    media_type: str = Field(description="What it is served as; `application/octet-stream` is a download.")
    size_bytes: SizeBytes
    is_shown: bool = Field(description="Whether a browser shows it. HTML, SVG and office files are downloads.")


class ColumnShape(BaseModel):
    """A column of a table."""

    name: str = Field(description="Its header, with those above it.")
    kind: ColumnKind = Field(description="What its cells are.")
    unit: str = Field(description="The unit or currency of its cells; empty if none, `mixed` if they differ.")
    unread: int = Field(description="How many cells are of another kind, such as `#REF!`: sums over them are refused.")


class TableShape(BaseModel):
    """A table as typed columns."""

    name: str = Field(description="The heading above it.")
    range: str = Field(description="Its cells without the header, such as `Budget!A2:C40`.")
    rows: int = Field(description="Rows without those that are totals.")
    totals: int = Field(description="Rows that sum up others, which nothing counts.")
    columns: list[ColumnShape] = Field(description="Left to right.")


class CellShape(BaseModel):
    """A cell of a table."""

    model_config = ConfigDict(from_attributes=True)

    name: str = Field(description="Such as `Budget!B2`.")
    text: str = Field(description="What it says.")
    number: str | None = Field(description="Its value, a decimal number as text (seconds of a duration); else null.")


class RowShape(BaseModel):
    """A row of a table."""

    model_config = ConfigDict(from_attributes=True)

    number: int = Field(description="Its number in the sheet.")
    is_total: bool = Field(description="Whether it sums up others, so that nothing counts it.")
    cells: list[CellShape] = Field(description="Left to right.")


class DocumentTables(Keyed, Replied):
    """The tables of the live revision, and with `query` what they answer."""

    tables: list[TableShape] = Field(description="In the order of the text.")
    answer: TableProofShape | None = Field(default=None, description="The answer to `query`; null where it is refused.")
    reason: str | None = Field(default=None, description="Why `query` is not answered; null where it is.")
    rows: list[RowShape] | None = Field(default=None, description="`rows` of the table `range`; null if not asked for.")


def tables_shape(
    key: DocumentKey,
    tables: Sequence[TypedTable],
    request_id: str,
    answer: TableAnswer | None,
    *,
    is_asked: bool,
    rows: Sequence[TableRow] | None,
) -> DocumentTables:
    """Tables as `GET /documents/…/tables` shows them."""
    shown = [
        TableShape(
            name=table.name,
            range=table.range_of(0, table.row_count - 1),
            rows=len(table.rows),
            totals=len(table.totals),
            columns=[shaped(ColumnShape, each, unread=len(each.unread)) for each in table.columns],
        )
        for table in tables
    ]
    reason = None if not is_asked else "not_a_table_question" if answer is None else answer.reason
    is_answered = answer is not None and reason is None
    number = format(answer.number, "f") if answer is not None and answer.number is not None else None
    proof = shaped(TableProofShape, answer, number=number) if is_answered else None
    return DocumentTables(
        **place_fields(key, request_id),
        tables=shown,
        answer=proof,
        reason=reason,
        rows=None if rows is None else [RowShape.model_validate(each) for each in rows],
    )


def place_fields(key: DocumentKey, request_id: str) -> dict[str, str]:
    """The fields by which a reply names its document."""
    return {"request_id": request_id, **placed(key), "key": key.s3_key}


def chunks_shape(key: DocumentKey, found: LiveChunks, request_id: str) -> DocumentChunks:
    """Chunks as `GET /documents/…?chunks=1` shows them."""
    return DocumentChunks(
        **place_fields(key, request_id),
        char_count=found.char_count,
        chunks=[
            shaped(
                ChunkPlace,
                chunk,
                index=chunk.ordinal,
                parts=[PartShape(start=chunk.start + at, name=name) for at, name in chunk.places],
            )
            for chunk in found.chunks
        ],
    )


def original_page(key: DocumentKey, page: OriginalPage, request_id: str) -> OriginalPageShape:
    """A drawn page as `GET /documents/…/original/pages/N` shows it."""
    names = ("left", "top", "width", "height")
    return shaped(
        OriginalPageShape,
        page.drawn,
        **place_fields(key, request_id),
        version_id=page.version_id,
        page=page.number,
        start=page.start,
        end=page.end,
        picture=b64encode(page.drawn.picture).decode(),
        marks=[MarkShape(**dict(zip(names, mark, strict=True))) for mark in page.drawn.marks],
    )


def original_link(key: DocumentKey, link: FileLink, expires_s: float, request_id: str) -> OriginalLink:
    """A link to a file; it expires at *expires_s* (seconds since 1970)."""
    return shaped(OriginalLink, link, **place_fields(key, request_id), expires_at=rfc3339(expires_s))


OF_FACTS = ("summary", "content_type", "category", "session_id", "agent", "date", "char_count", "indexed_at")


def listed(head: Head, status: Status | None = None) -> ListedDocument:
    """A head as lists show it."""
    failure = None if head.error is None else FailureShape(**asdict(head.error))
    return shaped(
        ListedDocument,
        head,
        **placed(head.key),
        key=head.key.s3_key,
        status=status or head.status,
        error=failure,
        created_at=head.created_at or None,
        updated_at=head.updated_at or None,
    )


def text_shape(key: DocumentKey, start: int, text: str, request_id: str) -> DocumentText:
    """The part of a document's parsed text that begins at *start*."""
    return DocumentText(**place_fields(key, request_id), start=start, end=start + len(text), text=text)


def record_shape(record: KnownDocument, request_id: str) -> DocumentRecord:
    """A record as `GET /documents/…` shows it."""
    detail, usage = record.detail, record.usage
    facts = detail.facts if detail else None
    return DocumentRecord(
        **listed(record.head, record.status).model_dump(),
        **{name: getattr(facts, name, None) for name in OF_FACTS},
        request_id=request_id,
        content_hash=detail.content_hash if detail else None,
        content_type_basis=detail.content_type_basis if detail else None,
        tags=list(facts.tags) if facts else [],
        attributes=facts.attributes if facts else {},
        links=list(detail.links) if detail else [],
        broken_links=list(record.broken_links),
        chunks_done=_chunks_done(record),
        chunks_total=detail.chunk_count if detail and record.checkpoint is None else None,
        size_bytes=detail.size_bytes if detail else None,
        warnings=list(detail.warnings) if detail else [],
        query_count=usage.query_count if usage else None,
        last_retrieved=usage.last_retrieved if usage else None,
        access=None if record.access is None else [AccessNeed(groups=list(each), by=by) for each, by in record.access],
    )


def _chunks_done(record: KnownDocument) -> int | None:
    """Chunks of the revision that is being written part by part, else of the live one."""
    if record.checkpoint is not None:
        return max(record.checkpoint.chunks.values(), default=0)
    return record.detail.chunk_count if record.detail else None


def delete_receipt(key: DocumentKey, marker: str | None, request_id: str, now_s: float) -> DeleteReceipt:
    """What a caller gets for a delete at *now_s* (seconds since 1970), which put the delete marker *marker*."""
    return DeleteReceipt(
        **place_fields(key, request_id),
        version_id=marker,
        status=Status.DELETED,
        restorable_until=rfc3339(now_s + RETENTION.total_seconds()),
        chunks_removed=None,
    )


def purge_receipt(key: DocumentKey, purged: Purged, request_id: str) -> DeleteReceipt:
    """What a caller gets for a purge."""
    return DeleteReceipt(
        **place_fields(key, request_id),
        version_id=purged.marker,
        status=Status.DELETED,
        restorable_until=None,
        chunks_removed=purged.chunks,
        purged=shaped(PurgedCounts, purged),
    )


def accepted(request: Request, key: DocumentKey, version_id: str, status: Status) -> Accepted:
    """What a caller gets for a version that ingest is to look at."""
    return Accepted(
        **place_fields(key, request.state.request_id),
        version_id=version_id,
        status=status,
        status_url=f"{base_of(request)}{status_path(key, version_id)}",
    )


def upload_form(
    request: Request, key: DocumentKey, form: PresignedForm, max_bytes: int, expires_s: float
) -> UploadForm:
    """A form as a caller gets it; it expires at *expires_s* (seconds since 1970)."""
    return UploadForm(
        **place_fields(key, request.state.request_id),
        url=form.url,
        fields=dict(form.fields),
        max_bytes=max_bytes,
        expires_at=rfc3339(expires_s),
    )


def status_path(key: DocumentKey, version_id: str) -> str:
    """Where the status of a version is asked for.

    >>> status_path(DocumentKey("acme", "team", "a b.md"), "v1")
    '/documents/team/a%20b.md?version=v1'
    """
    return f"/documents/{quote(key.vault)}/{quote(key.path)}?version={quote(version_id, safe='')}"
