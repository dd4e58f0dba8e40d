"""Parsers and splitters: from bytes to chunks."""

from typing import Protocol

from ragdrop.domain.chunks import Chunk
from ragdrop.domain.deadlines import Deadline
from readers.pages.page_recognition import RecognizedText, Scan
from readers.parsed import DrawnPage as DrawnPage
from readers.parsed import ParsedDocument


class Parser(Protocol):
    """Bytes to text with structure.  Raises a ReadError for what can never be read."""

    def parse(self, body: bytes, *, name: str, media_type: str = "", scan: Scan | None = None) -> ParsedDocument:
        """Read *body*; *name* is the document's path, whose suffix may help, as a charset in its *media_type* may.

        Raises UnfinishedScanError: the time of *scan* was too short for its pages; the pages read so far are stored.
        """


class PageDrawer(Protocol):
    """Draws pages of PDFs within bounds of time and memory.  Thread-safe.  Raises a ReadError where it cannot."""

    def draw(self, body: bytes, number: int, text: str, start: int, end: int) -> DrawnPage:
        """Draw the page with this number, from 1, and find code points *start* to *end* of its parsed *text* on it."""


class Splitter(Protocol):
    """Cuts parsed text into chunks of at most *max_tokens* tokens of the embedding model."""

    def split(self, document: ParsedDocument, *, max_tokens: int, overlap_tokens: int) -> list[Chunk]:
        """Chunks in order of their place; each text is exactly the parsed text's slice."""


class TextRecognizer(Protocol):
    """Reads the text of pictures.  Thread-safe; one per execution environment."""

    @property
    def at_once(self) -> int:
        """How many pictures it reads at the same time, as far as reported; 1 or more."""

    def recognize(self, picture: bytes, deadline: Deadline) -> RecognizedText:
        """Read a PNG, JPEG or TIFF; a picture without text gives an empty one.

        Raises DependencyError: the service did not answer; a later call may succeed.
        """
