"""What benchmarks/bucket_index.py fills an index with and asks it for, the same in each of its processes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from benchmarks.bucket_folder import FolderManifests, FolderObjectStore
from benchmarks.generated_chunks import CENTRES, CHUNKS_A_DOCUMENT, DIMENSION, LIMIT, WORDS_A_CHUNK, near
from bucketindex.index import BucketChunkIndex
from ragdrop.domain.chunks import CandidateQuery, Chunk, Filters, Folder, Hit, IndexedChunk, Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef

TENANT, INDEX = "bench", "bucket-bench"
REF = IndexRef(TENANT, INDEX, DIMENSION)
WORDS = [f"word{number}" for number in range(20_000)]
FREQUENCIES = [1.0 / (number + 1) for number in range(len(WORDS))]  # Zipf's law, as in real text
MAX_BYTES = 8 << 30
FILTERS = {
    "none": Filters(),
    "1 of 10 vaults": Filters(vaults=("v3",)),
    "1 of 100 folders": Filters(folders=(Folder("f7"),)),
    "1 of 7 tags": Filters(tags=("t3",)),
}
MakeVector = Callable[[random.Random], Vector]


def clustered(source: random.Random) -> Vector:
    """A vector near one of a thousand centres."""
    return near(source.randrange(CENTRES), source)


def uniform(source: random.Random) -> Vector:
    """A vector of any direction: the worst that a model could give."""
    return vector(byte - 127.5 for byte in source.randbytes(DIMENSION))


def soon() -> Deadline:
    """Time enough for one call."""
    return Deadline.after(900.0)


def index_over(state: FolderObjectStore, folder: Path) -> BucketChunkIndex:
    """The index whose objects are *state*'s; its copies go into *folder*."""
    return BucketChunkIndex(state, FolderManifests(state.folder), folder, max_bytes=MAX_BYTES)


def corpus(size: int, batch: int, vectors: MakeVector, *, words: int = WORDS_A_CHUNK) -> Iterator[list[IndexedChunk]]:
    """*size* chunks of documents of ten, *batch* at a time, with ten vaults, a hundred folders and seven tags.

    A chunk has *words* words on average, half as many at least.
    """
    source = random.Random(size)
    for first in range(0, size, batch):
        count = min(batch, size - first)
        lengths = [source.randint(words // 2, words + words // 2) for _ in range(count)]
        drawn = iter(source.choices(WORDS, FREQUENCIES, k=sum(lengths)))
        texts = [" ".join(islice(drawn, length)) for length in lengths]
        yield [_piece(first + at, text, vectors(source)) for at, text in enumerate(texts)]


def _piece(number: int, text: str, values: Vector) -> IndexedChunk:
    document, ordinal = divmod(number, CHUNKS_A_DOCUMENT)
    key = DocumentKey(TENANT, f"v{document % 10}", f"f{document % 100}/{document}.md")
    facts = Facts(f"Document {document}", "v1", "2026-01-01T00:00:00Z", tags=(f"t{document % 7}",))
    start = ordinal * len(text)
    return IndexedChunk(key, 1, Chunk(ordinal, start, start + len(text), text, ("Notes",)), facts, values)


def number_of(hit: Hit) -> int:
    """Which of the corpus a hit is."""
    document = int(hit.key.path.partition("/")[2].removesuffix(".md"))
    return document * CHUNKS_A_DOCUMENT + hit.chunk.ordinal


def questions(count: int, vectors: MakeVector, filters: Filters = FILTERS["none"]) -> list[CandidateQuery]:
    """Questions of three words, of which none is rare, and a vector."""
    source = random.Random(7)
    return [
        CandidateQuery(
            " ".join(f"word{source.randrange(100, 5_000)}" for _ in range(3)), vectors(source), filters, LIMIT
        )
        for _ in range(count)
    ]
