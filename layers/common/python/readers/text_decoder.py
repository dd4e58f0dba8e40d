"""Decode text: by its marks, its declaration, as UTF-8 with wrong bytes in it, else as an encoding that is guessed."""

from __future__ import annotations

import re

from readers.encoding_guess import guessed_encoding
from readers.text_decoding import (
    declared_encoding,
    encoding_of_label,
    escaped_encoding,
    has_mark,
    marked_encoding,
    public_name,
)

MIN_FOREIGN = 4  # characters of UTF-8 that outweigh a declaration of another encoding of several bytes a character
MAX_WRONG_SHARE = 0.1  # of the bytes beyond ASCII, where a declaration is still believed
# What capital letters before a quotation mark are in Western text, and hardly ever a character of UTF-8.
_UNLIKELY = re.compile("[\u0240-\u036f\u0700-\u07ff]")
_ASCII = bytes(range(128))


def decode(body: bytes, *, declared: bool = False, charset: str = "") -> tuple[str, tuple[str, ...]]:
    r"""The text, without a byte order mark, and warnings: of bytes that are replaced, and of a guess.

    Args:
        body: The bytes.
        declared: Whether an encoding named in the head (HTML) counts; that of an XML declaration always does.
        charset: The label that came with the bytes, such as a mail's; it counts more than one in the head.

    >>> decode(b"\xef\xbb\xbfcaf\xc3\xa9"), decode(b"It cost 3,50 \x80 in the caf\xe9.", charset="latin1")[0][-6:]
    (('café', ()), ' café.')
    >>> decode("schön für Öl".encode() + b" gro\xdfe")
    ('schön für Öl gro�e', ('1 byte could not be decoded as UTF-8 and is replaced by U+FFFD, at offset 19 in line 1',))
    """
    if has_mark(body):
        return _replaced(body, marked_encoding(body) or "utf-8")
    stated = encoding_of_label(charset) or (
        declared_encoding(body) if declared or body.lstrip().startswith(b"<?xml") else None
    )
    found = escaped_encoding(body) or stated
    if found is not None and found != "utf-8":
        text, warnings = _replaced(body, found)
        if found.startswith(("utf-", "iso2022", "hz")):
            return text, warnings if found == stated else (*warnings, _guessed(found))
        as_utf8 = _utf8(body)
        if as_utf8 is not None and _characters(as_utf8) >= (1 if found == "cp1252" else MIN_FOREIGN):
            return as_utf8, (f"the text declares {public_name(found)}, but its bytes are UTF-8, and are read so",)
        if text.count("\ufffd") <= MAX_WRONG_SHARE * len(body.translate(None, _ASCII)):
            return text, warnings
    wide = marked_encoding(body)
    if wide is not None:
        text, warnings = _replaced(body, wide)
        return text, (*warnings, _guessed(wide))
    as_utf8 = _utf8(body)
    if as_utf8 is not None:
        return as_utf8, ()
    if _is_damaged_utf8(body):
        return _replaced(body, "utf-8")
    encoding = guessed_encoding(body)
    text, warnings = _replaced(body, encoding)
    return text, (_guessed(encoding), *warnings)


def decode_head(body: bytes, size_bytes: int) -> str:
    """The text of the first *size_bytes* of *body*, without a character of UTF-8 that is cut there.

    >>> decode_head("für".encode(), 2)
    'f'
    """
    head = body[:size_bytes]
    if len(head) < len(body):
        head = head[: len(head) - next((back for back in (1, 2, 3) if head[-back] >= 0xC0), 0)]
    return decode(head)[0]


def _utf8(body: bytes) -> str | None:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _characters(text: str) -> int:
    """The number of characters beyond ASCII."""
    return len(text) - len(text.encode("ascii", "ignore"))


def _is_damaged_utf8(body: bytes) -> bool:
    """Whether most characters beyond ASCII are valid UTF-8, or most lines that have some.

    In other encodings hardly a line is, and of their characters at most one in three.
    """
    text = body.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    valid = _characters(text) - wrong - len(_UNLIKELY.findall(text))
    if valid <= 0 or wrong <= valid:
        return valid > 0
    lines = [line for line in text.splitlines() if not line.isascii()]
    damaged = sum("\ufffd" in line for line in lines)
    return damaged * 2 <= len(lines)


def _replaced(body: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    try:
        return body.decode(encoding).removeprefix("\ufeff"), ()
    except UnicodeDecodeError as exc:
        first = exc.start
    text = body.decode(encoding, "replace").removeprefix("\ufeff")
    count = max(text.count("\ufffd") - body.count("\ufffd".encode()) * (encoding == "utf-8"), 1)
    line = body.count(b"\n", 0, first) + 1
    name = "UTF-8" if encoding.startswith("utf-8") else public_name(encoding)
    shown = "1 byte" if count == 1 else f"{count} bytes"
    replaced = "is replaced by U+FFFD," if count == 1 else "are replaced by U+FFFD, the first"
    return text, (f"{shown} could not be decoded as {name} and {replaced} at offset {first} in line {line}",)


def _guessed(encoding: str) -> str:
    return (
        f"the text does not declare its encoding and is not UTF-8: it is read as {public_name(encoding)}, a guess; "
        "save it as UTF-8 if characters are wrong"
    )
