"""Bytes that claim to be text: what their marks say of the encoding, and whether they look like text at all."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SPEAKER = re.compile(r"^\[[^\]\n]{1,60}\]\s+\S")
_BINARY_SIGNATURES = (
    b"%PDF-",
    b"PK\x03\x04",
    b"\xd0\xcf\x11\xe0",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x1f\x8b",
    b"{\\rtf",
)


def marked_encoding(body: bytes) -> str | None:
    r"""The encoding that a byte order mark names, None without one.

    >>> marked_encoding(b"\xef\xbb\xbfa"), marked_encoding(b"a")
    ('utf-8-sig', None)
    """
    return next((encoding for mark, encoding in _MARKS if body.startswith(mark)), None)


def looks_binary(body: bytes) -> bool:
    r"""Whether the first bytes are those of a format that is not plain text, or hold NULs.

    >>> looks_binary(b"%PDF-1.7"), looks_binary(b"plain")
    (True, False)
    """
    return body.startswith(_BINARY_SIGNATURES) or (marked_encoding(body) is None and b"\0" in body[:8_192])


def is_chat(text: str) -> bool:
    r"""Whether lines of `[Name] message` are most of the lines that hold something.

    >>> is_chat("[Ann] hello\n[Bob] hi\n"), is_chat("# Notes\n[Ann] said")
    (True, False)
    """
    lines = [line for line in text.splitlines()[:500] if line.strip()]
    return bool(lines) and sum(bool(_SPEAKER.match(line)) for line in lines) > len(lines) / 2
