"""Read what was found: which passages answer a question, which are closest, and whether an answer answers."""

import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import mul
from typing import Literal

from groundcheck.claims import ABOUT_THE_ANSWER
from groundcheck.clauses import sequence
from groundcheck.facts import identifiers, names
from groundcheck.sentences import STOP_WORDS, stem, stemmed_words, units, words
from ragdrop.domain.answers import AnswersQuestion, ClosestPassage
from ragdrop.domain.chunks import Hit
from ragdrop.domain.deadlines import READ, Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.languages import FUNCTION_WORDS, asks, is_english
from ragdrop.domain.models import log_odds, probability_of
from ragdrop.domain.retrieval import FoundDocument, Reranking, Retrieval
from ragdrop.errors import DependencyError, InvalidParamsError, NotFoundError
from ragdrop.ports.model_services import Reader, Reading

logger = logging.getLogger(__name__)

READER = "ragdrop-reader"  # as replies name it
MOST_READ = 12  # passages of a question: some 150 ms on two cores
MOST_COMPARED = 5  # of these the best, whose sentences are compared with the question
MOST_SENTENCES = 16  # of each
SURE_WORTH = -0.2  # such a passage answers wherever it ranks: docs/adr/0054
MOST_WORDS_OF_A_LABEL = 2  # what is as short says nothing alone
MOST_CLOSEST = 2
QUOTE_CHARACTERS = 300
MOST_NAMED, LONGEST_NAMED = 5, 40  # words that no passage has; their characters
NOT_READ = "the reader did not answer: nothing says whether the answer answers the question"
NOT_COMPARED = "the embedding service did not answer: passages were put in order without their nearest sentences"


@dataclass(frozen=True, slots=True)
class AnswerScale:
    """How the judgements of reader and search are weighed: each by its log odds.

    Args:
        order: Weights of `answerable`, `relevance` and the search's relevance in the order of passages.
        answers: Weights of `answerable` and `relevance`: whether the best passage answers.  What is relevant and is no
            answer was only near, so relevance weighs against it, up to even odds.
        least: Their least sum for a passage that may answer.
        least_answer: The least probability, by the reader alone, of an answer that is shown.
        sure: The least probability of one that is said to answer; less is unsure.
        least_found: As `least`, for passages that a search alone takes for too far away.
        compared: Weights of the search's relevance and of the cosine of the nearest sentence in the order of the best
            passages, beside `answerable` and `relevance` as in `order`.
        signs: Weights of whether the answer answers, of `answerable` and `relevance` of the best passage, each by its
            log odds, and of its lead; last a constant.  Their sum is the log odds of a right answer.
        sure_read: The least probability by `signs` of an answer that is said to answer; without passages it is `sure`.
    """

    order: tuple[float, float, float]
    answers: tuple[float, float]
    least: float
    least_answer: float
    sure: float
    least_found: float = -0.3
    compared: tuple[float, float] = (0.4, 10.0)
    signs: tuple[float, float, float, float, float] = (0.28, 1.77, -1.9, 0.34, 0.4)
    sure_read: float = 0.7


ANSWER_SCALE = AnswerScale((0.0, 0.63, 0.76), (0.78, -0.59), -0.79, 0.056, 0.37)
"""Fitted to the tuning half of the questions in users' own words: docs/evidence/quality.md.

The weights of sentences put the right passage first for 305 of 500 questions over ten vaults that nothing was trained
on, 276 without them, and for 55 of the 100 of the tuning half, 51 without.  `signs` were fitted to 34 vaults:
docs/adr/0054-near-questions-beside-answered-ones.md.
"""
Nearest = Callable[[str, Sequence[Sequence[str]], Deadline], list[float]]
"""Of each passage the highest cosine of the question and one of its sentences; raises DependencyError."""
UNKNOWN = 0.02  # relevance of what stands beside a passage that matches
NO_RIVAL, MOST_LEAD = 3.0, 6.0  # the lead of a passage where no other document was read; the highest that counts


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """A passage, what the reader and the search say of it, its rank among others, and whether it seems to answer."""

    hit: Hit
    reading: Reading
    found: float
    rank: float
    worth: float


@dataclass(frozen=True, slots=True)
class ReadFound:
    """What was read of a retrieval, best first; empty where nothing was read.  `warnings` say what was missing."""

    passages: tuple[ReadPassage, ...] = ()
    warnings: tuple[str, ...] = ()
    least: float = 0.0

    @property
    def answers(self) -> bool:
        """Whether the best passage may answer, or one of the next does rather than not, as far as anybody knows."""
        if not self.passages or self.passages[0].worth >= self.least:
            return True
        return math.isfinite(self.least) and max(each.worth for each in self.passages[:MOST_COMPARED]) >= SURE_WORTH

    @property
    def lead(self) -> float:
        """How far the rank of the best passage is above that of the best one of another document."""
        best = self.passages[0]
        others = (best.rank - each.rank for each in self.passages if each.hit.key != best.hit.key)
        return min(next(others, NO_RIVAL), MOST_LEAD)

    def ordered(self, documents: Sequence[FoundDocument]) -> list[FoundDocument]:
        """*documents* with those first whose passages answer best; without a reading as they are."""
        best: dict[DocumentKey, int] = {}
        for place, passage in enumerate(self.passages):
            best.setdefault(passage.hit.key, place)
        return sorted(documents, key=lambda document: best.get(document.key, len(self.passages)))


class ReadQuestion:
    """Reads questions against passages, and answers against questions; without a reader nothing is read.

    It knows English.  For a question in another language nothing is read, and the search alone decides.  With *nearest*
    the best passages are put in order by their nearest sentences, too.
    """

    def __init__(
        self, reader: Reader | None, scale: AnswerScale = ANSWER_SCALE, *, nearest: Nearest | None = None
    ) -> None:
        self._reader = reader
        self._scale = scale
        self._nearest = nearest

    def reads(self, question: str) -> bool:
        """Whether *question* can be read."""
        return self._reader is not None and is_english(question)

    def __call__(self, question: str, retrieval: Retrieval, deadline: Deadline) -> ReadFound:
        """Read the passages of *retrieval*; without any results those that are nearest."""
        if self._reader is None or not self.reads(question):
            return ReadFound()
        found = list(_passages(retrieval))[:MOST_READ]
        try:
            readings = self._reader.read([(question, text_to_read(hit)) for hit, _ in found], READ.of(deadline))
        except DependencyError as exc:
            logger.warning("passages could not be read", extra={"service": exc.service, "code": exc.code})
            return ReadFound(warnings=(NOT_READ,))
        read = [self._weighed(hit, reading, score) for (hit, score), reading in zip(found, readings, strict=True)]
        least = self._scale.least if asks_something(question) else math.inf
        read.sort(key=lambda each: -each.rank)
        best, rest = read[:MOST_COMPARED], read[MOST_COMPARED:]
        compared = self._compared(question, best, deadline)
        if compared is None:
            return ReadFound((*best, *rest), (NOT_COMPARED,), least)
        return ReadFound((*compared, *rest), least=least)

    def _compared(self, question: str, best: list[ReadPassage], deadline: Deadline) -> list[ReadPassage] | None:
        """*best* in order by their nearest sentences, too; None where these have no vectors."""
        if self._nearest is None or len(best) < 2:
            return best
        texts = [list(dict.fromkeys(sentences_to_compare(each.hit))) for each in best]
        try:
            cosines = self._nearest(question, texts, READ.of(deadline))
        except DependencyError as exc:
            logger.warning("sentences could not be compared", extra={"service": exc.service, "code": exc.code})
            return None
        search, sentence = self._scale.compared
        lighter = self._scale.order[2] - search
        again = [
            replace(each, rank=each.rank - lighter * each.found + sentence * cosine)
            for each, cosine in zip(best, cosines, strict=True)
        ]
        return sorted(again, key=lambda each: -each.rank)

    def rerank(
        self, question: str, documents: Sequence[FoundDocument], deadline: Deadline
    ) -> tuple[list[FoundDocument], Reranking]:
        """*documents* in the order in which they answer, by their chunks; as they are where nothing was read."""
        if self._reader is None:
            return list(documents), Reranking("no_reader")
        if not self.reads(question):
            return list(documents), Reranking("language")
        if not documents:
            return [], Reranking("nothing_found")
        read = self(question, Retrieval(list(documents), len(documents), None, {}), deadline)
        status: Literal["reranked", "not_read"] = "reranked" if read.passages else "not_read"
        return read.ordered(documents), Reranking(status, READER if read.passages else None)

    def answering(self, question: str, documents: Sequence[FoundDocument], deadline: Deadline) -> list[FoundDocument]:
        """*documents*, the nearest of a search without results, best first where they seem to answer, else none."""
        if not documents or not self.reads(question):
            return []
        read = self(question, Retrieval(list(documents), len(documents), None, {}), deadline)
        answers = bool(read.passages) and read.passages[0].worth >= max(read.least, self._scale.least_found)
        return read.ordered(documents) if answers else []

    def scores(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        """Of each text the probability that it is relevant to *query*, as a Reranker gives them.

        Raises:
            NotFoundError: There is no reader.
            InvalidParamsError: *query* is in a language that it does not read.
            DependencyError: It did not answer.
        """
        if self._reader is None:
            raise NotFoundError("there is no model that reranks: READER_URL or RERANK_URL names one")
        if not self.reads(query):
            message = "the reader reads English alone, and the question is in another language"
            raise InvalidParamsError(message, field="query", value=None, allowed=["en"])
        return [reading.relevance for reading in self._reader.read([(query, text) for text in texts], deadline)]

    def _weighed(self, hit: Hit, reading: Reading, relevance: float | None) -> ReadPassage:
        odds = [log_odds(each) for each in (reading.answerable, reading.relevance, relevance or UNKNOWN)]
        answers, relevant = self._scale.answers
        rank = sum(map(mul, self._scale.order, odds))
        return ReadPassage(hit, reading, odds[2], rank, answers * odds[0] + relevant * min(odds[1], 0.0))

    def verdict(
        self, question: str, answer: str, deadline: Deadline, *, about: str = "", read: ReadFound | None = None
    ) -> AnswersQuestion:
        """Whether *answer*, a text without markers, answers *question*; `unchecked` where nothing can tell.

        *about* is what stands over its evidence: a short answer needs it.  *read* are the passages that it comes from:
        with them `yes` needs more than the answer alone, unless it has the codes that were asked about.
        """
        if self._reader is None or not self.reads(question) or not is_english(answer):
            return AnswersQuestion()
        if reason := lacks(question, answer):
            return AnswersQuestion("no", reason)
        try:
            [reading] = self._reader.read([(question, f"{about}\n{answer}".strip())], READ.of(deadline))
        except DependencyError as exc:
            logger.warning("an answer could not be read", extra={"service": exc.service, "code": exc.code})
            return AnswersQuestion(reason="not_read")
        score, least, sure = reading.answerable, self._scale.least_answer, self._scale.sure
        if score < least:
            return AnswersQuestion("no", "reader", score, least)
        codes = set(identifiers(question))
        if read is not None and read.passages and not (codes and codes <= set(identifiers(answer))):
            score, sure = self._right(reading, read), self._scale.sure_read
        return AnswersQuestion("yes" if score >= sure else "unsure", None, score, sure)

    def _right(self, reading: Reading, read: ReadFound) -> float:
        """The probability that the answer of *reading* is right, by the passages that were read."""
        best = read.passages[0].reading
        odds = map(log_odds, (reading.answerable, best.answerable, best.relevance))
        return probability_of(sum(map(mul, self._scale.signs, (*odds, read.lead, 1.0))))


def asks_something(question: str) -> bool:
    """Whether *question* is neither a greeting nor one word again and again.

    >>> asks_something("Hello, can you help?"), asks_something("x x x x"), asks_something("opening hours")
    (False, False, True)
    """
    said = sequence(question)
    words = frozenset(said)
    return bool(words - ABOUT_THE_ANSWER) and not (len(words) == 1 and len(said) > 2)


def closest_passages(read: ReadFound, retrieval: Retrieval) -> list[ClosestPassage]:
    """The best passages of what was found, of different documents where there are several, quoted around what answers.

    Without a reading they are those that the search ranked first.
    """
    passages: Iterable[tuple[Hit, Reading | None]] = [(each.hit, each.reading) for each in read.passages]
    worth = {each.hit.chunk_id: probability_of(each.worth) for each in read.passages}
    least = probability_of(read.least) if worth else None
    chosen: dict[DocumentKey, ClosestPassage] = {}
    for hit, reading in passages or ((hit, None) for hit, _ in _passages(retrieval)):
        if hit.key not in chosen and len(chosen) < MOST_CLOSEST:
            before = len(text_to_read(hit)) - len(hit.chunk.text)
            at = max(0, reading.answer[0] - before) if reading and reading.answer else 0
            start, end = quoted(hit.chunk.text, at)
            first = hit.chunk.start
            quote, score = hit.chunk.text[start:end], worth.get(hit.chunk_id)
            chosen[hit.key] = ClosestPassage(hit, first + start, first + end, quote, score, least)
    return list(chosen.values())


def absent_words(question: str, retrieval: Retrieval) -> list[str]:
    """The words of an English *question* that no passage that was found has, where any was."""
    said = {stem(word) for hit, _ in _passages(retrieval) for word in words(text_to_read(hit))}
    if not said or not is_english(question):
        return []
    known = STOP_WORDS | FUNCTION_WORDS | ABOUT_THE_ANSWER
    asked = dict.fromkeys(word for word in words(question) if word not in known and len(word) <= LONGEST_NAMED)
    return [word for word in asked if stem(word) not in said][:MOST_NAMED]


def quoted(text: str, at: int, *, most: int = QUOTE_CHARACTERS) -> tuple[int, int]:
    r"""Where the sentences of *text* from the one at the code point *at* on begin and end, up to *most* characters.

    A heading is passed over.  At least one sentence is quoted, cut to *most*.

    >>> text = "# Pumps\n\nIt is red. It runs. Ask us."
    >>> [text[slice(*quoted(text, at, most=18))] for at in (0, 20)]
    ['It is red.', 'It runs. Ask us.']
    """
    spans = [span for span in units(text) if not text.startswith("#", span.start)] or units(text)
    if not spans:
        return 0, min(len(text), most)
    first = next((number for number, span in enumerate(spans) if span.end > at), len(spans) - 1)
    start = spans[first].start
    ends = [span.end for span in spans[first:] if span.end - start <= most]
    return start, ends[-1] if ends else start + most


def above(hit: Hit) -> str:
    """The title and the last heading over a chunk."""
    return " > ".join(dict.fromkeys(filter(None, (hit.facts.title, *hit.chunk.heading_path[-1:]))))


def text_to_read(hit: Hit) -> str:
    """What is read of a chunk."""
    return f"{above(hit)}\n{hit.chunk.in_context}"


def sentences_to_compare(hit: Hit) -> Iterator[str]:
    """The first sentences of a chunk that say something, each under its title and heading."""
    text, over = hit.chunk.text, above(hit)
    said = (text[span.start : span.end] for span in units(text))
    return islice((f"{over}. {each}" for each in said if len(each.split()) > MOST_WORDS_OF_A_LABEL), MOST_SENTENCES)


def _passages(retrieval: Retrieval) -> Iterator[tuple[Hit, float | None]]:
    """The chunks of *retrieval* with their relevance, the matching ones of all documents before what is near to them.

    Without a result these are the chunks of the nearest documents.
    """
    documents = [*retrieval.documents, *retrieval.critical, *retrieval.linked] or retrieval.nearest
    seen: set[str] = set()
    matching = ((chunk.hit, chunk.score) for document in documents for chunk in document.chunks)
    around = ((hit, None) for document in documents for hit in document.parts)
    for hit, score in (*matching, *around):
        if hit.chunk_id not in seen:
            seen.add(hit.chunk_id)
            yield hit, score


_NUMBER_ASKED = re.compile(
    r"(?:how (?:many|much|long|often|old|far|big|large|high|fast|late|soon|tall|deep|heavy)"
    r"|(?:what|which) (?:year|date|time|port|percent\w*|number|price))\b",
    re.IGNORECASE,
)
_NAME_ASKED = re.compile(r"(?:who|whom|whose)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:no|none|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty"
    r"|sixty|ninety|hundred|thousand|million|billion|half|quarter|dozen|once|twice|daily|weekly|monthly|yearly|hourly"
    r"|free|always|never|every|each|any|all|unlimited|midnight|noon|year|month|week|day|hour|minute|second)",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:i|we|you|he|she|they|us|them|\w+(?:one|body|people|person|staff|team|er|or|ist|ian|ant|ent|ee|man|men|head)s?)\b"
    r"|\b(?:people|person|staff|team|office|board)\b",
    re.IGNORECASE,
)


def lacks(question: str, answer: str) -> str | None:
    """What an English *answer* lacks to answer *question*: a number, a name, or all but its words; None if nothing.

    >>> lacks("How much is it?", "It can be bought here."), lacks("How much is it?", "It costs 7 EUR.")
    ('no_number', None)
    >>> lacks("Who leads it?", "It is led well."), lacks("What is the pump?", "What is the pump?")
    ('no_name', 'repeats_question')
    """
    if not frozenset(stemmed_words(answer)) - frozenset(stemmed_words(question)):
        return "repeats_question"
    if asks(question, _NUMBER_ASKED) and not _NUMBER.search(answer):
        return "no_number"
    if asks(question, _NAME_ASKED) and not (names(answer) or _PERSON.search(answer)):
        return "no_name"
    return None
