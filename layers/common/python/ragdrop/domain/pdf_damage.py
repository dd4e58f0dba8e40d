"""Damage in a PDF that a forgiving reader passes over in silence: streams that are broken or no pictures after all."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

MAX_STREAM_BYTES = 4 * 1024 * 1024  # of each stream's content, and
MAX_CHECKED_BYTES = 64 * 1024 * 1024  # of all, is looked at: enough to tell, too little for a bomb
MAX_STREAMS = 20_000
_PICTURE = re.compile(rb"/(?:JBIG2|DCT|JPX|CCITTFax)Decode")
_DEFLATED = re.compile(rb"/Filter\s*(?:\[\s*)?/FlateDecode\s*(?:\]|/(?!\w+Decode)|>>)")


def damage(body: bytes) -> list[str]:
    r"""A phrase for each kind of damage found in an unencrypted PDF; an encrypted one is not looked into.

    >>> damage(b"%PDF-1.4\n1 0 obj\n<</Length 3/Filter/FlateDecode>>stream\nabc\nendstream\nendobj\n")
    ['1 streams are broken']
    """
    if b"/Encrypt" in body:
        return []
    broken = odd = 0
    rest = MAX_CHECKED_BYTES
    for head, content in _streams(body):
        if _PICTURE.search(head):
            odd += b"/Image" not in head and b"/Mask" not in head
        elif rest > 0 and _DEFLATED.search(head):
            try:
                rest -= len(zlib.decompressobj().decompress(content, MAX_STREAM_BYTES))
            except zlib.error:
                broken += 1
    found = ((broken, "streams are broken"), (odd, "streams are packed as pictures but are none"))
    return [f"{count} {phrase}" for count, phrase in found if count]


def _streams(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What describes each stream, and its bytes."""
    at = 0
    for _ in range(MAX_STREAMS):
        found = body.find(b"stream", at)
        start = found + (8 if body[found + 6 : found + 8] == b"\r\n" else 7)
        end = body.find(b"endstream", start)
        if found < 0 or end < 0:
            return
        head = body[max(at, found - 2_000) : found]
        yield head[max(head.rfind(b" obj"), 0) :], body[start:end]
        at = end + 9
