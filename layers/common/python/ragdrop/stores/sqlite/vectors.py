"""How vectors stand in a SQLite file: as float32, or as 8-bit numbers beside their signs.

8-bit vectors take a quarter of the room.  Each is scaled by its own largest number, which no cosine notices.
sqlite-vec compares each in about 1.5 microseconds, so the signs, compared in a sixth of that, first name the nearest
two thousand, and these are then compared by their numbers (`benchmarks/snapshot.py` measures what that loses).
"""

# ruff: noqa: S608 - the statements are constants of this module

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass

from ragdrop.domain.chunks import Vector

NARROWED = 2_000  # of the nearest by their signs are compared by their numbers


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """One way to keep vectors.

    Args:
        name: Of the format.
        cosine: SQL of the cosine of a row of `vectors` and the encoded `:vector`.
        within: SQL that restricts `vectors` to where its nearest rows are; `{within}` is a condition on `number`.
        schema: SQL of the tables that it needs besides `vectors`.
        after_insert: SQL run for each vector written, with its number; empty for none.
        encode: A vector as it is written and asked with.
        size_bytes: How long that is, by the dimension.
    """

    name: str
    cosine: str
    within: str
    schema: str
    after_insert: str
    encode: Callable[[Vector], bytes]
    size_bytes: Callable[[int], int]

    def nearest(self, numbers: str) -> str:
        """SQL of the nearest rows of those whose number is among *numbers*, a SELECT; of all where it is empty."""
        within = self.within.format(within=f" WHERE number IN ({numbers})" if numbers else "")
        return f"SELECT number, {self.cosine} AS score FROM vectors{within} ORDER BY score DESC, id LIMIT :limit"


def eight_bit(vector: Vector) -> bytes:
    """*vector* as signed bytes, the largest number at 127, filled up with zeros to a multiple of 8.

    >>> list(array("b", eight_bit(array("f", [0.5, -0.25, 0.0]))))
    [127, -64, 0, 0, 0, 0, 0, 0]
    """
    largest = max(map(abs, vector), default=0.0) or 1.0
    scale = 127.0 / largest
    numbers = array("b", [round(number * scale) for number in vector])
    return numbers.tobytes() + bytes(-len(numbers) % 8)


FLOAT32 = VectorFormat(
    name="float32",
    cosine="1.0 - vec_distance_cosine(vectors.vector, :vector)",
    within="{within}",
    schema="",
    after_insert="",
    encode=lambda vector: vector.tobytes(),
    size_bytes=lambda dimension: 4 * dimension,
)

INT8 = VectorFormat(
    name="int8",
    cosine="1.0 - vec_distance_cosine(vec_int8(vectors.vector), vec_int8(:vector))",
    within=(
        " WHERE number IN (SELECT number FROM signs{within}"
        " ORDER BY vec_distance_hamming(vec_bit(signs.signs), vec_quantize_binary(vec_int8(:vector)))"
        f" LIMIT {NARROWED})"
    ),
    schema="""
CREATE TABLE signs (number INTEGER PRIMARY KEY, signs BLOB NOT NULL);
CREATE TRIGGER vector_removed AFTER DELETE ON vectors BEGIN
    DELETE FROM signs WHERE number = old.number;
END;
""",
    after_insert=(
        "INSERT INTO signs SELECT number, vec_quantize_binary(vec_int8(vector)) FROM vectors WHERE number = :number"
    ),
    encode=eight_bit,
    size_bytes=lambda dimension: dimension + -dimension % 8,
)
