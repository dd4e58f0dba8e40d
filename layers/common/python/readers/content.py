"""Choose the reader of a file, by its bytes and, if these leave a choice, by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from readers.code import MAX_LEXED_CHARACTERS, lexer_name
from readers.formats import (
    BY_MEDIA_TYPE,
    BY_SUFFIX,
    ENCRYPTED_OFFICE,
    FORMATS,
    Kind,
    binary_format,
    declares_entities,
    looks_like_html,
    looks_like_markdown,
    other_text_format,
    read_here,
    starts_as_named,
    suffix_of,
    titles,
)
from readers.parsed import ParsedDocument
from readers.read_errors import (
    CorruptFileError,
    EmptyFileError,
    EncryptedFileError,
    UnsafeFileError,
    UnsupportedFormatError,
)
from readers.records import looks_like_csv
from readers.text_decoding import decode, encoding_of_label, has_mark, holds_controls, looks_binary

if TYPE_CHECKING:  # Markdown does not wait for it
    from readers.pages.page_recognition import PageRecognition, Scan

READ = f"{titles()} are read"
HEAD_BYTES = 65_536
_CHARSET = re.compile(r"\A(?!message/).*;\s*charset\s*=\s*[\"']?([^\s;\"']+)", re.IGNORECASE)
PICTURES = {"a PNG image": "image/png", "a JPEG image": "image/jpeg", "a TIFF image": "image/tiff"}
BY_NAME = frozenset({"markdown", "text", "json", "jsonl", "csv"})
MARKED = frozenset({"mail", "mailbox", "subtitles"})


def kind_of(body: bytes, name: str) -> Kind:
    r"""The kind of *body*; *name* is its path.

    >>> kind_of(b"%PDF-1.7", "a.md"), kind_of(b"# Pump", "a.md"), kind_of(b"x = 1", "a.py"), kind_of(b"Hello.", "a")
    ('pdf', 'markdown', 'code', 'text')
    """
    if not body.strip():
        raise EmptyFileError("the object is empty")
    known = binary_format(body, name)
    if known == ENCRYPTED_OFFICE:
        raise EncryptedFileError("the document wants a password")
    by_suffix = BY_SUFFIX.get(suffix_of(name))
    named_binary = by_suffix is not None and FORMATS[by_suffix].is_binary
    if known is None and (looks_binary(body) or (named_binary and holds_controls(body[:HEAD_BYTES]))):
        if named_binary:
            raise CorruptFileError(f"its name ends in {suffix_of(name)}, its bytes are of no such file")
        known = "binary data"
    text = "" if known else decode_head(body, HEAD_BYTES)
    known = known or other_text_format(text)
    if known in BY_MEDIA_TYPE:
        return BY_MEDIA_TYPE[known]
    if known:
        raise UnsupportedFormatError(f"the object is {known}" + ("" if ":" in known else f"; {READ}"), format=known)
    if declares_entities(text):
        raise UnsafeFileError("its XML defines entities out of entities")
    return _kind_of_text(text, name, len(body))


def decode_head(body: bytes, size_bytes: int) -> str:
    """The text of the first *size_bytes* of *body*, without a character of UTF-8 that is cut there.

    >>> decode_head("für".encode(), 2)
    'f'
    """
    head = body[:size_bytes]
    if len(head) < len(body):
        head = head[: len(head) - next((back for back in (1, 2, 3) if head[-back] >= 0xC0), 0)]
    return decode(head)[0]


def _kind_of_text(text: str, name: str, size_bytes: int) -> Kind:
    if looks_like_html(text, name):
        return "html"
    by_suffix = BY_SUFFIX.get(suffix_of(name))
    if by_suffix is not None and (by_suffix in BY_NAME or (by_suffix in MARKED and starts_as_named(text, by_suffix))):
        return by_suffix
    if lexer_name(name, text):
        return "code" if size_bytes <= 4 * MAX_LEXED_CHARACTERS else "text"
    start = text[:1_000].lstrip("\ufeff \t\r\n")
    if start.startswith(("{", '["', "[{", "[[")) and suffix_of(name) == "":
        first = start.split("\n", 1)[0].rstrip()
        return "jsonl" if first.startswith("{") and first.endswith("}") and "\n" in start else "json"
    if looks_like_csv(text):
        return "csv"
    return "markdown" if looks_like_markdown(text) else "text"


def _in_utf8(body: bytes, name: str, media_type: str) -> bytes:
    """A text in UTF-8, marked as such, whose media type names another encoding that all its bytes are valid in."""
    named = _CHARSET.search(media_type)
    encoding = encoding_of_label(named[1]) if named else None
    if encoding is None or encoding == "utf-8" or binary_format(body, name) or looks_binary(body) or has_mark(body):
        return body
    text, warnings = decode(body, charset=encoding)
    return body if warnings else b"\xef\xbb\xbf" + text.encode("utf-8", "replace")


Reader = Callable[[Kind, bytes, str], ParsedDocument]
"""Reads bytes of a kind; the last argument is the document's path.  Raises ReadError."""


class ContentParser:
    """Reads any file by the reader of its format.

    Args:
        reader: Reads all but plain text and Markdown: an IsolatedReader, or `read_here` without limits.
        recognition: Reads pictures and pages without text; without it pictures are refused.
    """

    def __init__(self, reader: Reader, recognition: PageRecognition | None = None) -> None:
        self._reader = reader
        self._recognition = recognition

    def parse(self, body: bytes, *, name: str, media_type: str = "", scan: Scan | None = None) -> ParsedDocument:
        """Read *body* as what it is; of its *media_type* only a `charset` counts.

        Raises ReadError: it cannot be read; an UnfinishedScanError stores the pages that were recognised.
        """
        try:
            body = _in_utf8(body, name, media_type)
            kind = kind_of(body, name)
        except UnsupportedFormatError as exc:
            picture = PICTURES.get(exc.details.get("format", ""))
            if self._recognition is None or picture is None:
                raise
            return self._recognition.of_picture(body, picture, scan)
        if kind in {"text", "markdown"}:
            return read_here(kind, body, name)
        if kind == "pdf" and self._recognition is not None:
            return self._recognition.of_pdf(body, lambda: self._reader("pdf", body, name), scan)
        return self._reader(kind, body, name)
