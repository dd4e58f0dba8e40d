"""Calibrate a tenant: learn the scale of its model's scores from its titles and headings."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragdrop.calibration.fit_curve import MIN_PAIRS, OFF_TOPIC_QUESTIONS, ObservedScores, fitted, is_due, usable_titles
from ragdrop.calibration.shipped_calibrations import calibration_of
from ragdrop.domain.calibration import Calibration
from ragdrop.domain.chunks import CandidateQuery, Candidates, Filters, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Tenant
from ragdrop.domain.times import rfc3339
from ragdrop.errors import ConflictError, DependencyError, InvalidParamsError
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.model_services import Embedder
from ragdrop.ports.registry import Registry
from ragdrop.tenants.directory import TenantDirectory

logger = logging.getLogger(__name__)

RANDOM_CHUNKS = 20  # a pseudo-query
LEXICAL_QUERIES = 100
LEXICAL_HITS = 5  # a title whose document is not among them gives no score
SEARCHES = 24  # in one round trip to the index


def _silent(_done: int, _total: int) -> None:
    """Report no progress."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The calibration before a fit, and the fit."""

    tenant: str
    before: Calibration
    after: Calibration
    written: bool


class Calibrate:
    """Fit one tenant's calibration and store it in the tenant's item."""

    def __init__(
        self,
        *,
        registry: Registry,
        directory: TenantDirectory,
        index: ChunkIndex,
        embedder: Embedder,
        sample: SampleDocuments,
        clock: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._directory = directory
        self._index = index
        self._embedder = embedder
        self._sample = sample
        self._clock = clock
        self._unfitted: dict[str, int] = {}  # documents of tenants that could not be fitted

    def __call__(
        self, name: str, deadline: Deadline, *, dry_run: bool = False, progress: Progress = _silent
    ) -> Calibrated:
        """Fit the calibration of a tenant's active index, and store it unless *dry_run*.

        The same documents give the same fit.  *progress* gets the number of documents read, and of all.

        Raises:
            InvalidParamsError: There is no such tenant.
            ConflictError: It has too few titles and headings to learn from; its calibration stays unchanged.
            DependencyError: A service failed; the same call may succeed later.
        """
        tenant = self._registry.tenant(name)
        if tenant is None:
            raise InvalidParamsError(f"there is no tenant named {name!r}", field="tenant", value=name)
        sample = self._sample(tenant, progress)
        after = None
        if len(sample.queries) >= MIN_PAIRS:
            cosines, lexical = self._evidence(tenant, sample, deadline)
            after = fitted(tenant, cosines, lexical, at=rfc3339(self._clock()))
        if after is None:
            before = calibration_of(tenant)
            raise ConflictError(
                f"{name!r} has {len(sample.queries)} titles and headings to learn from, {MIN_PAIRS} are needed: "
                f"the {before.basis} calibration stays in force",
                tenant=name,
                pairs=len(sample.queries),
                needed=MIN_PAIRS,
            )
        written = not dry_run and self._registry.put_calibration(name, after)
        return Calibrated(name, calibration_of(tenant), after, written)

    def if_due(self, name: str, deadline: Deadline, *, least_s: float) -> None:
        """Calibrate a tenant that grew, or changed its model, since its last fit.

        With less than *least_s* left the next call does it.  A tenant without a fit is tried again once it has a fifth
        more documents.
        """
        tenant = self._directory.tenant(name)  # ingest has just read it, after its last document
        if tenant is None or not is_due(tenant) or deadline.remaining_s() < least_s:
            return
        if tenant.documents < 1.2 * self._unfitted.get(name, 0):
            return
        try:
            fit = self(name, deadline).after
        except (ConflictError, DependencyError) as exc:
            self._unfitted[name] = tenant.documents
            logger.warning("a tenant could not be calibrated", extra={"tenant": name, "code": exc.code})
            return
        logger.info("a tenant was calibrated", extra={"tenant": name, "pairs": fit.pairs})

    def _evidence(self, tenant: Tenant, sample: Sample, deadline: Deadline) -> tuple[ObservedScores, ObservedScores]:
        """The raw scores: cosines, and those of BM25."""
        asked = self._vectors([query.text for query in sample.queries], tenant, deadline)
        probes = self._vectors(OFF_TOPIC_QUESTIONS, tenant, deadline)
        questions = [CandidateQuery(t, v, Filters(), 1) for t, v in zip(OFF_TOPIC_QUESTIONS, probes, strict=True)]
        off_topic = self._search(tenant, questions, deadline)
        titles = sample.queries[:LEXICAL_QUERIES]
        by_words = [CandidateQuery(query.text, None, Filters(), LEXICAL_HITS) for query in titles]
        found = self._search(tenant, by_words, deadline)
        cosines = ObservedScores(
            own=tuple(best(vector, query.own) for query, vector in zip(sample.queries, asked, strict=True)),
            random=_random_cosines(sample, asked, tenant.name),
            off_topic=tuple(each.vector[0].score for each in off_topic if each.vector),
        )
        lexical = ObservedScores(
            own=tuple(_own_scores(titles, found)),
            random=(),
            off_topic=tuple(each.lexical[0].score if each.lexical else 0.0 for each in off_topic),
        )
        return cosines, lexical

    def _vectors(self, questions: Sequence[str], tenant: Tenant, deadline: Deadline) -> list[Vector]:
        """The vectors of questions; many at once, which the port has for passages alone."""
        space = tenant.active.space
        return self._embedder.passages(questions, replace(space, passage_prefix=space.query_prefix), deadline)

    def _search(self, tenant: Tenant, questions: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        found: list[Candidates] = []
        for start in range(0, len(questions), SEARCHES):
            found += self._index.candidates(tenant.index, questions[start : start + SEARCHES], deadline)
        return found


def _own_scores(titles: Sequence[PseudoQuery], found: Sequence[Candidates]) -> list[float]:
    """The lexical scores of those titles that find their own document."""
    scores = []
    for query, candidates in zip(titles, found, strict=True):
        scores += [hit.score for hit in candidates.lexical if hit.key == query.key][:1]
    return scores


def _random_cosines(sample: Sample, asked: Sequence[Vector], seed: str) -> tuple[float, ...]:
    """Cosines of pseudo-queries with random chunks of other documents, without copies of their own chunks."""
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    everything = [(key, vector) for key, vectors in sample.vectors.items() for vector in vectors]
    scores: list[float] = []
    for query, vector in zip(sample.queries, asked, strict=True):
        for key, other in chance.sample(everything, min(RANDOM_CHUNKS, len(everything))):
            if key != query.key and other not in query.own:
                scores.append(cosine(vector, other))
    return tuple(scores)


MAX_LISTED = 4_000  # heads read, spread over the vaults
MAX_DOCUMENTS = 150  # each is one object read from the state bucket
MAX_CHUNKS = 400  # longer documents are left out: their vectors would be most of the work
MAX_HEADINGS = 2  # a document, besides its title
PAGE = 1_000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PseudoQuery:
    """A title or heading, and the vectors of the chunks under it."""

    text: str
    key: DocumentKey
    own: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """Pseudo-queries, and all vectors of their documents."""

    queries: list[PseudoQuery]
    vectors: dict[DocumentKey, list[Vector]]


class SampleDocuments:
    """Draw the sample; the same documents always give the same sample."""

    def __init__(self, *, registry: Registry, revisions: RevisionStore) -> None:
        self._registry = registry
        self._revisions = revisions

    def __call__(self, tenant: Tenant, progress: Progress) -> Sample:
        """Read up to 150 live documents of the tenant's active index; *progress* gets their number.

        Raises:
            DependencyError: A service failed; the same call may succeed later.
        """
        chance = random.Random(tenant.name)  # noqa: S311 - a sample, not a secret
        listed = self._listed(tenant)
        chosen = chance.sample(listed, min(len(listed), MAX_DOCUMENTS))
        vectors: dict[DocumentKey, list[Vector]] = {}
        titled: list[tuple[DocumentKey, dict[str, list[Vector]]]] = []
        for done, head in enumerate(chosen, start=1):
            under = self._under_titles(head, tenant, vectors)
            titled.append((head.key, under))
            progress(done, len(chosen))
        queries = []
        usable = usable_titles([under for _, under in titled])
        for (key, under), titles in zip(titled, usable, strict=True):
            headings = titles[1:]
            chosen_titles = [*titles[:1], *chance.sample(headings, min(len(headings), MAX_HEADINGS))]
            queries += [PseudoQuery(title, key, tuple(under[title])) for title in chosen_titles]
        return Sample(queries, vectors)

    def _listed(self, tenant: Tenant) -> list[Head]:
        """Heads of live documents in order, as many of each vault as its share of the bound."""
        found: list[Head] = []
        share = max(MAX_LISTED // max(len(tenant.vaults), 1), 1)
        for vault in tenant.vaults:
            cursor, left = None, share
            while left > 0:
                size = min(left, PAGE)
                page = self._registry.page(tenant.name, vault=vault, prefix="", status=None, cursor=cursor, limit=size)
                found += [head for head in page.heads if head.live_revision is not None]
                left, cursor = left - size, page.cursor
                if cursor is None:
                    break
        return [head for head in found if 0 < head.chunk_count <= MAX_CHUNKS]

    def _under_titles(
        self, head: Head, tenant: Tenant, vectors: dict[DocumentKey, list[Vector]]
    ) -> dict[str, list[Vector]]:
        """The document's title and headings, each with the vectors under it; adds all of them to *vectors*."""
        revision = self._revisions.open(head.key, head.live_revision or 0)
        chunks = list(revision.chunks_between(tenant.active.name, texts=False)) if revision else []
        if not chunks:
            return {}
        vectors[head.key] = [vector for _, vector in chunks]
        under: dict[str, list[Vector]] = {_spaced(head.title or ""): vectors[head.key]}
        for chunk, vector in chunks:
            for heading in chunk.heading_path:
                if _spaced(heading) != _spaced(head.title or ""):
                    under.setdefault(_spaced(heading), []).append(vector)
        return under


def cosine(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of length 1, in [-1, 1]."""
    return sum(left * right for left, right in zip(one, other, strict=True))


def best(query: Vector, vectors: Sequence[Vector]) -> float:
    """The highest cosine of *query* with any of *vectors*, of which there is at least one."""
    return max(cosine(query, vector) for vector in vectors)


def _spaced(title: str) -> str:
    return " ".join(title.split())
