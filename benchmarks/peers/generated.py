"""Documents, questions and vectors that are made, not loaded: the same ones for the same seed, in any process."""

from __future__ import annotations

import hashlib
import itertools
import random
import time
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property

from benchmarks.embedding_server import MODEL
from benchmarks.local_embeddings import DIMENSION
from localstack.models.embedding_server import Embedded
from ragdrop.domain.chunks import vector

SYLLABLES = [first + second for first in "bcdfgklmnprst" for second in "aeiou"]
VOCABULARY = [one + two for one in SYLLABLES for two in SYLLABLES]
FREQUENCIES = list(itertools.accumulate(1 / rank for rank in range(2, len(VOCABULARY) + 2)))  # Zipf's law
WORDS_A_DOCUMENT = 60  # one chunk for every framework: about 150 tokens
DIRECTIONS = 200  # the subjects that vectors gather around


def documents(count: int, seed: int = 7) -> Iterator[dict[str, str]]:
    """Short documents of unequally frequent words, with a title of their own."""
    source = random.Random(seed)
    for number in range(count):
        title = f"Note {number}"
        words = " ".join(source.choices(VOCABULARY, cum_weights=FREQUENCIES, k=WORDS_A_DOCUMENT))
        yield {"id": f"n{number}", "title": title, "text": f"# {title}\n\n{words}"}


def questions(count: int, seed: int = 11) -> list[str]:
    """Different questions of five words, neither the commonest nor the rarest."""
    source = random.Random(seed)
    return [" ".join(source.sample(VOCABULARY[20:2_000], 5)) for _ in range(count)]


class GeneratedModel:
    """A model in name only: a text's vector lies near one of some directions, chosen by the text's digest.

    Args:
        delay_s: How long each request takes at least, as a model takes its time for a question.
        keeps: Whether the vectors of passages, texts that come with others, are kept for the next who asks; never
            where filling is measured, as the first to ask would wait longest.
    """

    name, dimension = MODEL, DIMENSION

    def __init__(self, delay_s: float = 0.0, *, keeps: bool = False) -> None:
        self._delay_s, self._keeps = delay_s, keeps
        self._kept: dict[bytes, bytes] = {}

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Unit vectors; tokens are not counted."""
        if self._delay_s:
            time.sleep(self._delay_s)
        return Embedded([self._made(text, keep=self._keeps and len(texts) > 1) for text in texts], 0)

    def _made(self, text: str, *, keep: bool) -> bytes:
        digest = hashlib.sha256(text.encode()).digest()
        made = self._kept.get(digest) if keep else None
        if made is None:
            made = self._vector(digest).tobytes()
            if keep:
                self._kept[digest] = made
        return made

    @cached_property
    def _directions(self) -> list[array[float]]:
        source = random.Random(384)
        return [vector(source.gauss(0, 1) for _ in range(DIMENSION)) for _ in range(DIRECTIONS)]

    def _vector(self, digest: bytes) -> array[float]:
        source = random.Random(digest)
        middle, spread = source.choice(self._directions), DIMENSION**-0.5
        return vector(value + source.gauss(0, spread) for value in middle)
