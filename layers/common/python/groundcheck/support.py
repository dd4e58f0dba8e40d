"""Find the slice of a text that supports a sentence best, and what of the sentence does not stand there.

Words, numbers with units, dates, names, negations and quotes are compared, by rules without a model.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from groundcheck.clauses import contradicts
from groundcheck.facts import (
    CalendarDate,
    Quantity,
    changed_places,
    dates,
    folded_proper_name,
    folded_words,
    identifiers,
    implied,
    names,
    quantities,
    same_amount,
    stands_in,
    with_carets,
)
from groundcheck.sentences import Span, find_folded, in_english, quotations, sentences, stem, stemmed_words

MIN_SUPPORT = 0.6  # least share of a sentence's content words in its evidence; measured in docs/evidence/quality.md
SETTLED = 0.85  # a sentence with this share is the one that is meant: facts of its neighbours do not count
MAX_WINDOW_SENTENCES = 3

_REFERS_BACK = re.compile(
    r"\b(?:he|she|it|they|his|her|hers|its|their|theirs|this|these|those|who|which)\b", re.IGNORECASE
)
_LEAD_IN = re.compile(
    r"^(?:according to|as stated in|based on) (?:the|this|these|its) (?:given |provided )?"
    r"(?:source|document|text|passage|context|article|report)s?,? "
    r"|^the (?:source|document|text|passage|context|article|report)s? "
    r"(?:say|state|note|mention|explain|indicate|confirm)s?(?: that)?,? ",
    re.IGNORECASE,
)
_STRUCK = re.compile(r"(?<!~)~~(?=[^\s~])[^~\n]{1,2000}(?<=\S)~~(?!~)")
_ONE = {"one", "a", "an", "single", "once", "1"}


@dataclass(frozen=True, slots=True)
class Slice:
    """The slice of a text that supports a sentence best.

    `support` is the share of the sentence's content words in it, in [0, 1], 1 if the sentence stands there word for
    word; `problem` is the first thing that does not stand there, None if the slice supports the sentence.
    """

    start: int
    end: int
    support: float
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a sentence must not change."""

    quantities: tuple[Quantity, ...]
    dates: tuple[CalendarDate, ...]
    identifiers: frozenset[str]
    names: tuple[str, ...]
    words: frozenset[str]
    plain_words: frozenset[str]
    pronouns: int
    all_words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Window:
    """Neighbouring sentences of a text, and those before them, which their pronouns may refer to."""

    span: Span
    text: str
    before: str


def best_slice(claim: str, text: str, *, about: str = "") -> Slice:
    r"""Where *text* supports *claim*, one sentence without markers; names may stand in *about* too.

    >>> best_slice("the pump is red", "A tank. The pump\nis red.")
    Slice(start=8, end=23, support=1.0, problem=None)
    >>> best_slice("The pump holds 70 litres.", "The pump holds 7 litres.").problem
    'number'
    """
    text = _without_struck(text)
    claim = _without_struck(_LEAD_IN.sub("", claim))
    misquoted = next((quote for quote in quotations(claim) if find_folded(quote, text) is None), None)
    best = _best(claim, text, about)
    if misquoted is not None and best.problem is None:
        return replace(best, problem="quote")
    return best


def _without_struck(text: str) -> str:
    """*text* with blanks for what is struck out, which is no evidence, unless all of it is."""
    plain = _STRUCK.sub(lambda found: " " * len(found[0]), text) if "~~" in text else text
    return plain if any(map(str.isalnum, plain)) else text


def sentence_around(text: str, start: int, end: int) -> str:
    """The whole sentences of *text* that the slice from *start* to *end* lies in.

    >>> sentence_around("It may be red. Or not.", 7, 13)
    'It may be red.'
    """
    spans = [span for span in _spans(text) if span.start < end and start < span.end]
    return text[min(start, spans[0].start) : max(end, spans[-1].end)] if spans else text[start:end]


def states_another(claim: str, text: str, problem: str) -> bool:
    """Whether *text* says the same with another number, date or name (*problem*) in place of one of *claim*.

    >>> states_another("The pump holds 9 litres.", "The pump holds 7 litres.", "number")
    True
    >>> states_another("The pump holds 9 litres.", "The pump holds some litres.", "number")
    False
    """
    said, shown = _facts(claim), _facts(text)
    others = {
        "number": {each.value for each in shown.quantities} - {each.value for each in said.quantities},
        "date": set(shown.dates) - set(said.dates),
        "name": set(shown.names) - set(said.names),
    }
    same = bool(said.plain_words) and _share(said.plain_words, shown.plain_words) >= SETTLED
    return same and bool(others.get(problem))


def sentences_without_conflict(claim: str, text: str, *, about: str = "") -> list[Span]:
    """The sentences of *text* with every number, date and name of *claim* that do not deny it.

    Whether one of them says the same in other words is left to a second opinion.
    """
    plain = _without_capital(_LEAD_IN.sub("", claim))
    return [window.span for window in _windows(text, 1) if _problem(plain, window, about, one_to_one=False) is None]


def _without_capital(claim: str) -> str:
    """*claim* with a small first letter, unless its first words look like a name: any noun may begin a sentence.

    >>> _without_capital("Parasites weaken them."), _without_capital("Kim Lee left."), _without_capital("IBM left.")
    ('parasites weaken them.', 'Kim Lee left.', 'IBM left.')
    """
    first, _, rest = claim.partition(" ")
    looks_like_a_name = rest[:1].isupper() or not first[1:].islower()
    return claim if looks_like_a_name else claim[:1].lower() + claim[1:]


def joint_problem(claim: str, slices: Sequence[str], *, about: str = "") -> str | None:
    """What of *claim* does not stand in *slices* read together; None if they support it.

    >>> joint_problem("The pump is red and holds 7 litres.", ["The pump is red.", "The pump holds 7 litres."])
    """
    whole = _without_struck("\n".join(slices))
    if any(find_folded(quote, whole) is None for quote in quotations(claim)):
        return "quote"
    window = _Window(Span(0, len(whole)), whole, "")
    if _share(_facts(claim).words, _facts(whole).words) < MIN_SUPPORT:
        return "words"
    return _problem(claim, window, about, one_to_one=False)


def _best(claim: str, text: str, about: str) -> Slice:
    verbatim = find_folded(claim.rstrip(".!?… "), text)
    if verbatim is not None:
        around = next((span for span in _spans(text) if span.start <= verbatim.start < span.end), verbatim)
        denied = contradicts(claim, text[around.start : max(around.end, verbatim.end)])
        end = _with_stop(text, verbatim.end) if claim.endswith((".", "!", "?", "…")) else verbatim.end
        return Slice(verbatim.start, end, 1.0, "negation" if denied else None)
    said = _facts(claim)
    if said.words and said.words.isdisjoint(_facts(text).words):
        first = _windows(text, 1)[0].span
        return Slice(first.start, first.end, 0.0, "words")
    failed: Slice | None = None
    for size in range(1, MAX_WINDOW_SENTENCES + 1):
        passing: Slice | None = None
        settled = False
        for window in _windows(text, size):
            shown = _facts(window.text)
            support = _share(said.words, shown.words)
            same = _says_the_same(said, shown)
            settled = settled or same
            if support < MIN_SUPPORT and not same:
                problem: str | None = "words"
            else:
                problem = _problem(claim, window, about, one_to_one=same and size == 1)
            found = Slice(window.span.start, window.span.end, support, problem)
            if problem is None and (passing is None or support > passing.support):
                passing = found
            if problem is not None and (failed is None or support > failed.support):
                failed = found
        if passing is not None or settled:
            return passing or failed or Slice(0, len(text), 0.0, "words")
    return failed or Slice(0, len(text), 0.0, "words")


def _says_the_same(said: _Facts, shown: _Facts) -> bool:
    """Whether the words that are no names and numbers agree, so that these must agree too."""
    if _share(said.plain_words, shown.plain_words) < SETTLED:
        return False
    return len(said.plain_words) > 1 or bool(said.plain_words and set(said.names) & set(shown.names))


@lru_cache(maxsize=1_024)
def _windows(text: str, size: int) -> tuple[_Window, ...]:
    """Every *size* neighbouring sentences of *text*."""
    spans = _spans(text) or (Span(0, len(text)),)
    made = []
    for first in range(max(1, len(spans) - size + 1)):
        taken = spans[first : first + size]
        before = text[spans[max(0, first - 2)].start : taken[0].start]
        made.append(_Window(Span(taken[0].start, taken[-1].end), text[taken[0].start : taken[-1].end], before))
    return tuple(made)


@lru_cache(maxsize=1_024)
def _spans(text: str) -> tuple[Span, ...]:
    return tuple(sentences(text))


def _problem(claim: str, window: _Window, about: str, *, one_to_one: bool) -> str | None:
    """The first thing of *claim* that the window does not say.

    One to one: the window is a sentence that says the same otherwise, so each number and name must occur as often.
    """
    said, shown = _facts(claim), _facts(window.text)
    if not all(any(date.is_in(other) for other in shown.dates) for date in said.dates):
        return "date"
    if not all(_stated(quantity, shown, window.text) for quantity in said.quantities):
        return "number"
    if one_to_one and not _as_often(said, shown):
        return "number"
    if not said.identifiers <= shown.identifiers:
        return "number"
    if not _named(said, shown, window, about, one_to_one=one_to_one):
        return "name"
    if contradicts(claim, window.text):
        return "negation"
    return changed_places(claim, window.text) if one_to_one else None


def _named(said: _Facts, shown: _Facts, window: _Window, about: str, *, one_to_one: bool) -> bool:
    """Whether all names stand in the window; one that replaces a pronoun may stand before it or in a heading."""
    words = folded_words(window.text)
    extra = [name for name in said.names if not stands_in(name, words)]
    if one_to_one:
        ours, theirs = Counter(said.names), Counter(shown.all_words)
        extra += [name for name, count in ours.items() if 0 < theirs[name] < count]
    if not extra:
        return True
    if shown.pronouns > said.pronouns:
        return all(stands_in(name, folded_words(f"{window.before} {about}")) for name in extra)
    replaced = set(shown.names) - set(said.names)
    return not replaced and all(stands_in(name, folded_words(about)) for name in extra)


def _as_often(said: _Facts, shown: _Facts) -> bool:
    """Whether no number that the evidence has occurs more often in the claim."""
    dated = [Decimal(part) for date in shown.dates for part in (date.year, date.day) if part is not None]
    counts = Counter([*(each.value for each in shown.quantities), *dated])
    ours = Counter(each.value for each in said.quantities)
    return all(counts[value] >= count for value, count in ours.items() if counts[value])


def _stated(quantity: Quantity, shown: _Facts, text: str) -> bool:
    """Whether the number stands in *text*, whose facts are *shown*, with its unit if it has one."""
    others = (*shown.quantities, *implied(text))
    if any(same_amount(quantity, other) for other in others):
        return True
    same = [other for other in others if other.value == quantity.value]
    if quantity.unit is None and same:
        return True
    if any(other.unit == quantity.unit for other in same):
        return True
    if any(other.unit is None for other in same):  # "5 to 7 km", or a unit in the head of a table
        return quantity.unit == "#" or any(other.unit == quantity.unit for other in shown.quantities)
    if same or quantity.unit is not None:
        return False
    if quantity.value == 1:
        return any(word in _ONE for word in re.findall(r"\w+", text.casefold()))
    return any(quantity.value in (date.year, date.day) for date in shown.dates)


def _share(words: frozenset[str], others: frozenset[str]) -> float:
    """Share of *words* that is among *others*; 1 if there are no words."""
    if not words:
        return 1.0
    return 0.0 if words.isdisjoint(others) else round(len(words & others) / len(words), 4)


@lru_cache(maxsize=4_096)
def _facts(text: str) -> _Facts:
    text = with_carets(in_english(text))
    found, rest = dates(text)
    named = names(rest)  # a month is no name
    words = frozenset(stemmed_words(text))
    parts = {stem(part) for name in named for part in (name, *re.split(r"[-'’]", name))}
    return _Facts(
        quantities=tuple(quantities(rest)),
        dates=tuple(found),
        identifiers=frozenset(identifiers(rest)),
        names=tuple(named),
        words=words,
        plain_words=frozenset(word for word in words if word not in parts and not any(map(str.isdigit, word))),
        pronouns=len(_REFERS_BACK.findall(text)),
        all_words=tuple(folded_proper_name(word) for word in re.findall(r"[\w.'’-]+", text)),
    )


def _with_stop(text: str, end: int) -> int:
    """*end*, or the place behind the full stop that follows it."""
    return end + (text[end : end + 1] in {".", "!", "?", "…"})
