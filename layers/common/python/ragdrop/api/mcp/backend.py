"""Backend: what MCP tools and resources need, from `RagdropClient` over HTTP or `DirectApi` in process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

Reply = Mapping[str, Any]


class Backend(Protocol):
    """The part of the client that agents use.  Every method raises RagdropError."""

    def ask(self, query: str, **fields: object) -> Reply:
        """Answer a question."""
        ...

    def search(self, query: str, **fields: object) -> Reply:
        """Find documents."""
        ...

    def verify(self, answer: str, sources: Sequence[Mapping[str, str]]) -> Reply:
        """Check an answer against texts."""
        ...

    def put_document(
        self, vault: str, path: str, body: bytes, *, media_type: str, facts: Mapping[str, Any] | None = None
    ) -> Reply:
        """Store a document."""
        ...

    def status(self, status_url: str) -> Reply:
        """Read the record that a stored document's `status_url` names."""
        ...

    def documents(self, *, page_size: int, cursor: str | None) -> Iterator[Reply]:
        """List documents page by page."""
        ...

    def get_document(self, vault: str, path: str, *, span: tuple[int, int]) -> Reply:
        """Read a document's parsed text between two code points."""
        ...

    def health(self) -> Reply:
        """Read how the service is."""
        ...

    def stats(self, time_range: str) -> Reply:
        """Read figures of a time range."""
        ...
