"""Read neighbours, whole documents and critical documents in one round trip, and join their texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragdrop.domain.chunks import Chunk, ChunkRange, Hit, cached_part
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import CHUNKS_PER_DOCUMENT, Expand, FoundChunk, FoundDocument
from ragdrop.query.candidates import filter_tenant
from ragdrop.query.ranking import Boosts, boosted
from ragdrop.query.understand import ResolvedQuery
from ragdrop.query.view import View

MAX_CRITICAL = 50  # heads that may be read for them, of the 100 of one batch
MIN_CUT = 40  # characters: a shorter beginning of a document says nothing


def live_critical(
    keys: Iterable[DocumentKey], heads: Mapping[DocumentKey, Head], doc_types: Sequence[str] = ()
) -> list[Head]:
    """The heads of those of *keys* that are critical now, and of one of *doc_types* where some are given."""
    found = [heads[key] for key in keys if key in heads]
    return [
        head
        for head in found
        if head.live_revision is not None
        and head.promotion_level == "critical"
        and (not doc_types or head.doc_type in doc_types)
    ]


def as_document(head: Head, chunks: Sequence[FoundChunk], read: Sequence[Hit], boosts: Boosts) -> FoundDocument | None:
    """A critical document by its best chunks, or by what was *read* of it; None where the index holds nothing of it.

    Its score is None where it was not searched: at level 2, or where nearer chunks of others took all the room.
    """
    hits = [chunk.hit for chunk in chunks] or list(read)
    if not hits or head.live_revision is None:
        return None
    best = hits[0]
    scores = [chunk.score for chunk in chunks if chunk.score is not None]
    raw = max(scores) if scores else None
    return FoundDocument(
        key=head.key,
        revision=head.live_revision,
        facts=best.facts,
        raw_score=raw,
        score=None if raw is None else boosted(raw, boosts.of("critical")),
        chunks=tuple(chunks[:CHUNKS_PER_DOCUMENT]),
        text=best.chunk.text,
        text_start=best.chunk.start,
        text_end=best.chunk.end,
    )


def in_order(documents: Iterable[FoundDocument]) -> list[FoundDocument]:
    """By raw score, those without one last; then newest first; then by key."""
    by_key = sorted(documents, key=lambda one: one.key.s3_key)
    by_date = sorted(by_key, key=lambda one: one.facts.date or "", reverse=True)
    return sorted(by_date, key=lambda one: -1.0 if one.raw_score is None else one.raw_score, reverse=True)


def within_share(
    documents: Sequence[FoundDocument], characters: int
) -> tuple[list[FoundDocument], int, list[FoundDocument]]:
    """As many of *documents*, in order, as fit in *characters*; one that does not is shortened to its best chunk.

    Where not even that fits, it is cut at the end of a paragraph, sentence or word; only where less than MIN_CUT
    characters are left is a document left out.

    Returns:
        Those that fit, how many characters of the share they leave, and those that were shortened or left out.
    """
    shown: list[FoundDocument] = []
    short: list[FoundDocument] = []
    for document in documents:
        if len(document.text) <= characters:
            shown.append(document)
        elif characters >= MIN_CUT:
            shown.append(_shortened(document, characters))
            short.append(document)
        else:
            short.append(document)
            continue
        characters -= len(shown[-1].text)
    return shown, characters, short


def cut_at_boundary(text: str, characters: int) -> str:
    """The longest beginning of *text* of at most *characters* that ends a paragraph, else a line, a sentence, a word.

    One of them only where it leaves at least half of the room; a text without any is cut where the room ends.

    >>> cut_at_boundary("Never restart. Call the shift first.", 20), cut_at_boundary("x" * 9, 5)
    ('Never restart.', 'xxxxx')
    """
    if len(text) <= characters:
        return text
    for boundary, included in (("\n\n", 0), ("\n", 0), (". ", 1), (" ", 0)):
        end = text.rfind(boundary, 0, characters + len(boundary) - included)
        if end + included >= max(1, characters // 2):
            return text[: end + included]
    return text[:characters]


def _shortened(document: FoundDocument, characters: int) -> FoundDocument:
    """The document by its best chunk, which is cut itself where it does not fit: what a prompt shows is cut too."""
    if not document.chunks:
        text = cut_at_boundary(document.text, characters)
        return replace(document, text=text, text_end=document.text_start + len(text), parts=())
    found = document.chunks[0]
    chunk = found.hit.chunk
    text = cut_at_boundary(chunk.text, characters)
    if len(text) < len(chunk.text):
        chunk = replace(chunk, text=text, end=chunk.start + len(text), after="")
        found = found._replace(hit=replace(found.hit, chunk=chunk))
    return replace(document, text=text, text_start=chunk.start, text_end=chunk.end, chunks=(found,), parts=(found.hit,))


ChunksByDocument = Mapping[DocumentKey, Mapping[int, Hit]]
"""Chunks by document and ordinal."""

MAX_CHARACTERS = 1_000_000  # of all texts together, whatever the budget says: a Lambda response has 6 MB
MAX_CRITICAL_CHUNKS = 300  # read of critical documents at most; more would not fit any share of a usual budget


@dataclass(frozen=True, slots=True)
class Assembled:
    """Documents with their texts, and the critical ones that were shortened or left out.

    `first_chunks` is empty unless requested; None for a document whose first chunk, which has its links, is missing.
    """

    documents: list[FoundDocument]
    critical: list[FoundDocument]
    shortened: list[FoundDocument]
    first_chunks: Mapping[DocumentKey, Hit | None] = field(default_factory=dict)


def assemble(
    view: View,
    documents: Sequence[FoundDocument],
    critical: Sequence[tuple[Head, Sequence[FoundChunk]]],
    *,
    question: ResolvedQuery,
    found: ChunksByDocument,
    with_first: bool,
    deadline: Deadline,
) -> Assembled:
    """Put texts together.

    Args:
        view: Where chunks are read.
        documents: Ranked, best first; the first ones have the room.
        critical: Heads of critical documents with their best chunks.
        question: How much of each document is requested, and the room for all.
        found: Chunks of live revisions that the search found; what they suffice for is not read again.
        with_first: Whether to read the first chunk of each document too, in the same round trip.
        deadline: When the reading must have ended.

    Raises:
        DatabaseError: The index did not answer.
    """
    ranges = _of_critical(critical)
    room, expand, index = question.room, question.query.expand, question.tenant.index
    ranges |= _of_results(documents, expand, min(room.documents, MAX_CHARACTERS))
    requested = [*ranges.values(), *(_first_ranges(ranges.values()) if with_first else [])]
    available = [cached_part(part, found.get(part.key, {})) for part in requested]
    missing = [part for part, hits in zip(requested, available, strict=True) if hits is None]
    answers = iter(view.read(index, missing, deadline) if missing else [])
    read = [filter_tenant(next(answers), index.tenant) if hits is None else hits for hits in available]
    by_key: Mapping[DocumentKey, list[Hit]] = dict(zip(ranges, read, strict=False))
    first_chunks = _read_first(zip(requested, read, strict=True)) if with_first else {}
    first, left, shortened = within_share(_critical(critical, by_key, question.boosts), room.critical)
    left += min(room.documents, MAX_CHARACTERS) - room.critical
    return Assembled(_within(documents, by_key, expand, left), first, shortened, first_chunks)


def _critical(
    critical: Sequence[tuple[Head, Sequence[FoundChunk]]], by_key: Mapping[DocumentKey, list[Hit]], boosts: Boosts
) -> list[FoundDocument]:
    found = []
    for head, chunks in critical:
        read = [hit for hit in by_key.get(head.key, []) if hit.revision == head.live_revision]
        document = as_document(head, chunks, read, boosts)
        if document is not None:
            found.append(expanded(document, read, "document"))
    return in_order(found)


def _first_ranges(ranges: Iterable[ChunkRange]) -> list[ChunkRange]:
    """The first chunks of the documents which *ranges* leave out."""
    return [ChunkRange(one.key, one.revision, 0, 0) for one in ranges if one.first > 0]


def _read_first(read: Iterable[tuple[ChunkRange, Sequence[Hit]]]) -> dict[DocumentKey, Hit | None]:
    return {
        part.key: next((hit for hit in hits[:1] if hit.chunk.ordinal == 0), None)
        for part, hits in read
        if part.first == 0
    }


def _of_critical(critical: Sequence[tuple[Head, Sequence[FoundChunk]]]) -> dict[DocumentKey, ChunkRange]:
    """Whole documents while there is room for their chunks; then the best chunk with its neighbours."""
    ranges: dict[DocumentKey, ChunkRange] = {}
    left = MAX_CRITICAL_CHUNKS
    for head, chunks in critical:
        if head.live_revision is None:
            continue
        best = chunks[0].hit.chunk.ordinal if chunks else 0
        first, last = (0, head.chunk_count) if head.chunk_count <= left else (max(0, best - 1), best + 1)
        left -= last - first
        ranges[head.key] = ChunkRange(head.key, head.live_revision, first, last)
    return ranges


def _of_results(documents: Sequence[FoundDocument], expand: Expand, characters: int) -> dict[DocumentKey, ChunkRange]:
    """Whole documents, best first, while all that is read fits; neighbours of the rest."""
    ranges = {}
    for document in documents:
        best = document.chunks[0].hit.chunk.ordinal
        first, last = range_to_read(expand, best, document.facts.char_count, characters)
        if first == 0 and last > best + 1:
            characters -= document.facts.char_count
        ranges[document.key] = ChunkRange(document.key, document.revision, first, last)
    return ranges


def _within(
    documents: Sequence[FoundDocument], by_key: Mapping[DocumentKey, list[Hit]], expand: Expand, characters: int
) -> list[FoundDocument]:
    """Expanded texts while they fit; a document whose whole text does not gets its neighbours, or stays as found."""
    made = []
    for document in documents:
        read = by_key.get(document.key, [])
        ways: tuple[Expand, ...] = (expand, "neighbours")
        choices = (expanded(document, read, way) for way in ways)  # the second only where the first does not fit
        chosen = next((choice for choice in choices if len(choice.text) <= characters), document)
        characters -= len(chosen.text)
        made.append(chosen)
    return made


MAX_WHOLE_LINES = 500
NEIGHBOURS = 1  # chunks before and after the best one


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Code points `start` to `end` (exclusive) of a parsed text, exactly."""

    text: str
    start: int
    end: int

    @property
    def lines(self) -> int:
        """How many lines it has.

        >>> _Stretch("a", 0, 1).lines, _Stretch(chr(10).join("ab"), 0, 3).lines
        (1, 2)
        """
        return self.text.count("\n") + 1


def stretches(chunks: Sequence[Chunk]) -> list[_Stretch]:
    """The text of *chunks* (of one revision, by ordinal), overlaps once; a new stretch where text between is missing.

    >>> stretches([Chunk(0, 0, 5, "one t", after=""), Chunk(1, 4, 7, "two"), Chunk(2, 9, 12, "six")])
    [_Stretch(text='one two', start=0, end=7), _Stretch(text='six', start=9, end=12)]
    """
    found: list[_Stretch] = []
    after = ""
    for chunk in chunks:
        last = found[-1] if found else None
        if last is not None and chunk.start <= last.end + len(after):
            joined = last.text + after[: max(0, chunk.start - last.end)]
            end = last.start + len(joined)
            if chunk.end <= end:
                continue
            found[-1] = _Stretch(joined + chunk.text[end - chunk.start :], last.start, chunk.end)
        else:
            found.append(_Stretch(chunk.text, chunk.start, chunk.end))
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


def _with_text(document: FoundDocument, part: _Stretch, read: Sequence[Hit]) -> FoundDocument:
    parts = tuple(
        hit
        for hit in read
        if hit.revision == document.revision and part.start <= hit.chunk.start and hit.chunk.end <= part.end
    )
    return replace(document, text=part.text, text_start=part.start, text_end=part.end, parts=parts)


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
    r"""On one line: what a document says of itself cannot add lines.

    >>> _line("a\nrelevance: 1.00")
    'a relevance: 1.00'
    """
    return " ".join(text.split())
