"""Sentences that differ from their source in who does what, or do not: the first thing that a reader of claims learns.

Zhang, Baldridge and He, "PAWS: Paraphrase Adversaries from Word Scrambling", 2019: models that never saw two sentences
of the same words with another meaning judge by the words they share.  Here a false sentence is its source with two
names, numbers or words in each other's place, or with a number or name of a neighbour; a true one is its source with a
clause moved, an aside left out, or the two sides of "and" in the other order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from models.reader.data import Row, Unit

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'-]+(?:\s+(?:of\s+)?[A-Z][\w'-]+)*")
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,.]*\d|(?<![\w.,-])\d(?![\w])")
_WORD = re.compile(r"\b[a-z]{4,}\b")
_LEADING = re.compile(
    r"^((?:In|At|On|After|Before|During|When|While|If|Although|Because|By|Since|For|With)\b[^,]{3,80}), (.+?)([.!?])$"
)
_TRAILING = re.compile(
    r"^([A-Z][^,]{8,120}?) ((?:in|on|during|after|before|because|when|while|since|until|although|if) [^,;:]{4,80})\.$"
)
_ASIDE = re.compile(r" \([^()]{2,80}\)| (?:also|however|then|usually|mainly|later|now)\b(?=[ ,])")
_AND = re.compile(r"\b([a-z]{3,}) and ([a-z]{3,})\b")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
        about above after again against also although always among another because been before being below between both
        cannot could does doing down during each either else even ever every following from further have having here
        however into itself just least less like made make many might more most much must near neither never next none
        once only other over same several shall should since some such than that their them then there these they this
        those three through under until upon very were what when where whether which while whom whose will with within
        without would your
        """,
    )
)


def sentences(text: str) -> list[str]:
    """The sentences of *text* that are long enough to turn round, and short enough to be one.

    >>> sentences("The old mill on the river was built in 1820. Yes. It burned.")
    ['The old mill on the river was built in 1820.']
    """
    return [each for each in _SENTENCE.split(" ".join(text.split())) if 7 <= len(each.split()) <= 45]


def turned(sentence: str, rng: Random) -> str | None:
    """*sentence* with two names, two numbers or two words in each other's place; None where it has no two.

    >>> turned("In May the firm sold 20 pumps and 30 valves.", Random(1))
    'In May the firm sold 20 valves and 30 pumps.'
    """
    kinds = [_NAME, _NUMBER, _WORD, _WORD]
    rng.shuffle(kinds)
    for kind in kinds:
        found = [each for each in kind.finditer(sentence) if each[0] not in _COMMON]
        pairs = [
            (one, other)
            for place, one in enumerate(found)
            for other in found[place + 1 :]
            if one[0].lower() != other[0].lower()
            and _alike(one[0], other[0])
            and f"{one[0]} and {other[0]}" not in sentence
            and f"{one[0]} or {other[0]}" not in sentence
        ]
        if pairs:
            one, other = rng.choice(pairs)
            return (
                sentence[: one.start()]
                + other[0]
                + sentence[one.end() : other.start()]
                + one[0]
                + sentence[other.end() :]
            )
    return None


def _alike(one: str, other: str) -> bool:
    ends = ("ing", "ed", "ly", "s", "al", "ive", "ous", "ion")
    return one[0].isupper() or one[0].isdigit() or all(one.endswith(end) == other.endswith(end) for end in ends)


def borrowed(sentence: str, neighbours: str, rng: Random) -> str | None:
    """*sentence* with a number or a name of its *neighbours* in place of one in it; None where there is none.

    >>> borrowed("The red pump costs 20 pounds.", "The blue one costs 35.", Random(1))
    'The red pump costs 35 pounds.'
    """
    kinds = [_NAME, _NUMBER]
    rng.shuffle(kinds)
    for kind in kinds:
        own = list(kind.finditer(sentence))
        others = sorted({each[0] for each in kind.finditer(neighbours)} - {each[0] for each in own})
        others = [each for each in others if each not in sentence]
        if own and others:
            place = rng.choice(own)
            return sentence[: place.start()] + rng.choice(others) + sentence[place.end() :]
    return None


def moved(sentence: str, rng: Random) -> str | None:
    """*sentence* said in another order, or with less, and still true; None where it offers nothing.

    >>> moved("In 1820, the old mill on the river was built.", Random(1))
    'The old mill on the river was built in 1820.'
    """
    ways = [_lead_to_the_end, _end_to_the_front, _without_aside, _and_turned]
    rng.shuffle(ways)
    for way in ways:
        made = way(sentence, rng)
        if made and made != sentence:
            return made
    return None


def _lead_to_the_end(sentence: str, _rng: Random) -> str | None:
    found = _LEADING.match(sentence)
    if not found or "," in found[2][-30:]:
        return None
    return f"{found[2][0].upper()}{found[2][1:]} {found[1][0].lower()}{found[1][1:]}{found[3]}"


def _end_to_the_front(sentence: str, _rng: Random) -> str | None:
    found = _TRAILING.match(sentence)
    if not found:
        return None
    first = found[1].split()[0]
    rest = (
        found[1]
        if first.lower() not in {"the", "a", "an", "it", "he", "she", "they", "this", "these"}
        else (found[1][0].lower() + found[1][1:])
    )
    return f"{found[2][0].upper()}{found[2][1:]}, {rest}."


def _without_aside(sentence: str, _rng: Random) -> str | None:
    made = _ASIDE.sub("", sentence, count=1)
    return made if made != sentence else None


def _and_turned(sentence: str, rng: Random) -> str | None:
    found = [each for each in _AND.finditer(sentence) if _alike(each[1], each[2]) and not set(each.groups()) & _COMMON]
    if not found:
        return None
    each = rng.choice(found)
    return f"{sentence[: each.start()]}{each[2]} and {each[1]}{sentence[each.end() :]}"


def units(passages: Iterable[str], rng: Random, *, most: int = 2) -> Iterator[Unit]:
    """Up to *most* true and false sentences a passage, each pair with one to three sentences around its source."""
    for passage in passages:
        split = sentences(passage)
        rng.shuffle(split)
        for source in split[:most]:
            evidence = _around(source, passage, rng)
            true = moved(source, rng) if rng.random() < 0.8 else None
            false = borrowed(source, evidence.replace(source, ""), rng) if rng.random() < 0.3 else None
            false = false or turned(source, rng)
            if not false:
                continue
            if rng.random() < 0.5:  # else a sentence that reads oddly would be the false one
                evidence, true, false = evidence.replace(source, false), false, true or source
            yield [
                Row(true or source, evidence, "swaps", support="supported"),
                Row(false, evidence, "swaps", support="contradicted"),
            ]


def asked_of_another(question: str, passage: str, elsewhere: str, rng: Random) -> str | None:
    """*question* with another name or number, of its *passage* or of a text *elsewhere*; it mostly has no answer.

    >>> asked_of_another("When did Ada Byron leave?", "Ada Byron left early.", "Then Karl Marx came.", Random(1))
    'When did Karl Marx leave?'
    """
    kinds = [_NAME, _NUMBER]
    rng.shuffle(kinds)
    for kind in kinds:
        own = [each for each in kind.finditer(question) if each[0] in passage]
        for text in rng.sample([passage, elsewhere], 2):
            others = sorted({each[0] for each in kind.finditer(text) if each[0] not in question})
            if text is elsewhere:
                others = [each for each in others if each not in passage]
            if own and others:
                place = rng.choice(own)
                return question[: place.start()] + rng.choice(others) + question[place.end() :]
    return None


def near_questions(rows: Sequence[Row], rng: Random) -> Iterator[Unit]:
    """The answered questions among *rows*, each asked of another name or number, where it names one."""
    for row in rows:
        if row.answerable and row.span:
            made = asked_of_another(row.query, row.passage, rng.choice(rows).passage, rng)
            if made:
                yield [Row(made, row.passage, "swaps", answerable=False)]


def _around(source: str, passage: str, rng: Random) -> str:
    whole = _SENTENCE.split(" ".join(passage.split()))
    place = whole.index(source)
    before, after = rng.choice([(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)])
    return " ".join(whole[max(0, place - before) : place + after + 1])
