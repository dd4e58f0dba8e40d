"""The file of a segment: a header of fixed place, then its sections one after another.

    8 bytes   MAGIC
    4 bytes   length of the header (little endian)
    header    JSON: tenant, index, dimension, counts, and of each section its place, its length and its SHA-256
    sections  see SECTIONS

Everything but `texts` is fetched whole and checked when a segment is opened.  `texts` is the larger part and is read
by range: each of its blocks has a checksum of its own in `text_sums`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

from ragdrop.errors import IndexLostError

MAGIC = b"rdseg\x00\x00\x01"
PREFIX_BYTES = len(MAGIC) + 4
TEXT_BLOCK_BYTES = 1 << 16
SECTIONS = (
    "documents",  # JSON of each document (one revision with its facts), one after another
    "document_starts",  # uint64, one more than documents: where each begins in `documents`
    "first_chunks",  # uint32, one more than documents: the number of its first chunk
    "ordinals",  # uint32 of each chunk
    "digests",  # uint64, sorted: the first 8 bytes of `revision_digest` of each document
    "digest_documents",  # uint32: the document of each digest
    "facets",  # JSON: what filters ask for -> ranges of documents
    "signs",  # of each vector, SIGN_BITS at most, a bit each
    "vectors",  # of each vector, a signed byte a number
    "norms",  # float32: the length of each of `vectors`; 0 where a chunk has no direction
    "text_starts",  # uint64, one more than chunks: where each begins in `texts`
    "text_sums",  # uint32: CRC-32 of each block of `texts`
    "lexical",  # files of tantivy, as `lexical_files` of the header tells them apart
    "texts",  # JSON of each chunk, one after another
)
LITTLE = sys.byteorder == "little"
SIGN_BITS = 480  # at most, so that a Hamming distance fits a byte whatever the model's dimension


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section is in the file, and the SHA-256 of its bytes in hex."""

    start: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Header:
    """What a segment says of itself.

    `lexical_files` are the names and sizes of the files in the section `lexical`; `lexical_segments` is how tantivy's
    own list names them.  `without_direction` counts chunks that no vector search finds.
    """

    tenant: str
    index: str
    segment: str
    dimension: int
    documents: int
    chunks: int
    without_direction: int
    sections: Mapping[str, Section]
    lexical_files: tuple[tuple[str, int], ...]
    lexical_segments: tuple[Mapping[str, Any], ...]

    @property
    def core_bytes(self) -> int:
        """Bytes of the file before `texts`."""
        return self.sections["texts"].start

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole file."""
        return self.sections["texts"].start + self.sections["texts"].size


def sign_bytes(dimension: int) -> int:
    """Bytes of the signs of one vector.

    >>> sign_bytes(384), sign_bytes(16), sign_bytes(1536)
    (48, 2, 60)
    """
    return (min(dimension, SIGN_BITS) + 7) // 8


def write_header(target: BinaryIO, header: Mapping[str, Any], sizes: Mapping[str, tuple[int, str]]) -> None:
    """Write the beginning of a file whose sections have these sizes and digests."""
    places: dict[str, Any] = {name: asdict(Section(0, *sizes[name])) for name in SECTIONS}
    fields = {**header, "sections": places}
    room = len(json.dumps(fields).encode()) + 16 * len(SECTIONS)  # digits of the places, which are not known yet
    start = PREFIX_BYTES + room
    for name in SECTIONS:
        start += -start % 8
        places[name]["start"] = start
        start += sizes[name][0]
    encoded = json.dumps(fields).encode()
    target.write(MAGIC + room.to_bytes(4, "little") + encoded + b" " * (room - len(encoded)))


def header_bytes(beginning: bytes) -> int:
    """How many bytes of the file its header ends at.

    Raises:
        IndexLostError: It is no segment.
    """
    if len(beginning) < PREFIX_BYTES or not beginning.startswith(MAGIC):
        raise IndexLostError("a segment of the index is damaged: it does not begin as one")
    return PREFIX_BYTES + int.from_bytes(beginning[len(MAGIC) : PREFIX_BYTES], "little")


def read_header(beginning: bytes) -> Header:
    """The header of a file that begins so.

    Raises:
        IndexLostError: It is damaged, or not whole.
    """
    end = header_bytes(beginning)
    try:
        fields = json.loads(beginning[PREFIX_BYTES:end])
        fields["sections"] = {name: Section(**fields["sections"][name]) for name in SECTIONS}
        fields["lexical_files"] = tuple((name, size) for name, size in fields["lexical_files"])
        fields["lexical_segments"] = tuple(fields["lexical_segments"])
        return Header(**fields)
    except (ValueError, KeyError, TypeError) as exc:
        raise IndexLostError("a segment of the index is damaged: its header cannot be read") from exc


def revision_digest(vault: str, path: str, revision: int) -> int:
    """A number that hardly any other revision of the tenant has.

    >>> revision_digest("team", "a.md", 1) == revision_digest("team", "a.md", 2)
    False
    """
    name = f"{vault}\x00{path}\x00{revision}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "little")


def block_sum(block: bytes) -> int:
    """The checksum of one block of `texts`."""
    return zlib.crc32(block)
