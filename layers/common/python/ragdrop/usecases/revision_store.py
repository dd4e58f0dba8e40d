"""What is derived of a revision, in the state bucket: its parsed text in blocks, its chunks and their vectors.

`revisions/{tenant}/{digest}/{revision}/` holds `text` (zlib blocks of 65,536 code points one after the other),
`manifest.json` (where each block starts, and the structure of the text) and one `chunks/{index}` an index.
"""

from __future__ import annotations

import base64
import json
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragdrop.domain.chunks import Chunk, Vector, with_white_space
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.parsed import ParsedDocument, document_of
from ragdrop.ports import ObjectStore

BLOCK_CHARACTERS = 65_536
FORMAT_VERSION = 1
OWNER = "document"  # of the manifest: the S3 key in base64, as metadata holds only ASCII
CHUNK_COUNT = "chunk-count"  # of the object that holds an index's chunks
CHUNK_SIZES = "chunk-sizes"  # of the same: what they were cut by


@dataclass(frozen=True, slots=True)
class _Block:
    start: int  # first code point
    offset: int  # first byte
    size_bytes: int


class RevisionStore:
    """Reads and writes what was derived of revisions.  Every method raises ObjectStoreError when S3 does not answer."""

    def __init__(self, state: ObjectStore) -> None:
        self._state = state

    def write_text(self, key: DocumentKey, revision: int, document: ParsedDocument) -> None:
        """Keep the parsed text and its structure; the manifest goes last, so what it names is there."""
        body, blocks = _compress(document.text)
        self._state.put(_name(key, revision, "text"), body, media_type="application/octet-stream")
        manifest = {
            "format": FORMAT_VERSION,
            "char_count": len(document.text),
            "blocks": [(block.start, block.offset, block.size_bytes) for block in blocks],
            "document": {**document.fields(), "text": ""},
        }
        encoded = json.dumps(manifest, ensure_ascii=False, default=str).encode()
        name, owner = _name(key, revision, "manifest.json"), base64.urlsafe_b64encode(key.s3_key.encode()).decode()
        self._state.put(name, encoded, media_type="application/json", metadata={OWNER: owner})

    def owner(self, prefix: str) -> DocumentKey | None:
        """The document that the revision under *prefix* is of; None where its manifest is not there or does not say."""
        stored = self._state.head(f"{prefix}manifest.json")
        noted = stored.metadata.get(OWNER) if stored is not None else None
        return None if noted is None else DocumentKey.parse(base64.urlsafe_b64decode(noted).decode())

    def read_span(self, key: DocumentKey, revision: int, start: int, end: int) -> str | None:
        """Code points *start* to *end* (exclusive, cut to the text); None where the revision is not kept."""
        manifest = self._manifest(key, revision)
        return None if manifest is None else self._slice(key, revision, manifest, start, end)

    def read_document(self, key: DocumentKey, revision: int) -> ParsedDocument | None:
        """The parsed document as it was written; None where it is not kept."""
        manifest = self._manifest(key, revision)
        if manifest is None:
            return None
        text = self._slice(key, revision, manifest, 0, manifest["char_count"])
        return None if text is None else document_of({**manifest["document"], "text": text})

    def write_chunks(
        self,
        key: DocumentKey,
        revision: int,
        index: str,
        chunks: Sequence[Chunk],
        vectors: Sequence[Vector],
        *,
        sizes: str = "",
    ) -> None:
        """Keep where the chunks of one index start and end, their vectors (float32, little-endian), and their sizes."""
        head = json.dumps(
            [(c.start, c.end, c.heading_path, c.page, c.context) for c in chunks], ensure_ascii=False
        ).encode()
        body = len(head).to_bytes(4, "little") + head + b"".join(vector.tobytes() for vector in vectors)
        name = _name(key, revision, f"chunks/{index}")
        packed, metadata = zlib.compress(body, 1), {CHUNK_COUNT: str(len(chunks)), CHUNK_SIZES: sizes}
        self._state.put(name, packed, media_type="application/octet-stream", metadata=metadata)

    def chunk_count(self, key: DocumentKey, revision: int, index: str) -> int | None:
        """How many chunks the revision has in *index*; None where it is not written there, or not yet whole."""
        stored = self._state.head(_name(key, revision, f"chunks/{index}"))
        return None if stored is None else int(stored.metadata[CHUNK_COUNT])

    def chunk_sizes(self, key: DocumentKey, revision: int, index: str) -> str:
        """What the revision's chunks in *index* were cut by (`ChunkingPlan.sizes_for`); empty where nobody noted it."""
        stored = self._state.head(_name(key, revision, f"chunks/{index}"))
        return "" if stored is None else stored.metadata.get(CHUNK_SIZES, "")

    def read_chunks(self, key: DocumentKey, revision: int, index: str, text: str) -> list[tuple[Chunk, Vector]] | None:
        """The chunks of *text* with their vectors; None where they are not kept."""
        packed = self._state.get(_name(key, revision, f"chunks/{index}"))
        if packed is None:
            return None
        body = zlib.decompress(packed)
        size = int.from_bytes(body[:4], "little")
        places = json.loads(body[4 : 4 + size])
        numbers = array("f", body[4 + size :])
        dimension = len(numbers) // max(len(places), 1)
        chunks = [
            Chunk(i, start, end, text[start:end], tuple(path), page, *context)
            for i, (start, end, path, page, *context) in enumerate(places)
        ]
        parts = (numbers[i * dimension : (i + 1) * dimension] for i in range(len(chunks)))
        return list(zip(with_white_space(chunks, text), parts, strict=True))

    def _manifest(self, key: DocumentKey, revision: int) -> dict[str, Any] | None:
        body = self._state.get(_name(key, revision, "manifest.json"))
        return None if body is None else dict(json.loads(body))

    def _slice(self, key: DocumentKey, revision: int, manifest: dict[str, Any], start: int, end: int) -> str | None:
        blocks = [_Block(*block) for block in manifest["blocks"]]
        start, end = max(start, 0), min(end, manifest["char_count"])
        if start >= end:
            return ""
        starts = [block.start for block in blocks]
        wanted = blocks[bisect_right(starts, start) - 1 : bisect_right(starts, end - 1)]
        first, last = wanted[0], wanted[-1]
        stop = last.offset + last.size_bytes
        body = self._state.get(_name(key, revision, "text"), start=first.offset, end=stop)
        if body is None:
            return None
        pieces = (zlib.decompress(body[b.offset - first.offset :][: b.size_bytes]).decode() for b in wanted)
        return "".join(pieces)[start - first.start : end - first.start]


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


def _name(key: DocumentKey, revision: int, part: str) -> str:
    return f"{revisions_prefix(key)}{revision:016d}/{part}"


def _compress(text: str) -> tuple[bytes, list[_Block]]:
    body, blocks = bytearray(), []
    for start in range(0, len(text), BLOCK_CHARACTERS):
        packed = zlib.compress(text[start : start + BLOCK_CHARACTERS].encode(), 6)
        blocks.append(_Block(start, len(body), len(packed)))
        body += packed
    return bytes(body), blocks
