"""Search: candidates of every scope, verified, fused, judged, ordered and assembled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from threading import Event

from ragdrop.domain.chunks import CandidateQuery, Filters, Hit, Vector
from ragdrop.domain.deadlines import CANDIDATES, EMBED, LINKS, TEXTS, Deadline
from ragdrop.domain.documents import Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.languages import language_warning
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.retrieval import Followed, FoundChunk, FoundDocument, LinkedDocument, Query, Reranking, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.errors import (
    CircuitOpenError,
    DatabaseError,
    DeadlineError,
    EmbeddingServiceError,
    IndexMovedError,
    ModelNotFoundError,
)
from ragdrop.ports.search_services import Reranker, SearchableIndex, Tracer
from ragdrop.query.assemble import MAX_CRITICAL, assemble, context_text, live_critical
from ragdrop.query.candidates import MAX_RERANKED, CandidateRequest, FoundCandidates, find_candidates, rerank
from ragdrop.query.exact import Exactness, exactness
from ragdrop.query.explain import Decision, explanation
from ragdrop.query.follow_links import FollowLinks, LinkRequest, calibrated
from ragdrop.query.fusion import (
    Fused,
    Fusion,
    agreement,
    coverage,
    covered_by_date,
    dates_in,
    favoured,
    fuse,
    lacking_names,
    of_dates,
)
from ragdrop.query.ranking import Judged, RankedDocument, above_noise, judged, rank, within_limit
from ragdrop.query.understand import RankedFolders, RankFolders, ResolvedQuery, UnderstandQuery
from ragdrop.query.view import ResolveQueryView, View
from ragdrop.resilience.timing import Timer, run_in_parallel, traced_search

EmbedQuestion = Callable[[str, str, EmbeddingSpace, Deadline], Vector]
"""The vector of a question, as a tenant asks it, in an embedding space."""

OrderByReading = Callable[[str, Sequence[FoundDocument], Deadline], tuple[list[FoundDocument], Reranking]]
"""Documents in the order in which a reader takes them to answer a question; as they are where none read them."""

Answering = Callable[[str, Sequence[FoundDocument], Deadline], list[FoundDocument]]
"""The nearest documents of a search without results, best first, where a reader takes them to answer; else none."""

SENDING_S = 0.001  # the request for the vector leaves first: words looked for meanwhile would hold the interpreter
NOT_READ = "the reader did not answer, the order is that of the search"
MAX_DATES = 2  # of a question, each a further scope
CHUNKS_A_CRITICAL = 5  # vector hits asked for, for each critical document, so that each has its score


@dataclass(frozen=True, slots=True)
class _QuestionVector:
    """`vector` is None for a lexical search: `warnings` explains why, `breaker_open` whether nothing was requested."""

    vector: Vector | None
    warnings: tuple[str, ...] = ()
    breaker_open: bool = False


class Search:
    """Find what answers a query among what the caller may see."""

    def __init__(
        self,
        *,
        resolve_view: ResolveQueryView,
        query_vectors: EmbedQuestion,
        understand: UnderstandQuery,
        rank_folders: RankFolders,
        reranker: Reranker | None,
        order_by_reading: OrderByReading,
        answering: Answering,
        follow_links: FollowLinks,
        tracer: Tracer | None,
    ) -> None:
        self._resolve_view = resolve_view
        self._query_vectors = query_vectors
        self._understand = understand
        self._rank_folders = rank_folders
        self._reranker = reranker
        self._order_by_reading = order_by_reading
        self._answering = answering
        self._follow_links = follow_links
        self._tracer = tracer

    def __call__(
        self, query: Query, caller: Caller, deadline: Deadline, index: SearchableIndex | None = None
    ) -> Retrieval:
        """Resolve the view, over *index* where one is given, then retrieve, verify, fuse, judge, order, assemble.

        Raises:
            InvalidParamsError: A vault of the query does not exist.
            InvalidDocTypeError: A doc_type of the query does not exist.
            EmbeddingServiceError: The query could not be embedded, and no lexical answer is allowed.
            DatabaseError: The index did not answer, or no hit could be verified.
            DeadlineError: The time was used up.
            The errors of the view.
        """
        with traced_search(self._tracer, ",".join(query.vaults) or caller.tenant, query.limit):
            view = self._resolve_view(query, caller, deadline, index)
            try:
                return self._once(view, query, caller, deadline)
            except IndexMovedError:  # the cached item of the tenant was seconds old
                self._understand.forget(caller.tenant)
                return self._once(view, query, caller, deadline)

    def _once(self, view: View, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        timer = Timer(self._tracer)
        question = self._understand(query, caller)
        embedding_done = Event()
        with timer.stage("embed"):  # while the vector is made, the index looks for the words
            critical_keys, (folders, embedded) = run_in_parallel(
                partial(_prepare, view, question, embedding_done, deadline),
                partial(self._embed, view, question, embedding_done, deadline),
            )
        question = replace(question, scopes=question.scopes.then(folders.folders), folders=folders)
        found = find_candidates(
            view, _request(question, embedded.vector, critical_keys), question.tenant, deadline, timer
        )
        if found.vector_error and not query.allow_fallback:
            raise found.vector_error
        with timer.stage("assemble"):
            retrieval, first_chunks = self._retrieval(view, question, found, critical_keys, embedded, timer, deadline)
        with timer.stage("links"):
            followed = self._linked(view, question, embedded.vector, retrieval, first_chunks, caller, deadline)
        total_indexed = question.tenant.counted_for(caller)[0] if query.as_of is None else None
        readable = view.readable(deadline)
        return replace(_with_links(retrieval, followed, query), total_indexed=total_indexed, readable=readable)

    def _embed(
        self, view: View, question: ResolvedQuery, done: Event, deadline: Deadline
    ) -> tuple[RankedFolders, _QuestionVector]:
        """The folders that the chat model chose, if requested, and the question's vector, within its share of the time.

        Raises DependencyError: no vector could be had, and the question allows no fallback; or waiting does not fix it,
        as where the dimension is wrong.
        """
        query, tenant, folders = question.query, question.tenant, RankedFolders()
        try:
            if query.rank_folders and not query.fast:
                folders = self._rank_folders(query.text, tenant.name, question.scopes.whole, view, deadline)
            if question.uncovered is not None:
                return folders, _QuestionVector(None)
            vector = self._query_vectors(query.text, tenant.name, tenant.active.space, EMBED.of(deadline))
            return folders, _QuestionVector(vector)
        except (EmbeddingServiceError, ModelNotFoundError, CircuitOpenError, DeadlineError) as exc:
            may_recover = exc.retryable or isinstance(exc, ModelNotFoundError)
            if not query.allow_fallback or not may_recover or deadline.remaining_s() <= 0:
                raise
            breaker_open = isinstance(exc, CircuitOpenError)
            why = "is behind its open breaker" if breaker_open else "did not answer"
            return folders, _QuestionVector(None, (f"the embedding service {why}: found by words alone",), breaker_open)
        finally:
            done.set()

    def _linked(
        self,
        view: View,
        question: ResolvedQuery,
        vector: Vector | None,
        found: Retrieval,
        first_chunks: Mapping[DocumentKey, Hit | None],
        caller: Caller,
        deadline: Deadline,
    ) -> Followed:
        """What the results link to, then what critical documents do; an outage here costs the links alone."""
        values, query = question.settings.values, question.query
        if not _follows(question):
            return Followed([], [])
        roots = [*found.documents, *found.critical]
        try:
            followed = self._follow_links(
                view,
                roots,
                LinkRequest(
                    question.tenant,
                    caller,
                    vector,
                    max_docs=values.max_linked_docs,
                    max_depth=values.max_link_depth,
                    across_vaults=values.links_across_vaults,
                    session=query.session,
                ),
                exclude={root.key for root in roots},
                deadline=LINKS.of(deadline),
                first_chunks=first_chunks,
            )
        except (DatabaseError, CircuitOpenError, DeadlineError):
            return Followed([], ["links could not be followed"])
        return replace(followed, documents=_on_the_scale(followed.documents, roots, question, vector))

    def _retrieval(
        self,
        view: View,
        question: ResolvedQuery,
        found: FoundCandidates,
        critical_keys: Sequence[DocumentKey],
        embedded: _QuestionVector,
        timer: Timer,
        deadline: Deadline,
    ) -> tuple[Retrieval, Mapping[DocumentKey, Hit | None]]:
        query = question.query
        found_in = {hit.key.vault for hit in (*found.vector, *found.lexical, *found.critical)}
        calibrations = {vault: question.calibration(vault) for vault in found_in}
        threshold = question.min_relevance
        vector = above_noise(found.vector, calibrations, keep_all=threshold == 0)
        fusion = Fusion.of(question.settings.values.fusion)
        hits = [*vector, *found.lexical]
        covered = coverage(query.text, hits)
        words = agreement(query.text, hits, covered)
        dated = of_dates(hits, dates_in(query.text))
        fused = favoured(fuse(vector, found.lexical, fusion, question=query.text, agreement=words), dated)
        not_reranked: list[str] = []
        if self._reranker is not None:  # the same scores in the new order: boosts and folders still count
            text_of = attrgetter("hit.chunk.in_context")
            moved, not_reranked = rerank(self._reranker, query.text, fused, deadline, text_of=text_of)
            fused = [one._replace(score=place.score) for one, place in zip(moved, fused, strict=True)]
        exact = exactness(query.text, hits)
        fused = exact.ordered(fused)
        by = judged(
            calibrations,
            threshold=threshold,
            vectors=found.vectors,
            coverage=covered_by_date(covered, dated),
            lacking=lacking_names(query.text, hits),
            words_of=question.uncovered,
            exact=exact,
        )
        ranking = rank(fused, relevance=by.relevance, cut=by.cut, boosts=question.boosts, weight=question.scopes.weight)
        results = ranking.results
        if not results and threshold is None and not exact.missing:
            results = self._read_nearest(query, ranking.nearest, deadline)
        ranked, reranking = self._reread(query, results, exact, deadline)
        if reranking is not None and reranking.status == "not_read":
            not_reranked.append(NOT_READ)
        heads = live_critical(critical_keys[:MAX_CRITICAL], found.heads.found, question.scopes.whole.doc_types)
        first = {head.key for head in heads}
        chosen = within_limit([one for one in ranked if one.key not in first], question.limit, many=question.many)
        assembled = assemble(
            view,
            [one.found() for one in chosen],
            [(head, _chunks_of(head, ranked, found, by)) for head in heads],
            question=question,
            found=_by_document(fused),
            with_first=_follows(question),
            deadline=TEXTS.of(deadline),
        )
        notes = _notes(question, len(assembled.shortened) + len(critical_keys[MAX_CRITICAL:]))
        notes += [f"no document that was found holds {code}, which the question names" for code in exact.missing]
        unranked = [question.folders.warning] if question.folders.warning else []
        missing = [*embedded.warnings, *found.warnings, *unranked, *not_reranked]
        if question.uncovered is not None:
            model = question.tenant.active.space.model
            notes.append(language_warning(question.uncovered, model, what="the question"))
        level_2 = by.basis == "lexical" and question.uncovered is None
        if level_2 and not missing:
            missing.append("the vector search did not answer: found by words alone")
        decision = Decision(assembled.documents, assembled.critical, by.cut.threshold, question.limit, by.relevance)
        retrieval = Retrieval(
            documents=assembled.documents,
            critical=assembled.critical,
            nearest=[] if ranked else [one.found() for one in ranking.nearest],
            total_matches=len(ranked),
            total_indexed=None,
            timings_ms=timer.stages,
            warnings=[*view.warnings, *missing, *notes],
            degraded=bool(missing or view.warnings),
            fallback_level=2 if level_2 else 1,
            circuit_breaker_open=embedded.breaker_open,
            score_basis=by.basis,
            reranking=reranking,
            explanation=explanation(question, decision, fused, found) if query.debug else None,
        )
        return retrieval, assembled.first_chunks

    def _read_nearest(
        self, query: Query, nearest: Sequence[RankedDocument], deadline: Deadline
    ) -> list[RankedDocument]:
        """What is nearest, where nothing reached the threshold and a reader takes it to answer."""
        by_key = {one.key: one for one in nearest}
        return [by_key[each.key] for each in self._answering(query.text, [one.found() for one in nearest], deadline)]

    def _reread(
        self, query: Query, ranked: list[RankedDocument], exact: Exactness, deadline: Deadline
    ) -> tuple[list[RankedDocument], Reranking | None]:
        """The results in the reader's order, where that is asked for; a code that is named comes first all the same.

        Of each document its best chunk is read.
        """
        if not query.rerank:
            return ranked, None
        read = [replace(one.found(), chunks=one.chunks[:1]) for one in ranked[:MAX_RERANKED]]
        ordered, reranking = self._order_by_reading(query.text, read, deadline)
        place = {document.key: number for number, document in enumerate(ordered)}

        def order(one: RankedDocument) -> tuple[bool, int]:
            return not exact.first.intersection(chunk.hit.chunk_id for chunk in one.chunks), place[one.key]

        first = sorted(ranked[:MAX_RERANKED], key=order) if reranking.status == "reranked" else ranked[:MAX_RERANKED]
        return [*first, *ranked[MAX_RERANKED:]], reranking


def _prepare(view: View, question: ResolvedQuery, embedding_done: Event, deadline: Deadline) -> tuple[DocumentKey, ...]:
    """Let the index search for the words; the keys of critical documents."""
    keys = _critical_keys(view, question, deadline) if question.query.include_critical else ()
    embedding_done.wait(SENDING_S)
    view.ready(question.tenant.index, _request(question, None, ()).queries, CANDIDATES.of(deadline))
    return keys


def _critical_keys(view: View, question: ResolvedQuery, deadline: Deadline) -> tuple[DocumentKey, ...]:
    vaults = question.scopes.vaults
    promoted = view.promoted(question.tenant.name, deadline)
    return tuple(each.key for each in promoted if each.level == "critical" and (not vaults or each.key.vault in vaults))


def _by_document(fused: Sequence[Fused]) -> dict[DocumentKey, dict[int, Hit]]:
    found: dict[DocumentKey, dict[int, Hit]] = {}
    for one in fused:
        found.setdefault(one.hit.key, {})[one.hit.chunk.ordinal] = one.hit
    return found


def _follows(question: ResolvedQuery) -> bool:
    values, query = question.settings.values, question.query
    return query.follow_links and not query.fast and values.max_linked_docs > 0 and values.max_link_depth > 0


def _on_the_scale(
    linked: Sequence[LinkedDocument], roots: Sequence[FoundDocument], question: ResolvedQuery, vector: Vector | None
) -> list[LinkedDocument]:
    """Linked documents with their relevance by the same curve as results; without a *vector* it is not known."""
    if vector is None:
        return [calibrated(document, None) for document in linked]
    candidates = [chunk.hit for document in (*roots, *linked) for chunk in document.chunks]
    covered = coverage(question.query.text, candidates)
    hits = [document.chunks[0].hit for document in linked]
    worth = [question.calibration(hit.key.vault).relevance(hit.score, coverage=covered[hit.chunk_id]) for hit in hits]
    return [calibrated(document, relevance) for document, relevance in zip(linked, worth, strict=True)]


def _with_links(found: Retrieval, followed: Followed, query: Query) -> Retrieval:
    context = context_text(found.critical, found.documents, followed.documents) if query.include_context else None
    warnings = [*found.warnings, *followed.warnings]
    degraded = found.degraded or bool(followed.warnings)
    return replace(found, linked=list(followed.documents), warnings=warnings, degraded=degraded, context=context)


def _request(question: ResolvedQuery, vector: Vector | None, critical: tuple[DocumentKey, ...]) -> CandidateRequest:
    critical_query = None
    if critical and vector is not None:
        scope = Filters(
            vaults=question.scopes.vaults, doc_types=question.scopes.whole.doc_types, promotion_levels=("critical",)
        )
        limit = min(200, max(30, CHUNKS_A_CRITICAL * len(critical)))
        critical_query = CandidateQuery(None, vector, scope, limit)
    whole = question.scopes.whole
    dates = dates_in(question.query.text) if whole.date_from is None and whole.date_to is None else ()
    return CandidateRequest(
        question.query.text,
        vector,
        question.scopes,
        question.limit,
        critical[:MAX_CRITICAL],
        critical_query,
        tuple(date.filters(whole) for date in dates[:MAX_DATES]),
    )


def _chunks_of(head: Head, ranked: Sequence[RankedDocument], found: FoundCandidates, by: Judged) -> list[FoundChunk]:
    """The best chunks of a critical document: those that matched, else the nearest ones."""
    matching = next((one.chunks for one in ranked if one.key == head.key), ())
    if matching:
        return list(matching)
    near = [hit for hit in found.critical if hit.key == head.key]
    return [FoundChunk(hit, by.relevance(Fused(hit, 0.0, hit.score, None))) for hit in near]


def _notes(question: ResolvedQuery, shortened: int) -> list[str]:
    if not shortened:
        return []
    share = question.settings.values.critical_share
    return [f"{shortened} critical documents are shortened or left out: they may take {share:.0%} of the budget"]
