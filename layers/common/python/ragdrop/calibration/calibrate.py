"""Fit a vault's calibration to its titles and headings, without labels or questions of users."""

from __future__ import annotations

import logging
import math
import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles

from ragdrop.domain.chunks import CandidateQuery, Candidates, Filters, Vector
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.documents import Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import (
    NOISE_RELEVANCE,
    OPERATING_RELEVANCE,
    Basis,
    Calibration,
    Curve,
    EmbeddingSpace,
    shipped_for,
)
from ragdrop.domain.tenants import Tenant, calibration_of
from ragdrop.errors import ConflictError, DependencyError, InvalidParamsError
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.model_services import Embedder
from ragdrop.ports.registry import Registry
from ragdrop.tenants.directory import TenantDirectory

MIN_PAIRS = 12  # fewer pseudo-queries give no fit
MIN_LEXICAL_PAIRS = 30  # BM25 has no shipped curve to lean on
MIN_LEXICAL_SEPARATION = 0.9
MIN_GAP = 1e-3  # between noise and operating point: a curve needs a width
GROWTH = 2  # a vault is fitted again at this multiple of the documents of its last fit
MIN_DOCUMENTS = 20  # the automatic fit leaves smaller vaults to the shipped curve
MAX_TITLES = 48  # that are embedded: the middle of more would hardly differ
OPERATING_SHARE = 0.05
"""Where the operating point lies between the off-topic ceiling (0) and the typical own cosine (1).

Near the ceiling: titles and headings are nearer to their chunks than questions in users' own words, which come close to
off-topic ones (docs/adr/0013-own-words.md).
"""
LEXICAL_SHARE = 0.1  # a title repeats the very words of its text, and BM25 adds them up: far over any question
PRIOR_PAIRS: dict[Basis, int] = {"measured": 100, "estimated": 30, "generic": 8}
"""The weight of a shipped curve, in pseudo-queries: the better known the model, the less one tenant moves it."""


@dataclass(frozen=True, slots=True)
class ObservedScores:
    """Raw scores from a tenant's own documents."""

    own: tuple[float, ...]  # of each pseudo-query (a title or heading) and the best chunk under it
    random: tuple[float, ...]  # of pseudo-queries and random chunks of other documents
    off_topic: tuple[float, ...]  # of each off-topic question and the nearest chunk of all

    @property
    def separation(self) -> float:
        """Share of pairs of an own and a random score in which the own one is higher; ties count half.

        >>> ObservedScores((0.8, 0.2), (0.1, 0.2), ()).separation
        0.875
        """
        ordered = sorted(self.random)
        below = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in self.own)
        return below / (2 * len(ordered) * len(self.own)) if ordered and self.own else 0.5


def fit_curve(evidence: ObservedScores, *, share: float = OPERATING_SHARE) -> Curve:
    """The curve of these scores alone, its operating point at *share* of the way to the typical own score.

    The off-topic ceiling lies as far over the upper quartile of the off-topic scores as their median lies under it: a
    tenant may well answer a few of those questions.  It is the median of the random scores if that is higher.  The
    median off-topic score is worth 0.05.

    >>> fit_curve(ObservedScores(own=(0.7,) * 4, random=(0.1,) * 4, off_topic=(0.2,) * 4)).operating_point
    0.225
    """
    noise = median(evidence.off_topic)
    upper = quantiles(evidence.off_topic, n=4, method="inclusive")[2]
    ceiling = max(2 * upper - noise, median(evidence.random or (noise,)))
    own = max(median(evidence.own), ceiling) if evidence.own else ceiling
    point = ceiling + share * (own - ceiling)
    odds = math.log(OPERATING_RELEVANCE / (1 - OPERATING_RELEVANCE))
    odds -= math.log(NOISE_RELEVANCE / (1 - NOISE_RELEVANCE))
    return Curve(round(point, 6), max(point - noise, MIN_GAP) / odds)


def shrunk(fitted: Curve, prior: Curve, *, pairs: int, prior_pairs: int) -> Curve:
    """The mean of a fit and a shipped curve, weighed by the pseudo-queries behind each.

    >>> shrunk(Curve(0.5, 0.1), Curve(0.4, 0.1), pairs=100, prior_pairs=300)
    Curve(operating_point=0.425, width=0.1)
    """
    share = pairs / (pairs + prior_pairs)
    return Curve(
        round(prior.operating_point + share * (fitted.operating_point - prior.operating_point), 6),
        round(prior.width + share * (fitted.width - prior.width), 6),
    )


def fitted(
    tenant: Tenant,
    cosines: ObservedScores,
    lexical: ObservedScores,
    *,
    at: str,
    vault: str = "",
    pairs: int | None = None,
) -> Calibration | None:
    """The calibration of *vault* in the tenant's active index, fitted *at* a time; None if there are too few scores.

    The scores of *lexical* may be empty, and those of titles: off-topic questions alone say where answers begin.  The
    weight of the fit is *pairs*, without them the number of own scores.
    """
    pairs = len(cosines.own) if pairs is None else pairs
    if pairs < MIN_PAIRS or len(cosines.off_topic) < MIN_PAIRS:
        return None
    space = tenant.active.space
    shipped = shipped_for(space.model)
    return Calibration(
        space,
        shrunk(fit_curve(cosines), shipped.curve, pairs=pairs, prior_pairs=PRIOR_PAIRS[shipped.basis]),
        lexical=_lexical_curve(lexical),
        basis="fitted",
        pairs=pairs,
        documents=_documents_in(tenant, vault),
        separation=round(cosines.separation, 4) if cosines.own else None,
        fitted_at=at,
    )


def is_due(tenant: Tenant, vault: str = "") -> bool:
    """Whether *vault* grew, or its tenant changed its model, so that its calibration must be fitted."""
    documents = _documents_in(tenant, vault)
    if documents < MIN_DOCUMENTS:
        return False
    calibration = calibration_of(tenant if not vault else replace(tenant, calibration=None), vault)
    return calibration.basis != "fitted" or documents >= GROWTH * calibration.documents


def _documents_in(tenant: Tenant, vault: str) -> int:
    """Live documents of *vault*, of the tenant where those of the vault are unknown."""
    documents, _ = tenant.count_in((vault,) if vault else ())
    return tenant.documents if documents is None else documents


def usable_titles(titles: Iterable[Iterable[str]]) -> list[list[str]]:
    """The titles and headings of each document that may serve as questions: of several words, and of no other document.

    >>> usable_titles([["Introduction", "How pumps fail"], ["Release notes", "1.2.3"], ["release  Notes"]])
    [['How pumps fail'], [], []]
    """
    documents = [dict.fromkeys(" ".join(title.split()) for title in each) for each in titles]
    seen = Counter(title for each in documents for title in {title.casefold() for title in each})
    return [[title for title in each if _in_words(title) and seen[title.casefold()] == 1] for each in documents]


def _in_words(title: str) -> bool:
    letters = sum(character.isalpha() for character in title)
    several = " " in title or not title.isascii()  # not every script puts spaces between words
    return several and letters >= 6 and 2 * letters >= len(title)


def _lexical_curve(evidence: ObservedScores) -> Curve | None:
    scores: Sequence[float] = evidence.off_topic
    if min(len(evidence.own), len(scores)) < MIN_LEXICAL_PAIRS:
        return None
    against_noise = ObservedScores(evidence.own, tuple(scores), ())
    return fit_curve(evidence, share=LEXICAL_SHARE) if against_noise.separation >= MIN_LEXICAL_SEPARATION else None


OFF_TOPIC_QUESTIONS = (
    "How long should sourdough bread rise before it goes into the oven?",
    "What is the best way to remove red wine from a white carpet?",
    "Which team won the women's handball final?",
    "How do I prune roses in early spring?",
    "When does the night train to Vienna leave?",
    "What should I pack for a week of hiking in the mountains?",
    "How is the rent of a furnished flat taxed?",
    "Why does my cat scratch the sofa?",
    "Which chords go well with a sad melody on the guitar?",
    "How many players are on a volleyball side?",
    "What did the parliament decide about daylight saving time?",
    "How do I change the tyre of a bicycle?",
    "What time do the museums in Lisbon open on Sundays?",
    "Can I return shoes that I bought in a sale?",
    "How do you fold a paper crane?",
    "Which vegetables can be sown in August?",
    "What is a fair price for a used sailing boat?",
    "How do I teach a child to swim?",
    "Who painted the ceiling of the town hall?",
    "How long does it take to learn Italian?",
    "What is the dress code at a summer wedding?",
    "How are diamonds graded by colour and clarity?",
    "Which knitting stitch makes a stretchy cuff?",
    "What do penguins eat in winter?",
    "How can I get rid of the smell of fish in the kitchen?",
    "When is the next total eclipse of the sun?",
    "What is the capital of Mongolia?",
    "How do I apply for a fishing licence?",
    "Is it safe to drive after one glass of beer?",
    "Which plants keep mosquitoes away from a balcony?",
    "How does a referee signal offside?",
    "What happens to a will when the heirs disagree?",
    "How much coffee is needed for ten cups?",
    "What makes a violin sound warm?",
    "How do I book a table for six on Friday evening?",
    "Which volcano destroyed Pompeii?",
    "How often should leather boots be waxed?",
    "What is the highest bridge in France?",
    "How do bees find their way back to the hive?",
    "Which mortgage is better, fixed or variable?",
    "How do I say good morning in Japanese?",
    "What are the rules for hand luggage on a plane?",
    "How is blue cheese made?",
    "What exercises help against a stiff neck?",
    "Who wrote the song that everybody sings at midnight?",
    "How do I paint a wooden fence so that it lasts?",
    "Which wood burns longest in a stove?",
    "What is the best opening move in chess?",
)


logger = logging.getLogger(__name__)

RANDOM_CHUNKS = 20  # a pseudo-query
LEXICAL_QUERIES = 100
LEXICAL_HITS = 5  # a title whose document is not among them gives no score
SEARCHES = 24  # in one round trip to the index
RETRY_S = 600.0  # a fit that failed is not tried with every batch


def _silent(_done: int, _total: int) -> None:
    """Report no progress."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The calibration of a vault before a fit, and the fit."""

    tenant: str
    vault: str
    before: Calibration
    after: Calibration
    written: bool


class Calibrate:
    """Fit the calibration of one vault and store it in the tenant's item."""

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
        self._tried_at: dict[tuple[str, str], float] = {}  # when a fit of a vault failed
        self._probes: dict[EmbeddingSpace, list[Vector]] = {}  # of the off-topic questions: the same for every vault

    def __call__(
        self, name: str, vault: str, deadline: Deadline, *, dry_run: bool = False, progress: Progress = _silent
    ) -> Calibrated:
        """Fit the calibration of *vault* in a tenant's active index, and store it unless *dry_run*.

        The same documents give the same fit.  *progress* gets the number of documents read, and of all.

        Raises:
            InvalidParamsError: There is no such tenant.
            ConflictError: It has too few documents to learn from; its calibration stays unchanged.
            DependencyError: A service failed; the same call may succeed later.
        """
        tenant = self._registry.tenant(name)
        if tenant is None:
            raise InvalidParamsError(f"there is no tenant named {name!r}", field="tenant", value=name)
        sample = self._sample(tenant, vault, progress)
        if len(sample.queries) < MIN_PAIRS:  # too few titles to say what an answer scores
            sample = replace(sample, queries=[])
        pairs = len(sample.queries) or len(sample.vectors)
        after = None
        if pairs >= MIN_PAIRS:
            cosines, lexical = self._evidence(tenant, vault, sample, deadline)
            after = fitted(tenant, cosines, lexical, at=rfc3339(self._clock()), vault=vault, pairs=pairs)
        if after is None:
            before = calibration_of(tenant, vault)
            raise ConflictError(
                f"'{name}/{vault}' has {pairs} documents to learn from, {MIN_PAIRS} are needed: "
                f"the {before.basis} calibration stays in force",
                tenant=name,
                vault=vault,
                pairs=pairs,
                needed=MIN_PAIRS,
            )
        written = not dry_run and self._registry.put_calibration(name, after, vault=vault)
        return Calibrated(name, vault, calibration_of(tenant, vault), after, written)

    def if_due(self, name: str, deadline: Deadline, *, least_s: float) -> None:
        """Calibrate each vault that grew, or whose tenant changed its model, since its last fit.

        With less than *least_s* left the next call does it.  A fit that failed is tried again after RETRY_S.
        """
        tenant = self._directory.tenant(name)  # ingest has just read it, after its last document
        for vault in tenant.vaults if tenant is not None else ():
            tried_at = self._tried_at.get((name, vault))
            waits = tried_at is not None and self._clock() < tried_at + RETRY_S
            if tenant is None or waits or not is_due(tenant, vault) or deadline.remaining_s() < least_s:
                continue
            where = {"tenant": name, "vault": vault}
            try:
                fit = self(name, vault, deadline).after
            except (ConflictError, DependencyError) as exc:
                self._tried_at[name, vault] = self._clock()
                retry = {"retry_s": RETRY_S, "in_force": calibration_of(tenant, vault).basis}
                logger.warning(
                    "failed to calibrate a vault: its relevance is less exact until a later batch or sweep tries again",
                    extra={**where, "code": exc.code, "problem": exc.message, **retry},
                )
            else:
                logger.info("calibrated a vault", extra={**where, "pairs": fit.pairs})

    def _evidence(
        self, tenant: Tenant, vault: str, sample: Sample, deadline: Deadline
    ) -> tuple[ObservedScores, ObservedScores]:
        """The raw scores in *vault*: cosines, and those of BM25."""
        queries, within = sample.queries[:MAX_TITLES], Filters(vaults=(vault,))
        asked = self._vectors([query.text for query in queries], tenant, deadline) if queries else []
        space = tenant.active.space
        if space not in self._probes:
            self._probes[space] = self._vectors(OFF_TOPIC_QUESTIONS, tenant, deadline)
        probes = zip(OFF_TOPIC_QUESTIONS, self._probes[space], strict=True)
        off_topic = self._search(tenant, [CandidateQuery(text, each, within, 1) for text, each in probes], deadline)
        titles = sample.queries[:LEXICAL_QUERIES]
        by_words = [CandidateQuery(query.text, None, within, LEXICAL_HITS) for query in titles]
        found = self._search(tenant, by_words, deadline)
        cosines = ObservedScores(
            own=tuple(best(vector, query.own) for query, vector in zip(queries, asked, strict=True)),
            random=_random_cosines(queries, sample.vectors, asked, tenant.name),
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


def _random_cosines(
    queries: Sequence[PseudoQuery], vectors: Mapping[DocumentKey, Sequence[Vector]], asked: Sequence[Vector], seed: str
) -> tuple[float, ...]:
    """Cosines of pseudo-queries with random chunks of other documents, without copies of their own chunks."""
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    everything = [(key, vector) for key, some in vectors.items() for vector in some]
    scores: list[float] = []
    for query, vector in zip(queries, asked, strict=True):
        for key, other in chance.sample(everything, min(RANDOM_CHUNKS, len(everything))):
            if key != query.key and other not in query.own:
                scores.append(cosine(vector, other))
    return tuple(scores)


MAX_LISTED = 4_000  # heads read
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

    def __call__(self, tenant: Tenant, vault: str, progress: Progress) -> Sample:
        """Read up to 150 live documents of *vault* in the tenant's active index; *progress* gets their number.

        Raises DependencyError: a service failed; the same call may succeed later.
        """
        chance = random.Random(tenant.name)  # noqa: S311 - a sample, not a secret
        listed = self._listed(tenant.name, vault)
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

    def _listed(self, tenant: str, vault: str) -> list[Head]:
        """Heads of live documents in order."""
        found: list[Head] = []
        cursor, left = None, MAX_LISTED
        while left > 0:
            size = min(left, PAGE)
            page = self._registry.page(tenant, vault=vault, prefix="", status=None, cursor=cursor, limit=size)
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
