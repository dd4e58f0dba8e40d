"""Vectors of a segment: quantised to a byte a number, and to a sign a number; the nearest of them.

A search first compares signs, which names a few thousand, and then those by their bytes.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

import simsimd

from ragdrop.domain.chunks import Vector
from ragdrop.stores.bucket.layout import SIGN_BITS, sign_bytes
from ragdrop.stores.index_queries import has_direction

COMPARED = 2_048  # vectors that are compared by their bytes at least; fewer ones are not compared by signs first
COMPARED_SHARE = 100  # and one in so many of all
BYTES: Any = "uint8"  # of a distance; the package has these two, its stub does not
INT8: Any = "int8"
_TOO_FAR = 255
_UP_TO = [bytes(range(value + 1)) for value in range(256)]


def quantised(vector: Vector) -> bytes:
    """*vector* as signed bytes, the largest number at 127: no cosine notices the scale.

    >>> list(array("b", quantised(array("f", [0.5, -0.25, 0.0]))))
    [127, -64, 0]
    """
    scale = 127.0 / max(map(abs, vector))
    return array("b", [round(number * scale) for number in vector]).tobytes()


def norm(numbers: bytes) -> float:
    """The length of a quantised vector.

    >>> norm(bytes([3, 252]))
    5.0
    """
    found: Any = simsimd.dot(memoryview(numbers).cast("b"), memoryview(numbers).cast("b"), INT8)
    return math.sqrt(float(found))


_DIGITS = b"0" + b"1" * 127 + b"0" * 128  # of each byte as a signed number: whether it is above zero


@lru_cache(maxsize=8)
def _sampled(dimension: int) -> Callable[[bytes], tuple[int, ...]]:
    """Takes the numbers of a vector whose sign is kept, where there are too many."""
    return itemgetter(*(place * dimension // SIGN_BITS for place in range(SIGN_BITS)))


def signs(numbers: bytes) -> bytes:
    """The signs of a quantised vector, a bit each.

    >>> signs(bytes([1, 255, 0, 127])).hex()
    '90'
    """
    size = sign_bytes(len(numbers))
    kept = numbers if len(numbers) <= SIGN_BITS else bytes(_sampled(len(numbers))(numbers))
    return int(kept.translate(_DIGITS).ljust(8 * size, b"0"), 2).to_bytes(size, "big")


class WantedVector:
    """A question's vector, as segments compare it; `there` is False where a cosine with it is not defined."""

    def __init__(self, vector: Vector | None) -> None:
        self.there = vector is not None and has_direction(vector)
        if vector is not None and self.there:
            self._numbers = quantised(vector)
            self._norm = norm(self._numbers)
            self._signs = signs(self._numbers)

    def distances(self, rows: memoryview, count: int) -> bytes:
        """The Hamming distance of each of *count* rows of signs, a byte each."""
        size = len(self._signs)
        asked = memoryview(self._signs).cast("B", shape=[1, size])
        found: Any = simsimd.cdist(asked, rows.cast("B", shape=[count, size]), "hamming", dtype="bin8", out_dtype=BYTES)
        return bytes(memoryview(found).cast("B"))

    def cosines(self, vectors: memoryview, norms: Sequence[float], numbers: Sequence[int]) -> list[float | None]:
        """The cosine of each of the rows *numbers* of *vectors*; None of one without direction."""
        if not numbers:
            return []
        size = len(self._numbers)
        if len(numbers) == numbers[-1] - numbers[0] + 1 and numbers[0] <= numbers[-1]:  # mostly a whole segment
            rows = vectors[numbers[0] * size : (numbers[-1] + 1) * size]
        else:
            rows = memoryview(b"".join([vectors[number * size : (number + 1) * size] for number in numbers]))
        asked = memoryview(self._numbers).cast("b", shape=[1, size])
        shaped = rows.cast("B").cast("b", shape=[len(numbers), size])
        found: Any = simsimd.cdist(asked, shaped, "dot", dtype="int8")
        products = memoryview(found).cast("B").cast("d")
        own = self._norm
        return [
            None if norms[number] == 0.0 else max(-1.0, min(1.0, product / (own * norms[number])))
            for number, product in zip(numbers, products, strict=True)
        ]


def closest(distances: bytes, wanted: int) -> list[int]:
    """The places of the smallest *distances*, *wanted* of them and those that are as small as the last; in order.

    A distance of 255 is never among them.

    >>> closest(bytes([9, 3, 255, 4, 3]), 2)
    [1, 4]
    """
    total = len(distances)
    low, high = 0, _TOO_FAR - 1
    while low < high:  # the smallest distance up to which there are enough
        middle = (low + high) // 2
        if total - len(distances.translate(None, _UP_TO[middle])) >= wanted:
            high = middle
        else:
            low = middle + 1
    marks = distances.translate(bytes([1]) * (low + 1) + bytes(255 - low))
    found, at = [], marks.find(1)
    while at >= 0:
        found.append(at)
        at = marks.find(1, at + 1)
    return found
