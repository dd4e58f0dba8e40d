"""Split a text into chunks at headings, paragraphs, functions, messages and rows; sizes in model tokens."""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Any

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from ragdrop.domain.chunks import Chunk, Span, text_windows, with_white_space
from readers.parsed import SPEAKER, ParsedDocument, Table

WINDOW_CHARACTERS = 8_000  # semantic-text-splitter's time grows with the square of what has no line ends
MAX_CHARACTERS_PER_TOKEN = 16  # a chunk of white space, or of a word that the model's vocabulary takes for one token
MAX_HEADER_SHARE = 0.5  # of a chunk: a longer table header is not repeated
_SOLID = re.compile(r"\S{1000,}")  # data, or a script without spaces
_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s+|\n+")
_LATE_BREAKS = ("\n", "。", "！", "？", "；", "，", ",", ";", ")", "}", " ")
CHARACTERS_PER_PIECE = 4  # WordPiece and BPE vocabularies cut unknown Latin words into pieces of about this length
_PIECE = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d]")

Piece = tuple[int, int, str]
"""Start, end, and the text that goes before the piece when it is embedded and searched."""


class SemanticSplitter:
    """A Splitter; *tokenizer*, called once, returns the model's `tokenizer.json`; without it tokens are estimated."""

    def __init__(self, tokenizer: Callable[[], bytes | None]) -> None:
        self._tokenizer = cache(lambda: _unlimited(tokenizer()))
        self._splitter = lru_cache(maxsize=8)(self._build)

    def split(self, document: ParsedDocument, *, max_tokens: int, overlap_tokens: int) -> list[Chunk]:
        """Chunks without gaps but of white space; a piece of a split table has its header as `context`."""
        cutter = _Cutter(document, max_tokens, overlap_tokens, self._splitter)
        chunks: list[Chunk] = []
        for start, end, context in cutter.pieces():
            text = document.text[start:end]
            if text.strip():
                path, page = document.heading_path(start), document.page(start)
                places = document.places_in(start, end)
                chunks.append(Chunk(len(chunks), start, end, text, path, page, context, places=places))
        return with_white_space(chunks, document.text)

    def _build(self, markdown: bool, max_tokens: int) -> Any:  # noqa: FBT001
        kind = MarkdownSplitter if markdown else TextSplitter
        tokenizer = self._tokenizer()
        if tokenizer is None:
            return kind.from_callback(estimate_passage_tokens, max_tokens, 0)
        return kind.from_huggingface_tokenizer_str(tokenizer, max_tokens, 0)


class _Cutter:
    """Cuts one document."""

    def __init__(
        self, document: ParsedDocument, max_tokens: int, overlap_tokens: int, splitter: Callable[[bool, int], Any]
    ) -> None:
        self._document, self._text = document, document.text
        self._max_tokens, self._overlap_tokens = max_tokens, overlap_tokens
        self._splitter = splitter
        self._starts = [heading.start for heading in document.headings]
        self._headings = frozenset(self._starts)

    def pieces(self) -> Iterator[Piece]:
        """All pieces, none longer than it may be in characters."""
        longest = self._max_tokens * MAX_CHARACTERS_PER_TOKEN
        for start, end, context in self._of_document():
            for at in range(start, end, longest):
                yield at, min(at + longest, end), context

    def _of_document(self) -> Iterator[Piece]:
        start, end = self._document.body_start, len(self._text)
        if self._document.content_type == "chat":
            said = _messages(self._text, start, end)
            return self._units(said, starts=[first for first, _ in said])
        if self._document.content_type == "code":
            lines = [first for first, _ in _rows(self._text, start, end)]
            return self._units(_spans(start, end, self._starts), starts=lines)
        return self._prose_and_tables(start, end)

    def _units(self, units: list[Span], *, starts: Sequence[int] = ()) -> Iterator[Piece]:
        """Whole messages, functions or rows together; only one that is too long alone is cut inside.

        A group repeats what stands before it from the first of *starts* within the overlap on: whole messages of a
        chat, whole lines of code.
        """
        size = self._base_tokens if starts else self._max_tokens
        floor = units[0][0] if units else 0
        for start, end in _grouped(self._text, units, size, lambda text: self._fits(text, size)):
            if self._fits(self._text[start:end]):
                yield self._overlapped(floor, start, end, starts), end, ""
            else:
                yield from self._prose(start, end)
            floor = start

    def _overlapped(self, floor: int, start: int, end: int, starts: Sequence[int]) -> int:
        """The first of *starts* from *floor* on whose text before *start* is an overlap, and fits; else *start*."""
        before = starts[bisect_left(starts, floor) : bisect_left(starts, start)]
        for begin in before if self._overlap_tokens > 0 else ():
            repeated = self._text[begin:start]
            if repeated.strip() and self._fits(repeated, self._overlap_tokens) and self._fits(self._text[begin:end]):
                return begin
        return start

    def _prose_and_tables(self, start: int, end: int) -> Iterator[Piece]:
        for table in self._document.tables:
            whole = not table.header and self._fits(self._text[table.start : table.end], self._base_tokens)
            if table.start >= start and not whole:  # rows whose header stands elsewhere come with it
                yield from self._prose(start, table.start)
                yield from self._table(table)
                start = table.end
        yield from self._prose(start, end)

    def _table(self, table: Table) -> Iterator[Piece]:
        """Rows together, each group but the first with the header as context."""
        header = table.header or self._text[table.start : table.rows_start].strip()
        size = estimate_passage_tokens(header)
        if size > self._max_tokens * MAX_HEADER_SHARE or not header:
            yield from self._units(_rows(self._text, table.start, table.end))
            return

        def fits(text: str) -> bool:
            return self._fits(f"{header}\n{text}")

        lines = _rows(self._text, table.rows_start, table.end)
        start = table.start
        for first, last in _grouped(self._text, lines, self._max_tokens - size, fits):
            if fits(self._text[first:last]):
                yield start, last, header if start == first else ""
            else:
                if start < first:
                    yield start, first, ""
                yield from ((at, stop, "") for at, stop, _ in self._prose(first, last))
            start = last

    def _prose(self, start: int, end: int) -> Iterator[Piece]:
        """Running text by the library, window by window, then each piece with its overlap.

        A piece that the next one repeats whole, such as a heading alone, is left out.
        """
        pending: Piece | None = None
        floor = start
        for at, stop, endless in _solid_pieces(self._text, start, end, self._max_tokens):
            pieces = self._endless(at, stop) if endless else self._of_windows(at, stop)
            for first, last in pieces:
                piece = (first if endless else self._with_overlap(floor, first)), last, ""
                if pending is not None and piece[0] > pending[0]:
                    yield pending
                pending = piece
                floor = last if endless else first
        if pending is not None:
            yield pending

    def _of_windows(self, start: int, end: int) -> Iterator[Span]:
        splitter = self._splitter(self._document.syntax == "markdown", self._base_tokens)
        return chain.from_iterable(
            ((at + offset, at + offset + len(piece)) for offset, piece in splitter.chunk_indices(self._text[at:stop]))
            for at, stop in text_windows(self._text, start, end, WINDOW_CHARACTERS, self._starts)
        )

    def _with_overlap(self, floor: int, start: int) -> int:
        if start in self._headings or start <= floor or self._overlap_tokens < 1:
            return start
        begin = _overlap_start(self._text, floor, start, self._overlap_tokens)
        return begin if begin < start and self._fits(self._text[begin:start], self._overlap_tokens) else start

    def _endless(self, start: int, end: int) -> Iterator[Span]:
        if end - start <= 1 or self._fits(self._text[start:end]):
            yield start, end
        else:
            middle = (start + end) // 2
            yield from self._endless(start, middle)
            yield from self._endless(middle, end)

    @property
    def _base_tokens(self) -> int:
        return max(self._max_tokens - self._overlap_tokens, 1)

    def _fits(self, text: str, max_tokens: int | None = None) -> bool:
        """Whether *text* has at most so many tokens, by whether the library leaves it whole."""
        limit = self._max_tokens if max_tokens is None else max_tokens
        if len(text) > limit * MAX_CHARACTERS_PER_TOKEN:
            return False
        return len(self._splitter(False, limit).chunks(text)) <= 1  # noqa: FBT003


def _unlimited(tokenizer: bytes | None) -> str | None:
    """The tokenizer without the truncation and padding of its file: they would hide a text's true length."""
    if tokenizer is None:
        return None
    loaded = json.loads(tokenizer)
    loaded.update(truncation=None, padding=None)
    return json.dumps(loaded)


def _messages(text: str, start: int, end: int) -> list[Span]:
    r"""The messages of a chat: each from its `[Name]` to the next one's; what stands before the first is one too.

    >>> _messages("[Ann] hi\nall\n[Bob] yes\n", 0, 23)
    [(0, 13), (13, 23)]
    """
    cuts = [found.start() for found in SPEAKER.finditer(text, start, end)]
    return _spans(start, end, cuts)


def _rows(text: str, start: int, end: int) -> list[Span]:
    r"""The lines, each with its end.

    >>> _rows("a\nb\n", 0, 4)
    [(0, 2), (2, 4)]
    """
    cuts = [found.end() for found in re.compile("\n").finditer(text, start, end)]
    return _spans(start, end, cuts)


def _spans(start: int, end: int, cuts: Sequence[int]) -> list[Span]:
    """The stretches between *cuts* (in order), from *start* to *end*.

    >>> _spans(0, 9, [0, 4, 9])
    [(0, 4), (4, 9)]
    """
    places = sorted({start, end, *(cut for cut in cuts if start < cut < end)})
    return list(pairwise(places))


def _grouped(text: str, units: Sequence[Span], capacity: int, fits: Callable[[str], bool]) -> Iterator[Span]:
    """Neighbouring units put together while they fit; a unit that does not fit is alone.

    A group is filled up to *capacity* tokens by estimate; *fits* counts by the model's own tokenizer.
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


def _solid_pieces(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int, bool]]:
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


def _overlap_start(text: str, floor: int, start: int, tokens: int) -> int:
    """Where a chunk at *start* begins if it repeats up to *tokens* before it, but nothing before *floor*.

    At the start of a sentence or line if one is near enough, else at that of a word.

    >>> _overlap_start("The pump leaks. Call Ann. She knows it.", 0, 26, 4)
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
