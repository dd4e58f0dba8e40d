"""Markdown and plain text: the parsed text is the decoded object, unchanged, so that quotes stand verbatim in it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

import yaml
from markdown_it import MarkdownIt

from ragdrop.domain.parsed import Heading, ParsedDocument
from ragdrop.domain.text_decoding import is_chat, looks_binary, marked_encoding
from ragdrop.errors import CorruptDocumentError, EmptyDocumentError, UnsupportedMediaTypeError

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd"})
MAX_FRONT_MATTER_CHARACTERS = 65_536
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\r|\n")


class TextParser:
    """A Parser for Markdown (front matter, headings) and plain text; everything else is refused."""

    def __init__(self) -> None:
        self._markdown = MarkdownIt("commonmark")

    def parse(self, body: bytes, *, name: str) -> ParsedDocument:
        """Decode and read the structure.

        Raises:
            EmptyDocumentError: There is no text.
            UnsupportedMediaTypeError: The bytes are of another format.
            CorruptDocumentError: No encoding fits.
        """
        if not body.strip():
            raise EmptyDocumentError("the object is empty")
        if looks_binary(body):
            raise UnsupportedMediaTypeError("the object is not text; Markdown and plain text are read")
        text = _decode(body)
        if PurePosixPath(name).suffix.lower() in MARKDOWN_SUFFIXES:
            return self._markdown_document(text)
        return ParsedDocument(text, "text", "text/plain", content_type="chat" if is_chat(text) else "documentation")

    def _markdown_document(self, text: str) -> ParsedDocument:
        metadata, body_start, warnings = _front_matter(text)
        return ParsedDocument(
            text=text,
            syntax="markdown",
            media_type="text/markdown",
            body_start=body_start,
            headings=tuple(self._headings(text, body_start)),
            metadata=metadata,
            content_type="chat" if is_chat(text[body_start:]) else "documentation",
            warnings=tuple(warnings),
        )

    def _headings(self, text: str, body_start: int) -> list[Heading]:
        body = text[body_start:]
        starts = [body_start, *(body_start + end.end() for end in _LINE_END.finditer(body))]
        tokens = self._markdown.parse(body)
        return [
            Heading(int(token.tag[1]), inline.content.strip(), starts[token.map[0]])
            for token, inline in pairwise(tokens)
            if token.type == "heading_open" and token.map and token.map[0] < len(starts)
        ]


def _decode(body: bytes) -> str:
    encoding = marked_encoding(body) or "utf-8"
    try:
        return body.decode(encoding)
    except UnicodeDecodeError:
        from charset_normalizer import from_bytes

        best = from_bytes(body).best()
        if best is None:
            raise CorruptDocumentError("the text's encoding could not be found") from None
        return str(best)


def _front_matter(text: str) -> tuple[dict[str, Any], int, list[str]]:
    """The front matter, where the body starts, and what was wrong with it."""
    found = _FRONT_MATTER.match(text[:MAX_FRONT_MATTER_CHARACTERS])
    if found is None:
        return {}, 0, []
    try:
        metadata = yaml.safe_load(found.group(1))
    except (yaml.YAMLError, ValueError, RecursionError) as exc:
        return {}, found.end(), [f"the front matter is not valid YAML and is left out{_line(exc)}"]
    if metadata is None:
        return {}, found.end(), []
    if not isinstance(metadata, dict):
        return {}, found.end(), ["the front matter is not a map of names and values and is left out"]
    return {str(name): value for name, value in metadata.items()}, found.end(), []


def _line(exc: Exception) -> str:
    mark = getattr(exc, "problem_mark", None)
    return "" if mark is None else f" (line {mark.line + 2})"
