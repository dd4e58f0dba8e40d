"""Clauses: what they deny, how surely, how many, under which condition and by whose word they say it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from groundcheck.sentences import STOP_WORDS, in_english, stem

Kind = Literal["cause", "order", "comparison", "roles", "condition", "attribution", "modality", "quantifier"]
Verdict = Literal["contradicted", "unsupported", "open"]
"""What a finding makes of a sentence; `open`: rules cannot decide."""

CLAUSE_ENDS = frozenset(",;:.()")
JOINS = frozenset("and or but so because since before after until while when if unless than".split())  # noqa: SIM905
LINKS = JOINS | {"that", "which", "who"}
SCOPE = 3  # content words behind a negation or a modal verb that it is taken to govern
SAME_CLAUSE = 0.6  # share of a clause's words from which on a sentence is taken to state it

_TOKEN = re.compile(r"\w+(?:['’.\-]\w+)*|[,;:.()]")
_NOT = re.compile(r"n['’]t\b")
_PASSIVE = re.compile(
    r"^(.*?)\b(?:is|are|was|were|be|been|being) (?:\w+ly )?(\w{2,}(?:ed|en|[nt])) ?(.*?)"
    r"\bby (.+?)(?= (?:in|on|at|from|to|for|with|during|of) |$)(.*)$"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A relation that a sentence changes, and how sure that is."""

    kind: Kind
    verdict: Verdict


def folded(text: str) -> str:
    """*text* in small letters, with "not" for "n't"."""
    return _NOT.sub(" not", text.casefold())


@lru_cache(maxsize=4_096)
def plain_sentences(text: str) -> tuple[str, ...]:
    """The sentences of *text* in small letters, without the full stop."""
    pieces = re.split(r"(?<=[.!?;])\s+", " ".join(folded(text).split()))
    return tuple(piece.rstrip(".!?; ") for piece in pieces if piece.strip())


@lru_cache(maxsize=4_096)
def tokens(text: str) -> list[str]:
    """The words of *text* and the marks that end clauses."""
    return _TOKEN.findall(text)


@lru_cache(maxsize=4_096)
def content(text: str) -> frozenset[str]:
    """The stems of the words of *text* that carry meaning."""
    return frozenset(sequence(text))


@lru_cache(maxsize=4_096)
def sequence(text: str) -> tuple[str, ...]:
    """The same in order, with repetitions.

    >>> sequence("The dog chases the cats.")
    ('dog', 'chas', 'cat')
    """
    return tuple(stem(token) for token in tokens(folded(text)) if token not in CLAUSE_ENDS and token not in STOP_WORDS)


def active(text: str) -> str:
    """*text* with the actor first in each passive clause that names one.

    >>> active("The pump was built in March by Kelly.")
    'kelly built the pump in march'
    """
    clauses = (piece for sentence in plain_sentences(text) for piece in re.split(r"(?<=[,;:])", sentence))
    return " ".join(_PASSIVE.sub(r"\4 \2 \1\3\5", piece.strip()) for piece in clauses).strip()


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of *one* that is in *other*."""
    return len(one & other) / len(one) if one else 0.0


# Negations and opposites: whether a sentence contradicts its evidence.

_NEGATING_WORDS = (
    "not never no none nobody nothing nowhere neither nor without cannot hardly barely n't lacks lack lacked"
)
NEGATIONS = frozenset(_NEGATING_WORDS.split())
_OPPOSITES = (
    "increase/decrease increases/decreases increased/decreased increasing/decreasing higher/lower high/low "
    "more/less more/fewer most/least most/fewest highest/lowest longer/shorter longest/shortest greater/smaller "
    "greatest/smallest newest/oldest stronger/weaker strongest/weakest heavier/lighter better/worse largely/hardly "
    "added/removed included/excluded includes/excludes supported/opposed import/export imported/exported "
    "legal/illegal likely/unlikely possible/impossible son/daughter brother/sister mother/father "
    "northwest/southeast northeast/southwest larger/smaller large/small largest/smallest above/below over/under "
    "always/never first/last early/late earlier/later north/south northern/southern east/west eastern/western "
    "enable/disable enabled/disabled enables/disables allow/forbid allowed/forbidden rise/fall rose/fell win/lose "
    "won/lost minimum/maximum best/worst older/younger oldest/youngest faster/slower open/closed opened/closed "
    "true/false begin/end began/ended starts/ends male/female internal/external inside/outside left/right "
    "upper/lower positive/negative required/optional public/private with/without accepted/rejected "
    "majority/minority"
)
OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in _OPPOSITES.split():
    for _word, _other in (_pair.split("/"), _pair.split("/")[::-1]):
        OPPOSITES[_word] = OPPOSITES.get(_word, frozenset()) | {_other}

_WORD_OR_NOT = re.compile(r"(?:(?!n['’]t)\w)+(?=n['’]t\b)|n['’]t\b|\w+(?:[.,:/-]\w+)*|[,;:.()]", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"\n]+"|“[^”\n]+”')
_NO_DENIAL = re.compile(
    r"(?:\bnot|n['’]t) (?:only|just|merely|necessarily)\b|\bno\.\s?(?=\d)|\bno doubt\b|\bnotwithstanding\b",
    re.IGNORECASE,
)

Denial = tuple[str, ...]
"""The stems of the words that a negation denies, nearest first."""


@lru_cache(maxsize=4_096)
def denials(text: str) -> tuple[Denial, ...]:
    """The negations of *text*.

    >>> denials("It doesn't leak, and it was not only red.")
    (('leak',),)
    """
    found = [token.casefold().replace("’", "'") for token in _WORD_OR_NOT.findall(_NO_DENIAL.sub(" ", text))]
    return tuple(_denied(found[place + 1 :]) for place, token in enumerate(found) if token in NEGATIONS)


def _denied(following: Sequence[str]) -> Denial:
    """The stems that a negation denies, of the tokens *following* it."""
    stems: list[str] = []
    for token in following:
        if token in {",", ";", ":", ".", "(", ")", "but"} or len(stems) == SCOPE:
            break
        if token not in STOP_WORDS and token not in NEGATIONS:
            stems.append(stem(token))
    return tuple(stems)


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
        if not _matched(denial, theirs) and (not denial or any(word in shown for word in denial)):
            return True
    for denial in theirs:
        if denial and denial[0] in said and not _matched(denial, ours):
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
    return any(not denial or not other or set(denial) & set(other) for other in others)


@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    return frozenset(token.casefold() for token in _WORD_OR_NOT.findall(text) if token[0].isalnum())


@lru_cache(maxsize=4_096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, _words(text)))


# Modality: how surely, and whether one must.

MODALS = {
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
    """Whether what may be or must be is stated as what is.

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
    found = tokens(_HAVE_TO.sub("must", folded(text)))
    for place, token in enumerate(found):
        sort = MODALS.get(token)
        if sort is None:
            continue
        scope: list[str] = []
        for word in found[place + 1 :]:
            if word in CLAUSE_ENDS or len(scope) == SCOPE or (scope and word in LINKS):
                break
            if word not in STOP_WORDS and word not in NEGATIONS and word not in MODALS:
                scope.append(stem(word))
        yield sort, tuple(scope)


def _without_modals(text: str) -> str:
    """*text* without the words that a modal word governs: what it says for sure."""
    sure, left = [], 0
    for token in tokens(_HAVE_TO.sub("must", folded(text))):
        if token in MODALS:
            left = SCOPE
        elif token in CLAUSE_ENDS:
            left = 0
        elif left and token not in STOP_WORDS:
            left -= 1
        else:
            sure.append(token)
    return " ".join(sure)


# Quantifiers: how many, how often, and only.


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALL = _words_of("all every each always everyone everybody everything entirely completely any whenever")
_MOST = _words_of("most mostly mainly usually often majority largely typically generally primarily chiefly")
_SOME = _words_of("some several few many sometimes certain occasionally rarely seldom partly hardly")
_ONLY = _words_of("only exclusively solely")


def changed_quantifier(claim: str, evidence: str) -> Finding | None:
    """Whether the claim speaks of more things, of more cases, or of nothing else than the evidence.

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
        for main, marker, condition in _conditions(sentence):
            if overlap(words, main) < SAME_CLAUSE and overlap(main, words) < SAME_CLAUSE:
                continue
            if said:
                if any((other == "even if") != (marker == "even if") for _, other, _ in said):
                    return Finding("condition", "contradicted")
                continue
            missing = condition - main - words
            if marker.startswith("except") and condition & words and not frozenset(tokens(folded(claim))) & NEGATIONS:
                return Finding("condition", "contradicted")
            if missing and len(missing) >= len(condition - main) / 2:
                return Finding("condition", "unsupported")
        when = _WHEN.match(sentence)
        if when and not said and overlap(words, content(when[1])) >= SAME_CLAUSE and not content(when[3]) & words:
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
    """Whether another source is named: contradicted if the evidence speaks of it, unsupported if it does not.

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
    if any(source & frozenset().union(*shown) for source in said):
        return None
    occurs = bool(frozenset().union(*said) & content(evidence))
    return Finding("attribution", "contradicted" if occurs else "unsupported")


def _sources(text: str) -> list[frozenset[str]]:
    """Who is said to say something, as stems."""
    found = [content(match[1] or match[2]) for match in _ACCORDING.finditer(text)]
    words = tokens(folded(text))
    for place, token in enumerate(words):
        if token not in _SAYS or words[place - 1 : place] in (["the"], ["a"], ["of"]):
            continue
        who: list[str] = []
        for word in reversed(words[:place]):
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
    **MODALS,
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
    """Whether the small words that decide what *claim* says are those of the clauses of *evidence* that it repeats.

    >>> same_operators("Kim or Lee left.", "Kim and Lee left.")
    False
    >>> same_operators("The pump leaks.", "The pump leaks, and the tank may burst.")
    True
    """
    claim, evidence = in_english(claim), in_english(evidence)
    new = frozenset(tokens(folded(claim))) - frozenset(tokens(folded(evidence)))
    return _operators(claim) == _operators(_repeated(claim, evidence)) and not new & _DIRECTIONS


def is_denied(claim: str, evidence: str) -> bool:
    """Whether one of them denies and the other does not, whatever word the negation stands before.

    >>> is_denied("Das Ventil schließt.", "Das Ventil schließt bei Frost nicht."), is_denied("It is.", "It is.")
    (True, False)
    """
    claim, evidence = in_english(claim), in_english(evidence)
    return ("not" in _operators(claim)) != ("not" in _operators(_repeated(claim, evidence)))


def _repeated(claim: str, evidence: str) -> str:
    """The clauses of *evidence* that share words with *claim*."""
    words = content(claim)
    clauses = (each for sentence in plain_sentences(evidence) for each in _CLAUSES.split(sentence))
    return " ".join(each for each in clauses if content(each) & words)


_CLAUSES = re.compile(r"[,;:]")
_DIRECTIONS = _words_of("into onto out off up down from toward towards through across between against under behind")


def _operators(text: str) -> frozenset[str]:
    return frozenset(_OPERATORS[token] for token in tokens(_HAVE_TO.sub("must", folded(text))) if token in _OPERATORS)
