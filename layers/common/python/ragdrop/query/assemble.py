"""Read neighbours, whole documents and critical documents in one round trip, and join their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ragdrop.domain.chunks import ChunkRange, Hit, held_of
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.queries import Expand
from ragdrop.domain.retrieval import FoundChunk, FoundDocument
from ragdrop.domain.tenants import IndexRef
from ragdrop.ports import SearchableIndex
from ragdrop.query.assembly import expanded, range_to_read
from ragdrop.query.candidates import filter_tenant
from ragdrop.query.critical import as_document, in_order, within_share
from ragdrop.query.ranking import Boosts

Held = Mapping[DocumentKey, Mapping[int, Hit]]
"""Chunks by document and ordinal."""

MAX_CHARACTERS = 1_000_000  # of all texts together, whatever the budget says: a Lambda response has 6 MB
MAX_CRITICAL_CHUNKS = 300  # read of critical documents at most; more would not fit any share of a usual budget


@dataclass(frozen=True, slots=True)
class Room:
    """Characters there is room for: `documents` is the whole, `critical` what critical ones may take of it."""

    documents: int
    critical: int


@dataclass(frozen=True, slots=True)
class TextRequest:
    """What texts are to be made: *expand* for results, from *index*, within *room*.

    *boosts* are added to the scores of critical documents.  By *with_first* the first chunk of each document is read
    too, in the same round trip.
    """

    index: IndexRef
    expand: Expand
    boosts: Boosts
    room: Room
    with_first: bool = False


@dataclass(frozen=True, slots=True)
class Assembled:
    """Documents with their texts, and the critical ones that were shortened or left out.

    `firsts` has the first chunk of each document, with which its links stand, where it was asked for; None where the
    index does not hold it.
    """

    documents: list[FoundDocument]
    critical: list[FoundDocument]
    shortened: list[FoundDocument]
    firsts: Mapping[DocumentKey, Hit | None] = field(default_factory=dict)


class Assemble:
    """Reads what `expand` asks for, and makes texts of it."""

    def __init__(self, index: SearchableIndex) -> None:
        self._index = index

    def __call__(
        self,
        documents: Sequence[FoundDocument],
        critical: Sequence[tuple[Head, Sequence[FoundChunk]]],
        request: TextRequest,
        *,
        held: Held,
        deadline: Deadline,
    ) -> Assembled:
        """Put texts together.

        Args:
            documents: Ranked, best first; the first ones have the room.
            critical: Heads of critical documents with their best chunks.
            request: What texts are to be made.
            held: Chunks of live revisions that were found already; what they suffice for is not read again.
            deadline: When the reading must have ended.

        Raises:
            DatabaseError: The index did not answer.
        """
        ranges = _of_critical(critical)
        room, expand = request.room, request.expand
        ranges |= _of_results(documents, expand, min(room.documents, MAX_CHARACTERS))
        beside = _first_chunks(ranges.values()) if request.with_first else []
        asked = [*ranges.values(), *beside]
        read = self._read(asked, held, request.index, deadline)
        by_key: Mapping[DocumentKey, list[Hit]] = dict(zip(ranges, read, strict=False))
        firsts = _firsts(zip(asked, read, strict=True)) if request.with_first else {}
        first, left, shortened = within_share(self._critical(critical, by_key, request.boosts), room.critical)
        left += min(room.documents, MAX_CHARACTERS) - room.critical
        return Assembled(_within(documents, by_key, expand, left), first, shortened, firsts)

    def _read(self, asked: Sequence[ChunkRange], held: Held, index: IndexRef, deadline: Deadline) -> list[list[Hit]]:
        """The chunks of each range, by one round trip for those that are not *held*."""
        known = [held_of(part, held.get(part.key, {})) for part in asked]
        missing = [part for part, hits in zip(asked, known, strict=True) if hits is None]
        read = iter(self._index.read(index, missing, deadline) if missing else [])
        return [filter_tenant(next(read), index.tenant) if hits is None else hits for hits in known]

    @staticmethod
    def _critical(
        critical: Sequence[tuple[Head, Sequence[FoundChunk]]],
        by_key: Mapping[DocumentKey, list[Hit]],
        boosts: Boosts,
    ) -> list[FoundDocument]:
        found = []
        for head, chunks in critical:
            read = [hit for hit in by_key.get(head.key, []) if hit.revision == head.live_revision]
            document = as_document(head, chunks, read, boosts)
            if document is not None:
                found.append(expanded(document, read, "document"))
        return in_order(found)


def _first_chunks(ranges: Iterable[ChunkRange]) -> list[ChunkRange]:
    """The first chunks of the documents of which *ranges* do not hold them."""
    return [ChunkRange(one.key, one.revision, 0, 0) for one in ranges if one.first > 0]


def _firsts(read: Iterable[tuple[ChunkRange, Sequence[Hit]]]) -> dict[DocumentKey, Hit | None]:
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
