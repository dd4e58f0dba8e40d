"""Postings: the words of a segment in blocks, so that a search without a local copy reads no others.

A word's block follows from its hash.  Scores are those of tantivy (BM25, k1 1.2, b 0.75, lengths of texts as one byte),
so that a search finds the same before and after its segments are copied.
"""

from __future__ import annotations

import heapq
import json
import math
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress, pairwise
from pathlib import Path

from bucketindex.lexical import STOPS, WORDS, analyzer
from ragdrop.errors import IndexLostError

BLOCK_POSTINGS = 6_000  # of a block, about: some 12 KB
K1, B = 1.2, 0.75
_EXACT = 24  # lengths below it have a byte each
LENGTHS = [
    *range(_EXACT + 8),
    *(_EXACT + (low << shift) for shift in range(29) for low in range(8, 16) if low << shift < 1 << 31),
][:256]
"""The length that each byte stands for: from 40 on with four binary digits (Lucene's SmallFloat, as tantivy has it)."""


def length_byte(length: int) -> int:
    """The byte of a text's length in words.

    >>> [LENGTHS[length_byte(each)] for each in (0, 31, 41, 1_000)]
    [0, 31, 40, 984]
    """
    return bisect_right(LENGTHS, length) - 1


class PostingsWriter:
    """Collects the words of chunks in the order of their numbers."""

    def __init__(self) -> None:
        self._postings: dict[str, array[int]] = {}  # of a word and its field: 256 times the chunk, and how often
        self._lengths = {WORDS: bytearray(), STOPS: bytearray()}
        self._totals = Counter[str]()

    def add(self, words: str, stops: str) -> None:
        for field, text in ((WORDS, words), (STOPS, stops)):
            found = analyzer().analyze(text) if text else []
            lengths = self._lengths[field]
            place = len(lengths) << 8
            for word, count in Counter(found).items():
                own = self._postings.get(name := f"{field}:{word}")
                if own is None:
                    own = self._postings[name] = array("I")
                own.append(place | (count if count < 256 else 255))
            lengths.append(length_byte(len(found)))
            self._totals[field] += len(found)

    def write(self, path: Path) -> bytes:
        """Write the blocks; the section that says where each begins, behind the words of both fields in all."""
        count = max(1, sum(map(len, self._postings.values())) // BLOCK_POSTINGS)
        blocks: list[list[str]] = [[] for _ in range(count)]
        for name in sorted(self._postings):
            blocks[_block_of(name, count)].append(name)
        starts = array("Q", [self._totals[WORDS], self._totals[STOPS], 0])
        with path.open("wb") as file:
            for names in blocks:
                starts.append(starts[-1] + file.write(self._encoded(names)))
        return starts.tobytes()

    def _encoded(self, names: Sequence[str]) -> bytes:
        gaps, counts, lengths = array("I"), bytearray(), bytearray()
        for name in names:
            postings = self._postings[name]
            numbers = [each >> 8 for each in postings]
            gaps.extend([numbers[0], *(after - before for before, after in pairwise(numbers))])
            counts += bytes([each & 255 for each in postings])
            own = self._lengths[name.partition(":")[0]]
            lengths += bytes([own[number] for number in numbers])
        table = json.dumps([[name, len(self._postings[name])] for name in names], ensure_ascii=False).encode(
            errors="surrogatepass"
        )
        raw = gaps.tobytes()
        planes = b"".join(raw[plane::4] for plane in range(4))  # the high bytes, nearly all zero, one after another
        return zlib.compress(len(table).to_bytes(4, "little") + table + planes + counts + lengths)


@dataclass(frozen=True, slots=True)
class Postings:
    """The chunks of a segment that have a word: numbers in order, how often, and the byte of each one's length."""

    numbers: Sequence[int]
    counts: bytes
    lengths: bytes


class WordBlocks:
    """Where the words of a segment are, by its section *starts*."""

    def __init__(self, starts: memoryview) -> None:
        self._starts = starts.cast("Q")

    def words(self, field: str) -> int:
        """How many words all chunks have in a field."""
        return self._starts[0 if field == WORDS else 1]

    def place(self, field: str, word: str) -> tuple[int, int]:
        """The range of the block that has a word, if any has it."""
        at = 2 + _block_of(f"{field}:{word}", len(self._starts) - 3)
        return self._starts[at], self._starts[at + 1]


def postings_of(block: bytes, field: str, words: Iterable[str]) -> dict[str, Postings]:
    """The postings of those *words* that a block has.  Raises IndexLostError: it is damaged."""
    try:
        body = zlib.decompress(block)
        behind = 4 + int.from_bytes(body[:4], "little")
        table: list[tuple[str, int]] = json.loads(body[4:behind])
    except (ValueError, zlib.error) as exc:
        raise IndexLostError("a segment of the index is damaged: its words cannot be read") from exc
    required = {f"{field}:{word}": word for word in words}
    total, first = sum(count for _, count in table), 0
    found = {}
    for name, count in table:
        if name in required:
            parts = [body[at : at + count] for at in range(behind + first, behind + first + 6 * total, total)]
            gaps = bytearray(4 * count)
            for plane in range(4):
                gaps[plane::4] = parts[plane]
            numbers = accumulate(array("I", gaps))
            found[required[name]] = Postings(list(numbers), parts[4], parts[5])
        first += count
    return found


def best_by_words(
    segments: Sequence[Mapping[str, Postings]], masks: Sequence[bytes | None], *, chunks: int, words: int, limit: int
) -> list[tuple[float, int, int]]:
    """Score, segment and number of the *limit* best chunks, and those as good as the last, best first.

    Args:
        segments: The postings of the question's words in each.
        masks: For each a byte a chunk, 0 for those that do not count; None where all do.
        chunks: Of all segments.
        words: Of all their chunks.
        limit: How many.
    """
    have = Counter[str]()
    for each in segments:
        have.update({word: len(found.numbers) for word, found in each.items()})
    average = words / chunks if words else 1.0
    norms = [K1 * (1 - B + B * length / average) for length in LENGTHS]
    weights = {word: (K1 + 1) * math.log(1 + (chunks - n + 0.5) / (n + 0.5)) for word, n in have.items()}
    scores: list[dict[int, float]] = [{} for _ in segments]
    least, left = 0.0, sum(weights.values())
    for word in sorted(have, key=lambda one: have[one]):  # the rarest first: common ones alone seldom make the best
        for own, postings, mask in zip(scores, segments, masks, strict=True):
            if word in postings:
                _add(own, postings[word], weights[word], norms, mask, only_known=left < least)
        left -= weights[word]
        if sum(map(len, scores)) >= limit:
            least = heapq.nlargest(limit, (score for own in scores for score in own.values()))[-1]
    found = [(score, at, number) for at, own in enumerate(scores) for number, score in own.items() if score >= least]
    return sorted(found, key=lambda each: -each[0])


def _add(
    scores: dict[int, float],
    postings: Postings,
    weight: float,
    norms: Sequence[float],
    mask: bytes | None,
    *,
    only_known: bool,
) -> None:
    """Add what a word gives to the *scores* of chunks, of *only_known* ones where no other can be among the best."""
    numbers, counts, lengths = postings.numbers, postings.counts, postings.lengths
    if only_known:
        for number in scores:
            at = bisect_left(numbers, number)
            if at < len(numbers) and numbers[at] == number:
                scores[number] += weight * counts[at] / (counts[at] + norms[lengths[at]])
        return
    found: Iterable[tuple[int, int, int]] = zip(numbers, counts, lengths, strict=True)
    if mask is not None:
        found = compress(found, map(mask.__getitem__, numbers))
    once = [weight / (1 + norm) for norm in norms]
    known = scores.get
    for number, count, length in found:
        score = once[length] if count == 1 else weight * count / (count + norms[length])
        scores[number] = known(number, 0.0) + score


def _block_of(name: str, count: int) -> int:
    return zlib.crc32(name.encode(errors="surrogatepass")) % count
