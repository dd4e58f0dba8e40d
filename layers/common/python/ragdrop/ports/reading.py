"""Parsers and splitters: from bytes to chunks."""

from __future__ import annotations

from typing import Protocol

from ragdrop.domain.chunks import Chunk
from ragdrop.domain.parsed import ParsedDocument


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
