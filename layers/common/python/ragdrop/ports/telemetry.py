"""What may be lost: vectors of questions that others asked before, how often documents are found, how queries end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ragdrop.domain.chunks import Vector
from ragdrop.domain.hour_counts import Counts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.usage import Usage


class QueryVectorStore(Protocol):
    """Vectors of questions, shared by all execution environments.  All methods raise DatabaseError, and are quick to.

    `name` is a digest of model, dimension, prefix and text: the store never sees a question.
    """

    def query_vector(self, tenant: str, name: str, now_s: float) -> Vector | None:
        """The vector; None where there is none, or its time has passed at *now_s* (seconds since 1970)."""
        ...

    def put_query_vectors(self, tenant: str, vectors: Mapping[str, Vector], expires_at_s: float) -> None:
        """Keep up to 25 vectors until *expires_at_s*; the same name replaces."""


class UsageStore(Protocol):
    """How often documents were found.  All methods raise DatabaseError, and are quick to."""

    def add_use(self, key: DocumentKey, count: int, last_retrieved: str) -> None:
        """Add *count* answers that held the document; *last_retrieved* is RFC 3339 UTC."""

    def usage(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, Usage]:
        """The counts of up to 100 documents of one tenant; one that was never found is not in it."""
        ...

    def forget_use(self, key: DocumentKey) -> None:
        """Remove the counts of a document: for a purge."""


class HourStore(Protocol):
    """What queries came to, one item a tenant and hour.  All methods raise DatabaseError."""

    def add_counts(self, tenant: str, hour: str, counts: Counts) -> None:
        """Add whole numbers to those of an hour (`YYYY-MM-DDTHH`, UTC), in one write; quick to give up."""

    def counts(self, tenant: str, first: str, last: str) -> dict[str, Counts]:
        """What was counted from hour *first* to hour *last*, both included, by hour; empty hours are not in it."""
        ...

    def hash_key(self, tenant: str, candidate: bytes) -> bytes:
        """The secret that keys digests of the tenant's questions: *candidate* where there is none yet; quick."""
        ...


class Telemetry(QueryVectorStore, UsageStore, HourStore, Protocol):
    """The telemetry table."""

    def forget_tenant(self, tenant: str) -> int:
        """Remove all that is kept of a tenant but its receipts: how many items went.  Raises DatabaseError."""
        ...
