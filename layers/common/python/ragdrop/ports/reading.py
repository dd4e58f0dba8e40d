"""Parsers and splitters: from bytes to chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ragdrop.domain.chunks import Chunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.parsed import ParsedDocument


@dataclass(frozen=True, slots=True)
class RecognizedText:
    """What a picture of a page says: lines in reading order, and how sure the recogniser is, in [0, 1]."""

    text: str
    confidence: float


@dataclass
class RecognizedPages:
    """What was recognised of a document's pages, so that nobody recognises them again; this class forgets it.

    `pages` holds those of the version that is read, by their number from 0: None for one that shows no picture.
    """

    pages: dict[int, RecognizedText | None] = field(default_factory=dict)

    def known(self, picture: bytes) -> RecognizedText | None:  # noqa: ARG002 - for those that remember
        """What this picture says, where an older version of the document had it."""
        return None

    def keep(self, page: int, picture: bytes | None, text: RecognizedText | None) -> None:  # noqa: ARG002
        """Note what a page says."""
        self.pages[page] = text

    def save(self) -> None:
        """Keep what was noted; raises ObjectStoreError where it could not be kept."""


@dataclass(frozen=True, slots=True)
class Scan:
    """How the pages of a document that are pictures are read: what is known of them, and how long there is for it."""

    pages: RecognizedPages
    deadline: Deadline


class Parser(Protocol):
    """Bytes to text with structure.  Raises a DocumentError for what can never be read."""

    def parse(self, body: bytes, *, name: str, media_type: str = "", scan: Scan | None = None) -> ParsedDocument:
        """Read *body*; *name* is the document's path, whose suffix may help, as a charset in its *media_type* may.

        Raises:
            ScanUnfinishedError: The time of *scan* was too short for its pages; what was read of them is kept.
        """
        ...


class Splitter(Protocol):
    """Cuts parsed text into chunks of at most *max_tokens* tokens of the embedding model."""

    def split(self, document: ParsedDocument, *, max_tokens: int, overlap_tokens: int) -> list[Chunk]:
        """Chunks in order of their place; each text is exactly the parsed text's slice."""
        ...


class TextRecognizer(Protocol):
    """Reads the text of pictures.  Thread-safe; one per execution environment."""

    @property
    def at_once(self) -> int:
        """How many pictures it reads at the same time, as far as is known; 1 or more."""
        ...

    def recognize(self, picture: bytes, deadline: Deadline) -> RecognizedText:
        """Read a PNG, JPEG or TIFF; a picture without text gives an empty one.

        Raises:
            DependencyError: The service did not answer; later it may.
        """
        ...
