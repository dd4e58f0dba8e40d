"""Whether a text supports a sentence: words, numbers with units, dates, names, negations and quotes must stand in it.

Rules alone, no model: what is wrong is named, and thirty sentences take milliseconds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from groundcheck.facts import (
    CalendarDate,
    Quantity,
    dates,
    identifiers,
    implied,
    quantities,
    same_amount,
    with_carets,
)
from groundcheck.languages import in_english
from groundcheck.names import changed_places, fold, folded_words, names, stands_in
from groundcheck.polarity import contradicts
from groundcheck.quotes import find_folded, quotations
from groundcheck.sentences import Span, content_words, sentences, stem

MIN_SUPPORT = (
    0.6  # share of a sentence's content words that its evidence must hold; measured in docs/evidence/quality.md
)
SETTLED = 0.85  # a single sentence that holds this much is what is meant: facts may not come from its neighbours
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
class Evidence:
    """The slice of a text that supports a sentence best.

    `support` is the share of the sentence's content words that the slice holds, in [0, 1], 1 for a sentence that stands
    there word for word; `problem` says what is wrong, None where the slice supports the sentence.
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


def evidence(claim: str, text: str, *, about: str = "") -> Evidence:
    r"""Where *text* supports *claim* best, and what of it does not stand there.

    Args:
        claim: One sentence, without markers.
        text: The chunk that it names.
        about: What the chunk is about: title and headings, in which names may stand too.

    >>> evidence("the pump is red", "A tank. The pump\nis red.")
    Evidence(start=8, end=23, support=1.0, problem=None)
    >>> evidence("The pump holds 70 litres.", "The pump holds 7 litres.").problem
    'number'
    >>> evidence("The pump costs 40 crowns.", "The pump costs ~~40~~ 30 crowns.").problem
    'number'
    """
    text = _without_struck(text)
    claim = _without_struck(_LEAD_IN.sub("", claim))
    misquoted = next((quote for quote in quotations(claim) if find_folded(quote, text) is None), None)
    best = _best(claim, text, about)
    if misquoted is not None and best.problem is None:
        return Evidence(best.start, best.end, best.support, "quote")
    return best


def _without_struck(text: str) -> str:
    """*text* with blanks for what is struck out: it is no evidence.  Text that is all struck out stays."""
    plain = _STRUCK.sub(lambda found: " " * len(found[0]), text) if "~~" in text else text
    return plain if any(map(str.isalnum, plain)) else text


def sentence_around(text: str, start: int, end: int) -> str:
    """The whole sentences of *text* that the slice from *start* to *end* lies in.

    >>> sentence_around("It may be red. Or not.", 7, 13)
    'It may be red.'
    """
    spans = [span for span in _spans(text) if span.start < end and start < span.end]
    return text[min(start, spans[0].start) : max(end, spans[-1].end)] if spans else text[start:end]


def tells_another(claim: str, text: str, problem: str) -> bool:
    """Whether *text* says the same with another number, date or name (*problem*) in place of one of *claim*.

    >>> tells_another("The pump holds 9 litres.", "The pump holds 7 litres.", "number")
    True
    >>> tells_another("The pump holds 9 litres.", "The pump holds some litres.", "number")
    False
    """
    wanted, given = _facts(claim), _facts(text)
    others = {
        "number": {each.value for each in given.quantities} - {each.value for each in wanted.quantities},
        "date": set(given.dates) - set(wanted.dates),
        "name": set(given.names) - set(wanted.names),
    }
    same = bool(wanted.plain_words) and _share(wanted.plain_words, given.plain_words) >= SETTLED
    return same and bool(others.get(problem))


def sentences_without_conflict(claim: str, text: str, *, about: str = "") -> list[Span]:
    """The sentences of *text* that hold every number, date and name of *claim*.

    None of them denies it either.  Whether one says it in other words is for a verifier to tell.
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
    """What is wrong with *claim* if several slices are read together; None where they support it.

    >>> joint_problem("The pump is red and holds 7 litres.", ["The pump is red.", "The pump holds 7 litres."])
    """
    whole = _without_struck("\n".join(slices))
    if any(find_folded(quote, whole) is None for quote in quotations(claim)):
        return "quote"
    window = _Window(Span(0, len(whole)), whole, "")
    if _share(_facts(claim).words, _facts(whole).words) < MIN_SUPPORT:
        return "words"
    return _problem(claim, window, about, one_to_one=False)


def _best(claim: str, text: str, about: str) -> Evidence:
    verbatim = find_folded(claim.rstrip(".!?… "), text)
    if verbatim is not None:
        around = next((span for span in _spans(text) if span.start <= verbatim.start < span.end), verbatim)
        denied = contradicts(claim, text[around.start : max(around.end, verbatim.end)])
        end = _with_stop(text, verbatim.end) if claim.endswith((".", "!", "?", "…")) else verbatim.end
        return Evidence(verbatim.start, end, 1.0, "negation" if denied else None)
    wanted = _facts(claim)
    if wanted.words and wanted.words.isdisjoint(_facts(text).words):
        first = _windows(text, 1)[0].span
        return Evidence(first.start, first.end, 0.0, "words")
    failed: Evidence | None = None
    for size in range(1, MAX_WINDOW_SENTENCES + 1):
        passing: Evidence | None = None
        settled = False
        for window in _windows(text, size):
            given = _facts(window.text)
            support = _share(wanted.words, given.words)
            same = _says_the_same(wanted, given)
            if support < MIN_SUPPORT and not same:
                if failed is None or support > failed.support:
                    failed = Evidence(window.span.start, window.span.end, support, "words")
                continue
            settled = settled or same
            problem = _problem(claim, window, about, one_to_one=same and size == 1)
            found = Evidence(window.span.start, window.span.end, support, problem)
            if problem is None and (passing is None or support > passing.support):
                passing = found
            if problem is not None and (failed is None or support > failed.support):
                failed = found
        if passing is not None or settled:
            return passing or failed or Evidence(0, len(text), 0.0, "words")
    return failed or Evidence(0, len(text), 0.0, "words")


def _says_the_same(wanted: _Facts, given: _Facts) -> bool:
    """Whether the words that are no names and numbers agree, so that these must agree too."""
    if _share(wanted.plain_words, given.plain_words) < SETTLED:
        return False
    return len(wanted.plain_words) > 1 or bool(wanted.plain_words and set(wanted.names) & set(given.names))


@lru_cache(maxsize=1_024)
def _windows(text: str, size: int) -> tuple[_Window, ...]:
    """Every *size* neighbouring sentences of *text*; an answer asks for those of one chunk again and again."""
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

    One to one: the window is a sentence that says the same otherwise; each number and name of the claim then needs one
    of its own there.
    """
    wanted, given = _facts(claim), _facts(window.text)
    if not all(any(date.told_by(shown) for shown in given.dates) for date in wanted.dates):
        return "date"
    if not all(_stated(quantity, given, window.text) for quantity in wanted.quantities):
        return "number"
    if one_to_one and not _as_often([q.value for q in wanted.quantities], [q.value for q in given.quantities], given):
        return "number"
    if not wanted.identifiers <= given.identifiers:
        return "number"
    if not _named(wanted, given, window, about, one_to_one=one_to_one):
        return "name"
    if contradicts(claim, window.text):
        return "negation"
    return changed_places(claim, window.text) if one_to_one else None


def _named(wanted: _Facts, given: _Facts, window: _Window, about: str, *, one_to_one: bool) -> bool:
    """Whether all names stand in the window; one that stands for a pronoun may stand before it or in a heading."""
    known = folded_words(window.text)
    extra = [name for name in wanted.names if not stands_in(name, known)]
    if one_to_one:
        said, shown = Counter(wanted.names), Counter(given.all_words)
        extra += [name for name, count in said.items() if 0 < shown[name] < count]
    if not extra:
        return True
    missing = set(given.names) - set(wanted.names)
    if given.pronouns > wanted.pronouns:
        return all(stands_in(name, folded_words(f"{window.before} {about}")) for name in extra)
    return not missing and all(stands_in(name, folded_words(about)) for name in extra)


def _as_often(said: Sequence[Decimal], shown: Sequence[Decimal], given: _Facts) -> bool:
    """Whether no number is said more often than it is shown."""
    dated = [Decimal(part) for date in given.dates for part in (date.year, date.day) if part is not None]
    counts = Counter([*shown, *dated])
    return all(counts[value] >= count for value, count in Counter(said).items() if counts[value])


def _stated(wanted: Quantity, given: _Facts, text: str) -> bool:
    """Whether the number stands there, with its unit if it has one."""
    if any(same_amount(wanted, shown) for shown in (*given.quantities, *implied(text))):
        return True
    same = [shown for shown in (*given.quantities, *implied(text)) if shown.value == wanted.value]
    if wanted.unit is None and same:
        return True
    if any(shown.unit == wanted.unit for shown in same):
        return True
    if any(shown.unit is None for shown in same):  # "5 to 7 km", or a unit in the head of a table
        return wanted.unit == "#" or any(shown.unit == wanted.unit for shown in given.quantities)
    if same or wanted.unit is not None:
        return False
    if wanted.value == 1:
        return any(word in _ONE for word in re.findall(r"\w+", text.casefold()))
    return any(wanted.value in (date.year, date.day) for date in given.dates)


def _share(wanted: frozenset[str], given: frozenset[str]) -> float:
    """Share of *wanted* that is *given*; 1 where nothing is wanted."""
    if not wanted:
        return 1.0
    return 0.0 if wanted.isdisjoint(given) else round(len(wanted & given) / len(wanted), 4)


@lru_cache(maxsize=4_096)
def _facts(text: str) -> _Facts:
    text = with_carets(in_english(text))
    found, rest = dates(text)
    held = quantities(rest)
    named = names(rest)  # a month is no name
    words = frozenset(content_words(text))
    parts = {stem(part) for name in named for part in (name, *re.split(r"[-'’]", name))}
    return _Facts(
        quantities=tuple(held),
        dates=tuple(found),
        identifiers=frozenset(identifiers(rest)),
        names=tuple(named),
        words=words,
        plain_words=frozenset(word for word in words if word not in parts and not any(map(str.isdigit, word))),
        pronouns=len(_REFERS_BACK.findall(text)),
        all_words=tuple(fold(word) for word in re.findall(r"[\w.'’-]+", text)),
    )


def _with_stop(text: str, end: int) -> int:
    """*end*, or behind the full stop that follows it."""
    return end + (text[end : end + 1] in {".", "!", "?", "…"})
