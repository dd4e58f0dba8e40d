"""Parsers and splitters: from bytes to chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ragdrop.domain.chunks import Chunk
from ragdrop.domain.deadlines import Deadline
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


@dataclass(frozen=True, slots=True)
class RecognizedText:
    """What a picture of a page says: lines in reading order, and how sure the recogniser is, in [0, 1]."""

    text: str
    confidence: float


class TextRecognizer(Protocol):
    """Reads the text of pictures.  Thread-safe; one per execution environment."""

    def recognize(self, picture: bytes, deadline: Deadline) -> RecognizedText:
        """Read a PNG, JPEG or TIFF; a picture without text gives an empty one.

        Raises:
            DependencyError: The service did not answer; later it may.
        """
        ...
