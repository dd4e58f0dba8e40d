"""Read a file in this process, as tests of formats do."""

from __future__ import annotations

from readers.content import ContentParser
from readers.formats import read_here
from readers.parsed import ParsedDocument


def parse(body: bytes | str, name: str = "a", media_type: str = "") -> ParsedDocument:
    """Read *body* as ingest does, but without a child process and its limits."""
    return ContentParser(read_here).parse(
        body.encode() if isinstance(body, str) else body, name=name, media_type=media_type
    )
