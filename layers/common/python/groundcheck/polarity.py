"""Negation and opposites: whether a sentence contradicts its evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from groundcheck.languages import in_english
from groundcheck.sentences import STOP_WORDS, stem

_NEGATING_WORDS = (
    "not never no none nobody nothing nowhere neither nor without cannot hardly barely n't lacks lack lacked"
)
NEGATIONS = frozenset(_NEGATING_WORDS.split())
SCOPE_WORDS = 3  # how many meaningful words behind a negation it is taken to deny
_OPPOSITES = (
    "increase decrease",
    "increases decreases",
    "increased decreased",
    "increasing decreasing",
    "higher lower",
    "high low",
    "more less",
    "more fewer",
    "most least",
    "most fewest",
    "highest lowest",
    "longer shorter",
    "longest shortest",
    "greater smaller",
    "greatest smallest",
    "newest oldest",
    "stronger weaker",
    "strongest weakest",
    "heavier lighter",
    "better worse",
    "largely hardly",
    "added removed",
    "included excluded",
    "includes excludes",
    "supported opposed",
    "import export",
    "imported exported",
    "legal illegal",
    "likely unlikely",
    "possible impossible",
    "son daughter",
    "brother sister",
    "mother father",
    "northwest southeast",
    "northeast southwest",
    "larger smaller",
    "large small",
    "largest smallest",
    "above below",
    "over under",
    "always never",
    "first last",
    "early late",
    "earlier later",
    "north south",
    "northern southern",
    "east west",
    "eastern western",
    "enable disable",
    "enabled disabled",
    "enables disables",
    "allow forbid",
    "allowed forbidden",
    "rise fall",
    "rose fell",
    "win lose",
    "won lost",
    "minimum maximum",
    "best worst",
    "older younger",
    "oldest youngest",
    "faster slower",
    "open closed",
    "opened closed",
    "true false",
    "begin end",
    "began ended",
    "starts ends",
    "male female",
    "internal external",
    "inside outside",
    "left right",
    "upper lower",
    "positive negative",
    "required optional",
    "public private",
    "with without",
    "accepted rejected",
    "majority minority",
)
OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in _OPPOSITES:
    for _word, _other in (_pair.split(), _pair.split()[::-1]):
        OPPOSITES[_word] = OPPOSITES.get(_word, frozenset()) | {_other}

_TOKEN = re.compile(r"(?:(?!n['’]t)\w)+(?=n['’]t\b)|n['’]t\b|\w+(?:[.,:/-]\w+)*|[,;:.()]", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"\n]+"|“[^”\n]+”')
_NO_DENIAL = re.compile(
    r"(?:\bnot|n['’]t) (?:only|just|merely|necessarily)\b|\bno\.\s?(?=\d)|\bno doubt\b|\bnotwithstanding\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Denial:
    """A negation and the stems of the words that it denies, nearest first."""

    words: tuple[str, ...]


def denials(text: str) -> list[Denial]:
    """The negations of *text*.

    >>> denials("It doesn't leak, and it was not only red.")
    [Denial(words=('leak',))]
    """
    return list(_denials(text))


@lru_cache(maxsize=4_096)
def _denials(text: str) -> tuple[Denial, ...]:
    tokens = [token.casefold().replace("’", "'") for token in _TOKEN.findall(_NO_DENIAL.sub(" ", text))]
    return tuple(Denial(_scope(tokens[place + 1 :])) for place, token in enumerate(tokens) if token in NEGATIONS)


def contradicts(claim: str, evidence: str) -> bool:
    """Whether one denies what the other says: a "not" that only one of them has, or a word and its opposite.

    >>> contradicts("The pump is red.", "The pump is not red."), contradicts("It is red.", "It is red, not blue.")
    (True, False)
    >>> contradicts("Sales increased in May.", "Sales decreased in May.")
    True
    """
    claim, evidence = _without_shared_quotes(in_english(claim), in_english(evidence))
    said, shown = _stems(claim), _stems(evidence)
    ours, theirs = denials(claim), denials(evidence)
    for denial in ours:
        if not _matched(denial, theirs) and (not denial.words or any(word in shown for word in denial.words)):
            return True
    for denial in theirs:
        if denial.words and denial.words[0] in said and not _matched(denial, ours):
            return True
    return _opposed(claim, evidence)


def _without_shared_quotes(claim: str, evidence: str) -> tuple[str, str]:
    """Both without the quotations that stand in both: a "not" inside a title denies nothing around it."""
    for quote in _QUOTED.findall(claim):
        if quote.casefold() in evidence.casefold():
            claim = claim.replace(quote, '""')
            evidence = re.sub(re.escape(quote), '""', evidence, flags=re.IGNORECASE)
    return claim, evidence


def _opposed(claim: str, evidence: str) -> bool:
    said, shown = _words(claim), _words(evidence)
    return any(
        word in OPPOSITES and word not in shown and bool(OPPOSITES[word] & shown) and not OPPOSITES[word] & said
        for word in said
    )


def _matched(denial: Denial, others: Sequence[Denial]) -> bool:
    return any(not denial.words or not other.words or set(denial.words) & set(other.words) for other in others)


def _scope(tokens: Sequence[str]) -> tuple[str, ...]:
    words: list[str] = []
    for token in tokens:
        if token in {",", ";", ":", ".", "(", ")", "but"} or len(words) == SCOPE_WORDS:
            break
        if token not in STOP_WORDS and token not in NEGATIONS:
            words.append(stem(token))
    return tuple(words)


@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    return frozenset(token.casefold() for token in _TOKEN.findall(text) if token[0].isalnum())


@lru_cache(maxsize=4_096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, _words(text)))
