"""Search: candidates of every scope, verified, fused, judged, ordered and assembled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Event

from ragdrop.domain.chunks import CandidateQuery, Filters, Hit, Vector
from ragdrop.domain.deadlines import CANDIDATES, LINKS, TEXTS, Deadline
from ragdrop.domain.documents import Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.languages import language_warning
from ragdrop.domain.linked import calibrated
from ragdrop.domain.queries import Query
from ragdrop.domain.retrieval import Explanation, Followed, FoundChunk, FoundDocument, LinkedDocument, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.errors import CircuitOpenError, DatabaseError, DeadlineError, IndexMovedError
from ragdrop.ports import SearchableIndex
from ragdrop.ports.telemetry import Tracer
from ragdrop.query.assemble import TextRequest, assemble, context_text
from ragdrop.query.candidates import CandidateRequest, FoundCandidates, find_candidates
from ragdrop.query.coverage import agreement, coverage
from ragdrop.query.critical import MAX_CRITICAL, live_critical
from ragdrop.query.dates import covered_by_date, dates_in, favoured, of_dates
from ragdrop.query.exact import exactness
from ragdrop.query.explanations import Decision, explained, scopes_told
from ragdrop.query.follow_links import FollowLinks, LinkRequest
from ragdrop.query.fusion import Fused, Fusion, fuse
from ragdrop.query.model_ranking import RankedFolders, RankFolders, Rerank
from ragdrop.query.query_vectors import EmbedQuestion, QuestionVector, question_vector
from ragdrop.query.ranking import RankedDocument, rank
from ragdrop.query.relevance import Judged, above_noise, judged
from ragdrop.query.understand import ResolvedQuery, UnderstandQuery
from ragdrop.query.view import ResolveQueryView, View
from ragdrop.resilience.stages import Timer, run_in_parallel

SENDING_S = 0.001  # the request for the vector leaves first: words looked for meanwhile would hold the interpreter
MAX_DATES = 2  # of a question, each a further scope
CHUNKS_A_CRITICAL = 5  # vector hits asked for, for each critical document, so that each has its score


class Search:
    """Find what answers a query among what the caller may see."""

    def __init__(
        self,
        *,
        resolve_view: ResolveQueryView,
        query_vectors: EmbedQuestion,
        understand: UnderstandQuery,
        rank_folders: RankFolders,
        rerank: Rerank,
        follow_links: FollowLinks,
        tracer: Tracer | None,
    ) -> None:
        self._resolve_view = resolve_view
        self._query_vectors = query_vectors
        self._understand = understand
        self._rank_folders = rank_folders
        self._rerank = rerank
        self._follow_links = follow_links
        self._tracer = tracer

    def __call__(
        self, query: Query, caller: Caller, deadline: Deadline, index: SearchableIndex | None = None
    ) -> Retrieval:
        """Resolve the view, over *index* where one is given, then retrieve, verify, fuse, judge, order, assemble.

        Raises:
            InvalidParamsError: A vault of the query does not exist.
            InvalidDocTypeError: A doc_type of the query does not exist.
            EmbeddingServiceError: The query could not be embedded, and must not be answered by words alone.
            DatabaseError: The index did not answer, or no hit could be verified.
            DeadlineError: The time was used up.
            The errors of the view.
        """
        view = self._resolve_view(query, caller, deadline, index)
        try:
            return self._once(view, query, caller, deadline)
        except IndexMovedError:  # the cached item of the tenant was seconds old
            self._understand.forget(caller.tenant)
            return self._once(view, query, caller, deadline)

    def _once(self, view: View, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        timer = Timer(self._tracer)
        question = self._understand(query, caller)
        with timer.stage("embed"):
            critical_keys, (folders, embedded) = self._beforehand(view, question, deadline)
        question = replace(question, scopes=question.scopes.then(folders.folders), folders=folders)
        found = find_candidates(
            view, _request(question, embedded.vector, critical_keys), question.tenant, deadline, timer
        )
        if found.vector_error and not query.allow_fallback:
            raise found.vector_error
        with timer.stage("assemble"):
            retrieval, firsts = self._retrieval(view, question, found, critical_keys, embedded, timer, deadline)
        with timer.stage("links"):
            followed = self._linked(view, question, embedded.vector, retrieval, firsts, caller, deadline)
        total_indexed = question.tenant.count_in(caller.vaults)[0] if query.as_of is None else None
        return replace(_with_links(retrieval, followed, query), total_indexed=total_indexed)

    def _beforehand(
        self, view: View, question: ResolvedQuery, deadline: Deadline
    ) -> tuple[tuple[DocumentKey, ...], tuple[RankedFolders, QuestionVector]]:
        """What is known before the index is asked: critical documents, beside the folders and the query's vector.

        While the vector is made, the index looks for the words.
        """
        embedded = Event()

        def here() -> tuple[RankedFolders, QuestionVector]:
            try:
                folders = self._folders(question, deadline)
                if question.uncovered is not None:
                    return folders, QuestionVector(None)
                return folders, question_vector(self._query_vectors, question, deadline)
            finally:
                embedded.set()

        def aside() -> tuple[DocumentKey, ...]:
            keys = _critical_keys(view, question, deadline) if question.query.include_critical else ()
            embedded.wait(SENDING_S)
            view.ready(question.tenant.index, _request(question, None, ()).queries, CANDIDATES.of(deadline))
            return keys

        return run_in_parallel(aside, here)

    def _folders(self, question: ResolvedQuery, deadline: Deadline) -> RankedFolders:
        """The folders that the chat model chose, where it was asked to."""
        query = question.query
        if not query.rank_folders or query.fast:
            return RankedFolders()
        return self._rank_folders(query.text, question.tenant.name, question.scopes.whole, deadline)

    def _reranked(self, query: Query, fused: list[Fused], deadline: Deadline) -> tuple[list[Fused], list[str]]:
        """The candidates in the order of the reranker, with the same scores in it: boosts and folders still count."""
        if not self._rerank.is_on:
            return fused, []
        moved = self._rerank(query.text, fused, deadline, text_of=lambda one: one.hit.chunk.in_context)
        dealt = [replace(one, score=place.score) for one, place in zip(moved.found, fused, strict=True)]
        return dealt, [moved.warning] if moved.warning else []

    def _linked(
        self,
        view: View,
        question: ResolvedQuery,
        vector: Vector | None,
        found: Retrieval,
        firsts: Mapping[DocumentKey, Hit | None],
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
                firsts=firsts,
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
        embedded: QuestionVector,
        timer: Timer,
        deadline: Deadline,
    ) -> tuple[Retrieval, Mapping[DocumentKey, Hit | None]]:
        query, calibration = question.query, question.calibration
        threshold = question.min_relevance
        vector = above_noise(found.vector, calibration, keep_all=threshold == 0)
        fusion = Fusion.of(question.settings.values.fusion)
        hits = [*vector, *found.lexical]
        covered = coverage(query.text, hits)
        words = agreement(query.text, hits, covered)
        dated = of_dates(hits, dates_in(query.text))
        fused = favoured(fuse(vector, found.lexical, fusion, question=query.text, agreement=words), dated)
        fused, not_reranked = self._reranked(query, fused, deadline)
        exact = exactness(query.text, hits)
        fused = exact.ordered(fused)
        by = judged(
            calibration,
            threshold=threshold,
            vectors=found.vectors,
            coverage=covered_by_date(covered, dated),
            words_alone=question.uncovered is not None,
            exact=exact,
        )
        ranking = rank(fused, relevance=by.relevance, cut=by.cut, boosts=question.boosts, weight=question.scopes.weight)
        ranked = ranking.results
        heads = live_critical(critical_keys[:MAX_CRITICAL], found.heads.found, question.scopes.whole.doc_types)
        first = {head.key for head in heads}
        chosen = [one for one in ranked if one.key not in first][: question.limit]
        assembled = assemble(
            view,
            [one.found() for one in chosen],
            [(head, _chunks_of(head, ranked, found, by)) for head in heads],
            TextRequest(question.tenant.index, query.expand, question.boosts, question.room, _follows(question)),
            found=_by_document(fused),
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
            nearest=[one.found() for one in ranking.nearest],
            total_matches=len(ranked),
            total_indexed=None,
            timings_ms=timer.stages,
            warnings=[*view.warnings, *missing, *notes],
            degraded=bool(missing or view.warnings),
            fallback_level=2 if level_2 else 1,
            circuit_breaker_open=embedded.breaker_open,
            score_basis=by.basis,
            explanation=_explanation(question, decision, fused, found) if query.debug else None,
            calls=question.folders.calls,
        )
        return retrieval, assembled.firsts


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
    worth = [question.calibration.relevance(hit.score, coverage=covered[hit.chunk_id]) for hit in hits]
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


def _explanation(
    question: ResolvedQuery, decision: Decision, fused: Sequence[Fused], found: FoundCandidates
) -> Explanation:
    ranked = {one.hit.chunk_id for one in fused}
    noise = [hit for hit in found.vector if hit.chunk_id not in ranked]
    candidates, left_out = explained(fused, decision, noise=noise, dropped=found.dropped)
    return Explanation(
        candidates=candidates,
        folders_selected=[*question.query.folders, *question.query.prefer_folders, *question.folders.selected],
        folders_available=list(question.folders.available),
        scopes=scopes_told(question.scopes.each()),
        settings=question.settings.to_dict(),
        calibration=question.calibration.to_dict(),
        left_out=left_out,
    )
