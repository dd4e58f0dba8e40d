"""Relations: whether a sentence says something else in the words of its evidence.

Cause and effect, before and after, more and less, who does what to whom: rules over word order, without a parser.  They
apply to sentences that share most words, so they run after the words were compared.
"""

import re
from collections.abc import Callable, Sequence

from groundcheck.clauses import (
    CLAUSE_ENDS,
    JOINS,
    OPPOSITES,
    Finding,
    Kind,
    active,
    changed_attribution,
    changed_condition,
    changed_modality,
    changed_quantifier,
    content,
    plain_sentences,
    sequence,
    tokens,
)
from groundcheck.sentences import stem

MIN_ACTOR_LETTERS = 4  # a shorter word that changed is seldom an actor: units, abbreviations


def changed_relation(claim: str, evidence: str) -> Finding | None:
    """What *claim* changes of the relations in *evidence*, which shares its words; None if nothing.

    >>> changed_relation("Rain fell because the road was closed.", "The road was closed because rain fell.")
    Finding(kind='cause', verdict='contradicted')
    >>> changed_relation("The pump leaks.", "The pump may leak.")
    Finding(kind='modality', verdict='unsupported')
    >>> changed_relation("The road was closed because rain fell.", "Because rain fell, the road was closed.")
    """
    found = [each for rule in _RULES for each in [rule(claim, evidence)] if each is not None]
    return min(found, key=lambda each: ("contradicted", "unsupported", "open").index(each.verdict), default=None)


# Pairs: two clauses and what joins them.

_CAUSES = (
    (re.compile(r"^(?:because|since|as|due to|owing to|thanks to) (.+?), (?:so )?(.+)$"), False),
    (
        re.compile(r"^(.+?),? (?:because(?: of)?|since|due to|owing to|on account of|as a result of|thanks to) (.+)$"),
        True,
    ),
    (re.compile(r"^(.+?),? (?:so that|so|therefore|thus|hence|consequently|which is why|that is why) (.+)$"), False),
    (
        re.compile(
            r"^(.+?) (?:often |usually |sometimes |may |might |can |could )?(?:caus(?:e|es|ed)|forc(?:e|es|ed)|"
            r"le(?:d|ad|ads) to|result(?:s|ed)? in|trigger(?:s|ed)?) (.+)$"
        ),
        False,
    ),
)
"""Patterns of a cause and its effect; True if the effect comes first."""
_ORDERS = (
    (re.compile(r"^(?:before|until) (.+?), (.+)$"), True),
    (re.compile(r"^(?:only )?(?:after|once|as soon as) (.+?), (.+)$"), False),
    (re.compile(r"^(.+?),? (?:before|until|prior to|ahead of) (.+)$"), False),
    (re.compile(r"^(.+?),? (?:only )?(?:after|once|as soon as|following) (.+)$"), True),
    (re.compile(r"^(.+?),? (?:and )?then (.+)$"), False),
)
"""Patterns of what is earlier and what is later; True if the later comes first."""

Pair = tuple[frozenset[str], frozenset[str]]


def _cause(claim: str, evidence: str) -> Finding | None:
    return _turned(claim, evidence, _CAUSES, "cause")


def _order(claim: str, evidence: str) -> Finding | None:
    return _turned(claim, evidence, _ORDERS, "order")


def _turned(claim: str, evidence: str, patterns: Sequence[tuple[re.Pattern[str], bool]], kind: Kind) -> Finding | None:
    said, shown = _pairs(claim, patterns), _pairs(evidence, patterns)
    if not said:
        return None
    if not shown:
        return Finding(kind, "open")
    votes = [_votes(one, two) for one in said for two in shown]
    straight, crossed = max(votes, key=sum)
    if crossed > straight:
        return Finding(kind, "contradicted")
    return Finding("roles", "contradicted") if crossed > 1 else None


def _votes(one: Pair, two: Pair) -> tuple[int, int]:
    """How many words stand on the same side of both pairs, and how many on the other."""
    words = (one[0] ^ one[1]) & (two[0] ^ two[1])
    straight = sum((word in one[0]) == (word in two[0]) for word in words)
    return straight, len(words) - straight


def _pairs(text: str, patterns: Sequence[tuple[re.Pattern[str], bool]]) -> list[Pair]:
    found = []
    for sentence in plain_sentences(text):
        for pattern, turned in patterns:
            match = pattern.match(sentence)
            if match:
                first, second = content(match[1]), content(match[2])
                if first and second:
                    found.append((second, first) if turned else (first, second))
                break
    return found


# Comparisons: "X is heavier than Y".

_THAN = re.compile(r"^(.+?)\b(more|less|fewer|\w{2,}er|worse|better)\b ?((?:\w+ ){0,3}?)than (.+)$")
_SPEEDS = frozenset({"slower", "slowly", "faster", "quickly", "fast"})
_FEWER = frozenset({"less", "fewer", "worse"})


def _comparison(claim: str, evidence: str) -> Finding | None:
    said, shown = _comparisons(claim), _comparisons(evidence)
    if not said:
        return None
    if not shown:
        return Finding("comparison", "open")
    for left, right, word, less in said:
        for other_left, other_right, other_word, other_less in shown:
            straight, crossed = _votes((left, right), (other_left, other_right))
            opposed = less != other_less or other_word in OPPOSITES.get(word, ()) or _slower(word, other_word)
            if straight + crossed and (crossed >= max(straight, 1)) != opposed:
                return Finding("comparison", "contradicted")
    return None


def order_is_visible(claim: str, evidence: str) -> bool:
    """Whether the words of *claim* stand in the order of *evidence*, so that rules see how they belong together.

    The first part of one may be the last of the other, and a passive may be active.

    >>> order_is_visible("In the yard, dogs chase cats.", "Dogs chase cats in the yard.")
    True
    >>> order_is_visible("Dogs chase cats.", "Cats are chased by dogs.")
    True
    >>> order_is_visible("Cats follow the dogs.", "The dogs follow the cats.")
    False
    """
    shown = sequence(active(evidence))
    words = [word for word in sequence(active(claim)) if word in shown]
    return any(_in_order([*words[turn:], *words[:turn]], shown) for turn in range(max(1, len(words))))


def _in_order(words: Sequence[str], shown: Sequence[str]) -> bool:
    left = iter(shown)
    return all(word in left for word in words)


def turned_comparison(claim: str, evidence: str) -> bool:
    """Whether *claim* compares the same things as *evidence* the other way round, with the opposite word.

    >>> turned_comparison("The new pump is lighter than the old one.", "The old pump is heavier than the new one.")
    True
    """
    return any(
        crossed >= max(straight, 1) and (other_word in OPPOSITES.get(word, ()) or less != other_less)
        for left, right, word, less in _comparisons(claim)
        for other_left, other_right, other_word, other_less in _comparisons(evidence)
        for straight, crossed in [_votes((left, right), (other_left, other_right))]
    )


def _slower(one: str, other: str) -> bool:
    return {one, other} <= _SPEEDS and one.startswith("slow") != other.startswith("slow")


def _comparisons(text: str) -> list[tuple[frozenset[str], frozenset[str], str, bool]]:
    found = []
    for sentence in plain_sentences(text):
        match = _THAN.match(sentence)
        if match:
            left, right = content(match[1]), content(match[4])
            word = (match[3].split() or [match[2]])[-1] if match[2] in {"more", "less", "fewer"} else match[2]
            found.append((left - right, right - left, word, match[2] in _FEWER))
    return found


# Roles: who does what to whom.


def _roles(claim: str, evidence: str) -> Finding | None:
    said = sequence(claim)
    for sentence in plain_sentences(evidence):
        shown = sequence(sentence)
        common = [word for word in said if word in shown and said.count(word) == shown.count(word) == 1]
        if len(common) < 3 or _passive(claim) != _passive(sentence):
            continue
        places = [shown.index(word) for word in common]
        for first in range(len(common) - 2):
            for last in range(first + 2, len(common)):
                if places[last] >= places[first]:
                    continue
                between = [place for place in places[first + 1 : last] if places[last] < place < places[first]]
                if between and not _joined(sentence, common[last], common[first]):
                    return Finding("roles", "contradicted")
    return None


def _joined(sentence: str, one: str, other: str) -> bool:
    """Whether a word that joins clauses or lists stands between two stems, so that they may change places."""
    words = tokens(sentence)
    stems = [stem(token) for token in words]
    if one not in stems or other not in stems:
        return True
    start, end = sorted((stems.index(one), stems.index(other)))
    return any(token in JOINS or token in CLAUSE_ENDS for token in words[start:end])


def _passive(text: str) -> int:
    return len(re.findall(r"\bby\b", text.casefold()))


def other_actor(claim: str, sentence: str, rest: str) -> bool:
    """Whether *claim* begins with another actor than *sentence*, one of whom the *rest* of the text speaks.

    >>> other_actor("Roasters dry the cherries.", "Farmers dry the cherries.", "Roasters buy them.")
    True
    """
    said, shown = sequence(claim), sequence(sentence)
    actor = said[0] if said else ""
    if len(actor) < MIN_ACTOR_LETTERS or actor in shown:
        return False
    speaks = any(sequence(other)[:1] == (actor,) for other in plain_sentences(rest))
    left_out = [word for word in shown if word not in said]
    return speaks and _same_place(actor, said, shown, left_out)


def _same_place(word: str, said: Sequence[str], shown: Sequence[str], left_out: Sequence[str]) -> bool:
    """Whether the words around *word* stand around a word that is left out, in the other sentence."""
    at = said.index(word)
    before, behind = (said[at - 1] if at else None), (said[at + 1] if at + 1 < len(said) else None)
    for other in left_out:
        place = shown.index(other)
        same_before = (shown[place - 1] if place else None) == before
        same_behind = (shown[place + 1] if place + 1 < len(shown) else None) == behind
        if same_before and same_behind:
            return True
    return False


Rule = Callable[[str, str], Finding | None]
_RULES: tuple[Rule, ...] = (
    _cause,
    _order,
    _comparison,
    _roles,
    changed_modality,
    changed_quantifier,
    changed_condition,
    changed_attribution,
)
