"""Decoding rules: byte order marks, and bytes that are no text."""

from __future__ import annotations

import codecs
import re

from ragdrop.domain.chunk_units import SPEAKER

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{2,40})", re.IGNORECASE)
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_UNWANTED = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def marked_encoding(body: bytes) -> str | None:
    r"""The encoding that a byte order mark names, or that NULs in every other byte give away; None without either.

    >>> marked_encoding(b"\xef\xbb\xbfa"), marked_encoding("pump".encode("utf-16-le")), marked_encoding(b"a")
    ('utf-8-sig', 'utf-16-le', None)
    """
    marked = next((encoding for mark, encoding in _MARKS if body.startswith(mark)), None)
    if marked or len(body) < 4:
        return marked
    even, odd = body[:4_096:2], body[1:4_096:2]
    if odd.count(0) > len(odd) * 0.7 and not even.count(0):
        return "utf-16-le"
    return "utf-16-be" if even.count(0) > len(even) * 0.7 and not odd.count(0) else None


def declared_encoding(body: bytes) -> str | None:
    """The encoding that an HTML or XML head declares, if Python knows it.

    >>> declared_encoding(b'<meta charset="windows-1252">'), declared_encoding(b'<meta charset="x-none">')
    ('cp1252', None)
    """
    found = _DECLARED.search(body[:2_048])
    if found is None:
        return None
    try:
        name = codecs.lookup(found.group(1).decode("ascii")).name
    except LookupError:
        return None
    return "cp1252" if name in {"iso8859-1", "ascii"} else name  # as browsers read them: the WHATWG Encoding Standard


def looks_binary(body: bytes) -> bool:
    r"""Whether *body* holds NULs that no encoding explains.

    >>> looks_binary(b"a\0b"), looks_binary(b"plain")
    (True, False)
    """
    return marked_encoding(body) is None and b"\0" in body


def holds_controls(body: bytes) -> bool:
    r"""Whether *body* holds control characters that no text has, in an encoding that has no others.

    >>> holds_controls(b"PK\x03\x04"), holds_controls(b"\x1b[31mplain\r\n"), holds_controls("plain".encode("utf-16"))
    (True, False, False)
    """
    return marked_encoding(body) is None and _CONTROLS.search(body) is not None


def clean(text: str) -> str:
    r"""*text* with line ends as `\n` and without what is no text: control characters, NULs, lone surrogates.

    >>> clean("a\r\nb\x00\ud800")
    'a\nb'
    """
    return _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def is_chat(text: str) -> bool:
    r"""Whether lines of `[Name] message` are most of the lines that hold something.

    >>> is_chat("[Ann] hello\n[Bob] hi\n"), is_chat("# Notes\n[Ann] said")
    (True, False)
    """
    lines = [line for line in text[:200_000].splitlines()[:500] if line.strip()]
    return bool(lines) and sum(bool(SPEAKER.match(line)) for line in lines) > len(lines) / 2
