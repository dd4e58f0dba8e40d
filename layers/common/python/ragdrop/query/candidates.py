"""Candidates: hits of the index in every scope, each checked against the registry; a reranker's order of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ragdrop.domain.chunks import CandidateQuery, Candidates, Filters, Hit, Vector
from ragdrop.domain.deadlines import CANDIDATES, RERANK, Deadline
from ragdrop.domain.documents import Heads
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import ModelCall
from ragdrop.domain.retrieval import (
    MAX_CANDIDATES,
    MAX_VERIFIED,
    candidate_limit,
    documents_of,
    merged_hits,
    superseded,
    verified,
)
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import DatabaseError, DependencyError, IndexLostError, IndexMovedError
from ragdrop.ports.search_services import Reranker
from ragdrop.query.exact import is_spread, with_spellings
from ragdrop.query.understand import Scopes
from ragdrop.query.view import View
from ragdrop.resilience.timing import Timer, note_call

MORE_ROUNDS = 3  # where superseded revisions took the room; each is wider than the first
HEADS_READ = 100  # one page; a tenant with more documents than these is taken at its counters


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """What to look for."""

    text: str
    vector: Vector | None  # None searches lexically only
    scopes: Scopes
    limit: int  # live documents requested
    # documents whose heads are read with those of the candidates, so that they can be put first
    critical: tuple[DocumentKey, ...] = ()
    critical_query: CandidateQuery | None = None  # a further query for vector hits of critical documents
    dated: tuple[Filters, ...] = ()  # further scopes: documents of the dates that the question names

    @property
    def asked(self) -> int:
        """Hits asked of each retriever and scope."""
        return MAX_CANDIDATES if is_spread(self.text) else candidate_limit(self.limit)

    @property
    def queries(self) -> list[CandidateQuery]:
        """What the index is asked first, one for each scope."""
        text = with_spellings(self.text)
        return [CandidateQuery(text, self.vector, each, self.asked) for each in (*self.scopes.each(), *self.dated)]


@dataclass(frozen=True, slots=True)
class FoundCandidates:
    """Live hits of all scopes, merged_hits: each list best first, raw scores.

    `dropped` are hits whose revision is not the live one; `vectors` is False where the search was lexical only.
    """

    vector: list[Hit]
    lexical: list[Hit]
    critical: list[Hit]
    dropped: list[Hit]
    heads: Heads
    vectors: bool
    vector_error: DatabaseError | None = None
    warnings: list[str] = field(default_factory=list)


def find_candidates(
    view: View, request: CandidateRequest, tenant: Tenant, deadline: Deadline, timer: Timer
) -> FoundCandidates:
    """Search the index once and verify the hits by one batch read of heads; more where superseded revisions took room.

    Raises:
        IndexLostError: The index is empty although the registry knows live documents.
        IndexMovedError: The tenant has another index by now.
        DatabaseError: The index did not answer in any scope, or no hit could be verified.
    """
    limit, queries = request.asked, request.queries
    answers, heads = _round(view, queries, request, tenant, deadline, timer)
    if not any(found.vector or found.lexical for found in answers):
        _raise_if_index_is_lost(view, tenant, deadline)
    lost: set[tuple[DocumentKey, int]] = set()
    for _ in range(MORE_ROUNDS):
        found = _lost(answers, heads) - lost
        if not found or not _starved(answers, heads, limit, request.limit):
            break
        lost |= found
        limit = MAX_CANDIDATES
        queries = [replace(query, without=frozenset(lost), limit=limit) for query in queries]
        answers, heads = _round(view, queries, request, tenant, deadline, timer)
    for _ in range(MORE_ROUNDS):  # what replaced a document since the search began is not found, or not known as live
        overtaken = _overtaken(answers, heads)
        if not overtaken or not view.moved_on(overtaken, deadline):
            break
        view.ready(tenant.index, queries, deadline)
        answers, heads = _round(view, queries, request, tenant, deadline, timer)
    scopes, of_critical = answers[: len(queries)], answers[len(queries) :]
    near = merged_hits([found.vector for found in scopes])
    worded = merged_hits([found.lexical for found in scopes])
    live, live_worded = verified(near, heads.found), verified(worded, heads.found)
    all_live = len(live) + len(live_worded) == len(near) + len(worded)
    return FoundCandidates(
        vector=live,
        lexical=live_worded,
        critical=verified([hit for found in of_critical for hit in found.vector], heads.found),
        dropped=[] if all_live else _dropped(merged_hits([near, worded]), heads),
        heads=heads,
        vectors=request.vector is not None and any(found.vector_error is None for found in scopes),
        vector_error=next((found.vector_error for found in scopes if found.vector_error), None),
        warnings=_warnings(scopes, heads),
    )


def _dropped(hits: Sequence[Hit], heads: Heads) -> list[Hit]:
    """Those of *hits* whose revision is not the live one; a document without a head is not to be known of."""
    return [hit for hit in hits if hit.key in heads.found and not verified([hit], heads.found)]


def _raise_if_index_is_lost(view: View, tenant: Tenant, deadline: Deadline) -> None:
    """Raise where the index holds nothing of a tenant that has live documents: up to three reads, without any hit.

    The counters may be too high until the next sweep, so a live document is looked for.

    Raises:
        IndexLostError: The index is empty, or does not exist.
        IndexMovedError: The tenant has left the index that was searched, which may have been dropped.
        DatabaseError: The registry or the index did not answer.
    """
    now = view.registry.tenant(tenant.name)  # the cached one may be seconds old
    if now is None or not now.documents:
        return
    if now.index != tenant.index:
        raise IndexMovedError(f"the tenant moved to {now.active.name} since the search began")
    if view.index.count(now.index, deadline):
        return
    page = view.registry.page(now.name, vault=None, prefix="", status=None, cursor=None, limit=HEADS_READ)
    if page.cursor is not None or any(head.live_revision is not None and head.chunk_count for head in page.heads):
        raise IndexLostError(f"the index holds none of the {now.documents} documents of this tenant")


def _round(
    view: View,
    queries: list[CandidateQuery],
    request: CandidateRequest,
    tenant: Tenant,
    deadline: Deadline,
    timer: Timer,
) -> tuple[list[Candidates], Heads]:
    of_critical = [request.critical_query] if request.critical_query else []
    with timer.stage("retrieve"):
        found = view.candidates(tenant.index, [*queries, *of_critical], CANDIDATES.of(deadline))
    answers = [own_candidates(each, tenant.name) for each in found]
    scopes = answers[: len(queries)]
    _raise_if_none_answered(scopes)
    keys = dict.fromkeys(request.critical[: MAX_VERIFIED // 2])
    keys |= dict.fromkeys(documents_of(scopes, at_most=MAX_VERIFIED))
    with timer.stage("registry"):
        heads = view.heads(list(keys)[:MAX_VERIFIED], deadline) if keys else Heads({})
    return answers, heads


def _lost(answers: Sequence[Candidates], heads: Heads) -> set[tuple[DocumentKey, int]]:
    return superseded([hit for found in answers for hit in (*found.vector, *found.lexical)], heads.found)


def _starved(answers: Sequence[Candidates], heads: Heads, asked: int, limit: int) -> bool:
    """Whether lists were full, and yet fewer live documents than requested are among them."""
    was_full = any(asked in {len(found.vector), len(found.lexical)} for found in answers)
    hits = [hit for found in answers for hit in (*found.vector, *found.lexical)]
    return was_full and len({hit.key for hit in verified(hits, heads.found)}) < limit


def _overtaken(answers: Sequence[Candidates], heads: Heads) -> set[DocumentKey]:
    """The live documents of which hits came back, and none of the live revision."""
    hits = [hit for found in answers for hit in (*found.vector, *found.lexical)]
    if not superseded(hits, heads.found):
        return set()
    live = {key for key, head in heads.found.items() if head.live_revision is not None}
    return {hit.key for hit in hits} & live - {hit.key for hit in verified(hits, heads.found)}


def _raise_if_none_answered(scopes: Sequence[Candidates]) -> None:
    errors = [
        found.lexical_error for found in scopes if found.lexical_error and (found.vector_error or not found.vector)
    ]
    if errors and len(errors) == len(scopes):
        raise errors[0]


def _warnings(scopes: Sequence[Candidates], heads: Heads) -> list[str]:
    reported = list(dict.fromkeys(found.warning for found in scopes if found.warning))
    failed = sum(1 for found in scopes if found.vector_error or found.lexical_error)
    warnings = [f"{failed} of {len(scopes)} scopes were searched in part or not at all"] if failed else []
    warnings += reported
    if heads.unread:
        warnings.append(f"{len(heads.unread)} documents could not be verified and are left out")
    return warnings


logger = logging.getLogger(__name__)


def filter_tenant(hits: Sequence[Hit], tenant: str) -> list[Hit]:
    """Those of *hits* that are *tenant*'s.  Any other is an error of the index, and is logged by its number alone."""
    own = [hit for hit in hits if hit.key.tenant == tenant]
    if len(own) < len(hits):
        logger.error("the index gave chunks of another tenant", extra={"dropped": len(hits) - len(own)})
    return own


def own_candidates(found: Candidates, tenant: str) -> Candidates:
    """The candidates of one scope without those of other tenants."""
    return replace(found, vector=filter_tenant(found.vector, tenant), lexical=filter_tenant(found.lexical, tenant))


MAX_RERANKED = 50  # candidates that the model reads; those behind them keep their places
NOT_RERANKED = "the reranker did not answer, the order is that of the search"

T = TypeVar("T")


def rerank(
    reranker: Reranker, query: str, found: Sequence[T], deadline: Deadline, *, text_of: Callable[[T], str]
) -> tuple[list[T], list[str]]:
    """*found* (best first) in the reranker's order, and a warning if it failed and the order is unchanged.

    It moves candidates only: scores and thresholds are those of the search.
    """
    head, tail = list(found[:MAX_RERANKED]), list(found[MAX_RERANKED:])
    if len(found) < 2:
        return head, []
    try:
        scores = noted_scores(reranker, query, [text_of(one) for one in head], RERANK.of(deadline))
    except DependencyError as exc:
        logger.warning("candidates could not be reranked", extra={"service": exc.service, "code": exc.code})
        return [*head, *tail], [NOT_RERANKED]
    order = sorted(range(len(head)), key=lambda place: -scores[place])
    return [*(head[place] for place in order), *tail], []


def noted_scores(reranker: Reranker, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
    """The reranker's scores; the call is noted. Raises what the reranker raises."""
    start_s = time.perf_counter()
    scores = reranker.scores(query, texts, deadline)
    note_call(ModelCall("rerank", kind="reader", pairs=len(texts), ms=(time.perf_counter() - start_s) * 1_000))
    return scores
