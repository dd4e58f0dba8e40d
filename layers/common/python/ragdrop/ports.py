"""What ragdrop needs of the outside world: one Protocol each; the adapters keep them, the contract suites check them.

Every adapter lives as long as its execution environment and is safe to share between threads, unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ragdrop.domain.answers import Segment
from ragdrop.domain.chunks import (
    CandidateQuery,
    Candidates,
    Chunk,
    ChunkRange,
    Hit,
    IndexedChunk,
    RevisionPage,
    Vector,
)
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Failure, Head, Heads, Page, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.objects import ListedObject, UploadForm
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.domain.tenants import ActiveIndex, ApiKey, EmbeddingSpace, IndexRef, Tenant


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One version of an object.  `metadata` holds `x-amz-meta-*` without that prefix; `modified_at` is RFC 3339 UTC."""

    key: str
    version_id: str
    etag: str
    size_bytes: int
    media_type: str
    modified_at: str
    metadata: Mapping[str, str] = field(default_factory=dict)


class ObjectStore(Protocol):
    """One versioned bucket.  All methods raise ObjectStoreError when S3 does not answer."""

    bucket: str

    def head(self, key: str) -> StoredObject | None:
        """The current version (strongly consistent); None where there is none or a delete marker is on top."""

    def get(self, key: str, *, version_id: str | None = None, start: int = 0, end: int | None = None) -> bytes | None:
        """Bytes *start* to *end* (exclusive) of a version, or of the current one; None where it does not exist."""

    def put(self, key: str, body: bytes, *, media_type: str, metadata: Mapping[str, str] | None = None) -> StoredObject:
        """Write a new version."""

    def delete(self, key: str) -> str | None:
        """Put a delete marker on top; its version id, None where the bucket keeps no versions.  No error if absent."""

    def delete_prefix(self, prefix: str) -> int:
        """Remove every version of every key under *prefix* for good; how many versions went."""

    def entries(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        """Every key under *prefix* behind *start_after* by its code points, read page by page as they are taken."""

    def purge(self, key: str) -> int:
        """Remove every version and delete marker of one key for good; how many went."""

    def upload_form(self, key: str, *, media_type: str, max_bytes: int, expires_s: int) -> UploadForm:
        """A form by which anyone may write one object of 1 to *max_bytes* bytes to *key* in the next *expires_s* s."""


class Embedder(Protocol):
    """Turns text into vectors.  Raises EmbeddingServiceError; `retryable=False` for a wrong dimension."""

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        """The vector of a question, with the space's query prefix."""

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        """The vectors of passages, in order, with the space's passage prefix; an empty list costs no call."""


class ChunkIndex(Protocol):
    """Vector and lexical search over chunks.  Creates what it needs on first use.

    All methods raise DatabaseError; ConfigurationError for a wrong dimension, a missing plugin or a server too old.
    An index holds what was written, superseded revisions too: whether a hit may answer is the registry's to say.
    """

    def upsert(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        """Write chunks; the same id replaces.  Visible to searches after `refresh`."""

    def refresh(self, indexes: Iterable[IndexRef], deadline: Deadline) -> None:
        """Return once all that was written before to *indexes* is visible to searches."""

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of every query, in order, in one round trip; best first, ties by chunk id."""

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """The chunks of each range in order of their ordinals, in one round trip."""

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        """Remove the document's chunks of revisions from *from_revision* to below *before_revision*; how many.

        Also those that are not yet visible.
        """

    def revisions(self, index: IndexRef, *, cursor: str | None, limit: int, deadline: Deadline) -> RevisionPage:
        """Up to *limit* of the tenant's revisions that have visible chunks, each once: for the sweep alone."""

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        """Chunks of the tenant in this index, those of superseded revisions too."""

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        """Remove all of the tenant's chunks from this index; how many.  No error where there is no such index."""

    def check(self, deadline: Deadline) -> None:
        """Return if the index can be searched, else raise."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a revision is claimed for; times are seconds since 1970, etags those of the two versions."""

    version_id: str
    sidecar_version_id: str | None
    message_id: str
    lease_until_s: float
    sequencer: str | None
    now_s: float
    etag: str | None = None
    sidecar_etag: str | None = None


class Registry(Protocol):
    """The truth about which revision of every document answers.  All reads here but `page` are consistent.

    All methods raise DatabaseError when the registry does not answer.  A conditional write that loses gives None or
    False, never an error: somebody else's write was there first.
    """

    def head(self, key: DocumentKey) -> Head | None:
        """The head of a document; None where it never had one, or was purged."""
        ...

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        """The heads of up to 100 documents in one batch read; raises only where none could be read."""

    def detail(self, key: DocumentKey, revision: int) -> Detail | None:
        """What is kept of one revision; None where it was never flipped, or was forgotten."""
        ...

    def claim(self, key: DocumentKey, seen: Head | None, claim: Claim) -> Head | None:
        """Take the next revision, if the head is still as *seen*; the new head (`pending`), or None.

        The first revision of a document without a head is milliseconds since 1970, so that no number is used twice.
        """

    def give_back(self, key: DocumentKey, revision: int) -> None:
        """End the lease of *revision*, so that another message may claim; nothing happens if it was superseded."""

    def flip(self, detail: Detail, now_s: float) -> Head | None:
        """Write the detail, then make its revision the live one if it is still the last claimed.

        Returns the head as it was before, or None where the revision was superseded.
        """

    def fail(self, key: DocumentKey, revision: int, failure: Failure, *, keep_live: bool) -> Head | None:
        """Record that *revision* failed; the live one is withdrawn unless *keep_live*.  Returns as `flip` does."""

    def tombstone(self, key: DocumentKey, seen: Head, sequencer: str | None, now_s: float) -> Head | None:
        """Claim the next revision as deleted, if the head is still as *seen*: from here on nothing of it answers.

        Returns the new head, or None where another write was first, a flip of the revision seen included.
        """

    def forget(self, key: DocumentKey, before_revision: int) -> None:
        """Remove the details of revisions below *before_revision*."""

    def forget_document(self, key: DocumentKey) -> int:
        """Remove all that is kept of a document, its head too; how many items.  For a purge, after its tombstone."""

    def page(
        self, tenant: str, *, vault: str | None, prefix: str, status: Status | None, cursor: str | None, limit: int
    ) -> Page:
        """Documents by vault and path; without *status* all but the deleted.  Eventually consistent.

        Raises:
            InvalidParamsError: The cursor is not one that was given out.
        """

    def tenant(self, name: str) -> Tenant | None:
        """The tenant's item."""
        ...

    def create_tenant(self, tenant: Tenant) -> bool:
        """Write a new tenant; False where one of that name exists."""

    def tenants(self) -> list[Tenant]:
        """All tenants by name."""
        ...

    def move_indexes(
        self, before: Tenant, *, active: ActiveIndex, building: ActiveIndex | None, previous: ActiveIndex | None
    ) -> bool:
        """Write which indexes a tenant has, and count the move; False where another move came since *before*."""
        ...

    def add_to_tenant(self, name: str, *, vault: str, documents: int, chunks: int) -> None:
        """Add to the counters, note the vault, raise the generation by one; nothing for an unknown tenant."""

    def api_key(self, sha256: str) -> ApiKey | None:
        """A key by the hash of its secret; revoked and expired ones too."""
        ...

    def put_api_key(self, key: ApiKey) -> None:
        """Write a key, or write it anew."""
        ...


class MessageQueue(Protocol):
    """The queue that feeds ingest.  All methods raise QueueError."""

    def send(self, key: str) -> None:
        """Ask ingest to look at *key* (an S3 key)."""

    def send_all(self, keys: Sequence[str]) -> None:
        """The same for many keys, with few requests; after an error some of them may have been sent."""

    def retry_after(self, receipt_handle: str, delay_s: int) -> None:
        """Show a message again only after *delay_s* seconds."""

    def redrive(self) -> int:
        """Move some messages of the dead-letter queue back; how many, 0 where none is left.

        One that is cut off in between is in both queues: ingest does nothing twice.
        """


class Parser(Protocol):
    """Bytes to text with structure.  Raises a DocumentError for what can never be read."""

    def parse(self, body: bytes, *, name: str) -> ParsedDocument:
        """Read *body*; *name* is the document's path, whose suffix may help."""
        ...


class Splitter(Protocol):
    """Cuts parsed text into chunks of at most *max_tokens* tokens of the embedding model."""

    def split(self, document: ParsedDocument, *, max_tokens: int, overlap_tokens: int) -> list[Chunk]:
        """Chunks in order of their place; each text is exactly the parsed text's slice."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A chat model's whole answer; token counts are None where the endpoint does not tell."""

    text: str
    model: str
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class ChatModel(Protocol):
    """An OpenAI-compatible chat endpoint.  Raises GenerationError, ModelNotFoundError or DeadlineError."""

    def complete(self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline) -> Completion:
        """The whole answer, of at most *max_tokens* tokens."""
        ...


class Prompter(Protocol):
    """Renders the messages of a question.  `version` is a hash of the templates' content."""

    version: str
    system: str

    def render(self, question: str, segments: Sequence[Segment]) -> list[Message]:
        """The messages to send: the system prompt, then sources and question."""
        ...
