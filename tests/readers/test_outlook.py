"""Outlook's messages."""

from __future__ import annotations

import struct

from readers.parsed import ParsedDocument
from readers.read_errors import ReadError
from tests.compound_files import outlook_message
from tests.reading import parse as read
from tests.reading import place_of


def parse(body: bytes | str, name: str = "a.eml") -> ParsedDocument:
    return read(body, name)


def test_an_outlook_message_is_read_with_its_attachments() -> None:
    body = outlook_message(
        {"0037": "The pump", "1000": "It leaks.\r\n", "0C1A": "Ann", "5D01": "ann@example.com", "0E04": "Bob"},
        sent=struct.pack("<Q", 133_802_000_000_000_000),
        attachments={"notes.txt": b"Call Ann."},
    )

    document = parse(body, "a.msg")

    assert document.text == (
        "# The pump\n\nFrom: Ann <ann@example.com>\nTo: Bob\nDate: 2025-01-01T10:13:20+00:00\n\nIt leaks.\n\n"
        "## Attachment: notes.txt\n\nCall Ann.\n"
    )
    assert document.metadata["date"] == "2025-01-01T10:13:20+00:00"
    assert place_of(document, "Call") == "attachment notes.txt"


def test_a_truncated_outlook_message_fails_or_is_read_but_never_breaks() -> None:
    body = outlook_message({"0037": "The pump", "1000": "It leaks."}, attachments={"notes.txt": b"Call Ann." * 900})

    for share in range(1, 20):
        try:
            outcome = parse(body[: len(body) * share // 20], "a.msg").text
        except ReadError as exc:
            outcome = type(exc).__name__
        assert outcome.startswith(("# The pump", "From", "CorruptFileError"))
