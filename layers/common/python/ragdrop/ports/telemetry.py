"""What may be lost: vectors of questions that others asked before, and how often documents are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ragdrop.domain.chunks import Vector
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


class Telemetry(QueryVectorStore, UsageStore, Protocol):
    """The telemetry table."""
