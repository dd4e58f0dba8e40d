"""Write a segment: rows in order into a folder, then one file of all its sections."""

from __future__ import annotations

import hashlib
import json
import mmap
import shutil
import tempfile
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from bucketindex.lexical import LexicalWriter, facets_of, revision_facet, spaced
from bucketindex.lists import written_lists
from bucketindex.manifest import SegmentEntry
from bucketindex.postings import PostingsWriter
from bucketindex.rows import StoredChunk, chunk_of, searched_texts, stored_document
from bucketindex.segment import (
    LISTED_FACETS,
    LITTLE,
    ORDER,
    PREFIX_BYTES,
    TEXT_BLOCK_BYTES,
    block_sum,
    header_bytes,
    read_header,
    revision_digest,
    write_header,
)
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError

COPY_BYTES = 1 << 20


@contextmanager
def written_segment(
    index: IndexRef, name: str, tag: int, rows: Iterable[StoredChunk], *, what: str
) -> Iterator[tuple[Path, SegmentEntry]]:
    """Write *rows*, which must come in order, into a local file that exists while the block runs.

    Args:
        index: The index that the segment belongs to.
        name: Of the segment.
        tag: Its number, which no other segment of the tenant has.
        what: Names the segment in errors.

    Raises:
        DatabaseError: The disk refused.
    """
    folder = Path(tempfile.mkdtemp(prefix="ragdrop-segment-"))
    try:
        writer = SegmentWriter(folder, index, name, tag)
        try:
            for row in rows:
                writer.add(row)
            written = writer.finish()
        finally:
            writer.close()
        yield written
    except OSError as exc:
        raise DatabaseError(f"{what} could not be written: {exc.strerror}", service="index") from exc
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class SegmentWriter:
    """Writes one segment into an empty *folder*."""

    def __init__(self, folder: Path, index: IndexRef, segment: str, tag: int) -> None:
        self._folder = folder
        self._index = index
        self._segment = segment
        self._tag = tag
        lexical = folder / "lexical"
        lexical.mkdir()
        self._lexical = LexicalWriter(lexical, tag)
        self._postings = PostingsWriter()
        self._vectors = (folder / "vectors").open("wb")
        self._texts = (folder / "texts").open("wb")
        self._signs = bytearray()
        self._norms = array("f")
        self._documents = bytearray()
        self._document_starts = array("Q")
        self._first_chunks = array("I")
        self._ordinals = array("I")
        self._text_starts = array("Q")
        self._digests: list[tuple[int, int]] = []
        self._facets: dict[str, list[int]] = {}
        self._last = b""
        self._document_facets: list[str] = []

    def add(self, row: StoredChunk) -> None:
        if row.document != self._last:
            self._begin_document(row)
        document = stored_document(self._index.tenant, row.document)
        chunk, _ = chunk_of(row.body)
        facets = [*self._document_facets, revision_facet(*row.order)]
        words, stops = spaced(searched_texts(document, chunk))
        self._lexical.add(words, stops, facets)
        self._postings.add(words, stops)
        self._ordinals.append(row.ordinal)
        self._text_starts.append(self._texts.tell())
        self._texts.write(row.body)
        self._vectors.write(row.numbers)
        self._signs += row.signs
        self._norms.append(row.norm)

    def finish(self) -> tuple[Path, SegmentEntry]:
        """The file of the segment, and its entry in the manifest."""
        chunks, documents = len(self._ordinals), len(self._document_starts)
        self._document_starts.append(len(self._documents))
        self._first_chunks.append(chunks)
        self._text_starts.append(self._texts.tell())
        self._texts.close()
        self._vectors.close()
        files, listed = self._lexical.finish()
        with (self._folder / "lexical_section").open("wb") as whole:
            for each in files:
                with each.open("rb") as part:
                    shutil.copyfileobj(part, whole, COPY_BYTES)
        self._digests.sort()
        header = {
            "tenant": self._index.tenant,
            "index": self._index.name,
            "segment": self._segment,
            "dimension": self._index.dimension,
            "documents": documents,
            "chunks": chunks,
            "without_direction": self._norms.count(0.0),
            "lexical_files": [(each.name, each.stat().st_size) for each in files],
            "lexical_segments": listed,
        }
        path = self._assemble(header)
        with path.open("rb") as file:
            beginning = file.read(PREFIX_BYTES)
            beginning += file.read(header_bytes(beginning) - PREFIX_BYTES)
        written, size = read_header(beginning), path.stat().st_size
        digest = hashlib.sha256(beginning).hexdigest()
        return path, SegmentEntry(
            self._segment, self._tag, 0, chunks, written.core_bytes, size, digest, first_bytes=written.first_bytes
        )

    def close(self) -> None:
        self._texts.close()
        self._vectors.close()

    def _begin_document(self, row: StoredChunk) -> None:
        number = len(self._document_starts)
        document = stored_document(self._index.tenant, row.document)
        self._last = row.document
        self._document_starts.append(len(self._documents))
        self._documents += row.document
        self._first_chunks.append(len(self._ordinals))
        self._digests.append((revision_digest(*row.order), number))
        self._document_facets = facets_of(row.order[0], row.order[1], document.facts)
        for name in self._document_facets:
            runs = self._facets.setdefault(name, [])
            if runs and runs[-1] == number:
                runs[-1] = number + 1
            else:
                runs += (number, number + 1)

    def _assemble(self, header: dict[str, object]) -> Path:
        facets = _encoded(self._facets)
        sums = array("I", (block_sum(block) for block in _blocks(self._folder / "texts")))
        sections: dict[str, bytes | Path] = {
            "documents": bytes(self._documents),
            "document_starts": _bytes(self._document_starts),
            "first_chunks": _bytes(self._first_chunks),
            "ordinals": _bytes(self._ordinals),
            "digests": _bytes(array("Q", (digest for digest, _ in self._digests))),
            "digest_documents": _bytes(array("I", (number for _, number in self._digests))),
            "facets": facets,
            "facet_values": _encoded([name for name in self._facets if name.startswith(LISTED_FACETS)]),
            "packed_facets": zlib.compress(facets),
            "signs": bytes(self._signs),
            "vectors": self._folder / "vectors",
            "norms": _bytes(self._norms),
            "text_starts": _bytes(self._text_starts),
            "text_sums": _bytes(sums),
            "lexical": self._folder / "lexical_section",
            "texts": self._folder / "texts",
            "word_starts": self._postings.write(self._folder / "word_blocks"),
            "word_blocks": self._folder / "word_blocks",
            **self._lists(),
        }
        path = self._folder / "segment"
        with path.open("wb") as target:
            write_header(target, header, {name: _size_and_digest(sections[name]) for name in ORDER})
            for name in ORDER:
                target.write(bytes(-target.tell() % 8))
                _copy(sections[name], target)
        return path

    def _lists(self) -> Mapping[str, bytes | Path]:
        """The vectors by nearness; a file that is mapped, as they may be larger than the memory."""
        vectors = memoryview(b"")
        if self._ordinals:
            with (self._folder / "vectors").open("rb") as file:
                vectors = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return written_lists(vectors, memoryview(self._signs), len(self._ordinals), self._folder / "list_rows")


def _bytes(numbers: array[float] | array[int]) -> bytes:
    if not LITTLE:
        numbers = array(numbers.typecode, numbers)
        numbers.byteswap()
    return numbers.tobytes()


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass")


def _size_and_digest(section: bytes | Path) -> tuple[int, str]:
    if isinstance(section, bytes):
        return len(section), hashlib.sha256(section).hexdigest()
    with section.open("rb") as file:
        return section.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _copy(section: bytes | Path, target: BinaryIO) -> None:
    if isinstance(section, bytes):
        target.write(section)
    else:
        with section.open("rb") as file:
            shutil.copyfileobj(file, target, COPY_BYTES)


def _blocks(path: Path) -> Iterable[bytes]:
    with path.open("rb") as file:
        while block := file.read(TEXT_BLOCK_BYTES):
            yield block
