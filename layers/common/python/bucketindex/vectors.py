"""Vectors of a segment: quantised to a byte a number, and to a sign a number; the nearest of them.

Up to some thousands are compared by their bytes.  Of more than that signs first name some thousands.
"""

from __future__ import annotations

import heapq
import math
import re
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

import simsimd

from ragdrop.domain.chunks import Vector, has_direction

SIGN_BITS = 480  # at most: half of them differ between vectors that have nothing in common
FITTING_BYTES = 48  # of signs, of which hardly ever more than 255 bits differ
SCANNED = 20_000  # vectors at most that are all compared by their bytes, which is exact
COMPARED = 2_048  # of more than that so many at least, those that are nearest by their signs
COMPARED_SHARE = 50  # and one in so many of all
WEIGHED = 5_000  # of vectors that are fetched for one search so many are weighed, those nearest by their signs
NEAREST = 400  # and of these so many are compared by their bytes
SAMPLED = 512  # distances from which the largest one that is chosen is guessed
TIED = 1e-6  # how far two ways of computing one cosine may be apart
BYTES: Any = "uint8"  # of a distance; the package has these three, its stub does not
WIDE: Any = "uint16"
INT8: Any = "int8"
_TOO_FAR = 255
_BEYOND = bytes(1) + b"\xff" * 255
_BELOW_TWO = 0x3F  # the first byte of a 64-bit number from 2 to the -15th up to 2
_MARK = re.compile(b"\x01")
_UP_TO = [bytes(range(value + 1)) for value in range(256)]
_SPREAD = [array("b", [1 if byte >> 7 - bit & 1 else -1 for bit in range(8)]).tobytes() for byte in range(256)]
_DIGITS = b"0" + b"1" * 127 + b"0" * 128  # of each byte as a signed number: whether it is above zero


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


def sign_bytes(dimension: int) -> int:
    """Bytes of the signs of one vector.

    >>> sign_bytes(384), sign_bytes(16), sign_bytes(1536)
    (48, 2, 60)
    """
    return (min(dimension, SIGN_BITS) + 7) // 8


@lru_cache(maxsize=8)
def _sampled(dimension: int) -> Callable[[bytes], tuple[int, ...]]:
    """Takes the numbers of a long vector whose signs are stored."""
    return itemgetter(*(place * dimension // SIGN_BITS for place in range(SIGN_BITS)))


def signs(numbers: bytes) -> bytes:
    """The signs of a quantised vector, a bit each.

    >>> signs(bytes([1, 255, 0, 127])).hex()
    '90'
    """
    size = sign_bytes(len(numbers))
    sampled = numbers if len(numbers) <= SIGN_BITS else bytes(_sampled(len(numbers))(numbers))
    return int(sampled.translate(_DIGITS).ljust(8 * size, b"0"), 2).to_bytes(size, "big")


class ComparedVector:
    """A question's vector, as segments compare it; `there` is False if a cosine with it is not defined."""

    def __init__(self, vector: Vector | None) -> None:
        self.there = vector is not None and has_direction(vector)
        if vector is not None and self.there:
            self._numbers = quantised(vector)
            self._norm = norm(self._numbers)
            self._signs = signs(self._numbers)

    def distances(self, rows: memoryview, count: int) -> bytes:
        """The Hamming distance of each of *count* rows of signs, a byte each: 254 of what is as far or further."""
        size = len(self._signs)
        asked = memoryview(self._signs).cast("B", shape=[1, size])
        compared = rows.cast("B", shape=[count, size])
        if size <= FITTING_BYTES:
            found: Any = simsimd.cdist(asked, compared, "hamming", dtype="bin8", out_dtype=BYTES)
            return bytes(memoryview(found).cast("B"))
        found = simsimd.cdist(asked, compared, "hamming", dtype="bin8", out_dtype=WIDE)
        wide = bytes(memoryview(found).cast("B"))
        low, high = (wide[0::2], wide[1::2]) if sys.byteorder == "little" else (wide[1::2], wide[0::2])
        beyond = int.from_bytes(high.translate(_BEYOND), "little")
        return (int.from_bytes(low, "little") | beyond).to_bytes(len(low), "little").replace(b"\xff", b"\xfe")

    def weighed(self, rows: Sequence[bytes], count: int) -> list[int]:
        """The places of the *count* nearest of *rows* of signs, by the numbers of this vector with their signs.

        It is closer to the cosine than a Hamming distance: a sign counts as much as the number of this vector.
        """
        size = len(self._numbers)
        numbers = bytes(_sampled(size)(self._numbers)) if size > SIGN_BITS else self._numbers
        bits = 8 * len(self._signs)
        asked = memoryview(numbers.ljust(bits, b"\0")).cast("b", shape=[1, bits])
        spread = b"".join([_SPREAD[byte] for byte in b"".join(rows)])
        found: Any = simsimd.cdist(asked, memoryview(spread).cast("b", shape=[len(rows), bits]), "dot", dtype=INT8)
        products = memoryview(found).cast("B").cast("d")
        return heapq.nlargest(count, range(len(rows)), key=products.__getitem__)

    def from_bytes(self, rows: bytes | memoryview) -> memoryview[float]:
        """1 less the cosine of each of *rows*, vectors one after another, within TIED; 1 of one without direction."""
        return self._compared(rows, "cos")

    def cosines(self, rows: bytes, norms: Sequence[float]) -> list[float]:
        """The cosine of each of *rows*, whose lengths are *norms*; equal vectors have equal ones."""
        own = self._norm
        products = self._compared(rows, "dot")
        return [max(-1.0, min(1.0, product / (own * norm))) for product, norm in zip(products, norms, strict=True)]

    def _compared(self, rows: bytes | memoryview, metric: Any) -> memoryview[float]:
        size = len(self._numbers)
        if not rows:
            return memoryview(b"").cast("d")
        asked = memoryview(self._numbers).cast("b", shape=[1, size])
        shaped = memoryview(rows).cast("B").cast("b", shape=[len(rows) // size, size])
        found: Any = simsimd.cdist(asked, shaped, metric, dtype="int8")
        return memoryview(found).cast("B").cast("d")


def closest(distances: bytes, count: int) -> list[int]:
    """The places of the smallest *distances*, *count* of them and those that are as small as the last; in order.

    A distance of 255 is never among them.

    >>> closest(bytes([9, 3, 255, 4, 3]), 2)
    [1, 4]
    """
    total = len(distances)
    sample = sorted(distances[:: total // SAMPLED + 1])
    most = min(sample[min(len(sample) - 1, count * len(sample) // total)], _TOO_FAR - 1) if sample else 0

    def is_enough(value: int) -> bool:
        return total - len(distances.translate(None, _UP_TO[value])) >= count

    while most < _TOO_FAR - 1 and not is_enough(most):  # the sample is hardly ever wrong by more than one or two
        most += 1
    while most and is_enough(most - 1):
        most -= 1
    return _places_up_to(distances, most)


def _places_up_to(values: bytes, most: int) -> list[int]:
    return [found.start() for found in _MARK.finditer(values.translate(bytes([1]) * (most + 1) + bytes(255 - most)))]


def nearest_places(distances: Sequence[memoryview[float]], count: int) -> list[int]:
    """The places of the *count* smallest of all *distances*, and of those that may be tied with the last, in order.

    Few are compared as numbers: a byte of each says how large it is, and `closest` compares all bytes at once.

    Args:
        distances: Lists of 64-bit numbers in [0, 2], but for a rounding; places count through all of them.
        count: How many, at least 1.

    >>> nearest_places([memoryview(array("d", [0.5, 0.25])), memoryview(array("d", [0.0, 0.25]))], 2)
    [1, 2, 3]
    """
    raw = b"".join(distances)
    values, sizes = memoryview(raw).cast("d"), _sizes(raw)
    near = closest(sizes, count)
    if not near:
        return []
    furthest = sorted([values[place] for place in near])[:count][-1] + TIED
    [most] = _sizes(array("d", [furthest]).tobytes())
    return [place for place in _places_up_to(sizes, most) if values[place] <= furthest]


def _sizes(raw: bytes) -> bytes:
    """A byte of each 64-bit number in [0, 2], but for a rounding: a larger one never belongs to a smaller number.

    The first two bytes of such a number are its sign, its exponent and the beginning of its digits.  The first is the
    same from 2 to the -15th up to 2, so the second decides.

    >>> list(_sizes(array("d", [0.0, 0.5, 0.51, 0.6, 1.0, 2.0]).tobytes()))
    [0, 224, 224, 227, 240, 254]
    """
    first, second = (7, 6) if sys.byteorder == "little" else (0, 1)
    exponents, sizes = raw[first::8], raw[second::8]
    if exponents.count(_BELOW_TWO) < len(exponents):
        pairs = zip(exponents, sizes, strict=True)
        sizes = bytes([size if begins == _BELOW_TWO else 254 if begins == 64 else 0 for begins, size in pairs])
    return sizes.replace(b"\xff", b"\xfe")  # 255 stands for what is never near
