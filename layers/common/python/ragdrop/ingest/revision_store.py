"""What is derived of a revision, in the state bucket: its parsed text in blocks, its chunks and their vectors.

`revisions/{tenant}/{digest}/{revision}/` holds `text` (zlib blocks of 65,536 code points one after the other),
`manifest.json` (where each block and part starts, and the structure of the text) and one `chunks/{index}` an index; of
a text in several parts that one is only the mark that all are there, and `chunks/{index}/{part}` hold the chunks.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence

from ragdrop.domain.chunks import Chunk, Vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.parsed import ParsedDocument, part_places
from ragdrop.ingest.kept_pages import KeptPages
from ragdrop.ingest.stored_revision import StoredRevision, block_name, object_name, pack, revision_of, revisions_prefix
from ragdrop.ports import ObjectStore

BLOCK_CHARACTERS = 65_536
PART_CHARACTERS = 2 * BLOCK_CHARACTERS  # some 140 chunks: a slow model embeds as many within one invocation
FORMAT_VERSION = 1
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
        part_characters: How long a text may be to be indexed in one go; longer ones are kept in parts of this size.
    """

    def __init__(self, state: ObjectStore, *, part_characters: int = PART_CHARACTERS) -> None:
        self._state = state
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
        self._state.put(object_name(key, revision, "text"), bytes(body), media_type=BYTES)
        manifest = {
            "format": FORMAT_VERSION,
            "char_count": len(document.text),
            "sha256": digest.hexdigest(),
            "blocks": blocks,
            "parts": part_places(document, self._part_characters),
            "document": {**document.fields(), "text": ""},
        }
        encoded = json.dumps(manifest, ensure_ascii=False, default=str).encode()
        name, owner = (
            object_name(key, revision, "manifest.json"),
            base64.urlsafe_b64encode(key.s3_key.encode()).decode(),
        )
        metadata = {OWNER: owner} | ({VERSION: version_id} if version_id else {})
        self._state.put(name, encoded, media_type="application/json", metadata=metadata)
        return StoredRevision(self._state, key, revision, manifest)

    def pages(self, key: DocumentKey, digest: str, *, is_wanted: Callable[[], bool]) -> KeptPages:
        """The recognised pages of the version whose bytes have this digest; kept while it *is_wanted*."""
        return KeptPages(self._state, key, digest, is_wanted=is_wanted)

    def owner(self, prefix: str) -> DocumentKey | None:
        """The document that the revision under *prefix* is of; None where its manifest is not there or does not say."""
        stored = self._state.head(f"{prefix}manifest.json")
        noted = stored.metadata.get(OWNER) if stored is not None else None
        return None if noted is None else DocumentKey.parse(base64.urlsafe_b64decode(noted).decode())

    def open(self, key: DocumentKey, revision: int) -> StoredRevision | None:
        """A revision that was kept; None where it is not."""
        body = self._state.get(object_name(key, revision, "manifest.json"))
        return None if body is None else StoredRevision(self._state, key, revision, json.loads(body))

    def of_version(self, key: DocumentKey, version_id: str) -> StoredRevision | None:
        """The newest revision kept of an S3 version, among the last 250 of the document; None where there is none.

        Whatever else two revisions of one version differ in, their text is that version's.
        """
        prefix = revisions_prefix(key)
        names = (entry.key for entry in self._state.entries(prefix))
        kept = {revision_of(prefix, name) for name in names if name.endswith("/manifest.json")}
        for revision in sorted(kept, reverse=True)[:MAX_LOOKED_AT]:
            stored = self._state.head(object_name(key, revision, "manifest.json"))
            if stored is not None and stored.metadata.get(VERSION) == version_id:
                return self.open(key, revision)
        return None

    def read_span(self, key: DocumentKey, revision: int, start: int, end: int) -> str | None:
        """Code points *start* to *end* (exclusive, cut to the text); None where the revision is not kept."""
        kept = self.open(key, revision)
        return None if kept is None else kept.span(start, end)

    def write_chunks(
        self,
        kept: StoredRevision,
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
        name = kept.name(block_name(index, number, len(kept.parts)))
        metadata = {CHUNK_COUNT: str(len(chunks)), CHUNK_SIZES: sizes}
        self._state.put(name, pack(chunks, vectors), media_type=BYTES, metadata=metadata)

    def mark_whole(self, kept: StoredRevision, index: str, count: int, *, sizes: str = "") -> None:
        """Say that *index* has all *count* chunks of a revision that has several parts."""
        metadata = {CHUNK_COUNT: str(count), CHUNK_SIZES: sizes}
        self._state.put(kept.name(f"chunks/{index}"), b"", media_type=BYTES, metadata=metadata)

    def chunk_count(self, key: DocumentKey, revision: int, index: str) -> int | None:
        """How many chunks the revision has in *index*; None where it is not written there, or not yet whole."""
        stored = self._state.head(object_name(key, revision, f"chunks/{index}"))
        return None if stored is None else int(stored.metadata[CHUNK_COUNT])

    def chunk_sizes(self, key: DocumentKey, revision: int, index: str) -> str:
        """What the revision's chunks in *index* were cut by (`ChunkingPlan.sizes_for`); empty where nobody noted it."""
        stored = self._state.head(object_name(key, revision, f"chunks/{index}"))
        return "" if stored is None else stored.metadata.get(CHUNK_SIZES, "")
