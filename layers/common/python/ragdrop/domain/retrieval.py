"""A question, what was found for it, and the steps between: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragdrop.domain.chunks import Candidates, Hit
from ragdrop.domain.documents import Facts, Head
from ragdrop.domain.fusion import Fused
from ragdrop.domain.keys import DocumentKey

DEFAULT_LIMIT = 5
MAX_CANDIDATES = 200
MAX_VERIFIED = 100  # one BatchGetItem takes at most 100 keys
CHUNKS_PER_DOCUMENT = 3


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the documents.  `text` is 1 to 1,000 characters, trimmed; `limit` counts documents, 1 to 20."""

    text: str
    vaults: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    limit: int = DEFAULT_LIMIT
    include_context: bool = False
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document with its matching chunks, best first.  Scores are in [0, 1]; `text` is `text_start` to `text_end`."""

    key: DocumentKey
    revision: int
    facts: Facts
    raw_score: float
    score: float
    chunks: tuple[Fused, ...]
    text: str
    text_start: int
    text_end: int


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a search found.  `total_matches` counts documents before the limit; times are in milliseconds."""

    documents: list[FoundDocument]
    total_matches: int
    total_indexed: int
    timings_ms: dict[str, float]
    warnings: list[str] = field(default_factory=list)


def candidate_limit(limit: int) -> int:
    """Hits to ask for from each retriever and scope.

    >>> candidate_limit(5), candidate_limit(20)
    (30, 40)
    """
    return 2 * max(15, limit)


def documents_of(candidates: Sequence[Candidates]) -> list[DocumentKey]:
    """The documents of all hits, each once, in rank order (the lists taken in turns), at most MAX_VERIFIED."""
    lists = [hits for found in candidates for hits in (found.vector, found.lexical)]
    depth = max((len(hits) for hits in lists), default=0)
    ranked = (hits[rank].key for rank in range(depth) for hits in lists if rank < len(hits))
    return list(dict.fromkeys(ranked))[:MAX_VERIFIED]


def verified(hits: Sequence[Hit], heads: Mapping[DocumentKey, Head]) -> list[Hit]:
    """Only the hits whose revision is the live one at this moment: nothing else is ever served."""
    return [hit for hit in hits if hit.key in heads and heads[hit.key].live_revision == hit.revision]


def superseded(hits: Sequence[Hit], heads: Mapping[DocumentKey, Head]) -> set[tuple[DocumentKey, int]]:
    """The revisions among *hits* that are not live: a second round asks without them."""
    return {(hit.key, hit.revision) for hit in hits} - {(hit.key, hit.revision) for hit in verified(hits, heads)}


def group(fused: Sequence[Fused]) -> list[FoundDocument]:
    """Chunks by document, best first; the best chunk gives the document's score and text."""
    by_document: dict[DocumentKey, list[Fused]] = {}
    for found in fused[:MAX_CANDIDATES]:
        by_document.setdefault(found.hit.key, []).append(found)
    return [_document(chunks) for chunks in by_document.values()]


def _document(chunks: list[Fused]) -> FoundDocument:
    best = chunks[0]
    hit = best.hit
    return FoundDocument(
        key=hit.key,
        revision=hit.revision,
        facts=hit.facts,
        raw_score=best.score,
        score=best.score,
        chunks=tuple(chunks[:CHUNKS_PER_DOCUMENT]),
        text=hit.chunk.text,
        text_start=hit.chunk.start,
        text_end=hit.chunk.end,
    )
