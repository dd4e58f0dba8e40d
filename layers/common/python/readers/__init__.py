"""Read files of 20 formats into text with structure; README.md shows how."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from readers.parsed import Heading, ParsedDocument, Place, Table, WrittenLink, document_of, part_of
from readers.read_errors import (
    CorruptFileError,
    EmptyFileError,
    EncryptedFileError,
    FileTooLargeError,
    ReadError,
    UnfinishedScanError,
    UnsafeFileError,
    UnsupportedFormatError,
)

if TYPE_CHECKING:  # the child process starts without them
    from readers.content import Reader
    from readers.isolated_reader import IsolatedReader

__all__ = [
    "CorruptFileError",
    "EmptyFileError",
    "EncryptedFileError",
    "FileTooLargeError",
    "Heading",
    "ParsedDocument",
    "Place",
    "ReadError",
    "Table",
    "UnfinishedScanError",
    "UnsafeFileError",
    "UnsupportedFormatError",
    "WrittenLink",
    "document_of",
    "part_of",
    "read",
]


def read(
    source: bytes | str | os.PathLike[str], *, name: str = "", media_type: str = "", reader: Reader | None = None
) -> ParsedDocument:
    """Read a file, in a child process with limits unless *reader* is another one.

    Args:
        source: The bytes, or the path of a file.
        name: The file's name, whose suffix decides if the bytes leave a choice; that of the path by default.
        media_type: As a server declared it; only its `charset` counts.
        reader: An `IsolatedReader` with other limits, or `formats.read_here` to read in this process.

    Raises:
        ReadError: The file cannot be read; the subclass says why.
        OSError: There is no such file.
    """
    from readers.content import ContentParser

    body = source if isinstance(source, bytes) else Path(source).read_bytes()
    if not name and not isinstance(source, bytes):
        name = Path(source).name
    return ContentParser(reader or _isolated()).parse(body, name=name, media_type=media_type)


@cache
def _isolated() -> IsolatedReader:
    from readers.isolated_reader import IsolatedReader

    return IsolatedReader()
