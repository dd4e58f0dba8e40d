"""A revision in the state bucket: its text by range, its parts, the chunks of each part."""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ragdrop.domain.chunk_units import Span
from ragdrop.domain.chunks import Chunk, IndexedChunk, Vector, with_white_space
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import Link, followable
from ragdrop.domain.parsed import ParsedDocument, document_of, part_of
from ragdrop.domain.parsed.places import chunk_places
from ragdrop.ports import ObjectStore


class StoredRevision:
    """One revision by its manifest.  Every method raises ObjectStoreError when S3 does not answer.

    A long text has several parts, which are chunked and embedded one by one; nothing here holds more than one of them,
    but `document`.
    """

    def __init__(self, state: ObjectStore, key: DocumentKey, revision: int, manifest: Mapping[str, Any]) -> None:
        self._state = state
        self.key = key
        self.revision = revision
        self._manifest = manifest

    @property
    def char_count(self) -> int:
        """Code points of the parsed text."""
        return int(self._manifest["char_count"])

    @property
    def text_digest(self) -> str | None:
        """SHA-256 of the text in hex; None of a revision that was kept before this was noted."""
        digest: str | None = self._manifest.get("sha256")
        return digest

    @property
    def content_type(self) -> str:
        """What it was cut as."""
        return str(self._manifest["document"]["content_type"])

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that may be followed, as they stand in an index with the first chunk."""
        return followable(self._structure.links)

    @cached_property
    def parts(self) -> list[Span]:
        """Where each part starts and ends; together they are the text."""
        return [(start, end) for start, end in self._manifest.get("parts") or [(0, self.char_count)]]

    def span(self, start: int, end: int) -> str | None:
        """Code points *start* to *end* (exclusive, cut to the text); None where the text is gone."""
        blocks: list[tuple[int, int, int]] = self._manifest["blocks"]  # first code point, first byte, bytes
        start, end = max(start, 0), min(end, self.char_count)
        if start >= end:
            return ""
        starts = [block[0] for block in blocks]
        wanted = blocks[bisect_right(starts, start) - 1 : bisect_right(starts, end - 1)]
        first, offset = wanted[0][0], wanted[0][1]
        body = self._state.get(self.name("text"), start=offset, end=wanted[-1][1] + wanted[-1][2])
        if body is None:
            return None
        pieces = (zlib.decompress(body[at - offset :][:size]).decode() for _, at, size in wanted)
        return "".join(pieces)[start - first : end - first]

    def document(self) -> ParsedDocument | None:
        """The whole document as it was parsed; None where its text is gone."""
        text = self.span(0, self.char_count)
        return None if text is None else document_of({**self._manifest["document"], "text": text})

    def part(self, number: int) -> ParsedDocument | None:
        """One part as a document whose offsets count from the part's start; None where the text is gone."""
        start, end = self.parts[number]
        text = self.span(start, end)
        if text is None:
            return None
        return part_of(self._structure, start, end, lambda a, b: text if (a, b) == (start, end) else self._text(a, b))

    def chunks(self, index: str, number: int, part: str | None = None) -> list[tuple[Chunk, Vector]] | None:
        """The chunks of a part in *index*, offsets into the whole text; None where they are not kept.

        *part* is the part's text, where the caller has it already.
        """
        packed = self._state.get(self.name(block_name(index, number, len(self.parts))))
        start, end = self.parts[number]
        text = self.span(start, end) if packed is not None and part is None else part
        return None if packed is None or text is None else unpack(packed, text, start)

    def chunks_between(
        self, index: str, start: int = 0, end: int | None = None, *, texts: bool = True
    ) -> Iterator[tuple[Chunk, Vector]]:
        """The chunks of all parts that have a character in *start* to *end*; of the whole text without these.

        Without *texts* the text is not read, and that of the chunks is empty.
        """
        for number, (first, last) in enumerate(self.parts):
            if (end is None or first < end) and last > start:
                yield from self.chunks(index, number, None if texts else "") or []

    def indexed(self, index: str, facts: Facts) -> Iterator[IndexedChunk]:
        """The chunks of all parts in *index* as an index takes them; none where they are not kept."""
        for chunk, vector in self.chunks_between(index):
            yield IndexedChunk(self.key, self.revision, chunk, facts, vector, () if chunk.ordinal else self.links)

    def name(self, part: str) -> str:
        """The name of one of its objects."""
        return object_name(self.key, self.revision, part)

    @cached_property
    def _structure(self) -> ParsedDocument:
        return document_of(self._manifest["document"])

    def _text(self, start: int, end: int) -> str:
        return self.span(start, end) or ""


def tenant_prefix(tenant: str) -> str:
    """What the names of all that is derived of a tenant's documents begin with; the digests follow."""
    return f"revisions/{tenant}/"


def revision_of(prefix: str, name: str) -> int:
    """The revision that an object under a document's prefix belongs to.

    >>> revision_of("revisions/acme/d/", "revisions/acme/d/0000000000000012/text")
    12
    """
    return int(name.removeprefix(prefix).partition("/")[0])


def revisions_prefix(key: DocumentKey) -> str:
    """What the names of all that is derived of a document begin with; the revision's number follows."""
    return f"{tenant_prefix(key.tenant)}{key.digest}/"


def object_name(key: DocumentKey, revision: int, part: str) -> str:
    """The name of an object of a revision."""
    return f"{revisions_prefix(key)}{revision:016d}/{part}"


def block_name(index: str, number: int, parts: int) -> str:
    """Where the chunks of a part are; those of a document of one part are where its index is marked as whole.

    >>> block_name("i", 0, 1), block_name("i", 2, 7)
    ('chunks/i', 'chunks/i/00002')
    """
    return f"chunks/{index}" if parts == 1 else f"chunks/{index}/{number:05d}"


def pack(chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> bytes:
    """The block of these chunks; their text is not in it."""
    places = [(c.start, c.end, c.heading_path, c.page, c.context, c.above, c.places) for c in chunks]
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
        Chunk(
            first + i,
            start - offset,
            end - offset,
            text[start - offset : end - offset],
            tuple(path),
            page,
            **dict(zip(("context", "above"), later, strict=False)),  # blocks of older versions have fewer
            places=chunk_places(later[2] if len(later) > 2 else ()),
        )
        for i, (start, end, path, page, *later) in enumerate(places)
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
