"""Picks the sentences of the sources that best answer a question, word for word; no model writes anything."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from localstack.models.sentences import passages
from localstack.models.sources import ShownSource, Task
from localstack.models.words import roots

Similarity = Callable[[str, Sequence[str]], Sequence[float] | None]

MAX_QUOTES = 3
SHORTLIST = 12  # candidates whose meaning is compared; 40 gave the same answers on that set at three times the work
# Chosen on 500 SQuAD 2.0 questions, each with its own paragraph and the four nearest others, so that eight (words)
# and nine (blended) of ten answerable ones get the right sentence; questions made to look answerable mostly pass.
MIN_SCORE_WORDS = 0.35
MIN_SCORE_BLENDED = 0.40
NEAR_BEST = 0.9
COSINE_SHARE = 0.5
ABSENT_NAME = 0.8  # factor where the question names something, or a number, that the source never mentions
IN_HEADING, IN_NEIGHBOUR = 0.7, 0.35  # worth of a question word that stands near the sentence, not in it
TYPE_BONUS = 0.1
_SENTINELS = re.compile(r"\b(?:INSUFFICIENT_INFORMATION|AMBIGUOUS_QUESTION)\b")
_NUMBER_ASKED = re.compile(
    r"\b(?:how (?:many|much|long|often|old|far|big|large|high|fast)|when"
    r"|what (?:year|date|time|port|percent\w*|number))\b",
    re.IGNORECASE,
)
_NAME_ASKED = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|hundred|thousand|million|billion"
    r"|half|twice)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b\d[\w.,]*\w|\b\d\b|(?<=\S )\b[A-Z]\w+")
_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+")


@dataclass(frozen=True)
class Quote:
    """A passage of source *number*, verbatim, with its score in [0, 1]."""

    text: str
    number: int
    score: float


@dataclass(frozen=True)
class _Candidate:
    text: str
    number: int
    own: frozenset[str]
    near: frozenset[str]
    above: frozenset[str]
    source: frozenset[str]


def pick_quotes(task: Task, similarity: Similarity | None = None) -> list[Quote]:
    """The one to three passages that answer best, best first; none where nothing answers well enough.

    Args:
        task: Question and sources.
        similarity: Cosines in [-1, 1] of passages to the question, or None where it cannot say: then words decide.

    >>> source = ShownSource(1, "Ports", "", "The API listens on port 8443. Backups run at night.")
    >>> [quote.text for quote in pick_quotes(Task("Which port does the API listen on?", (source,)))]
    ['The API listens on port 8443.']

    """
    candidates = [candidate for source in task.sources for candidate in _candidates(source)]
    wanted = frozenset(roots(task.question))
    if not candidates or not wanted:
        return []
    weights = _weights(wanted, candidates)
    scored = [(_score(candidate, weights, task.question), candidate) for candidate in candidates]
    scored.sort(key=lambda pair: -pair[0])
    scored = scored[:SHORTLIST]
    cosines = similarity(task.question, [candidate.text for _, candidate in scored]) if similarity else None
    if cosines is not None:
        scored = [
            ((1 - COSINE_SHARE) * score + COSINE_SHARE * max(cosine, 0.0), candidate)
            for (score, candidate), cosine in zip(scored, cosines, strict=True)
        ]
    names = named(task.question)
    scored = [(score if names <= candidate.source else score * ABSENT_NAME, candidate) for score, candidate in scored]
    scored.sort(key=lambda pair: -pair[0])
    return _best(scored, MIN_SCORE_WORDS if cosines is None else MIN_SCORE_BLENDED)


def named(question: str) -> frozenset[str]:
    """Roots of the numbers and of the capitalised words of *question*, its first word apart.

    >>> sorted(named("When did Larkspur move to Postgres 16?"))
    ['16', 'larkspur', 'postgr']
    """
    return frozenset(root for word in _NAMED.findall(question) for root in roots(word))


def _candidates(source: ShownSource) -> list[_Candidate]:
    texts = [text for text in passages(source.text) if not _SENTINELS.search(text)]
    bags = [frozenset(roots(text)) for text in texts]
    above = frozenset(roots(f"{source.title} {source.heading}"))
    whole = above.union(*bags)
    return [
        _Candidate(text, source.number, bags[i], frozenset().union(*bags[max(i - 1, 0) : i + 2]), above, whole)
        for i, text in enumerate(texts)
    ]


def _weights(wanted: frozenset[str], candidates: Sequence[_Candidate]) -> dict[str, float]:
    """Share of each question word in the question's meaning: rare words count more (BM25's idf)."""
    counts = Counter(root for candidate in candidates for root in candidate.own & wanted)
    total = len(candidates)
    idf = {root: math.log(1 + (total - counts[root] + 0.5) / (counts[root] + 0.5)) for root in wanted}
    whole = sum(idf.values())
    return {root: value / whole for root, value in idf.items()}


def _score(candidate: _Candidate, weights: dict[str, float], question: str) -> float:
    """Weighted coverage of the question by the passage, its heading and its neighbours, in [0, 1]."""
    covered = 0.0
    for root, weight in weights.items():
        if root in candidate.own:
            covered += weight
        elif root in candidate.above:
            covered += weight * IN_HEADING
        elif root in candidate.near:
            covered += weight * IN_NEIGHBOUR
    if len(candidate.own - weights.keys()) < 1:  # says nothing that the question did not say
        return covered * 0.3
    asks = ((_NUMBER_ASKED, _NUMBER), (_NAME_ASKED, _NAME))
    if any(asked.search(question) and given.search(candidate.text) for asked, given in asks):
        covered += TYPE_BONUS
    return min(covered, 1.0)


def _best(scored: Sequence[tuple[float, _Candidate]], min_score: float) -> list[Quote]:
    top = scored[0][0]
    if top < min_score:
        return []
    quotes: list[Quote] = []
    for score, candidate in scored:
        if len(quotes) == MAX_QUOTES or score < max(min_score, top * NEAR_BEST):
            break
        if all(candidate.text not in quote.text and quote.text not in candidate.text for quote in quotes):
            quotes.append(Quote(candidate.text, candidate.number, score))
    return quotes
