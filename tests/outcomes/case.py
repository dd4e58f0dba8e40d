"""Files of every format with the outcome that each must have, and how a file's outcome is found."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DocumentError
from ragdrop.ingest.parse import parse
from readers.content import ContentParser
from readers.isolated_reader import IsolatedReader
from readers.pages.page_recognition import RecognizedPages

MAX_SECONDS = 30
MAX_BYTES = 512 * 1024 * 1024
INDEXED = "indexed"
EMPTY, CORRUPT, ENCRYPTED = "EMPTY_DOCUMENT", "CORRUPT_DOCUMENT", "ENCRYPTED_DOCUMENT"
UNSAFE, LARGE, UNSUPPORTED = "UNSAFE_DOCUMENT", "DOCUMENT_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"
OUTSIDE = "http://127.0.0.1:9/x"
"""An address that nobody serves: whoever fetched it would fail."""


@dataclass(frozen=True)
class Case:
    """A file, and what must come of it.

    Args:
        what: What the file is, in a few words.
        name: Its path, odd ones included.
        body: Makes its bytes.
        outcome: `indexed`, or the code.
        warns: Words of each warning that the document must have; it may have no other.
        holds: Words of the text, where it is indexed.
        long: Whether the file has tens of megabytes.
    """

    what: str
    name: str
    body: Callable[[], bytes]
    outcome: str = INDEXED
    warns: tuple[str, ...] = ()
    holds: str = ""
    long: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a file; `peak_bytes` is 0 where the reader's process is gone, or another one began."""

    outcome: str
    warnings: tuple[str, ...]
    message: str
    text: str
    seconds: float
    peak_bytes: int


def outcome_of(reader: IsolatedReader, body: bytes, name: str) -> Outcome:
    """Read *body* as ingest does, in the child process of *reader*."""
    warnings: tuple[str, ...] = ()
    message = text = ""
    started = time.monotonic()
    try:
        document = parse(
            ContentParser(reader), body, name=name, media_type="", pages=RecognizedPages(), deadline=Deadline.after(600)
        )
        outcome, warnings, text = INDEXED if document.text.strip() else "no text", document.warnings, document.text
    except DocumentError as exc:
        outcome, message = exc.code, exc.message
    return Outcome(outcome, warnings, message, text, time.monotonic() - started, peak_of(reader))


def peak_of(reader: IsolatedReader) -> int:
    """The most memory that the reader's process of this moment has had; 0 between two of them."""
    process = reader._process
    status = Path(f"/proc/{process.pid}/status") if process else Path()
    lines = status.read_text("ascii").splitlines() if status.is_file() else []
    return next((int(line.split()[1]) * 1_024 for line in lines if line.startswith("VmHWM:")), 0)
