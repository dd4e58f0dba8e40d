"""Turns text into comparable words: lower case, no stop words, light English stemming."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could
    did do does doing done during each for from further had has have having he her here hers him his how i if in
    into is it its itself just me more most my no nor not of off on once only or other our out over own please s
    same she should so some such t tell than that the their them then there these they this those through to too
    under until up us very was we were what when where which while who whom whose why will with would you your
    """.split()  # noqa: SIM905  # a list of words reads as words
)
_ENDINGS = (
    ("ization", "ize"), ("isation", "ise"), ("ational", "ate"), ("fulness", "ful"), ("iveness", "ive"),
    ("ations", "ate"), ("ation", "ate"), ("ments", ""), ("ment", ""), ("ness", ""), ("ingly", ""), ("edly", ""),
    ("ings", ""), ("ing", ""), ("ions", ""), ("ion", ""), ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ers", ""),
    ("ed", ""), ("er", ""), ("es", ""), ("ly", ""), ("or", ""), ("al", ""), ("s", ""), ("e", ""), ("y", ""),
)  # fmt: skip


_QUOTED = re.compile(r"[\"“„«]([^\"“”«»\n]{3,200})[\"”“»]")
_SECTION = re.compile(r"(?:§+|\b[Aa]rt(?:icle|ikel|\.)?)\s*\d+[a-z]?(?:\s*\(\w{1,4}\))*")
_WRITTEN = re.compile(r"[^\W_]+(?:(?:[-./:@]|_+)[^\W_]+)*")
_MONEY = re.compile(r"[€$£¥]\s*(\d[\d.,]*)|\b(\d[\d.,]*)\s*(?:[€$£¥]|EUR\b|USD\b|GBP\b|CHF\b)")
_PHONE = re.compile(r"(?<!\w)(?:\+|\(?0)\d?[\d ()/.-]{5,}\d\b")
PHONE_DIGITS = 7  # from the right: what stands before them is written in many ways
_LONG_WORD = re.compile(r"[a-z]{4}")
_NAME_IN_CODE = re.compile(r"(?:[\w-]{2,}\.)+[a-z]\w+|\w+_\w+|\w+@[\w.-]+|[a-z]+(?:[A-Z][a-z]+)+")
_HYPHENS = dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-") | {0xA0: " ", 0x202F: " "}


def codes(question: str) -> list[re.Pattern[str]]:
    """What *question* names by a code of letters and digits; each finds it in a text that `written` gave.

    >>> text = written("See F.47, WRN\u20114471.")
    >>> [code.search(text) is not None for code in codes("Is F.4 or WRN-4471 a 24-hour code?")]
    [False, True]
    """
    found = _WRITTEN.findall(written(_QUOTED.sub(" ", question)))
    return [_bounded(word) for word in found if _is_code(word)]


def verbatim(question: str) -> list[re.Pattern[str]]:
    """What else it names as it is written: quotations, sections, names in programs, addresses, numbers of 4 digits.

    >>> [each.search(written("By § 9(3) it holds.")) is not None for each in verbatim("What does § 9 (3) say?")]
    [True]
    """
    plain = written(question)
    found = [*_QUOTED.findall(plain), *_SECTION.findall(plain)]
    rest = _PHONE.sub(" ", _SECTION.sub(" ", _QUOTED.sub(" ", plain)))
    found += [
        word for word in _WRITTEN.findall(rest) if _NAME_IN_CODE.fullmatch(word) or sum(map(str.isdigit, word)) > 3
    ]
    found += [(before or behind).rstrip(".,") for before, behind in _MONEY.findall(plain)]
    phones = ["".join(filter(str.isdigit, phone))[-PHONE_DIGITS:] for phone in _PHONE.findall(plain)]
    spaced = [re.compile(rf"{'[ ()/.-]{0,3}'.join(digits)}(?!\d)") for digits in phones if len(digits) == PHONE_DIGITS]
    return [*spaced, *(_bounded(word) for word in found if not _is_code(word))]


def written(text: str) -> str:
    """*text* with plain hyphens and blanks."""
    return text.translate(_HYPHENS)


def _is_code(word: str) -> bool:
    has_both = any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    is_long = not word.isalnum() or len(word) > 3
    return has_both and is_long and not _LONG_WORD.search(word) and not re.match(r"\d+-?[a-z]+$", word)


def _bounded(term: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in re.findall(r"\w+|[^\w\s]", term)]
    behind = r"(?![^\W_])(?!-(?:\w*\d\w*|\w)\b)(?![.,:/]\d)" if term[-1].isalnum() else ""
    before = r"(?<![^\W_])(?<![^\W_]-)" if term[0].isalnum() else ""
    return re.compile(before + r"\s*".join(parts) + behind, re.IGNORECASE)


def stem(word: str) -> str:
    """A crude common root: endings are cut while at least three letters stay, doubled last letters are made single.

    Rough on purpose: it only ever compares words of a question with words of a few chunks.

    >>> [stem(word) for word in ("running", "runs", "promoted", "promotion", "replicas", "certificate", "8443")]
    ['run', 'run', 'promot', 'promot', 'replica', 'certificat', '8443']
    """
    if not word.isalpha() or not word.isascii():
        return word
    for ending, other in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: len(word) - len(ending)] + other
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] == "e" else word


def words(text: str) -> Iterator[str]:
    """Every word of *text* in order, stop words included, folded to lower case without accents, camelCase cut.

    >>> list(words("Müller's getPort()"))
    ['muller', 's', 'get', 'port']
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    for match in _WORD.finditer(_CAMEL.sub(" ", plain)):
        yield match[0].lower()


def roots(text: str) -> list[str]:
    """Stems of the words of *text* that carry meaning, in order, with repeats.

    >>> roots("How long does the promotion take?")
    ['long', 'promot', 'tak']
    """
    return [stem(word) for word in words(text) if word not in STOP_WORDS]
