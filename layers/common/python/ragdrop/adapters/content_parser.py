"""The Parser of ragdrop: text and Markdown are read here, every other format in a process that can be stopped."""

from __future__ import annotations

from collections.abc import Callable

from ragdrop.adapters.content_kinds import Kind, kind_of
from ragdrop.adapters.text_parser import TextParser
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.errors import CorruptDocumentError

Reader = Callable[[Kind, bytes, str], ParsedDocument]
"""Reads bytes of a kind; the last argument is the document's path.  Raises DocumentError."""


class ContentParser:
    """A Parser.

    Args:
        reader: What reads all that is neither plain text nor Markdown: an IsolatedReader, or `read_here` in tests.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._text = TextParser()

    def parse(self, body: bytes, *, name: str) -> ParsedDocument:
        """Read *body* as what it is.

        Raises:
            EmptyDocumentError: There is no text in it.
            UnsupportedMediaTypeError: Its format is not read; the message names it.
            EncryptedDocumentError: It wants a password.
            UnsafeDocumentError: It took too much time or memory, or unpacks to too much.
            DocumentTooLargeError: It has too many pages.
            CorruptDocumentError: It is damaged and no text could be read.
        """
        kind = kind_of(body, name)
        if kind in {"text", "markdown"}:
            return self._text.read(body, markdown=kind == "markdown")
        return self._reader(kind, body, name)


def read_here(kind: Kind, body: bytes, name: str) -> ParsedDocument:
    """Read *body* in this process, without limits of time and memory.  The formats' packages are imported on demand."""
    if kind == "pdf":
        from ragdrop.adapters.pdf_parser import read_pdf

        return read_pdf(body)
    if kind == "docx":
        from ragdrop.adapters.docx_parser import read_docx

        return read_docx(body)
    if kind == "html":
        from ragdrop.adapters.html_parser import read_html

        return read_html(body)
    if kind in {"json", "jsonl"}:
        from ragdrop.adapters.json_parser import read_json, read_json_lines

        return read_json(body) if kind == "json" else read_json_lines(body)
    if kind == "csv":
        from ragdrop.adapters.csv_parser import read_csv

        return read_csv(body)
    if kind == "code":
        from ragdrop.adapters.code_parser import read_code

        return read_code(body, name)
    raise CorruptDocumentError(f"there is no reader for {kind}")
