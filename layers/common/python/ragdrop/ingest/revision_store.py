"""What is derived of a revision, in the state bucket: its parsed text in blocks, its chunks and their vectors.

`revisions/{tenant}/{digest}/{revision}/` holds `text` (zlib blocks of 65,536 code points one after the other),
`manifest.json` (where each block and part starts, and the structure of the text), `tables` (its tables as typed
columns, if it has any) and one `chunks/{index}` an index; of
a text in several parts that one is only the mark that all are there, and `chunks/{index}/{part}` hold the chunks.
`pages/` holds recognised pages of scans, `texts/` which revision has the vectors of a text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ragdrop.domain.chunks import Chunk, IndexedChunk, Span, Vector, chunk_places, text_windows, with_white_space
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import Link, followable
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.tenants import ActiveIndex
from ragdrop.ports.object_store import ObjectStore

if TYPE_CHECKING:  # only ingest loads the readers, and only what answers from tables these
    from ragdrop.tables.typed import TypedTable
    from readers.parsed import ParsedDocument


@dataclass(frozen=True, eq=False)
class StoredRevision:
    """One revision by its manifest.  Every method raises ObjectStoreError when S3 does not answer.

    A long text has several parts, which are chunked and embedded one by one; nothing here holds more than one of them,
    but `document`.
    """

    state: ObjectStore
    key: DocumentKey
    revision: int
    manifest: Mapping[str, Any]

    @property
    def char_count(self) -> int:
        """Code points of the parsed text."""
        return int(self.manifest["char_count"])

    @property
    def text_digest(self) -> str | None:
        """SHA-256 of the text in hex; None of a revision that was saved before this was noted."""
        digest: str | None = self.manifest.get("sha256")
        return digest

    @property
    def content_type(self) -> str:
        """What it was cut as."""
        return str(self.manifest["document"]["content_type"])

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that may be followed, as they stand in an index with the first chunk."""
        return stored_links(self._structure)

    @cached_property
    def parts(self) -> list[Span]:
        """Where each part starts and ends; together they are the text."""
        return [(start, end) for start, end in self.manifest.get("parts") or [(0, self.char_count)]]

    def span(self, start: int, end: int) -> str | None:
        """Code points *start* to *end* (exclusive, cut to the text); None where the text is gone."""
        blocks: list[tuple[int, int, int]] = self.manifest["blocks"]  # first code point, first byte, bytes
        start, end = max(start, 0), min(end, self.char_count)
        if start >= end:
            return ""
        starts = [block[0] for block in blocks]
        required = blocks[bisect_right(starts, start) - 1 : bisect_right(starts, end - 1)]
        first, offset = required[0][0], required[0][1]
        body = self.state.get(self.name("text"), start=offset, end=required[-1][1] + required[-1][2])
        if body is None:
            return None
        pieces = (zlib.decompress(body[at - offset :][:size]).decode() for _, at, size in required)
        return "".join(pieces)[start - first : end - first]

    def document(self) -> ParsedDocument | None:
        """The whole document as it was parsed; None where its text is gone."""
        text = self.span(0, self.char_count)
        return None if text is None else _document_of({**self.manifest["document"], "text": text})

    def part(self, number: int) -> ParsedDocument | None:
        """One part as a document whose offsets count from the part's start; None where the text is gone."""
        from readers.parsed import part_of

        start, end = self.parts[number]
        text = self.span(start, end)
        if text is None:
            return None
        return part_of(self._structure, start, end, lambda a, b: text if (a, b) == (start, end) else self._text(a, b))

    def chunks(self, index: str, number: int, part: str | None = None) -> list[tuple[Chunk, Vector]] | None:
        """The chunks of a part in *index*, offsets into the whole text; None where they are not stored.

        *part* is the part's text, where the caller has it already.
        """
        packed = self.state.get(self.name(block_name(index, number, len(self.parts))))
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
        """The chunks of all parts in *index* as an index takes them; none where they are not stored."""
        for chunk, vector in self.chunks_between(index):
            yield IndexedChunk(self.key, self.revision, chunk, facts, vector, () if chunk.ordinal else self.links)

    def name(self, part: str) -> str:
        """The name of one of its objects."""
        return object_name(self.key, self.revision, part)

    @cached_property
    def _structure(self) -> ParsedDocument:
        return _document_of(self.manifest["document"])

    def _text(self, start: int, end: int) -> str:
        return self.span(start, end) or ""


def _document_of(fields: Mapping[str, Any]) -> ParsedDocument:
    from readers.parsed import document_of

    return document_of(fields)


def stored_links(document: ParsedDocument) -> tuple[Link, ...]:
    """The links of a document that an index stores with its first chunk."""
    return followable([Link(each.target, each.text) for each in document.links])


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


def pages_name(key: DocumentKey) -> str:
    """Where the recognised pages of a document are.

    >>> pages_name(DocumentKey("acme", "team", "scan.pdf"))[:11]
    'pages/acme/'
    """
    return f"pages/{key.tenant}/{key.digest}"


BLOCK_CHARACTERS = 65_536
PART_CHARACTERS = 2 * BLOCK_CHARACTERS  # some 140 chunks: a slow model embeds as many within one invocation
FORMAT_VERSION = 1
MAX_READ_AGAIN = 200_000  # characters: their tables are typed within some 50 ms
VERSION = "version"  # of the manifest: the S3 version whose text it is
MAX_LOOKED_AT = 250  # revisions of a document that are looked at to find a version, the newest first
OWNER = "document"  # of the manifest: the S3 key in base64, as metadata holds only ASCII
CHUNK_COUNT = "chunk-count"  # of the object that says that an index has all chunks
CHUNK_SIZES = "chunk-sizes"  # of the same: what they were cut by
BYTES = "application/octet-stream"


class RevisionStore:
    """Reads and writes what was derived of revisions.  Every method raises ObjectStoreError when S3 does not answer.

    Args:
        state: The state bucket.
        part_characters: How long a text may be to be indexed in one go; longer ones are stored in parts of this size.
    """

    def __init__(self, state: ObjectStore, *, part_characters: int = PART_CHARACTERS) -> None:
        self.state = state
        self._part_characters = part_characters

    def write_text(
        self, key: DocumentKey, revision: int, document: ParsedDocument, *, version_id: str = ""
    ) -> StoredRevision:
        """Keep the parsed text of an S3 version and its structure; the manifest goes last: what it names is there."""
        body, blocks, digest = bytearray(), [], hashlib.sha256()
        for start in range(0, len(document.text), BLOCK_CHARACTERS):
            block = document.text[start : start + BLOCK_CHARACTERS].encode()
            digest.update(block)
            packed = zlib.compress(block, 6)
            blocks.append((start, len(body), len(packed)))
            body += packed
        self.state.put(object_name(key, revision, "text"), bytes(body), media_type=BYTES)
        manifest = {
            "format": FORMAT_VERSION,
            "char_count": len(document.text),
            "sha256": digest.hexdigest(),
            "blocks": blocks,
            "parts": _parts_of(document, self._part_characters),
            "document": {**document.fields(), "text": ""},
        }
        encoded = json.dumps(manifest, ensure_ascii=False, default=str).encode()
        name, owner = (
            object_name(key, revision, "manifest.json"),
            base64.urlsafe_b64encode(key.s3_key.encode()).decode(),
        )
        metadata = {OWNER: owner} | ({VERSION: version_id} if version_id else {})
        self.state.put(name, encoded, media_type="application/json", metadata=metadata)
        return StoredRevision(self.state, key, revision, manifest)

    def write_tables(self, saved: StoredRevision, tables: Sequence[TypedTable]) -> None:
        """Keep the typed tables of a revision; nothing is written of a document without any."""
        if tables:
            from ragdrop.tables.stored_tables import pack_tables  # a search needs no tables

            self.state.put(saved.name("tables"), pack_tables(tables), media_type=BYTES)

    def tables(self, key: DocumentKey, revision: int) -> Sequence[TypedTable]:
        """The typed tables of a revision; of one that was indexed before there were any they are read out of its text.

        Of a long text they are not: then none come until the document is indexed again.
        """
        from ragdrop.tables.stored_tables import unpack_tables
        from ragdrop.tables.typed import tables_of

        body = self.state.get(object_name(key, revision, "tables"))
        if body is not None:
            return unpack_tables(body, key.path)
        saved = self.open(key, revision)
        if saved is None or not saved.manifest["document"].get("tables") or saved.char_count > MAX_READ_AGAIN:
            return ()
        document = saved.document()
        return () if document is None else tables_of(document, key.path)

    def owner(self, prefix: str) -> DocumentKey | None:
        """The document that the revision under *prefix* is of; None where its manifest is not there or does not say."""
        stored = self.state.head(f"{prefix}manifest.json")
        noted = stored.metadata.get(OWNER) if stored is not None else None
        return None if noted is None else DocumentKey.parse(base64.urlsafe_b64decode(noted).decode())

    def open(self, key: DocumentKey, revision: int) -> StoredRevision | None:
        """A stored revision; None where there is none."""
        body = self.state.get(object_name(key, revision, "manifest.json"))
        return None if body is None else StoredRevision(self.state, key, revision, json.loads(body))

    def of_version(self, key: DocumentKey, version_id: str) -> StoredRevision | None:
        """The newest revision stored of an S3 version, among the last 250 of the document; None where there is none.

        Whatever else two revisions of one version differ in, their text is that version's.
        """
        prefix = revisions_prefix(key)
        names = (entry.key for entry in self.state.entries(prefix))
        saved = {revision_of(prefix, name) for name in names if name.endswith("/manifest.json")}
        for revision in sorted(saved, reverse=True)[:MAX_LOOKED_AT]:
            stored = self.state.head(object_name(key, revision, "manifest.json"))
            if stored is not None and stored.metadata.get(VERSION) == version_id:
                return self.open(key, revision)
        return None

    def read_span(self, key: DocumentKey, revision: int, start: int, end: int) -> str | None:
        """Code points *start* to *end* (exclusive, cut to the text); None where the revision is not stored."""
        saved = self.open(key, revision)
        return None if saved is None else saved.span(start, end)

    def write_chunks(
        self,
        saved: StoredRevision,
        index: str,
        chunks: Sequence[Chunk],
        vectors: Sequence[Vector],
        *,
        number: int = 0,
        sizes: str = "",
    ) -> None:
        """Keep where the chunks of a part start and end, their vectors, and what they were cut by.

        Of a document of one part this also says that the index has it whole.
        """
        name = saved.name(block_name(index, number, len(saved.parts)))
        metadata = {CHUNK_COUNT: str(len(chunks)), CHUNK_SIZES: sizes}
        self.state.put(name, pack(chunks, vectors), media_type=BYTES, metadata=metadata)

    def mark_whole(self, saved: StoredRevision, index: str, count: int, *, sizes: str = "") -> None:
        """Say that *index* has all *count* chunks of a revision that has several parts."""
        metadata = {CHUNK_COUNT: str(count), CHUNK_SIZES: sizes}
        self.state.put(saved.name(f"chunks/{index}"), b"", media_type=BYTES, metadata=metadata)

    def chunk_count(self, key: DocumentKey, revision: int, index: str) -> int | None:
        """How many chunks the revision has in *index*; None where it is not written there, or not yet whole."""
        stored = self.state.head(object_name(key, revision, f"chunks/{index}"))
        return None if stored is None else int(stored.metadata[CHUNK_COUNT])

    def chunk_sizes(self, key: DocumentKey, revision: int, index: str) -> str:
        """What the revision's chunks in *index* were cut by (`ChunkingPlan.sizes_for`); empty where nobody noted it."""
        stored = self.state.head(object_name(key, revision, f"chunks/{index}"))
        return "" if stored is None else stored.metadata.get(CHUNK_SIZES, "")


Vectors = dict[tuple[EmbeddingSpace, str], Vector]


@dataclass(frozen=True)
class KnownVectors:
    """Finds vectors by text.  Nothing here crosses a tenant."""

    state: ObjectStore
    revisions: RevisionStore

    def sources(self, saved: StoredRevision, live_revision: int | None) -> list[StoredRevision]:
        """Where vectors for *saved* may be: its live revision, and the last document that had exactly its text."""
        places = [(saved.key, live_revision)] if live_revision is not None else []
        twin = self.state.get(twin_name(saved.key.tenant, saved.text_digest or ""))
        if twin is not None:
            place = json.loads(twin)
            places.append((DocumentKey(saved.key.tenant, place["vault"], place["path"]), place["revision"]))
        opened = (self.revisions.open(key, revision) for key, revision in places)
        return [source for source in opened if source is not None]

    @staticmethod
    def between(
        sources: Sequence[StoredRevision], targets: Sequence[ActiveIndex], span: tuple[int, int] | None = None
    ) -> Vectors:
        """The vectors of the chunks that *sources* have in *span* of their texts (all of it if None).

        Model and prefixes are part of the key, so that vectors of another space are never taken.
        """
        return {
            (target.space, chunk.passage): vector
            for source in sources
            for target in targets
            for chunk, vector in source.chunks_between(target.name, *(span or ()))
        }

    def remember(self, saved: StoredRevision) -> None:
        """Note that this revision holds the vectors of its text."""
        place = {"vault": saved.key.vault, "path": saved.key.path, "revision": saved.revision}
        body = json.dumps(place, ensure_ascii=False).encode()
        self.state.put(twin_name(saved.key.tenant, saved.text_digest or ""), body, media_type="application/json")


def twin_name(tenant: str, text_digest: str) -> str:
    """The object that says which revision holds the vectors of the text with this SHA-256."""
    return f"texts/{tenant}/{text_digest}"


def _parts_of(document: ParsedDocument, size: int) -> list[Span]:
    r"""Where a document is cut into parts of at most *size* characters; a shorter one is one part.

    Parts end before a heading, at a blank line, a line end or a space, the same for the same text every time.

    >>> from readers.parsed import ParsedDocument
    >>> _parts_of(ParsedDocument("one two\n\nthree four", "text", "text/plain"), 12)
    [(0, 9), (9, 19)]
    """
    if len(document.text) <= size:
        return [(0, len(document.text))]
    starts = [heading.start for heading in document.headings]
    return list(text_windows(document.text, 0, len(document.text), size, starts))
