"""Documents over HTTP: put, read, list, delete and retry them, and check their links."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ragdrop.documents.check_links import CheckLinks
from ragdrop.domain.access import speaks_of_access
from ragdrop.domain.chunks import Chunk
from ragdrop.domain.documents import Detail, DetailFilters, Head, Page, Status
from ragdrop.domain.history import STAGE, WRITTEN_BY, head_promoted, was_promoted
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import (
    ConflictError,
    DatabaseError,
    DocumentNotFoundError,
    ForbiddenError,
    InvalidParamsError,
    PayloadTooLargeError,
    RagdropError,
)
from ragdrop.ingest.index_revision import MAX_OBJECT_BYTES
from ragdrop.ingest.revision_store import RevisionStore, StoredRevision
from ragdrop.ports.message_queue import MessageQueue
from ragdrop.ports.object_store import NO_PRECONDITION, ObjectStore, Precondition, PresignedForm, StoredObject
from ragdrop.ports.registry import Checkpoint, Claim, Registry
from ragdrop.ports.shared_state import StoredReplies
from ragdrop.ports.telemetry import DocumentUsage, Telemetry
from ragdrop.tenants.limits import DailyBudget
from ragdrop.tenants.permissions import Permissions, reader_of
from ragdrop.tenants.settings_in_force import chunking_in_force

if TYPE_CHECKING:
    from ragdrop.tables.typed import TypedTable  # each process that starts would read the words of tables

FORM_EXPIRES_S = 900
MAX_BODY_BYTES = 4 * 1024 * 1024  # Lambda takes 6 MB with base64 included
MAX_TRIES = 5
MAX_SHOWN_CHUNKS = 5_000  # of some 100 bytes each: under the 6 MB of a Lambda response
MAX_FILTERED = 100  # documents whose details are read for one page


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """What is known of a document.  `status` may be `pending` though the head is not: see `DocumentService.record`.

    `checkpoint` says how far a large revision is that is being written; `usage` is None where it cannot be known.
    `access` are lists of groups, of each of which a reader needs one, with what says so; None for one who is no admin.
    """

    head: Head
    detail: Detail | None
    status: Status
    checkpoint: Checkpoint | None = None
    usage: DocumentUsage | None = None
    broken_links: tuple[str, ...] = ()
    access: Sequence[tuple[Sequence[str], str]] | None = None


@dataclass(frozen=True, slots=True)
class LiveChunks:
    """Chunks of a live revision in the order of the text, which has `char_count` code points."""

    char_count: int
    chunks: Sequence[Chunk]


@dataclass(frozen=True, kw_only=True)
class DocumentService:
    """Put, read, list and delete the documents of a caller's tenant."""

    documents: ObjectStore
    registry: Registry
    queue: MessageQueue
    revisions: RevisionStore
    usage: Telemetry
    check_links: CheckLinks
    permissions: Permissions
    budget: DailyBudget
    clock: Callable[[], float]

    def put(
        self,
        caller: Caller,
        key: DocumentKey,
        body: bytes,
        *,
        media_type: str,
        metadata: Mapping[str, str],
        only_if: Precondition = NO_PRECONDITION,
    ) -> StoredObject:
        """Write a new version into the bucket; its event starts the rest.

        Raises:
            PayloadTooLargeError: Over 4 MB.
            PreconditionFailedError: *only_if* does not hold.
            DocumentNotFoundError: The vault is out of the key's scope, or the caller may not read what is there.
            ForbiddenError: It is a settings file with rules of access, and the caller is no admin.
            RateLimitedError: The tenant has written its documents of today.
        """
        self._check_writing(caller, key, body)
        if len(body) > MAX_BODY_BYTES:
            message = (
                f"the body has {len(body)} bytes, at most {MAX_BODY_BYTES} go in one request: "
                "ask for a form by POST /uploads, or put the file into the bucket itself"
            )
            raise PayloadTooLargeError(message, limit_bytes=MAX_BODY_BYTES, size_bytes=len(body))
        onto = only_if.onto(self._current_etag(key)) if only_if != NO_PRECONDITION else None
        self.budget.take_document(key.tenant)
        stated = {**metadata, **_written_by(caller)}
        return self.documents.put(key.s3_key, body, media_type=media_type, metadata=stated, onto=onto)

    def copy(self, caller: Caller, source: DocumentKey, target: DocumentKey, *, metadata: Mapping[str, str]) -> None:
        """Write what is at *source* now to *target*, with *metadata* in place of the source's.

        Raises, besides what `put` raises:
            DocumentNotFoundError: There is no such file that the caller may write over.
        """
        self._check_writing(caller, source, None)
        there = self.documents.head(source.s3_key)
        body = self.documents.get(source.s3_key, version_id=there.version_id) if there is not None else None
        if there is None or body is None:
            raise not_found(source)
        self.put(caller, target, body, media_type=there.media_type, metadata=metadata)

    def latest(self, caller: Caller, key: DocumentKey) -> KnownDocument:
        """What is known of a document: `pending` until ingest has reconciled the version that the bucket has now.

        Raises DocumentNotFoundError: there is no such document, or it was deleted.
        """
        there = self.documents.head(key.s3_key)
        if there is None:
            raise not_found(key)
        return self.record(caller, key, version_id=there.version_id)

    def upload_form(
        self, caller: Caller, key: DocumentKey, *, media_type: str, stage: str | None = None
    ) -> PresignedForm:
        """A form by which a file of up to 50 MB goes straight into the bucket, for 15 minutes.

        Raises:
            InvalidParamsError: S3 would write another key than this one.
            DocumentNotFoundError: The vault is out of the key's scope, or the caller may not read what is there.
            ForbiddenError: It is a settings file, whose body is not known here, and the caller is no admin.
            RateLimitedError: The tenant has written its documents of today.
        """
        self._check_writing(caller, key, None)
        if "${filename}" in key.path:
            message = "a path with ${filename} cannot be uploaded by a form: S3 puts the file's name in its place"
            raise InvalidParamsError(message, field="path", value=key.path[:300], allowed=None)
        self.budget.take_document(key.tenant)
        return self.documents.upload_form(
            key.s3_key,
            media_type=media_type,
            metadata={**_written_by(caller), **({} if stage is None else {STAGE: stage})},
            max_bytes=MAX_OBJECT_BYTES,
            expires_s=FORM_EXPIRES_S,
        )

    def record(self, caller: Caller, key: DocumentKey, *, version_id: str | None = None) -> KnownDocument:
        """What is known of a document; with *version_id* it says `pending` until ingest has reconciled that version.

        Raises DocumentNotFoundError: there never was such a document, or it was purged.
        """
        head = self._head(caller, key)
        if head is None and version_id is not None:
            current = self.documents.head(key.s3_key)
            if current is not None:  # that version, or one that has replaced it already
                head = Head(key, Status.PENDING, 0, version_id=current.version_id)
        if head is None:
            raise not_found(key)
        detail = self.registry.detail(key, head.live_revision) if head.live_revision is not None else None
        checkpoint = self.registry.checkpoint(key, head.revision) if head.status is Status.PENDING else None
        status = Status.PENDING if self._awaits(head, version_id) else head.status
        tenant = self.registry.tenant(key.tenant) if detail and detail.links else None
        broken = self.check_links.broken(detail, tenant, caller) if detail and tenant else ()
        access = self.permissions.verdict(caller, head).each if caller.reads_all else None
        return KnownDocument(head, detail, status, checkpoint, self._used(key), broken, access)

    def text(
        self, caller: Caller, key: DocumentKey, *, start: int = 0, end: int | None = None, version_id: str | None = None
    ) -> str:
        """Code points *start* to *end* of the parsed text: the live revision's, or that of an S3 version.

        A version that was replaced is read for 30 days, so that a citation of it can be checked again; one of a
        document that is deleted by now is not.  Of a settings file an admin reads what is in the bucket.

        Raises:
            DocumentNotFoundError: Nothing of the document is live, or nothing is stored of that version.
        """
        if key.is_settings and caller.reads_all and caller.may_see(key.vault):
            body = self.documents.get(key.s3_key, version_id=version_id)
            if body is None:
                raise not_found(key)
            return body.decode("utf-8", "replace")[start:end]
        stored, _ = self.stored(caller, key, version_id=version_id)
        text = stored.span(start, stored.char_count if end is None else end)
        if text is None:
            raise not_found(key)
        return text

    def stored(self, caller: Caller, key: DocumentKey, *, version_id: str | None) -> tuple[StoredRevision, str | None]:
        """The live revision, or that of an S3 version, and its version; raises DocumentNotFoundError as `text`."""
        head = self._head(caller, key, promoted=True)
        if head is None or head.status is Status.DELETED:
            raise not_found(key)
        found = None
        if version_id is not None and version_id != head.live_version_id:
            found = self.revisions.of_version(key, version_id)
        elif head.live_revision is not None:
            found = self.revisions.open(key, head.live_revision)
        if found is None:
            raise not_found(key)
        return found, version_id or head.live_version_id

    def chunks(self, caller: Caller, key: DocumentKey, *, start: int, end: int | None) -> LiveChunks:
        """The chunks of the live revision that have a character in *start* to *end*, without their texts.

        Raises DocumentNotFoundError: nothing of the document is live.
        """
        head, tenant = self._head(caller, key, promoted=True), self.registry.tenant(key.tenant)
        if head is None or head.live_revision is None or tenant is None:
            raise not_found(key)
        stored = self.revisions.open(key, head.live_revision)
        if stored is None:
            raise not_found(key)
        chunks = (chunk for chunk, _ in stored.chunks_between(tenant.active.name, start, end, texts=False))
        found = (chunk for chunk in chunks if chunk.end > start and (end is None or chunk.start < end))
        return LiveChunks(stored.char_count, list(islice(found, MAX_SHOWN_CHUNKS)))

    def tables(self, caller: Caller, key: DocumentKey) -> Sequence[TypedTable]:
        """The typed tables of the live revision; raises DocumentNotFoundError: nothing of the document is live."""
        if (head := self._head(caller, key, promoted=True)) is None or head.live_revision is None:
            raise not_found(key)
        return self.revisions.tables(key, head.live_revision)

    def is_known(self, caller: Caller, key: DocumentKey) -> bool:
        """Whether there is, or was, such a document that the caller may read."""
        head = self.registry.head(key) if caller.may_see(key.vault) else None
        return head is not None and self.permissions.allows(caller, key, head)

    def check(self, caller: Caller, key: DocumentKey, only_if: Precondition) -> None:
        """See that *only_if* holds; what happens in the next moment it cannot know: S3 has no conditional delete.

        Raises:
            PreconditionFailedError: It does not.
            DocumentNotFoundError: The vault is out of the key's scope, or the caller may not read what is there.
        """
        self._check_writing(caller, key, b"")
        if only_if != NO_PRECONDITION:
            only_if.onto(self._current_etag(key))

    def delete(self, caller: Caller, key: DocumentKey) -> str | None:
        """Put a delete marker on the object and a tombstone into the registry: from here on nothing of it answers.

        Returns:
            The version id of the delete marker, an earlier call's too; None where the bucket keeps no versions.

        Raises:
            DocumentNotFoundError: There is no such document that the caller may read.
            ForbiddenError: It is a settings file with rules of access, and the caller is no admin.
        """
        self._check_writing(caller, key, b"")
        there = self.documents.head(key.s3_key)
        marker = self.documents.delete(key.s3_key) if there is not None else self._marker(key)
        for _ in range(MAX_TRIES):
            head = self.registry.head(key)
            if head is None and there is None:
                raise not_found(key)
            if head is None or head.status is Status.DELETED:  # None: deleted before ingest saw it
                return marker
            again = self.documents.head(key.s3_key)  # put again since the delete marker
            if again is not None and head.live_version_id == again.version_id and head.live_revision == head.revision:
                return marker
            tombstone = self.registry.tombstone(key, head, None, self.clock(), by=caller.writer or None)
            if tombstone is not None:
                if again is not None:  # the tombstone ended its claim
                    self.queue.send(key.s3_key)
                if head.live_revision is not None and not key.is_settings:
                    self.registry.add_to_tenant(key.tenant, vault=key.vault, documents=-1, chunks=-head.chunk_count)
                return marker
        raise DatabaseError("the document changed repeatedly while it was deleted", service="registry")

    def page(
        self,
        caller: Caller,
        *,
        vault: str | None,
        prefix: str,
        status: Status | None,
        cursor: str | None,
        limit: int,
        filters: DetailFilters | None = None,
        groups: Sequence[str] | None = None,
        after: str = "",
    ) -> Page:
        """One page of the caller's documents by vault and path; with *groups* those that a reader of these would see.

        Without a *cursor* it starts behind the vault and path *after*.  Raises ForbiddenError: there are *groups*, and
        the caller is no admin.

        With *filters* at most 100 documents are looked at, and the page holds those of them that fit, perhaps none.
        """
        caller = caller if groups is None else reader_of(caller, groups)
        if vault is not None and not caller.may_see(vault):
            return Page([], None)
        limit = min(limit, MAX_FILTERED) if filters else limit
        listed = partial(self.registry.page, caller.tenant, vault=vault, prefix=prefix, status=status)

        def read(*, cursor: str | None, limit: int) -> Page:
            return listed(cursor=cursor, limit=limit, after="" if cursor else after)

        found = self.permissions.page(caller, read, cursor, limit)
        visible = found.heads
        if filters:
            tenant = self.registry.tenant(caller.tenant)
            visible = [head for head in visible if tenant and self._fits(head, filters, tenant, caller)]
        if filters and filters.unused_since and visible:
            usage = self.usage.usage([head.key for head in visible])
            visible = [
                head for head in visible if usage.get(head.key, DocumentUsage()).unused_since(filters.unused_since)
            ]
        return Page(visible, found.cursor)

    def _fits(self, head: Head, filters: DetailFilters, tenant: Tenant, caller: Caller) -> bool:
        """Whether the live revision of a listed document fits; a document without one fits no filter."""
        if head.live_revision is None:
            return False
        if filters.outdated:
            sizes = self.revisions.chunk_sizes(head.key, head.live_revision, tenant.active.name)
            if not sizes or chunking_in_force(tenant, head.key.vault, tenant.active).made(sizes):
                return False
        detail = self.registry.detail(head.key, head.live_revision)
        if detail is None or not filters.admit(detail.facts):
            return False
        if filters.links_to is not None and not self.check_links.lead_to(detail, tenant, filters.links_to, caller):
            return False
        return not filters.broken_links or bool(self.check_links.broken(detail, tenant, caller))

    def _marker(self, key: DocumentKey) -> str | None:
        """The version id of the delete marker on top of an object, None without one."""
        listed = next(self.documents.entries(key.s3_key), None)  # no key under this prefix is before it
        return listed.version_id if listed and listed.key == key.s3_key and listed.deleted else None

    def _current_etag(self, key: DocumentKey) -> str | None:
        current = self.documents.head(key.s3_key)
        return current.etag if current else None

    def _used(self, key: DocumentKey) -> DocumentUsage | None:
        try:
            return self.usage.usage([key]).get(key, DocumentUsage())
        except DatabaseError:
            return None  # a record is worth more than its counts

    def _awaits(self, head: Head, version_id: str | None) -> bool:
        if version_id is None or version_id in {head.live_version_id, head.version_id}:
            return False
        current = self.documents.head(head.key.s3_key)
        return current is not None and current.version_id == version_id

    def _head(self, caller: Caller, key: DocumentKey, *, promoted: bool = False) -> Head | None:
        """The head of a document, None without one; *promoted*: as searches see it while its stage goes live.

        Raises DocumentNotFoundError: the caller may not read it.
        """
        head = self.registry.head(key) if caller.may_see(key.vault) else None
        if promoted and head is not None and head.status is Status.STAGED:
            head = self._promoted(head)
        if not self.permissions.allows(caller, key, head):
            raise not_found(key)
        return head

    def _promoted(self, head: Head) -> Head:
        """The head with the revision that waits, if its stage was promoted."""
        tenant = self.registry.tenant(head.key.tenant)
        if tenant is None or not was_promoted(head, tenant.promoted):
            return head
        detail = self.registry.detail(head.key, head.revision)
        return head if detail is None else head_promoted(head, detail)

    def _check_writing(self, caller: Caller, key: DocumentKey, body: bytes | None) -> None:
        """See that the caller may write over what is at *key*, which is a document that it may read, or none.

        Only an admin changes rules of access: a settings file with some, or a *body* that has some or is not known.
        """
        if caller.reads_all or not caller.may_see(key.vault):
            self._head(caller, key)
            return
        path = key.path.removesuffix(SIDECAR_SUFFIX)
        self._head(caller, DocumentKey(key.tenant, key.vault, path))
        if key.is_settings:
            tenant = self.registry.tenant(key.tenant)
            has_rules = tenant is not None and "access" in tenant.settings_of(key.vault)
            if body is None or has_rules or (body and speaks_of_access(body)):
                message = f"rules of access are changed by the role admin, the key has {caller.role}"
                raise ForbiddenError(message, role=caller.role, needed="admin")


def _written_by(caller: Caller) -> dict[str, str]:
    return {WRITTEN_BY: caller.writer} if caller.writer else {}


def not_found(key: DocumentKey) -> DocumentNotFoundError:
    """The error of a document that does not exist, or that the caller may not read: both answer the same."""
    return DocumentNotFoundError(
        f"there is no document {key.vault_path[:300]!r}", field="path", value=key.vault_path[:300]
    )


@dataclass(frozen=True, slots=True)
class Retried:
    """A document that is rechecked, and its status until then."""

    key: DocumentKey
    version_id: str
    status: Status


@dataclass(frozen=True, kw_only=True)
class RetryDocuments:
    """Requests a recheck; ingest finds out what there is to do."""

    documents: ObjectStore
    registry: Registry
    queue: MessageQueue
    permissions: Permissions
    clock: Callable[[], float]

    def __call__(self, caller: Caller, key: DocumentKey) -> Retried:
        """Send the message, then let the document say `pending` where it said `failed`.

        That is a claim whose lease is over already: ingest takes the next one, and whoever still works on the failed
        revision has lost it.

        Raises:
            DocumentNotFoundError: The bucket has no such object, or the vault is out of the key's scope.
        """
        head = self.registry.head(key) if caller.may_see(key.vault) else None
        stored = self.documents.head(key.s3_key) if self.permissions.allows(caller, key, head) else None
        if stored is None:
            name = key.vault_path[:300]
            raise DocumentNotFoundError(f"there is no document {name!r}", field="path", value=name)
        self.queue.send(key.s3_key)
        if head is None:
            return Retried(key, stored.version_id, Status.PENDING)
        if head.status is Status.FAILED:
            sidecar = self.documents.head(key.s3_key + SIDECAR_SUFFIX)
            now_s = self.clock()
            versions = stored.version_id, sidecar.version_id if sidecar else None
            etags = stored.etag, sidecar.etag if sidecar else None
            claim = Claim(*versions, f"retry-{uuid.uuid4()}", now_s, None, now_s, *etags, tag=head.tag or "")
            self.registry.claim(key, head, claim)  # lost: ingest was faster
            return Retried(key, stored.version_id, Status.PENDING)
        settled = head.status is Status.INDEXED and head.live_version_id == stored.version_id
        return Retried(key, stored.version_id, Status.INDEXED if settled else Status.PENDING)


KEEP_S = 86_400.0  # a day: longer than any client retries
LEASE_S = 60.0  # twice what a request may take
FIELD = "Idempotency-Key"


class WriteOnce:
    """Does a write, or gives the reply that it had."""

    def __init__(self, replies: StoredReplies, *, clock: Callable[[], float]) -> None:
        self._replies = replies
        self._clock = clock

    def __call__(
        self, caller: Caller, key: str, fingerprint: str, work: Callable[[], Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any], bool]:
        """The reply of *work*, a JSON object, and whether it is a stored one.

        Raises:
            ConflictError: The key came with another request within a day, or this one is still under way.
            DatabaseError: The stored reply could not be read or written; nothing was done.
        """
        there = self._replies.begin(
            caller.tenant, key, fingerprint, now_s=self._clock(), lease_s=LEASE_S, keep_s=KEEP_S
        )
        if there is not None:
            if there.fingerprint != fingerprint:
                raise ConflictError(f"{FIELD}: it came with another request before", field=FIELD, allowed=None)
            if there.body is None:
                raise ConflictError(f"{FIELD}: the same request is still under way", field=FIELD, allowed=None)
            return there.body, True
        try:
            body = work()
        except RagdropError:
            self._replies.forget(caller.tenant, key)
            raise
        self._replies.finish(caller.tenant, key, body)
        return body, False
