"""Index one version of an object: parse, chunk, embed, write; nothing is visible until its revision is flipped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail
from ragdrop.domain.facts import facts_of
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.domain.tenants import ActiveIndex, EmbeddingSpace, Tenant
from ragdrop.errors import DocumentTooLargeError
from ragdrop.ports import ObjectStore, Parser, StoredObject
from ragdrop.usecases.revision_store import RevisionStore
from ragdrop.usecases.write_chunks import WriteChunks

MAX_OBJECT_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Written:
    """A revision whose chunks are written, to these indexes of its tenant, and wait for their flip."""

    detail: Detail
    tenant: Tenant
    targets: tuple[ActiveIndex, ...]

    @property
    def key(self) -> DocumentKey:
        """The document."""
        return self.detail.key


class IndexRevision:
    """Writes a claimed revision to the state bucket and to every index of its tenant."""

    def __init__(
        self,
        *,
        documents: ObjectStore,
        revisions: RevisionStore,
        parser: Parser,
        write_chunks: WriteChunks,
        clock: Callable[[], float],
    ) -> None:
        self._documents = documents
        self._revisions = revisions
        self._parser = parser
        self._write_chunks = write_chunks
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
        detail = self._detail(key, revision, found, body, document)
        self._revisions.write_text(key, revision, document)
        vectors: dict[tuple[EmbeddingSpace, str], Vector] = {}
        counts = []
        for target in tenant.targets:
            made = self._write_chunks(
                key, revision, document, detail.facts, tenant=tenant, target=target, deadline=deadline, known=vectors
            )
            counts.append(made.count)
            vectors.update(made.vectors)
        return Written(replace(detail, chunk_count=counts[0]), tenant, tenant.targets)

    def catch_up(self, written: Written, tenant: Tenant, deadline: Deadline) -> Written:
        """Write a flipped revision to the indexes that its tenant has got since it was written."""
        missing = tuple(target for target in tenant.targets if target not in written.targets)
        document = self._revisions.read_document(written.key, written.detail.revision) if missing else None
        if document is None:
            return written
        for target in missing:
            facts, revision = written.detail.facts, written.detail.revision
            self._write_chunks(written.key, revision, document, facts, tenant=tenant, target=target, deadline=deadline)
        return Written(written.detail, tenant, (*written.targets, *missing))

    def _detail(
        self, key: DocumentKey, revision: int, found: StoredObject, body: bytes, document: ParsedDocument
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
            chunk_count=0,
            content_hash=hashlib.sha256(body).hexdigest(),
            size_bytes=len(body),
            etag=found.etag,
            media_type=document.media_type,
            content_type_basis=basis,
            links=document.links,
            warnings=warnings,
        )
