"""Every file of the mixed collection has the outcome that its category demands, in time and in memory."""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path

import pytest

from ragdrop.errors import DocumentError
from ragdrop.formats.content import ContentParser
from ragdrop.formats.isolated_reader import IsolatedReader

READ = frozenset({"pdf", "docx", "html", "csv", "xlsx", "xls", "pptx", "odt", "rtf", "epub", "eml", "msg"})
MAX_SECONDS = 30
MAX_BYTES = 512 * 1024 * 1024
NOT_READ = frozenset({"CORRUPT_DOCUMENT", "UNSAFE_DOCUMENT", "EMPTY_DOCUMENT"})
# They hold no text: fixed by looking at them.
WITHOUT_TEXT = frozenset({"encrypted/pdfjs__empty_protected.pdf"})


def wanted(row: dict[str, str], data: bytes) -> frozenset[str]:
    """The outcomes allowed: `indexed` or codes of failure."""
    if row["ext"] not in READ:
        return frozenset({"ENCRYPTED_DOCUMENT" if row["category"] == "encrypted" else "UNSUPPORTED_MEDIA_TYPE"})
    if row["file"] in WITHOUT_TEXT:
        return frozenset({"EMPTY_DOCUMENT"})
    if row["category"] == "encrypted":
        return frozenset({"ENCRYPTED_DOCUMENT"} if row["password"] or b"/Encrypt" not in data else {"indexed"})
    return NOT_READ | {"indexed"} if row["category"] == "corrupt" else frozenset({"indexed"})


def peak_of(reader: IsolatedReader) -> int:
    """The most memory that the reader's process of this moment has had; 0 between two of them."""
    process = reader._process
    status = Path(f"/proc/{process.pid}/status") if process else Path()
    lines = status.read_text("ascii").splitlines() if status.is_file() else []
    return next((int(line.split()[1]) * 1_024 for line in lines if line.startswith("VmHWM:")), 0)


def test_every_file_has_the_outcome_demanded(capsys: pytest.CaptureFixture[str]) -> None:
    folder = os.environ.get("RAGDROP_EVAL_DATA")
    if not folder:
        pytest.skip("RAGDROP_EVAL_DATA is not set: the mixed documents are not at hand")
    home = Path(folder) / "mixed-docs"
    reader = IsolatedReader()
    parser, lines, wrong, peak_bytes = ContentParser(reader), [], [], 0
    with (home / "manifest.csv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            data = (home / row["file"]).read_bytes()
            started = time.monotonic()
            try:
                document = parser.parse(data, name=row["file"])
                outcome, note = "indexed", f"{len(document.text)} characters {'; '.join(document.warnings)}"
            except DocumentError as exc:
                outcome, note = exc.code, exc.message
            took_s = time.monotonic() - started
            peak_bytes = max(peak_bytes, peak_of(reader))
            lines.append(f"{row['file'][:64]:64} {outcome:24} {took_s:5.2f} s  {note[:90]}")
            if outcome not in wanted(row, data) or took_s > MAX_SECONDS:
                wrong.append(lines[-1])
    reader.close()
    with capsys.disabled():
        print("", *lines, sep="\n")

    assert wrong == []
    assert len(lines) == 74
    assert 0 < peak_bytes < MAX_BYTES
