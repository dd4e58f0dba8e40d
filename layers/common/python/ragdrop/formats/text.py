"""Markdown and plain text: the parsed text is the decoded object, so quotes are verbatim."""

from __future__ import annotations

import re
from typing import Any

import yaml

from ragdrop.domain.parsed import ParsedDocument
from ragdrop.errors import EmptyDocumentError, UnsupportedMediaTypeError
from ragdrop.formats.markdown import links_of, markdown_parser, outline
from ragdrop.formats.text_decoder import decode
from ragdrop.formats.text_decoding import is_chat

MAX_FRONT_MATTER_CHARACTERS = 65_536
_INVALID = object()
_FIELD = re.compile(r"^([\"']?)([A-Za-z_][\w -]*)\1:(?=\s)", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class TextParser:
    """Reads Markdown (front matter, headings, tables, links) and plain text.  Not a port: ContentParser is."""

    def __init__(self) -> None:
        self._markdown = markdown_parser()

    def read(self, body: bytes, *, markdown: bool) -> ParsedDocument:
        """Decode and read the structure.

        Raises:
            EmptyDocumentError: There is no text.
            UnsupportedMediaTypeError: It decodes to NULs.
        """
        text, warnings = decode(body)
        if not text.strip():
            raise EmptyDocumentError("there is no text in this document")
        if "\0" in text:
            raise UnsupportedMediaTypeError("the object holds NULs and is not text")
        if markdown:
            return self._markdown_document(text, warnings)
        kind = "chat" if is_chat(text) else "documentation"
        return ParsedDocument(text, "text", "text/plain", content_type=kind, warnings=warnings)  # type: ignore[arg-type]

    def _markdown_document(self, text: str, warnings: tuple[str, ...]) -> ParsedDocument:
        metadata, body_start, wrong = _front_matter(text)
        headings, tables, code = outline(text, body_start, self._markdown)
        return ParsedDocument(
            text=text,
            syntax="markdown",
            media_type="text/markdown",
            body_start=body_start,
            headings=tuple(headings),
            metadata=metadata,
            content_type="chat" if is_chat(text[body_start:]) else "documentation",
            links=links_of(text, body_start, code),
            warnings=(*warnings, *wrong),
            tables=tuple(tables),
        )


def _front_matter(text: str) -> tuple[dict[str, Any], int, list[str]]:
    """The front matter, where the body starts, and what was wrong with it."""
    found = _FRONT_MATTER.match(text[:MAX_FRONT_MATTER_CHARACTERS])
    if found is None:
        return {}, 0, []
    metadata = _loaded(found.group(1))
    if metadata is None:
        return {}, found.end(), []
    if isinstance(metadata, dict):
        return {str(name): value for name, value in metadata.items()}, found.end(), []
    fields, wrong = _field_by_field(found.group(1))
    return fields, found.end(), wrong or ["the front matter is not a map of names and values and is left out"]


def _field_by_field(yaml_text: str) -> tuple[dict[str, Any], list[str]]:
    """The fields that can be read, each for itself, and a warning for each that cannot."""
    fields: dict[str, Any] = {}
    wrong: list[str] = []
    matches = list(_FIELD.finditer(yaml_text))
    ends = [match.start() for match in matches[1:]] + [len(yaml_text)]
    for match, end in zip(matches, ends if matches else [], strict=True):
        start, name = match.start(), match.group(2)
        held = _loaded(yaml_text[start:end])
        if isinstance(held, dict):
            fields |= {str(key): value for key, value in held.items()}
        else:
            line = yaml_text.count("\n", 0, start) + 2  # the first line of the document is the fence
            wrong.append(f"the field {name[:40]!r} of the front matter (line {line}) is not valid YAML and is left out")
    return fields, wrong


def _loaded(yaml_text: str) -> object:
    """What YAML says; _INVALID where it says nothing that can be read."""
    try:
        return yaml.load(yaml_text, _Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError):
        return _INVALID


class _Loader(yaml.SafeLoader):
    """Reads a date that does not exist as text, so that it spoils its own field alone.

    Aliases are refused: a few lines of them can make gigabytes.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next node, which may not be an alias."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(problem="aliases are not read")
        return super().compose_node(parent, index)

    def timestamp(self, node: yaml.ScalarNode) -> object:
        """A date, or the text of one that is none."""
        try:
            return self.construct_yaml_timestamp(node)
        except ValueError:
            return node.value


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.timestamp)
