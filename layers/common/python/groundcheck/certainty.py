"""Certainty: how surely, how many, under which condition and by whose word a sentence says something."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundcheck.clauses import CLAUSE_ENDS, LINKS, Finding, content, folded, overlap, plain_sentences, tokens
from groundcheck.languages import in_english
from groundcheck.polarity import NEGATIONS
from groundcheck.sentences import STOP_WORDS, stem

SCOPE = 3  # content words behind a modal verb that it is taken to govern
HELD = 0.6  # share of a clause's words from which on it is taken to be told

# Modality: how surely, and whether one must.

_MODALS = {
    **dict.fromkeys(("may", "might", "could", "can", "possibly", "perhaps", "maybe", "able", "allowed"), "possible"),
    **dict.fromkeys(
        ("probably", "likely", "should", "would", "expected", "suspect", "suspects", "suspected"), "likely"
    ),
    **dict.fromkeys(("believe", "believes", "believed", "seems", "seem", "appears", "appear", "apparently"), "likely"),
    **dict.fromkeys(("doubt", "doubts", "doubted"), "doubtful"),
    **dict.fromkeys(("plan", "plans", "planned", "intends", "intend", "hopes", "hope", "wants", "aims"), "planned"),
    "will": "future",
    **dict.fromkeys(("must", "required", "obliged", "needs", "need"), "necessary"),
}
_HAVE_TO = re.compile(r"\b(?:has|have|had) to\b")


def changed_modality(claim: str, evidence: str) -> Finding | None:
    """Whether what may be or must be is told as what is.

    >>> changed_modality("The pump leaks.", "The pump may leak.")
    Finding(kind='modality', verdict='unsupported')
    """
    said, shown = list(_governed(claim)), list(_governed(evidence))
    words = content(claim)
    free = content(_without_modals(evidence))
    for sort, scope in shown:
        if not scope or scope[0] not in words or scope[0] in free:
            continue
        ours = [other for other, theirs in said if scope[0] in theirs]
        if sort == "future":
            if not ours and any(stem(token) == scope[0] and token.endswith("ed") for token in tokens(folded(claim))):
                return Finding("modality", "unsupported")
            continue
        if not ours:
            return Finding("modality", "open" if sort == "necessary" else "unsupported")
        if sort not in ours and {"necessary", sort} & set(ours) and "necessary" in {sort, *ours}:
            return Finding("modality", "unsupported")
    for sort, scope in said:
        if sort == "necessary" and not any(scope[:1] and scope[0] in theirs for _, theirs in shown):
            return Finding("modality", "open")
    return None


def _governed(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each modal word of *text*, by its sort, with the stems of the words behind it that it governs."""
    told = tokens(_HAVE_TO.sub("must", folded(text)))
    for place, token in enumerate(told):
        sort = _MODALS.get(token)
        if sort is None:
            continue
        scope: list[str] = []
        for word in told[place + 1 :]:
            if word in CLAUSE_ENDS or len(scope) == SCOPE or (scope and word in LINKS):
                break
            if word not in STOP_WORDS and word not in NEGATIONS and word not in _MODALS:
                scope.append(stem(word))
        yield sort, tuple(scope)


def _without_modals(text: str) -> str:
    """*text* without the words that a modal word governs: what it says for sure."""
    kept, left = [], 0
    for token in tokens(_HAVE_TO.sub("must", folded(text))):
        if token in _MODALS:
            left = SCOPE
        elif token in CLAUSE_ENDS:
            left = 0
        elif left and token not in STOP_WORDS:
            left -= 1
        else:
            kept.append(token)
    return " ".join(kept)


# Quantifiers: how many, how often, and only.


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALL = _words_of("all every each always everyone everybody everything entirely completely any whenever")
_MOST = _words_of("most mostly mainly usually often majority largely typically generally primarily chiefly")
_SOME = _words_of("some several few many sometimes certain occasionally rarely seldom partly hardly")
_ONLY = _words_of("only exclusively solely")


def changed_quantifier(claim: str, evidence: str) -> Finding | None:
    """Whether more is told of, or more often, or nothing else, than there.

    >>> changed_quantifier("All pumps leak.", "Some pumps leak.")
    Finding(kind='quantifier', verdict='contradicted')
    """
    said, shown = frozenset(tokens(folded(claim))), frozenset(tokens(folded(evidence)))
    if said & _ALL and not shown & _ALL:
        return Finding("quantifier", "contradicted" if shown & (_MOST | _SOME) else "unsupported")
    if said & _MOST and not shown & (_MOST | _ALL) and shown & _SOME:
        return Finding("quantifier", "unsupported")
    if said & _ONLY and not shown & _ONLY:
        return Finding("quantifier", "contradicted" if shown & (_MOST | _SOME) else "open")
    if shown & (_MOST | _SOME) and not said & (_MOST | _SOME | _ALL):
        return Finding("quantifier", "open")
    return _bounds(claim, evidence)


_BOUND = re.compile(
    r"\b(at least|no less than|a minimum of|from|over|more than|at most|up to|no more than|a maximum of|under|"
    r"less than|fewer than|within|about|around|nearly|almost)? ?(?:\w+ )?(\d[\d.,]*)"
)
_LOWER = frozenset(("at least", "no less than", "a minimum of", "from", "over", "more than"))
_UPPER = frozenset(("at most", "up to", "no more than", "a maximum of", "under", "less than", "fewer than", "within"))


def _bounds(claim: str, evidence: str) -> Finding | None:
    shown = {match[2]: match[1] for match in _BOUND.finditer(evidence.casefold())}
    for match in _BOUND.finditer(claim.casefold()):
        bound, other = match[1], shown.get(match[2])
        if match[2] not in shown or bound == other:
            continue
        if (bound in _LOWER and other in _UPPER) or (bound in _UPPER and other in _LOWER):
            return Finding("quantifier", "contradicted")
        return Finding("quantifier", "open")
    return None


# Conditions: "X unless Y".

_IF = re.compile(
    r"^(.+?),? (only if|even if|if|unless|provided(?: that)?|as long as|except(?: if| when)?|"
    r"(?:but )?only when) (.+)$"
)
_IF_FIRST = re.compile(r"^(only if|even if|if|unless|provided(?: that)?|as long as|except(?: if| when)?) (.+?), (.+)$")
_WHEN = re.compile(r"^(.+?),? (whenever|when|without|with|while|during) (.+)$")


def changed_condition(claim: str, evidence: str) -> Finding | None:
    """Whether a condition is left out or turned.

    >>> changed_condition("The pump stops.", "The pump stops if the filter is dirty.")
    Finding(kind='condition', verdict='unsupported')
    """
    words = content(claim)
    said = [each for sentence in plain_sentences(claim) for each in _conditions(sentence)]
    for sentence in plain_sentences(evidence):
        for main, marker, held in _conditions(sentence):
            if overlap(words, main) < HELD and overlap(main, words) < HELD:
                continue
            if said:
                if any((other == "even if") != (marker == "even if") for _, other, _ in said):
                    return Finding("condition", "contradicted")
                continue
            missing = held - main - words
            if marker.startswith("except") and held & words and not frozenset(tokens(folded(claim))) & NEGATIONS:
                return Finding("condition", "contradicted")
            if missing and len(missing) >= len(held - main) / 2:
                return Finding("condition", "unsupported")
        when = _WHEN.match(sentence)
        if when and not said and overlap(words, content(when[1])) >= HELD and not content(when[3]) & words:
            return Finding("condition", "open")
    return None


def _conditions(sentence: str) -> list[tuple[frozenset[str], str, frozenset[str]]]:
    """Main clause, marker and condition."""
    first = _IF_FIRST.match(sentence)
    if first:
        return [(content(first[3]), first[1], content(first[2]))]
    match = _IF.match(sentence)
    return [(content(match[1]), match[2], content(match[3]))] if match else []


# Attribution: by whose word.

_SAYING = (
    "say says said claim claims claimed think thinks thought believe believes believed suspect suspects suspected "
    "doubt doubts doubted report reports reported state states stated argue argues argued complain complains "
    "complained announce announced warn warns warned explain explains explained attribute attributes attributed "
    "predict predicts predicted estimate estimates estimated suggest suggests suggested hope hopes deny denies denied"
)
_SAYS = frozenset(_SAYING.split())
_ACCORDING = re.compile(r"\baccording to ([^,.;]+)|\bin ([^,.;]+?)['’]s? view", re.IGNORECASE)


def changed_attribution(claim: str, evidence: str) -> Finding | None:
    """Whether somebody else is said to say it: one of whom the evidence speaks, or one whom it does not know.

    >>> changed_attribution("The driver said that it leaks.", "The owner said to the driver that it leaks.")
    Finding(kind='attribution', verdict='contradicted')
    >>> changed_attribution("The driver said that it leaks.", "The owner said that it leaks.")
    Finding(kind='attribution', verdict='unsupported')
    """
    said, shown = _sources(claim), _sources(evidence)
    if not said:
        return Finding("attribution", "open") if shown else None
    if not shown:
        return Finding("attribution", "open")
    known = frozenset().union(*shown)
    if any(source & known for source in said):
        return None
    is_told_of = bool(frozenset().union(*said) & content(evidence))
    return Finding("attribution", "contradicted" if is_told_of else "unsupported")


def _sources(text: str) -> list[frozenset[str]]:
    """Who is said to say something, as stems."""
    found = [content(match[1] or match[2]) for match in _ACCORDING.finditer(text)]
    told = tokens(folded(text))
    for place, token in enumerate(told):
        if token not in _SAYS or told[place - 1 : place] in (["the"], ["a"], ["of"]):
            continue
        who: list[str] = []
        for word in reversed(told[:place]):
            if word in CLAUSE_ENDS or word in LINKS:
                break
            if word not in STOP_WORDS:
                who.append(stem(word))
        if who:
            found.append(frozenset(who[:2]))
    return [source for source in found if source]


# Operators: the small words that decide what the others say.

_OPERATORS: dict[str, str] = {
    **dict.fromkeys(NEGATIONS, "not"),
    **dict.fromkeys(
        _words_of("fail fails failed refuse refuses refused deny denies denied avoid avoids avoided"), "not"
    ),
    **_MODALS,
    **dict.fromkeys(_ALL, "all"),
    **dict.fromkeys(_MOST, "most"),
    **dict.fromkeys(_SOME, "some"),
    **dict.fromkeys(_ONLY, "only"),
    **dict.fromkeys(_words_of("if unless provided except otherwise"), "if"),
    **dict.fromkeys(_words_of("or either"), "or"),
    **dict.fromkeys(_words_of("almost nearly about around approximately roughly"), "about"),
    **dict.fromkeys(_words_of("more less fewer than"), "than"),
    **dict.fromkeys(_words_of("before until till prior"), "before"),
    **dict.fromkeys(_words_of("after once since following"), "after"),
    **dict.fromkeys(_words_of("because due owing therefore thus hence"), "because"),
}


def same_operators(claim: str, evidence: str) -> bool:
    """Whether the small words that decide what a sentence says are those of the clauses that it takes up.

    >>> same_operators("Kim or Lee left.", "Kim and Lee left.")
    False
    >>> same_operators("The pump leaks.", "The pump leaks, and the tank may burst.")
    True
    """
    claim, evidence = in_english(claim), in_english(evidence)
    new = frozenset(tokens(folded(claim))) - frozenset(tokens(folded(evidence)))
    return _operators(claim) == _operators(_taken_up(claim, evidence)) and not new & _DIRECTIONS


def is_denied(claim: str, evidence: str) -> bool:
    """Whether one of them denies and the other does not, whatever the negation stands before.

    >>> is_denied("Das Ventil schließt.", "Das Ventil schließt bei Frost nicht."), is_denied("It is.", "It is.")
    (True, False)
    """
    claim, evidence = in_english(claim), in_english(evidence)
    return ("not" in _operators(claim)) != ("not" in _operators(_taken_up(claim, evidence)))


def _taken_up(claim: str, evidence: str) -> str:
    """The clauses of *evidence* that share words with *claim*."""
    words = content(claim)
    clauses = (each for sentence in plain_sentences(evidence) for each in _CLAUSES.split(sentence))
    return " ".join(each for each in clauses if content(each) & words)


_CLAUSES = re.compile(r"[,;:]")
_DIRECTIONS = _words_of("into onto out off up down from toward towards through across between against under behind")


def _operators(text: str) -> frozenset[str]:
    return frozenset(_OPERATORS[token] for token in tokens(_HAVE_TO.sub("must", folded(text))) if token in _OPERATORS)
