"""Units of a text that a chunk may consist of: rows, messages, functions, sentences."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

Span = tuple[int, int]
"""Start and end (exclusive) in the parsed text."""

SOLID_CHARACTERS = 1_000  # a word longer than this is data, or a script without spaces
_SOLID = re.compile(r"\S{1000,}")
_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s+|\n+")
_LATE_BREAKS = ("\n", "。", "！", "？", "；", "，", ",", ";", ")", "}", " ")


def rows(text: str, start: int, end: int) -> list[Span]:
    r"""The lines, each with its end.

    >>> rows("a\nb\n", 0, 4)
    [(0, 2), (2, 4)]
    """
    cuts = [found.end() for found in re.compile("\n").finditer(text, start, end)]
    return spans(start, end, cuts)


def spans(start: int, end: int, cuts: Sequence[int]) -> list[Span]:
    """The stretches between *cuts* (in order), from *start* to *end*.

    >>> spans(0, 9, [0, 4, 9])
    [(0, 4), (4, 9)]
    """
    places = sorted({start, end, *(cut for cut in cuts if start < cut < end)})
    return list(pairwise(places))


def grouped(text: str, units: Sequence[Span], capacity: int, fits: Callable[[str], bool]) -> Iterator[Span]:
    """Neighbouring units put together while they fit; a unit that does not fit by itself comes alone.

    Args:
        text: The parsed text.
        units: Stretches of it, in order, without gaps.
        capacity: Tokens, by estimate, a group is filled up to.
        fits: Whether a piece of text has few enough tokens, by the model's own count.
    """
    first = 0
    while first < len(units):
        last, total = first, estimate_passage_tokens(text[slice(*units[first])])
        while last + 1 < len(units):
            total += estimate_passage_tokens(text[slice(*units[last + 1])])
            if total > capacity:
                break
            last += 1
        while last > first and not fits(text[units[first][0] : units[last][1]]):
            last = first + (last - first) // 2
        yield units[first][0], units[last][1]
        first = last + 1


def solid_pieces(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int, bool]]:
    """Stretches of *text*, and whether each is a piece, of up to *size* characters, of one endless word.

    A splitter that looks for words takes hours over a megabyte without a space.  Pieces end after a mark where there is
    one in their second half: scripts written without spaces have sentences too.
    """
    before = start
    for found in _SOLID.finditer(text, start, end):
        if found.start() > before:
            yield before, found.start(), False
        at = found.start()
        while at < found.end():
            stop = min(at + size, found.end())
            if stop < found.end():
                stop = next((cut for mark in _LATE_BREAKS if (cut := text.rfind(mark, at + size // 2, stop) + 1)), stop)
            yield at, stop, True
            at = stop
        before = found.end()
    if before < end:
        yield before, end, False


def windows(text: str, start: int, end: int, size: int, starts: Sequence[int]) -> Iterator[Span]:
    """Stretches of at most *size* characters, cut at the last of *starts* (headings), blank line, line end or space.

    >>> list(windows("aaa bbb ccc", 0, 11, 8, []))
    [(0, 8), (8, 11)]
    """
    while end - start > size:
        limit = start + size
        place = bisect_left(starts, limit) - 1
        cut = starts[place] if place >= 0 and starts[place] > start + size // 4 else 0
        for mark in ("\n\n", "\n", " "):
            if cut:
                break
            found = text.rfind(mark, start + size // 2, limit)
            cut = found + len(mark) if found >= 0 else 0
        yield start, cut or limit
        start = cut or limit
    if start < end:
        yield start, end


def overlap_start(text: str, floor: int, start: int, tokens: int) -> int:
    """Where a chunk that starts at *start* begins when it repeats up to *tokens* of what stands before it.

    Goes back to the start of a sentence or line, where there is one within reach, else to the start of a word; never
    before *floor*.

    >>> overlap_start("The pump leaks. Call Ann. She knows it.", 0, 26, 4)
    16
    """
    floor = max(floor, start - tokens * 8)
    before = text[floor:start]
    ends = [found.end() for found in _SENTENCE.finditer(before)]
    words = [found.end() for found in re.finditer(r"\s+", before)]
    whole = [0] if floor == 0 or text[floor - 1].isspace() else []
    for places in (ends, words):
        for place in (*whole, *places):
            if before[place:].strip() and estimate_passage_tokens(before[place:]) <= tokens:
                return floor + place
    return start


CHARACTERS_PER_TOKEN = 4

CHARACTERS_PER_PIECE = 4  # WordPiece and BPE vocabularies cut unknown Latin words into pieces of about this length
_PIECE = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d]")


def estimate_passage_tokens(text: str) -> int:
    """Tokens of *text*: short words and every mark count one, longer words and numbers one for each piece.

    >>> estimate_passage_tokens("The pump's code is QX-5521."), estimate_passage_tokens("水泵")
    (11, 2)
    """
    total = 0
    for found in _PIECE.finditer(text):
        piece = found.group()
        per_piece = 2 if piece[0].isdigit() else CHARACTERS_PER_PIECE + 2
        total += -(-len(piece) // per_piece)
    return total
