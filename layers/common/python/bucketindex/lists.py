"""Lists: the vectors of a segment by nearness, so that a search without a local copy reads the nearest alone.

Some directions divide a segment, and each part is divided again.  Neighbouring lists are then near one another, and
one request reads several.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Mapping, Sequence
from math import isqrt
from pathlib import Path
from typing import Any

import simsimd

LISTED = 1_000  # vectors; a segment of fewer has no lists, its vectors are read whole
LIST = 128  # vectors of a list, about
SAMPLED = 24  # vectors a list from which its direction is learned
ROUNDS = 5  # of learning
AT_ONCE = 512  # vectors that are compared by one call
INT8: Any = "int8"


def written_lists(vectors: memoryview, signs: memoryview, chunks: int, path: Path) -> Mapping[str, bytes | Path]:
    """The sections of a segment's lists.

    Args:
        vectors: Of all *chunks*, one after another, a signed byte a number.
        signs: Of all chunks, one after another.
        chunks: How many.
        path: Of a file for the largest section.
    """
    size, own = (len(vectors) // chunks, len(signs) // chunks) if chunks else (0, 0)
    centroids, starts = bytearray(), array("I", [0])
    with path.open("wb") as rows:
        for centre, numbers in Clusters(vectors, size).lists() if chunks >= LISTED else ():
            centroids += centre
            starts.append(starts[-1] + len(numbers))
            rows.write(array("I", numbers).tobytes())
            rows.write(b"".join([signs[each * own : (each + 1) * own] for each in numbers]))
    return {"centroids": bytes(centroids), "list_starts": starts.tobytes(), "list_rows": path}


class Clusters:
    """Divides *vectors*, one after another with *size* signed bytes each; equal ones are divided alike."""

    def __init__(self, vectors: memoryview, size: int) -> None:
        self._vectors, self._size = vectors, size
        self._random = random.Random(len(vectors))  # noqa: S311 - no secret

    def lists(self) -> Iterator[tuple[bytes, list[int]]]:
        """The direction of each list, and the numbers of its vectors."""
        count = len(self._vectors) // self._size
        parts = self._divided(range(count), isqrt(count // LIST))
        learned = b"".join(self._learned(part, -(-len(part) // LIST)) for part in parts)
        for numbers in self._grouped(range(count), learned):
            yield self._mean(numbers), numbers

    def _divided(self, numbers: Sequence[int], parts: int) -> list[list[int]]:
        """*numbers* in up to so many parts of near vectors, none of them empty."""
        return self._grouped(numbers, self._learned(numbers, parts))

    def _grouped(self, numbers: Sequence[int], centres: bytes) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for number, part in zip(numbers, self._nearest(numbers, centres), strict=True):
            found.setdefault(part, []).append(number)
        return [found[part] for part in sorted(found)]

    def _learned(self, numbers: Sequence[int], parts: int) -> bytes:
        """The directions of *parts* parts, by some of the vectors."""
        sample = self._random.sample(numbers, min(len(numbers), parts * SAMPLED))
        centres = self._rows(self._random.sample(sample, parts))
        for _ in range(ROUNDS if parts > 1 else 0):
            centres = b"".join(map(self._mean, self._grouped(sample, centres)))
        return centres

    def _nearest(self, numbers: Sequence[int], centres: bytes) -> Iterator[int]:
        """For each vector the number of the centre with the largest cosine."""
        count = len(centres) // self._size
        compared = memoryview(centres).cast("b", shape=[count, self._size])
        for first in range(0, len(numbers), AT_ONCE):
            block = numbers[first : first + AT_ONCE]
            rows = memoryview(self._rows(block)).cast("b", shape=[len(block), self._size])
            found: Any = simsimd.cdist(rows, compared, "cos", dtype=INT8)
            distances = memoryview(found).cast("B").cast("d")
            for at in range(0, len(distances), count):
                own = distances[at : at + count].tolist()
                yield own.index(min(own))

    def _rows(self, numbers: Sequence[int]) -> bytes:
        size, vectors = self._size, self._vectors
        return b"".join([vectors[number * size : (number + 1) * size] for number in numbers])

    def _mean(self, numbers: Sequence[int]) -> bytes:
        """The direction of some vectors together, its largest number at 127."""
        sample = numbers if len(numbers) <= 2 * LIST else self._random.sample(numbers, 2 * LIST)
        rows = memoryview(self._rows(sample)).cast("b")
        sums = [sum(rows[place :: self._size]) for place in range(self._size)]
        scale = 127.0 / (max(map(abs, sums)) or 1)
        return array("b", [round(number * scale) for number in sums]).tobytes()
