"""Which reader suits a file: by its bytes, by its name where they leave a choice."""

from __future__ import annotations

from typing import Literal

from ragdrop.adapters.code_parser import MAX_LEXED_CHARACTERS, language_of
from ragdrop.adapters.csv_parser import looks_like_csv
from ragdrop.adapters.text_decoder import decode
from ragdrop.domain.media_types import (
    DOCX,
    ENCRYPTED_OFFICE,
    PDF,
    binary_format,
    declares_entities,
    looks_like_html,
    looks_like_markdown,
    other_text_format,
    suffix_of,
)
from ragdrop.domain.text_decoding import looks_binary
from ragdrop.errors import EmptyDocumentError, EncryptedDocumentError, UnsafeDocumentError, UnsupportedMediaTypeError

Kind = Literal["markdown", "text", "html", "pdf", "docx", "json", "jsonl", "csv", "code"]

READ = "Markdown, text, HTML, PDF, DOCX, source code, JSON, JSON Lines and CSV are read"
HEAD_BYTES = 65_536
BY_SUFFIX: dict[str, Kind] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx"), "markdown"),
    **dict.fromkeys((".txt", ".text", ".log", ".rst", ".adoc", ".org", ".tex"), "text"),
    **dict.fromkeys((".json", ".geojson", ".webmanifest", ".ipynb"), "json"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
}


def kind_of(body: bytes, name: str) -> Kind:
    r"""The kind of *body*; *name* is its path.

    Raises:
        EmptyDocumentError: There is nothing but white space.
        EncryptedDocumentError: It is an Office document that wants a password.
        UnsafeDocumentError: It is XML that defines entities out of entities.
        UnsupportedMediaTypeError: It is of a format that is not read; the message names it.

    >>> kind_of(b"%PDF-1.7", "a.md"), kind_of(b"# Pump", "a.md"), kind_of(b"x = 1", "a.py"), kind_of(b"Hello.", "a")
    ('pdf', 'markdown', 'code', 'text')
    """
    if not body.strip():
        raise EmptyDocumentError("the object is empty")
    known = binary_format(body, name)
    if known == ENCRYPTED_OFFICE:
        raise EncryptedDocumentError("the document wants a password")
    if known in {PDF, DOCX}:
        return "pdf" if known == PDF else "docx"
    if known is None and looks_binary(body):
        known = "binary data"
    text = "" if known else decode(body[:HEAD_BYTES])[0]
    known = known or other_text_format(text)
    if known:
        raise UnsupportedMediaTypeError(f"the object is {known}; {READ}", format=known)
    if declares_entities(text):
        raise UnsafeDocumentError("its XML defines entities out of entities")
    return _kind_of_text(text, name, len(body))


def _kind_of_text(text: str, name: str, size_bytes: int) -> Kind:
    if looks_like_html(text, name):
        return "html"
    by_suffix = BY_SUFFIX.get(suffix_of(name))
    if by_suffix:
        return by_suffix
    if language_of(name, text):
        return "code" if size_bytes <= 4 * MAX_LEXED_CHARACTERS else "text"
    start = text[:1_000].lstrip("\ufeff \t\r\n")
    if start.startswith(("{", '["', "[{", "[[")) and suffix_of(name) == "":
        first = start.split("\n", 1)[0].rstrip()
        return "jsonl" if first.startswith("{") and first.endswith("}") and "\n" in start else "json"
    if looks_like_csv(text):
        return "csv"
    return "markdown" if looks_like_markdown(text) else "text"
