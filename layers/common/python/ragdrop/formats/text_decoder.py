"""Decode text: by its marks, its declaration, as UTF-8, else as charset-normalizer guesses."""

from __future__ import annotations

import codecs

from charset_normalizer import from_bytes

from ragdrop.formats.text_decoding import declared_encoding, marked_encoding

SAMPLE_BYTES = 32_768  # guessing takes a second a megabyte


def decode(body: bytes, *, declared: bool = False) -> tuple[str, tuple[str, ...]]:
    r"""The text, without a byte order mark, and a warning if characters had to be replaced.

    Args:
        body: The bytes.
        declared: Whether an encoding named in the head (HTML, XML) counts.

    >>> decode(b"\xef\xbb\xbfcaf\xc3\xa9"), decode(b"It cost 3,50 \x80 in the caf\xe9, said the girl.")[0][-6:]
    (('café', ()), ' girl.')
    """
    stated = marked_encoding(body) or (declared_encoding(body) if declared else None)
    for encoding in dict.fromkeys(filter(None, (stated, "utf-8"))):
        try:
            return body.decode(encoding).removeprefix("\ufeff"), ()
        except (UnicodeDecodeError, LookupError):
            continue
    encoding = stated if stated and stated.startswith("utf-") else _guess(body)
    text = body.decode(encoding, "replace").removeprefix("\ufeff")
    warnings = ("some characters could not be decoded and are replaced",) if "\ufffd" in text else ()
    return text, warnings


def _guess(body: bytes) -> str:
    start = _first_undecodable(body)
    sample = body[max(start - SAMPLE_BYTES // 2, 0) : start + SAMPLE_BYTES // 2]
    best = from_bytes(sample).best()
    if best is None or best.encoding in {"ascii", "utf_8"}:
        # Only a few bytes are wrong in UTF-8, or nothing fits: cp1252 holds a character for nearly every byte.
        return "utf-8" if _mostly_utf8(sample) else "cp1252"
    return best.encoding


def _first_undecodable(body: bytes) -> int:
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(body), 65_536):
        try:
            decoder.decode(body[start : start + 65_536])
        except UnicodeDecodeError as exc:
            return start + exc.start
    return 0


def _mostly_utf8(sample: bytes) -> bool:
    replaced = sample.decode("utf-8", "replace")
    high = sum(character > "\x7f" for character in replaced)
    return replaced.count("\ufffd") * 4 < high
