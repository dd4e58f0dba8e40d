"""JSON and JSON Lines as text: one line a value with its path, a blank line between records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from readers.errors import CorruptFileError, EmptyFileError, UnsafeFileError
from readers.markdown_writer import MAX_TEXT_CHARACTERS
from readers.parsed import ParsedDocument
from readers.text_decoder import decode
from readers.text_decoding import clean, without_data_urls

MAX_DEPTH = 100
MAX_JSON_CHARACTERS = 16 * 1024 * 1024  # as Python objects it takes about ten times that
MAX_PATH_CHARACTERS = 300
_MEDIA = re.compile(r"(?:^|\.)(?:image|audio|video|application)/[\w.+-]+$")  # how notebooks name embedded files
_BASE64 = re.compile(r"[A-Za-z0-9+/=,\s]{64,}")


def read_json(body: bytes) -> ParsedDocument:
    """Read one JSON value; one of over 16 MB, or broken, is read as plain text, with a warning.

    Raises:
        EmptyFileError: No value in it.
        UnsafeFileError: It is nested deeper than 100 levels, or its text would be too long.
        CorruptFileError: It holds NULs.
    """
    text, warnings = decode(body)
    if len(text) > MAX_JSON_CHARACTERS:
        return _plain(text, "application/json", (*warnings, "the JSON is too long to be taken apart: read as text"))
    try:
        value = json.loads(text)
    except ValueError:
        return _plain(text, "application/json", (*warnings, "this is not valid JSON and is read as text"))
    except RecursionError as exc:
        raise UnsafeFileError("the JSON is nested too deep", limit_depth=MAX_DEPTH) from exc
    records = value if isinstance(value, list) and any(isinstance(item, dict) for item in value) else [value]
    return _document(map(_record, records), "application/json", warnings)


def read_json_lines(body: bytes) -> ParsedDocument:
    """Read a JSON value a line; a line that is none is kept as it is, with a warning.  Raises what `read_json` does."""
    text, warnings = decode(body)
    wrong: list[int] = []

    def records() -> Iterator[str]:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    yield _record(json.loads(line))
                except ValueError:
                    wrong.append(number)
                    yield line

    document = _document(records(), "application/jsonl", warnings)
    if not wrong:
        return document
    shown = ", ".join(map(str, wrong[:10]))
    notice = f"{len(wrong)} lines are not valid JSON and are kept as they are: {shown}"
    return ParsedDocument(document.text, "text", document.media_type, warnings=(*document.warnings, notice))


def _record(value: Any) -> str:
    r"""A value as lines of `path: value`.

    >>> _record({"pump": {"code": "QX-1", "parts": ["seal", "rotor"]}, "spare": None})
    'pump.code: QX-1\npump.parts: seal, rotor'
    """
    return "\n".join(_lines(value, "", 0))


def _lines(value: Any, path: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise UnsafeFileError(f"the JSON is nested deeper than {MAX_DEPTH} levels", limit_depth=MAX_DEPTH)
    path = path[-MAX_PATH_CHARACTERS:]
    if isinstance(value, dict):
        for name, held in value.items():
            yield from _lines(held, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and any(isinstance(held, dict | list) for held in value):
        for number, held in enumerate(value):
            yield from _lines(held, f"{path}[{number}]", depth + 1)
    else:
        shown = ", ".join(map(_scalar, value)) if isinstance(value, list) else _scalar(value)
        if _MEDIA.search(path) and _BASE64.fullmatch(shown):
            shown = f"(base64 of {len(shown)} characters is left out)"
        if shown.strip():
            yield f"{path}: {shown}" if path else shown


def _scalar(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return without_data_urls(value)[0] if isinstance(value, str) else str(value)


def _document(records: Iterator[str], media_type: str, warnings: tuple[str, ...]) -> ParsedDocument:
    parts, length = [], 0
    for record in records:
        if record.strip():
            parts.append(record)
            length += len(record) + 2
            if length > 2 * MAX_TEXT_CHARACTERS:
                raise UnsafeFileError(f"its text is longer than {2 * MAX_TEXT_CHARACTERS} characters")
    if not parts:
        raise EmptyFileError("there is no value in this document")
    return ParsedDocument(clean("\n\n".join(parts)) + "\n", "text", media_type, warnings=warnings)


def _plain(text: str, media_type: str, warnings: tuple[str, ...]) -> ParsedDocument:
    if "\0" in text:
        raise CorruptFileError("it is not JSON, and holds NULs")
    return ParsedDocument(text, "text", media_type, warnings=warnings)
