"""The mixed collection: its files, and the outcomes that the category of each allows."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path

from tests.outcomes.case import CORRUPT, EMPTY, ENCRYPTED, INDEXED, UNSAFE, UNSUPPORTED

READ = frozenset({"pdf", "docx", "html", "csv", "xlsx", "xls", "pptx", "odt", "rtf", "epub", "eml", "msg"})
# They hold no text: fixed by looking at them.
WITHOUT_TEXT = frozenset({"encrypted/pdfjs__empty_protected.pdf"})
FILES = 74


def home() -> Path | None:
    """The folder of the collection; None where it is not at hand."""
    folder = os.environ.get("RAGDROP_EVAL_DATA")
    return Path(folder) / "mixed-docs" if folder else None


def files_in(folder: Path) -> Iterator[tuple[dict[str, str], bytes]]:
    """Each file's row of the manifest, and its bytes."""
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            yield row, (folder / row["file"]).read_bytes()


def demanded(row: dict[str, str], data: bytes) -> frozenset[str]:
    """The outcomes allowed: `indexed` or codes of failure."""
    if row["ext"] not in READ:
        return frozenset({ENCRYPTED if row["category"] == "encrypted" else UNSUPPORTED})
    if row["file"] in WITHOUT_TEXT:
        return frozenset({EMPTY})
    if row["category"] == "encrypted":
        return frozenset({ENCRYPTED} if row["password"] or b"/Encrypt" not in data else {INDEXED})
    return frozenset({CORRUPT, UNSAFE, EMPTY, INDEXED} if row["category"] == "corrupt" else {INDEXED})
