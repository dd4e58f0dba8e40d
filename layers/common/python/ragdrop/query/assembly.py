"""Join chunks into the exact text that they were cut from, by their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.queries import Expand
from ragdrop.domain.retrieval import FoundDocument

MAX_WHOLE_LINES = 500
NEIGHBOURS = 1  # chunks before and after the best one


@dataclass(frozen=True, slots=True)
class Stretch:
    """Code points `start` to `end` (exclusive) of a parsed text, exactly."""

    text: str
    start: int
    end: int

    @property
    def lines(self) -> int:
        """How many lines it has.

        >>> Stretch("a", 0, 1).lines, Stretch(chr(10).join("ab"), 0, 3).lines
        (1, 2)
        """
        return self.text.count("\n") + 1


def stretches(chunks: Sequence[Chunk]) -> list[Stretch]:
    """The text of *chunks* (of one revision, by ordinal), overlaps once; a new stretch where text between is not held.

    >>> stretches([Chunk(0, 0, 5, "one t", after=""), Chunk(1, 4, 7, "two"), Chunk(2, 9, 12, "six")])
    [Stretch(text='one two', start=0, end=7), Stretch(text='six', start=9, end=12)]
    """
    found: list[Stretch] = []
    after = ""
    for chunk in chunks:
        last = found[-1] if found else None
        if last is not None and chunk.start <= last.end + len(after):
            held = last.text + after[: max(0, chunk.start - last.end)]
            end = last.start + len(held)
            if chunk.end <= end:
                continue
            found[-1] = Stretch(held + chunk.text[end - chunk.start :], last.start, chunk.end)
        else:
            found.append(Stretch(chunk.text, chunk.start, chunk.end))
        after = chunk.after
    return found


def range_to_read(expand: Expand, best: int, char_count: int, budget_characters: int) -> tuple[int, int]:
    """Which chunks of a document to read, first and last: all where it may be shown whole, else the neighbours.

    >>> range_to_read("auto", 7, 4_000, 80_000)[0], range_to_read("neighbours", 7, 4_000, 80_000)
    (0, (6, 8))
    >>> range_to_read("document", 7, 90_000, 80_000)
    (6, 8)
    """
    if expand != "neighbours" and char_count <= budget_characters:
        return 0, 1_000_000
    return max(0, best - NEIGHBOURS), best + NEIGHBOURS


def expanded(document: FoundDocument, read: Sequence[Hit], expand: Expand) -> FoundDocument:
    """*document* with the text that *expand* makes of the chunks *read* of it, in order.

    The whole document where it was read whole and, for `auto`, has at most 500 lines; else the best chunk with its
    neighbours.  Where the index no longer holds them, what was found stays.
    """
    best = document.chunks[0].hit.chunk if document.chunks else None
    chunks = [hit.chunk for hit in read if hit.revision == document.revision]
    if not chunks:
        return document
    whole = stretches(chunks) if expand != "neighbours" and chunks[0].ordinal == 0 else []
    if len(whole) == 1 and (expand == "document" or whole[0].lines <= MAX_WHOLE_LINES):
        return _with_text(document, whole[0], read)
    at = best.ordinal if best else 0
    near = [chunk for chunk in chunks if abs(chunk.ordinal - at) <= NEIGHBOURS]
    start = best.start if best else chunks[0].start
    around = next((part for part in stretches(near) if part.start <= start < part.end), None)
    return document if around is None else _with_text(document, around, read)


def _with_text(document: FoundDocument, part: Stretch, read: Sequence[Hit]) -> FoundDocument:
    held = tuple(
        hit
        for hit in read
        if hit.revision == document.revision and part.start <= hit.chunk.start and hit.chunk.end <= part.end
    )
    return replace(document, text=part.text, text_start=part.start, text_end=part.end, parts=held)


GROUPS = ("Critical", "Relevant", "Linked")


def context_text(
    critical: Sequence[FoundDocument], documents: Sequence[FoundDocument], linked: Sequence[FoundDocument] = ()
) -> str:
    """The documents' texts: critical first, then relevant by score, then linked by depth.

    Every segment says title, path, type, promotion level, relevance, date, linked from and character count.  An empty
    group is left out; without documents the text is empty.
    """
    by_score = sorted(documents, key=lambda one: -(one.score or 0.0))
    by_depth = sorted(linked, key=lambda one: int(getattr(one, "link_depth", 1)))
    groups = zip(GROUPS, (critical, by_score, by_depth), strict=True)
    return "\n\n".join(_group(name, members) for name, members in groups if members)


def _group(name: str, documents: Iterable[FoundDocument]) -> str:
    return "\n\n".join([f"# {name} documents", *(_segment(document) for document in documents)])


def _segment(document: FoundDocument) -> str:
    return "\n".join([f"## {_line(document.facts.title)}", *_particulars(document), "", document.text.strip("\n")])


def _particulars(document: FoundDocument) -> Iterator[str]:
    facts = document.facts
    yield f"path: {_line(document.key.vault_path)}"
    yield f"type: {_line(facts.doc_type or facts.content_type)}"
    yield f"promotion level: {facts.promotion_level}"
    yield f"relevance: {'unknown' if document.score is None else f'{document.score:.2f}'}"
    if facts.date:
        yield f"date: {facts.date}"
    linked_from = getattr(document, "linked_from", None)
    if linked_from is not None:
        yield f"linked from: {_line(str(getattr(linked_from, 'vault_path', linked_from)))}"
    yield f"characters: {len(document.text)}"


def _line(text: str) -> str:
    r"""On one line: what a document says of itself cannot make lines of its own.

    >>> _line("a\nrelevance: 1.00")
    'a relevance: 1.00'
    """
    return " ".join(text.split())
