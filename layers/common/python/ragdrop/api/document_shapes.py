"""Response shapes of the document routes (docs/api.md, "Documents")."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from ragdrop.api.http import base_of
from ragdrop.documents.purge import Purged
from ragdrop.documents.service import FORM_EXPIRES_S, KnownDocument, LiveChunks
from ragdrop.domain.documents import ContentType, Head, PromotionLevel, Status
from ragdrop.domain.keys import NAME_PATTERN, DocumentKey
from ragdrop.domain.times import rfc3339
from ragdrop.ingest.index_revision import MAX_OBJECT_BYTES
from ragdrop.ports import object_store as objects

RETENTION = timedelta(days=30)  # the bucket keeps noncurrent versions this long: RetentionDays of the template


class Accepted(BaseModel):
    """A new version is in the bucket; `status_url` says `pending` until it is indexed."""

    request_id: str
    vault: str
    path: str
    key: str
    version_id: str
    status: Status
    status_url: str


class UploadRequest(BaseModel):
    """What is to be uploaded; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    vault: str = Field(max_length=63)
    path: str = Field(min_length=1, max_length=900)
    media_type: str = Field(default="application/octet-stream", min_length=1, max_length=200, pattern=r"^[ -~]+$")
    stage: str | None = Field(default=None, pattern=f"^{NAME_PATTERN.pattern}$")


class UploadForm(BaseModel):
    """Post `fields` and then the file as `file` to `url`, as `multipart/form-data`, until `expires_at`."""

    request_id: str
    vault: str
    path: str
    key: str
    url: str
    fields: dict[str, str]
    max_bytes: int
    expires_at: str


class PurgedCounts(BaseModel):
    """What a purge removed from each place; caches hold nothing that would answer without the registry."""

    versions: int
    derived: int
    chunks: int
    registry_items: int
    receipts: int


class DeleteReceipt(BaseModel):
    """From this answer on nothing of the document is found; `chunks_removed` is null while the clean-up runs.

    `version_id` is the delete marker's: to remove that version from the bucket restores the document.
    `restorable_until` is null, and `purged` says what went, where the document was purged.
    """

    request_id: str
    vault: str
    path: str
    key: str
    version_id: str | None
    status: Status
    restorable_until: str | None
    chunks_removed: int | None
    purged: PurgedCounts | None = None


class FailureShape(BaseModel):
    """Why a document is not indexed."""

    code: str
    message: str
    attempts: int
    at: str


class ListedDocument(BaseModel):
    """A document in a list."""

    vault: str
    path: str
    key: str
    status: Status
    revision: int
    live_revision: int | None
    version_id: str | None
    live_version_id: str | None
    etag: str | None
    sidecar_etag: str | None
    title: str | None
    doc_type: str | None
    promotion_level: PromotionLevel
    chunk_count: int
    error: FailureShape | None
    created_at: str | None
    updated_at: str | None
    stage: str | None = None


class DocumentList(BaseModel):
    """One page, by vault and path; `cursor` asks for the next one, null ends."""

    request_id: str
    documents: list[ListedDocument]
    cursor: str | None


class DocumentRecord(ListedDocument):
    """All that is known of a document."""

    request_id: str
    content_hash: str | None
    summary: str | None
    content_type: ContentType | None
    content_type_basis: str | None
    tags: list[str]
    category: str | None
    session_id: str | None
    agent: str | None
    date: str | None
    attributes: dict[str, str]
    links: list[str]
    broken_links: list[str] = []
    chunks_done: int | None
    chunks_total: int | None
    char_count: int | None
    size_bytes: int | None
    warnings: list[str]
    indexed_at: str | None
    query_count: int | None = None
    last_retrieved: str | None = None


class DocumentText(BaseModel):
    """Parsed text: code points `start` to `end`."""

    request_id: str
    vault: str
    path: str
    key: str
    start: int
    end: int
    text: str


class ChunkPlace(BaseModel):
    """Where a chunk is: code points `start` to `end` of the parsed text."""

    index: int
    start: int
    end: int
    heading_path: list[str]
    page: int | None


class DocumentChunks(BaseModel):
    """The chunks of the live revision, at most 5,000 from the start of `span` on."""

    request_id: str
    vault: str
    path: str
    key: str
    char_count: int
    chunks: list[ChunkPlace] = Field(description="In the order of the text.")


def chunks_shape(key: DocumentKey, found: LiveChunks, request_id: str) -> DocumentChunks:
    """Chunks as `GET /documents/…?chunks=1` shows them."""
    return DocumentChunks(
        request_id=request_id,
        vault=key.vault,
        path=key.path,
        key=key.s3_key,
        char_count=found.char_count,
        chunks=[
            ChunkPlace(index=c.ordinal, start=c.start, end=c.end, heading_path=list(c.heading_path), page=c.page)
            for c in found.chunks
        ],
    )


def listed(head: Head, status: Status | None = None) -> ListedDocument:
    """A head as lists show it."""
    failure = head.error
    return ListedDocument(
        vault=head.key.vault,
        path=head.key.path,
        key=head.key.s3_key,
        status=status or head.status,
        revision=head.revision,
        live_revision=head.live_revision,
        version_id=head.version_id,
        live_version_id=head.live_version_id,
        etag=head.etag,
        sidecar_etag=head.sidecar_etag,
        title=head.title,
        doc_type=head.doc_type,
        promotion_level=head.promotion_level,
        chunk_count=head.chunk_count,
        error=FailureShape(code=failure.code, message=failure.message, attempts=failure.attempts, at=failure.at)
        if failure
        else None,
        created_at=head.created_at or None,
        updated_at=head.updated_at or None,
        stage=head.stage,
    )


def text_shape(key: DocumentKey, start: int, text: str, request_id: str) -> DocumentText:
    """The part of a document's parsed text that begins at *start*."""
    return DocumentText(
        request_id=request_id,
        vault=key.vault,
        path=key.path,
        key=key.s3_key,
        start=start,
        end=start + len(text),
        text=text,
    )


def record_shape(record: KnownDocument, request_id: str) -> DocumentRecord:
    """A record as `GET /documents/…` shows it."""
    detail = record.detail
    facts = detail.facts if detail else None
    return DocumentRecord(
        **listed(record.head, record.status).model_dump(),
        request_id=request_id,
        content_hash=detail.content_hash if detail else None,
        summary=facts.summary if facts else None,
        content_type=facts.content_type if facts else None,
        content_type_basis=detail.content_type_basis if detail else None,
        tags=list(facts.tags) if facts else [],
        category=facts.category if facts else None,
        session_id=facts.session_id if facts else None,
        agent=facts.agent if facts else None,
        date=facts.date if facts else None,
        attributes=facts.attributes if facts else {},
        links=list(detail.links) if detail else [],
        chunks_done=_chunks_done(record),
        chunks_total=detail.chunk_count if detail and record.checkpoint is None else None,
        broken_links=list(record.broken_links),
        char_count=facts.char_count if facts else None,
        size_bytes=detail.size_bytes if detail else None,
        warnings=list(detail.warnings) if detail else [],
        indexed_at=facts.indexed_at if facts else None,
        query_count=record.usage.query_count if record.usage else None,
        last_retrieved=record.usage.last_retrieved if record.usage else None,
    )


def _chunks_done(record: KnownDocument) -> int | None:
    """Chunks of the revision that is being written part by part, else of the live one."""
    if record.checkpoint is not None:
        return max(record.checkpoint.chunks.values(), default=0)
    return record.detail.chunk_count if record.detail else None


def delete_receipt(key: DocumentKey, marker: str | None, request_id: str, now_s: float) -> DeleteReceipt:
    """What a caller gets for a delete at *now_s* (seconds since 1970), which put the delete marker *marker*."""
    return DeleteReceipt(
        request_id=request_id,
        vault=key.vault,
        path=key.path,
        key=key.s3_key,
        version_id=marker,
        status=Status.DELETED,
        restorable_until=rfc3339(now_s + RETENTION.total_seconds()),
        chunks_removed=None,
    )


def purge_receipt(key: DocumentKey, purged: Purged, request_id: str) -> DeleteReceipt:
    """What a caller gets for a purge."""
    return DeleteReceipt(
        request_id=request_id,
        vault=key.vault,
        path=key.path,
        key=key.s3_key,
        version_id=purged.marker,
        status=Status.DELETED,
        restorable_until=None,
        chunks_removed=purged.chunks,
        purged=PurgedCounts(
            versions=purged.versions,
            derived=purged.derived,
            chunks=purged.chunks,
            registry_items=purged.registry_items,
            receipts=purged.receipts,
        ),
    )


def accepted(request: Request, key: DocumentKey, version_id: str, status: Status) -> Accepted:
    """What a caller gets for a version that ingest is to look at."""
    return Accepted(
        request_id=request.state.request_id,
        vault=key.vault,
        path=key.path,
        key=key.s3_key,
        version_id=version_id,
        status=status,
        status_url=f"{base_of(request)}{status_path(key, version_id)}",
    )


def upload_form(request: Request, key: DocumentKey, form: objects.PresignedForm, now_s: float) -> UploadForm:
    """A form as a caller gets it at *now_s* (seconds since 1970)."""
    return UploadForm(
        request_id=request.state.request_id,
        vault=key.vault,
        path=key.path,
        key=key.s3_key,
        url=form.url,
        fields=dict(form.fields),
        max_bytes=MAX_OBJECT_BYTES,
        expires_at=rfc3339(now_s + FORM_EXPIRES_S),
    )


def status_path(key: DocumentKey, version_id: str) -> str:
    """Where the status of a version is asked for.

    >>> status_path(DocumentKey("acme", "team", "a b.md"), "v1")
    '/documents/team/a%20b.md?version=v1'
    """
    return f"/documents/{quote(key.vault)}/{quote(key.path)}?version={quote(version_id, safe='')}"
