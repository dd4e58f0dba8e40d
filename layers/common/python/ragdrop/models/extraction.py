"""Picks the passage of the sources that best answers a question, word for word; no model writes anything."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from ragdrop.domain.languages import asks
from ragdrop.models.sources import Block, ShownSource, Task, blocks, codes, names_in, plain_hyphens, roots, verbatim

if TYPE_CHECKING:
    from ragdrop.ports.model_services import Reading

Similarity = Callable[[str, Sequence[str]], Sequence[float] | None]
Read = Callable[[str, Sequence[str]], "Sequence[Reading] | None"]

MAX_SENTENCES = 6  # of a passage
MAX_ITEMS = 6
MAX_CHARACTERS = 900
MAX_PARTS = 2  # questions that ask for several things
NEAR = 0.5  # share of the best sentence's score that one beside it needs
SHORTLIST = 40  # blocks whose meaning is compared
BLOCK_CHARACTERS = 500  # of a block that are compared: a small model reads no more
# Chosen on the tuning half of the questions in users' own words and 500 SQuAD 2.0 questions: docs/evidence/quality.md.
MIN_SCORE_WORDS = 0.35
MIN_SCORE_BLENDED = 0.17
MIN_SCORE_NAMED = 0.36  # where the question names something or a number: it is about that and nothing else
WORDS_SHARE = 0.35
ABSENT_NAME = 0.2  # factor where the question names something, or a number, that the source never mentions
IN_HEADING, IN_NEIGHBOUR = 0.7, 0.35  # worth of a question word that stands near the sentence, not in it
TYPE_BONUS = 0.1
STEPS_BONUS = 0.03  # for a list; for a title that says so: HOW_TO_BONUS
HOW_TO_BONUS = 0.08
LIST_SHARE = 0.6  # of the best score that the list of steps of such a document needs
INTRODUCTION_BONUS = 0.2  # for the begin of a document whose title says all that is asked for
MOST_READ = 8  # chunks, of those with the best blocks; twelve choose no other passage: docs/adr/0054
CHUNK_WEIGHT, READ_WEIGHT, RELEVANT_WEIGHT, HOLDS_BONUS = 0.8, 0.024, 0.077, 0.1
UNREAD = -0.2  # of a chunk that was not read
MIN_SCORE_READ = 0.3
SPAN_BONUS = 0.1  # for the sentence in which the reader sees the answer
MOST_MORE = 2  # sentences behind those that were chosen
# Of the best score: a second passage within is quoted too, in short where it is not as good.
SECOND_WITHIN, AS_GOOD, MOST_OF_SECOND = 0.4, 0.06, 2  # docs/adr/0055
MOST_QUOTED = 8  # passages whose quotation is read, too
# What their score is made of, beside the cosine of their nearest sentence; fitted to 30 vaults: docs/adr/0049, 0054.
BONUS_OF_QUOTED, CHUNK_OF_QUOTED, ANSWER_OF_QUOTED, QUOTE_WEIGHT = 0.63, 0.5, 0.09, 0.035
RANK_STEP = 0.02  # less for each place of the document among those that were found
_SENTINELS = re.compile(r"\b(?:INSUFFICIENT_INFORMATION|AMBIGUOUS_QUESTION)\b")
_NUMBER_ASKED = re.compile(
    r"\b(?:how (?:many|much|long|often|old|far|big|large|high|fast|late|soon)|when"
    r"|(?:what|which) (?:year|date|time|port|percent\w*|number|day))\b",
    re.IGNORECASE,
)
_NAME_ASKED = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_STEPS_ASKED = re.compile(
    r"\b(?:how (?:do|can|could|should|would|to)|what (?:do|should|can|must) (?:i|we|you)|what now|steps?)\b",
    re.IGNORECASE,
)
_HOW_TO = re.compile(r"\b(?:how|runbook|guide|tutorial|steps|set ?up|install|troubleshooting)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"\?\s+(?=\w)|,?\s+and\s+(?=(?:who|whom|what|when|where|which|why|how)\b)", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|hundred|thousand|million|billion"
    r"|half|twice|once|daily|weekly|monthly|yearly)\b",
    re.IGNORECASE,
)
_NUMBER_GIVEN = re.compile(
    _NUMBER.pattern + r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|noon|midnight|morning|evening|night|never"
    r"|always|free|every|each|no|none|soon|before|after|until|when|while)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+|\b(?:person|people|colleague|manager|keeper|lead|everybody|anybody)\b"
)


@dataclass(frozen=True)
class Quote:
    """A sentence of source *number*, verbatim, with its score in [0, 1], and what separates it from the next one.

    *prefix* stands before the number in its marker.
    """

    text: str
    number: int
    score: float
    after: str = "\n"
    prefix: str = ""


@dataclass(frozen=True)
class SourceBlock:
    """A block of a source with the words over it."""

    source: ShownSource
    block: Block
    above: str
    near: tuple[Block, ...]
    is_first: bool = False
    below: Block | None = None

    @cached_property
    def text(self) -> str:
        """What is compared with the question."""
        return f"{self.above}: {' '.join((*self.announced, *self.block.units))}"[:BLOCK_CHARACTERS]

    @cached_property
    def announced(self) -> tuple[str, ...]:
        """The sentence that announces a list."""
        return (self.block.lead,) if self.block.lead and self.block.kind == "list" else ()

    @cached_property
    def whole(self) -> str:
        """What is read: its chunk, with the words over it, as ragdrop reads it too."""
        over = dict.fromkeys(filter(None, (self.source.title, self.source.heading.split(" > ")[-1])))
        return f"{' > '.join(over)}\n{self.source.text}"

    @cached_property
    def written(self) -> str:
        """All that stands in it and over it, with plain hyphens."""
        return plain_hyphens("\n".join((self.source.heading, self.above, self.block.lead, *self.block.units)))

    @cached_property
    def narrow(self) -> str:
        """The same without the document's title."""
        return plain_hyphens("\n".join((self.block.heading or self.source.heading, *self.block.units)))

    @cached_property
    def own(self) -> list[frozenset[str]]:
        """The roots of each of its sentences."""
        return [frozenset(roots(unit)) for unit in self.block.units]


def pick_quotes(task: Task, similarity: Similarity | None = None, read: Read | None = None) -> list[Quote]:
    """The passage that answers best, in reading order; none where nothing answers well enough.

    Who, when and how many get the one sentence, how-to questions the list of steps, others up to six sentences that
    stand together.  A question that asks for several things gets a passage for each.
    *similarity* returns cosines in [-1, 1] of passages to the question, or None where it cannot: then words decide.
    *read* reads the question against passages, or returns None where it cannot: then cosines decide.
    """
    passages = [passage for source in task.sources for passage in _passages(source)]
    named_by_code = codes(task.question)
    if not all(any(code.search(passage.written) for passage in passages) for code in named_by_code):
        return []
    found: dict[tuple[int, str], Quote] = {}
    for part in _SEVERAL.split(task.question)[:MAX_PARTS]:
        for quote in _picked(part, task.question, passages, similarity, read):
            found.setdefault((quote.number, quote.text), quote)
    return list(found.values())


def _passages(source: ShownSource) -> list[SourceBlock]:
    whole = (block for block in blocks(source.text) if not any(map(_SENTINELS.search, block.units)))
    found = [part for block in whole for part in (_rows(block) if block.kind == "table" else [block])]
    return [
        SourceBlock(
            source,
            block,
            " > ".join(dict.fromkeys(filter(None, (source.title, block.heading or source.heading.split(" > ")[-1])))),
            tuple(other for other in found[max(at - 1, 0) : at + 2] if other.heading == block.heading),
            at == 0 and source.is_first,
            found[at + 1] if at + 1 < len(found) else None,
        )
        for at, block in enumerate(found)
    ]


def _rows(table: Block) -> list[Block]:
    """Each row alone, under the table's header."""
    return [replace(table, units=(unit,), after=("\n",)) for unit in table.units]


def _picked(
    question: str, whole: str, passages: Sequence[SourceBlock], similarity: Similarity | None, read: Read | None
) -> list[Quote]:
    asked_roots = frozenset(roots(question))
    if not passages or not (asked_roots or verbatim(question)):
        return []
    exact = [*codes(question), *verbatim(question)]
    holding = [passage for passage in passages if all(each.search(passage.narrow) for each in exact)] if exact else []
    passages = holding or passages
    weights = _weights(asked_roots, passages)
    worded = [(max(_by_words(passage, weights, question)), at) for at, passage in enumerate(passages)]
    best = sorted(worded, key=lambda pair: -pair[0])[: SHORTLIST // 2]
    chosen = sorted({at for _, at in best} | set(range(min(len(passages), SHORTLIST // 2))))
    shortlist = [passages[at] for at in chosen]
    words = [worded[at][0] for at in chosen]
    cosines = similarity(question, [passage.text for passage in shortlist]) if similarity else None
    steps = bool(_STEPS_ASKED.search(question))
    bonus = _how_to_bonus if steps else lambda passage: INTRODUCTION_BONUS * _introduces(passage, asked_roots)
    names = names_in(whole)
    blended = [
        _score(worth, None if cosines is None else cosines[at])
        * (1.0 if names <= _roots_of(passage, passages) else ABSENT_NAME)
        for at, (passage, worth) in enumerate(zip(shortlist, words, strict=True))
    ]
    chunks = list(dict.fromkeys(passage.whole for _, passage in _ranked(blended, shortlist)))[:MOST_READ]
    readings = _readings(question, chunks, similarity, read) if similarity and read else {}
    scored = [
        (worth + bonus(passage) - RANK_STEP * passage.source.rank + _by_reading(passage, readings), passage)
        for worth, passage in zip(blended, shortlist, strict=True)
    ]
    least = MIN_SCORE_WORDS if cosines is None else MIN_SCORE_NAMED if names else MIN_SCORE_BLENDED
    if max(score for score, _ in scored) < (0.0 if holding else MIN_SCORE_READ if readings else least):
        return []
    if similarity and read and readings:
        scored = _by_quotation(question, scored, bonus, weights, readings, similarity, read) or scored
    score, passage = max(scored, key=lambda pair: pair[0])
    if steps:
        _, passage = _list_of_steps(scored, (score, passage))
    found = _quoted(question, passage, weights, similarity, score, _span(passage, readings))
    said = {(quote.number, quote.text) for quote in found}
    others = _others(passage, scored, said, readings)
    second, other = max(others, key=lambda pair: pair[0], default=(-math.inf, passage))
    if second >= score - SECOND_WITHIN:
        span = _span(other, readings)
        more = _quoted(question, other, weights, similarity, second, span)
        found += more if second >= score - AS_GOOD else _in_short(more, span, under=other.block.lead)
    return found


def _others(
    best: SourceBlock,
    scored: Sequence[tuple[float, SourceBlock]],
    said: set[tuple[int, str]],
    readings: dict[str, tuple[float, Reading]],
) -> list[tuple[float, SourceBlock]]:
    """Passages of other chunks than the *best* one, and of the same chunk the one in which the reader sees the answer.

    None of what was *said* is in them.  Without a reading there are none.
    """
    apart = [each for each in scored if readings and (each[1].whole != best.whole or _holds_span(each[1], readings))]
    return [(score, at) for score, at in apart if not said & {(at.source.number, unit) for unit in at.block.units}]


def _in_short(quotes: list[Quote], span: str, *, under: str) -> list[Quote]:
    """The sentence of the reader's *span* and the one behind it, or else the first two; the header of a table stays."""
    lead, rest = (quotes[:1], quotes[1:]) if quotes[0].text == under else ([], quotes)
    first = next((at for at, quote in enumerate(rest) if _meets(span, quote.text)), 0)
    return [*lead, *rest[first : first + MOST_OF_SECOND]]


def _ranked(scores: Sequence[float], passages: Sequence[SourceBlock]) -> list[tuple[float, SourceBlock]]:
    return sorted(zip(scores, passages, strict=True), key=lambda pair: -pair[0])


def _readings(
    question: str, chunks: Sequence[str], similarity: Similarity, read: Read
) -> dict[str, tuple[float, Reading]]:
    """The cosines and readings of *chunks*; none where nobody reads."""
    cosines, found = similarity(question, chunks), read(question, chunks)
    if cosines is None or found is None:
        return {}
    return dict(zip(chunks, zip(cosines, found, strict=True), strict=True))


def _by_reading(passage: SourceBlock, readings: dict[str, tuple[float, Reading]]) -> float:
    """What its chunk adds to the score of a block: more where the answer begins in it, but for the rows of a table.

    The reader was not trained on tables: which row answers, words and cosines say.
    """
    if passage.whole not in readings:
        return UNREAD if readings else 0.0
    cosine, reading = readings[passage.whole]
    odds = READ_WEIGHT * _log_odds(reading.answerable) + RELEVANT_WEIGHT * _log_odds(reading.relevance)
    return CHUNK_WEIGHT * cosine + odds + HOLDS_BONUS * _holds_span(passage, readings)


def _holds_span(passage: SourceBlock, readings: dict[str, tuple[float, Reading]]) -> bool:
    """Whether the answer that the reader sees in its chunk begins in a passage that is no row of a table."""
    span = _span(passage, readings) if passage.block.kind != "table" else ""
    return any(_meets(span, unit) for unit in passage.block.units)


def _meets(span: str, unit: str) -> bool:
    return bool(span) and (span in unit or unit in span)


def _by_quotation(
    question: str,
    scored: Sequence[tuple[float, SourceBlock]],
    bonus: Callable[[SourceBlock], float],
    weights: dict[str, float],
    readings: dict[str, tuple[float, Reading]],
    similarity: Similarity,
    read: Read,
) -> list[tuple[float, SourceBlock]]:
    """The best of *scored*, weighed by their nearest sentence and by what would be quoted; none where nobody reads."""
    best = [each for each in sorted(scored, key=lambda pair: -pair[0]) if each[1].whole in readings][:MOST_QUOTED]
    sentences = [[f"{passage.above}: {unit}" for unit in passage.block.units] for _, passage in best]
    cosines = similarity(question, [each for some in sentences for each in some])
    quoted = [
        _quoted(question, passage, weights, similarity, score, _span(passage, readings)) for score, passage in best
    ]
    said = [f"{best[at][1].above}\n{' '.join(quote.text for quote in each)}" for at, each in enumerate(quoted)]
    found = read(question, said)
    if cosines is None or found is None:
        return []
    left = iter(cosines)
    weighed = []
    for (_, passage), some, quotation in zip(best, sentences, found, strict=True):
        cosine, reading = readings[passage.whole]
        nearest, answerable = max(islice(left, len(some))), quotation.answerable
        if passage.block.kind == "table":  # as in _by_reading
            nearest, answerable = _score(max(_by_words(passage, weights, question)), nearest), reading.answerable
        signs = BONUS_OF_QUOTED * bonus(passage) + HOLDS_BONUS * _holds_span(passage, readings)
        odds = ANSWER_OF_QUOTED * _log_odds(reading.answerable) + QUOTE_WEIGHT * _log_odds(answerable)
        weighed.append((nearest + CHUNK_OF_QUOTED * cosine + signs + odds, passage))
    return weighed


def _log_odds(share: float) -> float:
    bounded = min(max(share, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1 - bounded))


def _how_to_bonus(passage: SourceBlock) -> float:
    """What signs of instructions are worth: a list, and a title that says so."""
    return STEPS_BONUS * (passage.block.kind == "list") + HOW_TO_BONUS * _is_how_to(passage)


def _is_how_to(passage: SourceBlock) -> bool:
    return _HOW_TO.search(passage.source.title) is not None


def _introduces(passage: SourceBlock, asked_roots: frozenset[str]) -> bool:
    """Whether a passage begins a document whose title says all that is *asked_roots*."""
    return passage.is_first and asked_roots <= frozenset(roots(passage.source.title))


def _list_of_steps(
    scored: Sequence[tuple[float, SourceBlock]], best: tuple[float, SourceBlock]
) -> tuple[float, SourceBlock]:
    """The best list of the document of the *best* passage, where that document has instructions."""
    of_document = [each for each in scored if each[1].source.title == best[1].source.title]
    lists = [each for each in of_document if each[1].block.kind == "list" and each[0] >= LIST_SHARE * best[0]]
    return max(lists, key=lambda each: each[0], default=best) if _is_how_to(best[1]) else best


def _score(words: float, cosine: float | None) -> float:
    return words if cosine is None else (1 - WORDS_SHARE) * max(cosine, 0.0) + WORDS_SHARE * words


def _roots_of(passage: SourceBlock, passages: Iterable[SourceBlock]) -> frozenset[str]:
    """The roots of all that stands in the document of a passage, and over it."""
    same = (other for other in passages if other.source.title == passage.source.title)
    return frozenset(roots(passage.above)).union(*(own for other in same for own in other.own))


def _weights(asked_roots: frozenset[str], passages: Sequence[SourceBlock]) -> dict[str, float]:
    """Share of each question word in the question's meaning: rare words count more (BM25's idf)."""
    sentences = [own for passage in passages for own in passage.own]
    counts = Counter(root for own in sentences for root in own & asked_roots)
    total = len(sentences)
    idf = {root: math.log(1 + (total - counts[root] + 0.5) / (counts[root] + 0.5)) for root in asked_roots}
    whole = sum(idf.values())
    return {root: value / whole for root, value in idf.items()}


def _by_words(passage: SourceBlock, weights: dict[str, float], question: str) -> list[float]:
    """Weighted coverage of the question by each sentence, its heading and its neighbours, in [0, 1]."""
    above = frozenset(roots(" ".join((passage.above, *passage.announced))))
    near = frozenset(root for block in passage.near for unit in block.units for root in roots(unit))
    scores = []
    for text, own in zip(passage.block.units, passage.own, strict=True):
        covered = 0.0
        for root, weight in weights.items():
            if root in own:
                covered += weight
            elif root in above:
                covered += weight * IN_HEADING
            elif root in near:
                covered += weight * IN_NEIGHBOUR
        if not own - weights.keys():  # says nothing that the question did not say
            covered *= 0.3
        elif _is_of_type(question, text):
            covered += TYPE_BONUS
        scores.append(min(covered, 1.0))
    return scores


def _is_of_type(question: str, text: str) -> bool:
    """Whether a number or a name stands in *text* where *question* asks for one."""
    kinds = ((_NUMBER_ASKED, _NUMBER), (_NAME_ASKED, _NAME))
    return any(asks(question, asked) and given.search(text) for asked, given in kinds)


def _span(passage: SourceBlock, readings: dict[str, tuple[float, Reading]]) -> str:
    """The first line of what the reader takes for the answer in the chunk of a passage; empty where it read nothing."""
    reading = readings[passage.whole][1] if passage.whole in readings else None
    return passage.whole[slice(*reading.answer)].split("\n")[0] if reading and reading.answer else ""


def _quoted(
    question: str,
    passage: SourceBlock,
    weights: dict[str, float],
    similarity: Similarity | None,
    score: float,
    span: str = "",
) -> list[Quote]:
    """The sentences of a passage that answer, in order, as far as the one of the reader's *span*."""
    block, number, prefix = passage.block, passage.source.number, passage.source.prefix
    units = list(block.units)
    cosines = similarity(question, [f"{passage.above}: {unit}" for unit in units]) if similarity else None
    words = _by_words(passage, weights, question)
    scores = [_score(words[at], cosines[at] if cosines else None) for at in range(len(units))]
    exact = [*codes(question), *verbatim(question)]
    holds = [bool(exact) and all(each.search(plain_hyphens(unit)) for each in exact) for unit in units]
    best = max(
        range(len(units)), key=lambda at: (holds[at], scores[at] + SPAN_BONUS * (bool(span) and span in units[at]))
    )
    wants_one = asks(question, _NUMBER_ASKED) or asks(question, _NAME_ASKED)
    if block.kind == "list" and not wants_one:
        chosen = _items(best, block)
    elif wants_one or block.kind != "text":
        chosen = range(best, best + 1)
    else:
        chosen = _around(best, units, scores)
    chosen = _completed(question, block, chosen, span)
    announces = block.kind == "table" or (block.kind == "list" and len(chosen) > 1)
    lead = [Quote(block.lead, number, score, prefix=prefix)] if block.lead and announces else []
    quotes = [Quote(units[at], number, scores[at], block.after[at], prefix) for at in chosen]
    below = passage.below
    ends = chosen.stop == len(units) and "table" not in {block.kind, below.kind if below else None}
    announced = not wants_one and block.kind == "text" and _is_open(units[-1])
    announced = announced and below is not None and (below.kind, below.heading) == ("list", block.heading)
    if below is not None and ends and (announced or not _says(question, [units[at] for at in chosen])):
        also = _items(0, below) if below.kind == "list" else _completed(question, below, range(1), span)
        quotes[-1] = replace(quotes[-1], after="\n")
        quotes += [Quote(below.units[at], number, score, below.after[at], prefix) for at in also]
    return [*lead, *quotes]


def _says(question: str, said: Sequence[str]) -> bool:
    """Whether sentences say something: the last one announces nothing, and a number or name that is asked for is there.

    >>> _says("How long is it?", ["Do this:"]), _says("How long is it?", ["It is long."]), _says("Is it?", ["It is."])
    (False, False, True)
    """
    if not said or said[-1].rstrip("*_` ").endswith((":", "?")):
        return False
    kinds = ((_NUMBER_ASKED, _NUMBER_GIVEN), (_NAME_ASKED, _NAME))
    return all(any(map(given.search, said)) for asked, given in kinds if asks(question, asked))


def _is_open(sentence: str) -> bool:
    """Whether *sentence* ends without a stop: what stands below it belongs to it."""
    return sentence.rstrip("*_`\"')] ")[-1:].isalnum()


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("*_` ").endswith("?")


def _completed(question: str, block: Block, chosen: range, span: str) -> range:
    """*chosen* of a block's sentences, with those behind it that it needs, and without a question before them.

    It goes as far as the reader's *span* where that begins a sentence or two behind it.
    """
    units, first, last = block.units, chosen.start, chosen.stop - 1
    if block.kind not in {"text", "list"}:
        return chosen
    needed = [at for at in range(last + 1, min(last + 1 + MOST_MORE, len(units))) if span and span in units[at]]
    while last + 1 < len(units) and last + 1 < chosen.stop + MOST_MORE:
        if _says(question, units[first : last + 1]) and not (needed and last < needed[-1]):
            break
        if sum(map(len, units[first : last + 2])) > MAX_CHARACTERS:
            break
        last += 1
    while first < last and _is_question(units[first]):
        first += 1
    return range(first, last + 1)


def _items(best: int, block: Block) -> range:
    """The first items of a list, six at most, or those from the *best* one on where it comes later."""
    ends = [at + 1 for at, after in enumerate(block.after) if after == "\n"]
    starts = [0, *ends]
    first = 0 if best < ends[min(len(ends), MAX_ITEMS) - 1] else max(start for start in starts if start <= best)
    last = [end for end in ends if end > first][:MAX_ITEMS][-1]
    return range(first, last)


def _around(best: int, units: Sequence[str], scores: Sequence[float]) -> range:
    """The run of sentences around the *best* one that say half as much of the answer, as far as there is room."""
    first, last = best, best
    while last - first + 1 < MAX_SENTENCES:
        ways = [at for at in (first - 1, last + 1) if 0 <= at < len(units) and scores[at] >= NEAR * scores[best]]
        at = max(ways, key=lambda at: (scores[at], at), default=None)
        if at is None or sum(map(len, units[min(first, at) : max(last, at) + 1])) > MAX_CHARACTERS:
            break
        first, last = min(first, at), max(last, at)
    return range(first, last + 1)
