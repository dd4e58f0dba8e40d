"""Generated chunks and questions: words of a language's frequencies, vectors around a thousand centres."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import cache

from ragdrop.domain.chunks import CandidateQuery, Chunk, Filters, IndexedChunk, Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey

DIMENSION = 384
SYLLABLES = [first + second for first in "bcdfgklmnprst" for second in "aeiou"]
VOCABULARY = [one + two + three for three in SYLLABLES[:2] for one in SYLLABLES for two in SYLLABLES][:8_000]
FREQUENCIES = list(itertools.accumulate(1 / rank for rank in range(2, 8_002)))  # Zipf's law, as in real text
WORDS_A_CHUNK, CHUNKS_A_DOCUMENT, BATCH, LIMIT = 150, 10, 500, 30
CENTRES = 1_000
SPREAD = 0.8  # of the noise around a centre: neighbours then have cosines of some 0.6, as a model's have


@cache
def centre(number: int) -> list[float]:
    """One of the directions that vectors gather around, of length about 1."""
    source = random.Random(number)
    return [source.gauss(0.0, DIMENSION**-0.5) for _ in range(DIMENSION)]


def near(number: int, source: random.Random) -> Vector:
    scale = SPREAD * DIMENSION**-0.5 / 73.6  # the spread of an even distribution over 0 to 255
    return vector(
        [at + scale * (byte - 127.5) for at, byte in zip(centre(number), source.randbytes(DIMENSION), strict=True)]
    )


def batches(tenant: str, count: int, source: random.Random) -> Iterator[list[IndexedChunk]]:
    """*count* chunks of documents of ten, at most 500 at a time."""
    for first in range(0, count, BATCH):
        yield [_piece(tenant, number, source) for number in range(first, min(first + BATCH, count))]


def questions(count: int, source: random.Random) -> list[CandidateQuery]:
    """Questions of four words, neither the commonest nor the rarest, with a vector near some centre."""
    found = []
    for _ in range(count):
        words = " ".join(source.sample(VOCABULARY[20:2_000], 4))
        found.append(CandidateQuery(words, near(source.randrange(CENTRES), source), Filters(), LIMIT))
    return found


def _piece(tenant: str, number: int, source: random.Random) -> IndexedChunk:
    document, ordinal = divmod(number, CHUNKS_A_DOCUMENT)
    text = " ".join(source.choices(VOCABULARY, cum_weights=FREQUENCIES, k=WORDS_A_CHUNK)) + f" {number}"
    facts = Facts(title=f"Note {document}", version_id="v1", indexed_at="2026-01-01T00:00:00Z")
    key = DocumentKey(tenant, "team", f"notes/{document}.md")
    chunk = Chunk(ordinal, ordinal * len(text), (ordinal + 1) * len(text), text, ("Notes",))
    return IndexedChunk(key, 1, chunk, facts, near(source.randrange(CENTRES), source))


def soon() -> Deadline:
    return Deadline.after(120)
