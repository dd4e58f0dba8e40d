"""The nearest of many vectors by looking at all: what approximate searches are compared with."""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import simsimd

from ragdrop.domain.chunks import Vector

AT_ONCE = 4_096  # rows that are compared by one call


def unit(values: Vector) -> array[float]:
    """*values* at length 1.

    >>> unit(array("f", [3.0, 4.0])).tolist() == array("f", [0.6, 0.8]).tolist()
    True
    """
    length = math.hypot(*values)
    return array("f", [number / length for number in values])


def nearest(wanted: Sequence[Vector], rows: Iterable[bytes], limit: int) -> list[list[int]]:
    """For each vector the numbers of the *limit* rows with the largest cosine, best first.

    Args:
        wanted: What is asked for.
        rows: Vectors at length 1, each as the bytes of its 32-bit floats.
        limit: How many of each.

    >>> made = [unit(array("f", each)).tobytes() for each in ([1, 0], [1, 1], [0, 1])]
    >>> nearest([array("f", [2.0, 1.0])], made, 2)
    [[1, 0]]
    """
    size = len(wanted[0])
    asked = memoryview(b"".join(unit(each).tobytes() for each in wanted)).cast("f", shape=[len(wanted), size])
    best: list[list[tuple[float, int]]] = [[] for _ in wanted]
    first = 0
    left = iter(rows)
    while block := list(islice(left, AT_ONCE)):
        shaped = memoryview(b"".join(block)).cast("f", shape=[len(block), size])
        found: Any = simsimd.cdist(asked, shaped, "dot")
        cosines = memoryview(found).cast("B").cast("d")
        for at, held in enumerate(best):
            own = cosines[at * len(block) : (at + 1) * len(block)].tolist()
            held += [(cosine, -(first + number)) for number, cosine in enumerate(own)]
            best[at] = heapq.nlargest(limit, held)
        first += len(block)
    return [[-number for _, number in held] for held in best]
