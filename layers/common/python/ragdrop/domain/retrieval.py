"""Queries and retrievals: a question with its filters and options, and what was found for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ragdrop.domain.access import Readable
from ragdrop.domain.chunks import Candidates, Hit, best_first
from ragdrop.domain.documents import PROMOTION_LEVELS, ContentType, Facts, Head, PromotionLevel
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DependencyError

DetailLevel = Literal["brief", "normal", "detailed"]
Mode = Literal["normal", "fast"]
AnswerStyle = Literal["brief", "normal", "detailed"]
AbstainReason = Literal["no_relevant_context", "insufficient_information", "ambiguous_question"]
Expand = Literal["auto", "neighbours", "document"]
FAST_LIMIT = 3


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the documents; None means that settings decide."""

    text: str  # 1 to 1,000 characters, trimmed
    vaults: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()  # a strict filter: `path` or `vault/path`, on segment boundaries
    prefer_folders: tuple[str, ...] = ()  # these first; changes the order alone
    rank_folders: bool = False
    rerank: bool = False  # the reader orders the first candidates
    limit: int | None = None  # documents, 1 to 20; None chooses 3 to 10 by the question and what is found
    detail: DetailLevel = "normal"
    mode: Mode = "normal"
    min_relevance: float | None = None  # on the calibrated scale, 0 to 1
    floor: float | None = None  # the same where neither the query nor settings say: who reads decides for itself
    doc_types: tuple[str, ...] = ()
    content_types: tuple[ContentType, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    # date_from, date_to: ISO 8601, both included
    date_from: str | None = None
    date_to: str | None = None
    attributes: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    exclude: Mapping[str, Any] = field(default_factory=dict)  # as the API names it: documents with any of these values
    min_promotion_level: PromotionLevel | None = None
    include_critical: bool = True
    follow_links: bool = True
    apply_boosting: bool = True
    max_linked_docs: int | None = None
    max_link_depth: int | None = None
    expand: Expand = "auto"
    session: str | None = None  # whose visited cache keeps links from being expanded twice; no filter
    include_context: bool = False
    allow_fallback: bool = True
    agent: str | None = None  # a label for metrics
    as_of: str | None = None  # what the documents said then: RFC 3339, within the retention
    stage: str | None = None  # what the documents would say if this stage were promoted
    debug: bool = False

    @property
    def fast(self) -> bool:
        """Whether links and folder ranking are off, even if asked for."""
        return self.mode == "fast"

    @property
    def promotion_levels(self) -> tuple[PromotionLevel, ...]:
        """The levels that `min_promotion_level` lets through; none means all.

        >>> Query("pump", min_promotion_level="important").promotion_levels
        ('important', 'critical')
        """
        if self.min_promotion_level in {None, "standard"}:
            return ()
        return PROMOTION_LEVELS[PROMOTION_LEVELS.index(self.min_promotion_level or "standard") :]


NOTHING_SEARCHED = 3  # the fallback level from which on there are no results
MAX_CANDIDATES = 200
MAX_VERIFIED = 100  # one BatchGetItem takes at most 100 keys
CHUNKS_PER_DOCUMENT = 3
MAX_NEAREST = 3

ScoreBasis = Literal["hybrid", "lexical"]
ServedBy = Literal["index", "fallback", "cache", "none"]

__all__ = ["FoundChunk", "FoundDocument", "Query", "Retrieval", "candidate_limit", "documents_of", "verified"]


class FoundChunk(NamedTuple):
    """A chunk that matches; `score` is its relevance in [0, 1], None where it cannot be known."""

    hit: Hit
    score: float | None


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document with its matching chunks, best first, at most 3.

    `parts` are the chunks that `text` was put together of, in order; none where it is that of its best chunk alone.
    `raw_score` is the relevance of its best chunk and `score` the same with its boost, in [0, 1]; None where that
    cannot be known (a critical document that was not searched).  `text` is the parsed text's `text_start` to
    `text_end`, exactly.
    """

    key: DocumentKey
    revision: int
    facts: Facts
    raw_score: float | None
    score: float | None
    chunks: tuple[FoundChunk, ...]
    text: str
    text_start: int
    text_end: int
    parts: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class Reranking:
    """Whether the reader ordered the results, and its model; any other status leaves the order of the search.

    `no_reader`: the deployment has none.  `language`: it does not read that of the question.  `not_read`: it did not
    answer.  `nothing_found`: there was nothing to order.
    """

    status: Literal["reranked", "no_reader", "language", "not_read", "nothing_found"]
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a search found, and how.

    `documents` are the results, best first, without those that stand in `critical`; `nearest` are the closest documents
    where there is no result, which are no evidence.  `total_matches` counts documents
    over the threshold, before the limit, the critical ones among them too; `total_indexed` is None where the registry
    did not answer; times are in milliseconds; `fallback_level` is 1 to 4 (docs/api.md); `cause` says why nothing was
    searched; `degraded` says that something asked for is missing, `warnings` what; `reranking` is None unless asked
    for.  `readable` is what the caller could read, None of whoever reads everything.
    """

    documents: list[FoundDocument]
    total_matches: int
    total_indexed: int | None
    timings_ms: dict[str, float]
    warnings: list[str] = field(default_factory=list)
    critical: list[FoundDocument] = field(default_factory=list)
    linked: list[LinkedDocument] = field(default_factory=list)
    nearest: list[FoundDocument] = field(default_factory=list)
    degraded: bool = False
    fallback_level: int = 1
    circuit_breaker_open: bool = False
    served_by: ServedBy = "index"
    score_basis: ScoreBasis = "hybrid"
    context: str | None = None
    reranking: Reranking | None = None
    explanation: Explanation | None = None
    cause: DependencyError | None = None
    readable: Readable | None = None

    @property
    def abstained(self) -> bool:
        """Whether nothing passed the threshold: critical documents alone do not change that.

        From level 3 on nothing was searched, and "nothing found" would be a lie.
        """
        return self.total_matches == 0 and not self.unsearched

    @property
    def closest(self) -> list[FoundDocument]:
        """The documents to show where there is no answer, at most 3."""
        return self.nearest or self.documents[:MAX_NEAREST]

    @property
    def unsearched(self) -> bool:
        """Whether nothing could be searched; `cause` says why."""
        return self.fallback_level >= NOTHING_SEARCHED


def candidate_limit(limit: int) -> int:
    """Hits to ask for from each retriever and scope.

    >>> candidate_limit(5), candidate_limit(20)
    (30, 40)
    """
    return 2 * max(15, limit)


def merged_hits(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The hits of one retriever in several scopes: each chunk once, best first, ties by `Hit.order`."""
    if len(lists) == 1:
        return list(lists[0])
    hits = {hit.chunk_id: hit for found in lists for hit in found}
    return best_first(hits.values())


def documents_of(candidates: Sequence[Candidates], *, at_most: int = MAX_VERIFIED) -> list[DocumentKey]:
    """The documents of all hits, each once, in rank order (the lists taken in turns), the first *at_most*."""
    lists = [hits for found in candidates for hits in (found.vector, found.lexical)]
    depth = max((len(hits) for hits in lists), default=0)
    ranked = (hits[rank].key for rank in range(depth) for hits in lists if rank < len(hits))
    return list(dict.fromkeys(ranked))[:at_most]


def verified(hits: Sequence[Hit], heads: Mapping[DocumentKey, Head]) -> list[Hit]:
    """Only the hits whose revision is the live one at this moment: nothing else is ever served."""
    return [hit for hit in hits if (head := heads.get(hit.key)) is not None and head.live_revision == hit.revision]


def superseded(hits: Sequence[Hit], heads: Mapping[DocumentKey, Head]) -> set[tuple[DocumentKey, int]]:
    """The revisions among *hits* that are not live: a second round asks without them."""
    return {
        (hit.key, hit.revision)
        for hit in hits
        if (head := heads.get(hit.key)) is None or head.live_revision != hit.revision
    }


@dataclass(frozen=True, slots=True)
class Candidate:
    """One candidate.  Scores are in [0, 1], the lexical one normalised within the query; None where not known.

    `rank` is its place after fusion, from 1; None for one that was dropped before.
    """

    chunk_id: str
    vault: str
    path: str
    heading_path: tuple[str, ...]
    text: str
    score_vector: float | None
    score_lexical: float | None
    score_final: float | None
    relevance: float | None
    rank: int | None
    kept: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the results are what they are; `left_out` counts candidates that had no room here."""

    candidates: list[Candidate]
    folders_selected: list[str]
    folders_available: list[str]
    scopes: list[dict[str, Any]]
    settings: dict[str, Any]
    calibration: dict[str, Any]
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedDocument(FoundDocument):
    """A document that a link led to.  Its score is the cosine of its best chunk, at least 0, until `calibrated`.

    `link_depth` counts from 1; `link_text` is what the link showed.
    """

    linked_from: DocumentKey
    link_depth: int
    link_text: str


@dataclass(frozen=True, slots=True)
class Followed:
    """Linked documents, best first within their depth, and what went wrong on the way."""

    documents: list[LinkedDocument]
    warnings: list[str]
