"""How chunks are packed in the state bucket: their places as JSON, then their vectors as little-endian float32."""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import replace

from ragdrop.domain.chunks import Chunk, Vector, with_white_space


def pack(chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> bytes:
    """The block of these chunks; their text is not in it."""
    places = [(c.start, c.end, c.heading_path, c.page, c.context) for c in chunks]
    first = chunks[0].ordinal if chunks else 0
    head = json.dumps({"first": first, "places": places}, ensure_ascii=False).encode()
    body = b"".join(_little_endian(vector).tobytes() for vector in vectors)
    return zlib.compress(len(head).to_bytes(4, "little") + head + body, 1)


def unpack(packed: bytes, text: str, offset: int = 0) -> list[tuple[Chunk, Vector]]:
    """The chunks of a block with their vectors; *text* is the document's from code point *offset* on."""
    body = zlib.decompress(packed)
    size = int.from_bytes(body[:4], "little")
    head = json.loads(body[4 : 4 + size])
    if isinstance(head, list):  # as blocks were written before documents had parts
        head = {"first": 0, "places": head}
    places, first = head["places"], head["first"]
    numbers = _little_endian(array("f", body[4 + size :]))
    dimension = len(numbers) // max(len(places), 1)
    within = [
        Chunk(first + i, start - offset, end - offset, text[start - offset : end - offset], tuple(path), page, *context)
        for i, (start, end, path, page, *context) in enumerate(places)
    ]
    chunks = (replace(c, start=c.start + offset, end=c.end + offset) for c in with_white_space(within, text))
    vectors = (numbers[i * dimension : (i + 1) * dimension] for i in range(len(within)))
    return list(zip(chunks, vectors, strict=True))


def _little_endian(vector: Vector) -> Vector:
    if sys.byteorder == "little":
        return vector
    swapped = array("f", vector)
    swapped.byteswap()
    return swapped
