"""Read a file in this process, as tests of formats do."""

from ragdrop.models.splitter import SemanticSplitter
from readers.content import ContentParser
from readers.formats import read_here
from readers.parsed import ParsedDocument


def parse(body: bytes | str, name: str = "a", media_type: str = "") -> ParsedDocument:
    """Read *body* as ingest does, but without a child process and its limits."""
    return ContentParser(read_here).parse(
        body.encode() if isinstance(body, str) else body, name=name, media_type=media_type
    )


def place_of(document: ParsedDocument, words: str) -> str | None:
    """The place of *words* in a citation of the chunk that is all of the document."""
    (chunk,) = SemanticSplitter(lambda: None).split(document, max_tokens=2_000, overlap_tokens=0)
    start = document.text.index(words)
    return chunk.place_at(start, start + len(words))


def of_table(document: ParsedDocument) -> tuple[str, str]:
    """Header and rows of its one table, as they stand in the text."""
    (table,) = document.tables
    return document.text[table.start : table.rows_start], document.text[table.rows_start : table.end]
