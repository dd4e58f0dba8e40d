"""Follow links from found documents, breadth first, within a budget."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeVar

from ragdrop.domain.chunks import ChunkRange, Hit, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Heads, Name
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import Link, Reference, candidates, reference
from ragdrop.domain.retrieval import Followed, FoundChunk, FoundDocument, LinkedDocument
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import DatabaseError
from ragdrop.ports.search_services import SearchableRegistry, VisitedCache
from ragdrop.query.candidates import filter_tenant
from ragdrop.query.view import View

T = TypeVar("T")
MAX_TARGETS = 100  # of a level: one batch of names and one of heads
MAX_LOOKUPS = 100  # a BatchGetItem takes so many keys
DEFAULT_MAX_DOCUMENTS = 5
DEFAULT_MAX_DEPTH = 2
SEVERAL_LINKS_BONUS = (
    0.05  # of similarity for every further hit that links there; docs/evidence/quality.md has the table
)


@dataclass(frozen=True, slots=True)
class _Target:
    """One link of a level: where it stands, what it shows, what it may mean."""

    source: DocumentKey
    link: Link
    means: Reference


def targets_of(pages: Iterable[tuple[DocumentKey, Sequence[Link]]], *, across_vaults: bool) -> list[_Target]:
    """The links of *pages* that may lead to documents: by the rank of the page, then by place; at most 100."""
    found: list[_Target] = []
    for source, links in pages:
        for link in links:
            if len(found) == MAX_TARGETS:  # what a link may mean takes longer to find out than anything else here
                return found
            means = reference(link.target, source, across_vaults=across_vaults)
            if means is not None and means.paths:
                found.append(_Target(source, link, means))
    return found


def names_of(targets: Sequence[_Target]) -> list[Name]:
    """The names to look up, every target's first before any other's; at most 100."""
    return _in_turns([target.means.names for target in targets])


def as_written(target: _Target) -> DocumentKey | None:
    """The document that a link names by its path, if that is there as written; a wikilink names none.

    >>> from ragdrop.domain.links import reference
    >>> key = DocumentKey("acme", "team", "notes/a.md")
    >>> [as_written(_Target(key, Link(to), reference(to, key))) for to in ("b.md", "[[b]]")]
    [DocumentKey(tenant='acme', vault='team', path='notes/b.md'), None]
    """
    if target.means.ending is not None:
        return None
    return DocumentKey(target.source.tenant, target.means.vault, target.means.paths[0])


def meanings(targets: Sequence[_Target], named: Mapping[Name, tuple[str, ...]]) -> list[list[DocumentKey]]:
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


def linked_document(hit: Hit, target: _Target, depth: int) -> LinkedDocument:
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
    chunks = tuple(chunk._replace(score=relevance) for chunk in document.chunks)
    return replace(document, raw_score=relevance, score=relevance, chunks=chunks)


def _in_turns(lists: Sequence[Sequence[T]]) -> list[T]:
    depth = max((len(each) for each in lists), default=0)
    taken = (each[rank] for rank in range(depth) for each in lists if rank < len(each))
    return list(dict.fromkeys(taken))[:MAX_LOOKUPS]


logger = logging.getLogger(__name__)

Page = tuple[DocumentKey, tuple[Link, ...]]


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """For whom links are followed, and how far.

    At most *max_docs* documents come, from at most *max_depth* links away; only *across_vaults* may a link leave its
    vault.  Without a *vector* they come by place, not by nearness.  In one *session* no document is expanded twice
    within an hour.
    """

    tenant: Tenant
    caller: Caller
    vector: Vector | None
    max_docs: int
    max_depth: int
    across_vaults: bool = False
    session: str | None = None


class FollowLinks:
    """Finds what the documents found link to.  A document is expanded when its links are followed."""

    def __init__(
        self, *, visited: VisitedCache, clock: Callable[[], float], bonus: float = SEVERAL_LINKS_BONUS
    ) -> None:
        self._visited = visited
        self._clock = clock
        self._bonus = bonus

    def __call__(
        self,
        view: View,
        roots: Sequence[FoundDocument],
        request: LinkRequest,
        *,
        exclude: Collection[DocumentKey],
        deadline: Deadline,
        first_chunks: Mapping[DocumentKey, Hit | None] | None = None,
    ) -> Followed:
        """The linked documents of *roots*.

        A level costs at most two batch reads of the registry and one search of the index; the roots' links one more
        read of it, unless *first_chunks* or their hits brought them.  With a session the visited cache is read once and
        written at most once; without it cycles are cut here.

        Args:
            view: Where links lead: its heads and chunks.
            roots: Documents found, best first.
            request: For whom, and how far.
            exclude: Documents that must not come again: results and critical ones.
            deadline: When the answer must have left.
            first_chunks: First chunks of roots, as far as they were read; None of one that the index does not hold.

        Raises:
            DatabaseError: Registry or index did not answer.
            DeadlineError: The time was used up.
        """
        warnings: list[str] = []
        if request.max_docs < 1 or request.max_depth < 1 or not roots:
            return Followed([], warnings)
        expanded = self._seen(request, warnings)
        before = set(expanded)
        found: list[LinkedDocument] = []
        known = {*exclude, *(root.key for root in roots)}
        live = {root.key: root.revision for root in roots}
        fresh = [root for root in roots if root.key.digest not in expanded]
        pages = _pages(view, fresh, first_chunks or {}, request.tenant, deadline)
        for depth in range(1, request.max_depth + 1):
            expanded |= {key.digest for key, _ in pages}
            level = [
                linked_document(hit, link, depth)
                for hit, link in self._level(view, pages, request, known, live, deadline)
            ]
            found += level[: request.max_docs - len(found)]
            known |= {document.key for document in level}
            live |= {document.key: document.revision for document in level}
            left = [document for document in level if document.key.digest not in expanded]
            pages = [(document.key, document.chunks[0].hit.links) for document in left]
            if len(found) >= request.max_docs or not pages:
                break
        if expanded != before:
            self._note(request, expanded, warnings)
        return Followed(found, warnings)

    def _level(
        self,
        view: View,
        pages: Sequence[Page],
        request: LinkRequest,
        known: Collection[DocumentKey],
        live: Mapping[DocumentKey, int],
        deadline: Deadline,
    ) -> list[tuple[Hit, _Target]]:
        """The documents one link away from *pages*, best first; none that is *known* or may not be seen.

        What is *live*, with which revision, is not asked for again.
        """
        linked = targets_of(pages, across_vaults=request.across_vaults)
        targets = [target for target in linked if request.caller.may_see(target.means.vault)]
        if not targets:
            return []
        by: dict[DocumentKey, list[_Target]] = {}
        revisions: dict[DocumentKey, int] = {}
        for target, found in zip(targets, resolve_links(view, targets, deadline, known=live), strict=True):
            if found is not None and found[0] not in known and found[0] != target.source:
                by.setdefault(found[0], []).append(target)
                revisions.update([found])
        if not by:
            return []
        nearest = view.nearest_of(request.tenant.index, request.vector, list(revisions.items()), deadline)
        hits = filter_tenant(nearest, request.tenant.name)
        if request.vector is None:
            places = {key: place for place, key in enumerate(by)}
            hits = sorted(hits, key=lambda hit: places[hit.key])
        else:
            linked_by = {key: len({target.source for target in links}) for key, links in by.items()}
            hits = order(hits, linked_by, bonus=self._bonus)
        return [(hit, by[hit.key][0]) for hit in hits]

    def _seen(self, request: LinkRequest, warnings: list[str]) -> set[str]:
        if request.session is None:
            return set()
        try:
            return set(self._visited.visited(request.tenant.name, request.session, self._clock()))
        except DatabaseError as exc:
            logger.warning("the visited cache could not be read", extra={"code": exc.code})
            warnings.append("what this session has followed before is not known: links may come again")
            return set()

    def _note(self, request: LinkRequest, expanded: set[str], warnings: list[str]) -> None:
        if request.session is None:
            return
        try:
            self._visited.note(request.tenant.name, request.session, expanded, self._clock())
        except DatabaseError as exc:
            logger.warning("the visited cache could not be written", extra={"code": exc.code})
            warnings.append("what this session has followed could not be noted: links may come again")


def _pages(
    view: View,
    roots: Sequence[FoundDocument],
    read: Mapping[DocumentKey, Hit | None],
    tenant: Tenant,
    deadline: Deadline,
) -> list[Page]:
    """The roots with their links, which are stored with the first chunks."""
    first_chunks = {root.key: read.get(root.key) or _first(chunk.hit for chunk in root.chunks) for root in roots}
    missing = [root for root in roots if first_chunks[root.key] is None and root.key not in read]
    if missing:
        ranges = [ChunkRange(root.key, root.revision, 0, 0) for root in missing]
        for root, hits in zip(missing, view.read(tenant.index, ranges, deadline), strict=True):
            first_chunks[root.key] = _first(filter_tenant(hits, tenant.name))
    return [(key, first.links) for key, first in first_chunks.items() if first is not None]


def _first(hits: Iterable[Hit]) -> Hit | None:
    return next((hit for hit in hits if hit.chunk.ordinal == 0), None)


Live = tuple[DocumentKey, int]
"""A document and its live revision."""


def resolve_links(
    registry: SearchableRegistry | View,
    targets: Sequence[_Target],
    deadline: Deadline,
    *,
    known: Mapping[DocumentKey, int] | None = None,
) -> list[Live | None]:
    """Where each of *targets* leads, None where to nothing live.

    The documents that links name as they are written, and the names of all links, are read in one batch: for paths that
    exist that is enough.  What else the names may mean is read by a second one.  Links to *known* documents, of which
    the live revision was read already, cost nothing.

    Raises:
        DatabaseError: The registry did not answer.
    """
    live = dict(known or {})
    left = [target for target in targets if as_written(target) not in live]
    names = names_of(left)
    written = [key for key in dict.fromkeys(map(as_written, left)) if key is not None]
    if len(names) + len(written) > MAX_LOOKUPS:  # of so many links names come first: they tell which paths there are
        written = []
    named, heads = registry.named_and_heads(names, written, deadline) if names or written else ({}, Heads({}))
    live |= _live(heads)
    left = [target for target in left if as_written(target) not in live]
    meant = dict(zip(left, meanings(left, named), strict=True))
    gone = {*written} - {*live} - heads.unread
    unread = [
        [key for key in takewhile(lambda key: key not in live, keys) if key not in gone] for keys in meant.values()
    ]
    keys = keys_to_read(unread)
    if keys:
        live |= _live(registry.heads(keys, deadline))
    found = [next((key for key in (as_written(each), *meant.get(each, ())) if key in live), None) for each in targets]
    return [None if key is None else (key, live[key]) for key in found]


def _live(heads: Heads) -> dict[DocumentKey, int]:
    return {key: head.live_revision for key, head in heads.found.items() if head.live_revision is not None}
