"""Linked documents: which targets to read, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ragdrop.domain.chunks import Hit
from ragdrop.domain.documents import Name
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import Link, Reference, candidates, reference
from ragdrop.domain.retrieval import FoundChunk, LinkedDocument

T = TypeVar("T")
MAX_TARGETS = 100  # of a level: one batch of names and one of heads
MAX_LOOKUPS = 100  # a BatchGetItem takes so many keys
DEFAULT_MAX_DOCUMENTS = 5
DEFAULT_MAX_DEPTH = 2
SEVERAL_LINKS_BONUS = (
    0.05  # of similarity for every further hit that links there; docs/evidence/quality.md has the table
)


@dataclass(frozen=True, slots=True)
class Target:
    """One link of a level: where it stands, what it shows, what it may mean."""

    source: DocumentKey
    link: Link
    means: Reference


def targets_of(pages: Iterable[tuple[DocumentKey, Sequence[Link]]], *, across_vaults: bool) -> list[Target]:
    """The links of *pages* that may lead to documents: by the rank of the page, then by place; at most 100."""
    found: list[Target] = []
    for source, links in pages:
        for link in links:
            if len(found) == MAX_TARGETS:  # what a link may mean takes longer to find out than anything else here
                return found
            means = reference(link.target, source, across_vaults=across_vaults)
            if means is not None and means.paths:
                found.append(Target(source, link, means))
    return found


def names_of(targets: Sequence[Target]) -> list[Name]:
    """The names to look up, every target's first before any other's; at most 100."""
    return _in_turns([target.means.names for target in targets])


def as_written(target: Target) -> DocumentKey | None:
    """The document that a link names by its path, if that is there as written; a wikilink names none.

    >>> from ragdrop.domain.links import reference
    >>> key = DocumentKey("acme", "team", "notes/a.md")
    >>> [as_written(Target(key, Link(to), reference(to, key))) for to in ("b.md", "[[b]]")]
    [DocumentKey(tenant='acme', vault='team', path='notes/b.md'), None]
    """
    if target.means.ending is not None:
        return None
    return DocumentKey(target.source.tenant, target.means.vault, target.means.paths[0])


def meanings(targets: Sequence[Target], named: Mapping[Name, tuple[str, ...]]) -> list[list[DocumentKey]]:
    """Which documents each target may mean, likeliest first."""
    return [candidates(target.means, target.source, named) for target in targets]


def keys_to_read(meant: Sequence[Sequence[DocumentKey]]) -> list[DocumentKey]:
    """The documents whose heads to read: the likeliest of every target before the second of any; at most 100."""
    return _in_turns(meant)


def order(
    hits: Sequence[Hit], linked_by: Mapping[DocumentKey, int], *, bonus: float = SEVERAL_LINKS_BONUS
) -> list[Hit]:
    """Hits of one level in the order in which they are taken; their scores stay as they are.

    By similarity, and by *bonus* more for every further page that links there.
    """
    return sorted(hits, key=lambda hit: (-hit.score - bonus * (linked_by.get(hit.key, 1) - 1), hit.order))


def linked_document(hit: Hit, target: Target, depth: int) -> LinkedDocument:
    """The document of a chunk that a link led to."""
    score = max(0.0, hit.score)
    return LinkedDocument(
        key=hit.key,
        revision=hit.revision,
        facts=hit.facts,
        raw_score=score,
        score=score,
        chunks=(FoundChunk(hit, score),),
        text=hit.chunk.text,
        text_start=hit.chunk.start,
        text_end=hit.chunk.end,
        linked_from=target.source,
        link_depth=depth,
        link_text=target.link.text,
    )


def calibrated(document: LinkedDocument, relevance: float | None) -> LinkedDocument:
    """The document with its *relevance* on the scale of the results; None where no vector of the query is known."""
    chunks = tuple(replace(chunk, score=relevance) for chunk in document.chunks)
    return replace(document, raw_score=relevance, score=relevance, chunks=chunks)


def _in_turns(lists: Sequence[Sequence[T]]) -> list[T]:
    depth = max((len(each) for each in lists), default=0)
    taken = (each[rank] for rank in range(depth) for each in lists if rank < len(each))
    return list(dict.fromkeys(taken))[:MAX_LOOKUPS]
