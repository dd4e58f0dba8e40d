"""Index one version of an object: parse, chunk, embed, write; nothing is visible until its revision is flipped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from ragdrop.domain.chunks import Chunk, IndexedChunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail
from ragdrop.domain.facts import facts_of
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.domain.tenants import IndexRef, Tenant
from ragdrop.errors import DocumentTooLargeError, EmptyDocumentError
from ragdrop.ports import ChunkIndex, Embedder, ObjectStore, Parser, Splitter, StoredObject
from ragdrop.usecases.revision_store import RevisionStore

MAX_OBJECT_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Written:
    """A revision whose chunks are written and wait for their flip."""

    detail: Detail
    index: IndexRef

    @property
    def key(self) -> DocumentKey:
        """The document."""
        return self.detail.key


class IndexRevision:
    """Writes a claimed revision to the index and the state bucket."""

    def __init__(
        self,
        *,
        documents: ObjectStore,
        revisions: RevisionStore,
        index: ChunkIndex,
        embedder: Embedder,
        parser: Parser,
        splitter: Splitter,
        clock: Callable[[], float],
    ) -> None:
        self._documents = documents
        self._revisions = revisions
        self._index = index
        self._embedder = embedder
        self._parser = parser
        self._splitter = splitter
        self._clock = clock

    def __call__(
        self, key: DocumentKey, revision: int, found: StoredObject, tenant: Tenant, deadline: Deadline
    ) -> Written | None:
        """Write *revision* from the version *found*; None where that version is gone by now.

        Raises:
            DocumentError: The document can never be indexed as it is.
            DependencyError: A service failed; the same call may succeed later.
        """
        if found.size_bytes > MAX_OBJECT_BYTES:
            message = f"the object has {found.size_bytes} bytes, at most {MAX_OBJECT_BYTES} are allowed"
            raise DocumentTooLargeError(message, limit_bytes=MAX_OBJECT_BYTES, size_bytes=found.size_bytes)
        body = self._documents.get(key.s3_key, version_id=found.version_id)
        if body is None:
            return None
        document = self._parser.parse(body, name=key.path)
        chunks = self._chunks(document, tenant)
        detail = self._detail(key, revision, found, body, document, len(chunks))
        vectors = self._embedder.passages([chunk.text for chunk in chunks], tenant.active.space, deadline)
        self._revisions.write_text(key, revision, document)
        self._revisions.write_chunks(key, revision, tenant.index.name, chunks, vectors)
        pairs = zip(chunks, vectors, strict=True)
        indexed = [IndexedChunk(key, revision, chunk, detail.facts, vector) for chunk, vector in pairs]
        self._index.upsert(tenant.index, indexed, deadline)
        return Written(detail, tenant.index)

    def _chunks(self, document: ParsedDocument, tenant: Tenant) -> list[Chunk]:
        plan = tenant.active.chunking
        code = document.content_type == "code"
        chunks = self._splitter.split(
            document,
            max_tokens=plan.code_max_tokens if code else plan.max_tokens,
            overlap_tokens=plan.code_overlap_tokens if code else plan.overlap_tokens,
        )
        if not chunks:
            raise EmptyDocumentError("there is no text in this document")
        return chunks

    def _detail(
        self, key: DocumentKey, revision: int, found: StoredObject, body: bytes, document: ParsedDocument, chunks: int
    ) -> Detail:
        indexed_at = (
            datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        )
        facts, warnings, basis = facts_of(
            key, document, version_id=found.version_id, indexed_at=indexed_at, object_metadata=found.metadata
        )
        return Detail(
            key=key,
            revision=revision,
            facts=facts,
            chunk_count=chunks,
            content_hash=hashlib.sha256(body).hexdigest(),
            size_bytes=len(body),
            etag=found.etag,
            media_type=document.media_type,
            content_type_basis=basis,
            links=document.links,
            warnings=warnings,
        )
