"""Fit a calibration to a tenant's documents, without labels or questions of users."""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from ragdrop.calibration.shipped_calibrations import calibration_of, shipped_for
from ragdrop.domain.calibration import NOISE_RELEVANCE, OPERATING_RELEVANCE, Basis, Calibration, Curve
from ragdrop.domain.tenants import Tenant

MIN_PAIRS = 12  # fewer pseudo-queries give no fit
MIN_LEXICAL_PAIRS = 30  # BM25 has no shipped curve to lean on
MIN_LEXICAL_SEPARATION = 0.9
MIN_GAP = 1e-3  # between noise and operating point: a curve needs a width
GROWTH = 2  # a tenant is fitted again at this multiple of the documents of its last fit
MIN_DOCUMENTS = 20  # the automatic fit leaves smaller tenants to the shipped curve
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
    own = max(median(evidence.own), ceiling)
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


def fitted(tenant: Tenant, cosines: ObservedScores, lexical: ObservedScores, *, at: str) -> Calibration | None:
    """The calibration of the tenant's active index by its scores, fitted *at* a time; None if there are too few.

    The scores of *lexical* may be empty.
    """
    pairs = len(cosines.own)
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
        documents=tenant.documents,
        separation=round(cosines.separation, 4),
        fitted_at=at,
    )


def is_due(tenant: Tenant) -> bool:
    """Whether a tenant grew, or changed its model, so that its calibration must be fitted."""
    if tenant.documents < MIN_DOCUMENTS:
        return False
    calibration = calibration_of(tenant)
    return calibration.basis != "fitted" or tenant.documents >= GROWTH * calibration.documents


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
