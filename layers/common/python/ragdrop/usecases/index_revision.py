"""Index one version of an object: parse, chunk, embed, write; nothing is visible until its revision is flipped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Head
from ragdrop.domain.facts import facts_of
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.domain.sidecars import MAX_SIDECAR_BYTES, read_sidecar
from ragdrop.domain.tenants import ActiveIndex, Tenant
from ragdrop.domain.times import rfc3339
from ragdrop.errors import DocumentTooLargeError
from ragdrop.ports import ObjectStore, Parser, StoredObject
from ragdrop.usecases.known_vectors import KnownVectors
from ragdrop.usecases.revision_store import RevisionStore
from ragdrop.usecases.write_chunks import WriteChunks

MAX_OBJECT_BYTES = 50 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """What is in the bucket now: the document's current version, and its sidecar's where there is one."""

    document: StoredObject
    sidecar: StoredObject | None

    @property
    def versions(self) -> tuple[str, str | None]:
        """What a claim is for."""
        return self.document.version_id, self.sidecar.version_id if self.sidecar else None


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
        known_vectors: KnownVectors,
        clock: Callable[[], float],
    ) -> None:
        self._documents = documents
        self._revisions = revisions
        self._parser = parser
        self._write_chunks = write_chunks
        self._known_vectors = known_vectors
        self._clock = clock

    def __call__(self, claimed: Head, found: Found, tenant: Tenant, deadline: Deadline) -> Written | None:
        """Write the revision *claimed* from the versions *found*; None where one of them is gone by now.

        Text that was embedded before is not embedded again.

        Raises:
            DocumentError: The document can never be indexed as it is.
            DependencyError: A service failed; the same call may succeed later.
        """
        key, revision = claimed.key, claimed.revision
        stored = found.document
        if stored.size_bytes > MAX_OBJECT_BYTES:
            message = f"the object has {stored.size_bytes} bytes, at most {MAX_OBJECT_BYTES} are allowed"
            raise DocumentTooLargeError(message, limit_bytes=MAX_OBJECT_BYTES, size_bytes=stored.size_bytes)
        body = self._documents.get(stored.key, version_id=stored.version_id)
        beside = self._sidecar(found)
        if body is None or beside is None:
            return None
        document = self._parser.parse(body, name=key.path)
        detail = self._detail(key, revision, stored, body, document, read_sidecar(beside) if beside else ({}, ()))
        self._revisions.write_text(key, revision, document)
        vectors = self._known_vectors.find(key, claimed.live_revision, document.text, tenant)
        counts = []
        for target in tenant.targets:
            made = self._write_chunks(
                key, revision, document, detail.facts, tenant=tenant, target=target, deadline=deadline, known=vectors
            )
            counts.append(made.count)
            vectors.update(made.vectors)
        self._known_vectors.remember(key, revision, document.text)
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

    def _sidecar(self, found: Found) -> bytes | None:
        """The sidecar's bytes, none where there is no sidecar; None where its version is gone by now."""
        if found.sidecar is None:
            return b""
        return self._documents.get(found.sidecar.key, version_id=found.sidecar.version_id, end=MAX_SIDECAR_BYTES + 1)

    def _detail(
        self,
        key: DocumentKey,
        revision: int,
        stored: StoredObject,
        body: bytes,
        document: ParsedDocument,
        sidecar: tuple[dict[str, Any], tuple[str, ...]],
    ) -> Detail:
        indexed_at = rfc3339(self._clock(), precision="milliseconds")
        facts, warnings, basis = facts_of(
            key,
            document,
            version_id=stored.version_id,
            indexed_at=indexed_at,
            object_metadata=stored.metadata,
            sidecar=sidecar[0],
        )
        return Detail(
            key=key,
            revision=revision,
            facts=facts,
            chunk_count=0,
            content_hash=hashlib.sha256(body).hexdigest(),
            size_bytes=len(body),
            etag=stored.etag,
            media_type=document.media_type,
            content_type_basis=basis,
            links=tuple(link.target for link in document.links),
            warnings=(*sidecar[1], *warnings),
        )
