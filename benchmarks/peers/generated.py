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
from localstack.models.embedding_model import Embedded
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
    """

    name, dimension = MODEL, DIMENSION

    def __init__(self, delay_s: float = 0.0) -> None:
        self._delay_s = delay_s

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Unit vectors; tokens are not counted."""
        if self._delay_s:
            time.sleep(self._delay_s)
        return Embedded([self._vector(text).tobytes() for text in texts], 0)

    @cached_property
    def _directions(self) -> list[array[float]]:
        source = random.Random(384)
        return [vector(source.gauss(0, 1) for _ in range(DIMENSION)) for _ in range(DIRECTIONS)]

    def _vector(self, text: str) -> array[float]:
        source = random.Random(hashlib.sha256(text.encode()).digest())
        middle, spread = source.choice(self._directions), DIMENSION**-0.5
        return vector(value + source.gauss(0, spread) for value in middle)
