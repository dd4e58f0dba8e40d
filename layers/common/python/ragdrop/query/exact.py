"""Exact terms: the codes, numbers, quotations and rare names of a question, and which chunks hold them as written."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragdrop.domain.chunks import Hit
from ragdrop.domain.languages import UNSPACED
from ragdrop.query.fusion import Fused, by_score, contained_words, content_words

EXACT_RELEVANCE = 0.9
"""Where the relevance of a chunk begins that holds what the question names; its other evidence adds the rest."""
LACKING_SHARE = 0.5
"""What is left of the relevance of every chunk where no candidate holds a code that the question names."""
RARE_CHUNKS = 3  # among the candidates: a word that more of them hold is no name of one thing
RARE_NAMES = 10
ABOUT_WORDS = 6
"""Other words of a question up to which it is about its code; one with more is about what it says of it too."""
LONG_BONUS = 0.2  # of a fused score, for a code in a longer question; in place of the whole order
LEAST_CODE = 4  # letters and digits of a code without a joint
LEAST_JOINED = 3  # of one with a joint, which may be written otherwise
_NO_CODE = re.compile(r"(?:age|max|mid|min|non|post|pre|sub|top)\b", re.IGNORECASE)  # top-10, pre-2000

# What questions about a code or name ask with: not what they are about.
_ASKING_WORDS = (
    "abbreviation about article call called change code contact define definition describe detail details entry error "
    "explain fault find fix give happen happened info information item line list locate located look mean meaning "
    "message model name new number page part phone please product record reference refer row say section serial show "
    "solve stand tell term thing version word work "
    "artikel bedeuten bedeutet bedeutung erkläre erklären fehler finde kennung meldung nummer steht telefon teil wort "
    "zeige article erreur expliquer expliquez numéro signifie trouve código erreur explica explique número significa "
    "codice errore numero spiega trova"
)

_DASHES = dict.fromkeys([*range(0x2010, 0x2016), 0x2212, 0xFE58, 0xFE63, 0xFF0D], "-")
_BLANKS = dict.fromkeys([0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_NOTHING: dict[int, str] = dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF], "")
_SUBSCRIPTS = {0x2080 + digit: str(digit) for digit in range(10)}  # C₆H₁₂O₆
_FOLDS = {**_DASHES, **_BLANKS, **_NOTHING, **_SUBSCRIPTS, 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x201E: '"'}
_ESCAPE = re.compile(r"\\(?=[^\w\s\\]|_)")  # of Markdown: retry\_after

_CURRENCY = r"(?:[€$£¥]|eur(?:os?)?\b|usd\b|gbp\b|chf\b|dollars?\b)"
_QUOTED = r"\"(?P<quoted>[^\"\n]{2,200})\"|(?<!\w)'(?P<single>[^'\n]{2,200})'(?!\w)|«(?P<guillemets>[^»\n]{2,200})»"
_CODE_QUOTED = r"`(?P<ticked>[^`\n]{2,200})`"
_ADDRESS = r"(?P<address>[a-z]+://[^\s\"'<>]+[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
_SECTION = (
    r"(?P<section>(?:§+|\b(?:art|article|artikel|section|sec|abschnitt|clause|ziffer|nr|no)\b\.?)\s*"
    r"\d+(?:\.\d+)*[a-z]?\b(?:\s*\(\w{1,4}\))*(?:\s*(?:abs|absatz|satz|nr)\.?\s*\d+[a-z]?\b)*)"
)
_AMOUNT = rf"(?P<amount>{_CURRENCY}\s*\d[\d.,']*\d|{_CURRENCY}\s*\d|\b\d(?:[\d.,']*\d)?\s*{_CURRENCY})"
_DATE = r"(?P<date>\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b)"
_PHONE = r"(?P<phone>(?<!\w)(?:\+|\(?0)\d?[\d ()/.-]{5,}\d\b)"
_WORD = r"(?P<token>[^\W_]+(?:(?:[-.:/\\]|_+|::)[^\W_]+)*)"
_TERMS = re.compile("|".join((_QUOTED, _CODE_QUOTED, _ADDRESS, _SECTION, _AMOUNT, _DATE, _PHONE, _WORD)), re.IGNORECASE)
_PARTS = re.compile(r"\d+|[^\W\d_]+")
_LONG_WORD = re.compile(r"[a-zà-ÿ]{4}")
_COUNTED = re.compile(r"^\d+-?[a-z]+$")  # 24h, 30-day
_IDENTIFIER = re.compile(
    r"(?:[\w-]{2,}\.)+[a-z]\w+|\w+(?:_\w+)+|\w+(?:::\w+)+|\w+(?:/\w[\w.-]*)+\.\w+|[a-z]+(?:[A-Z][a-z]+)+"
)
_ARTICLE = ("art", "article", "artikel")
_VERSION = re.compile(r"v?\d+(?:\.\d+)+", re.IGNORECASE)
_NUMBER = re.compile(r"\d[\d.,']*")
_DIGIT_GROUPS = re.compile(r"(?<![\w+])[+(]?\d[\d ()/.-]{5,}\d(?!\w)")
_PHONE_DIGITS = 7
_NOT_BEFORE = r"(?<![^\W_])(?<![^\W_]-)(?<!\d[.,])"
_NOT_BEHIND = r"(?![^\W_])(?!-(?:\w*\d\w*|\w)\b)(?![.,:]\d)"


@dataclass(frozen=True, slots=True)
class _ExactTerm:
    """What a question names as it is written."""

    text: str  # as the question writes it
    # finds it in a folded text; None for a phone number, which is compared by its digits
    pattern: re.Pattern[str] | None
    decides: bool = True  # whether a chunk that holds it is about the question, whatever else the question says
    is_code: bool = False  # whether it names one thing, so that documents that do not hold it cannot answer

    def stands_in(self, folded: str) -> bool:
        """Whether it stands in a text that `fold` gave: never as a part of a longer code or number.

        >>> code = exact_terms("What does ERR-123 mean?")[0]
        >>> [code.stands_in(fold(text)) for text in ("See ERR\u2011123.", "ERR 123", "ERR-1235", "ERR-123-B")]
        [True, True, False, False]
        """
        if self.pattern is not None:
            return self.pattern.search(folded) is not None
        digits = _national(self.text)
        return any(_same_number(digits, _national(found)) for found in _DIGIT_GROUPS.findall(folded))


@dataclass(frozen=True, slots=True)
class Exactness:
    """What candidates hold of what a question names."""

    holders: frozenset[str] = frozenset()  # ids of the chunks that hold it, whose relevance begins at EXACT_RELEVANCE
    # those of them that come before others: the question names a code, and they hold it
    first: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()  # codes that no candidate holds
    bonus: float = 1.0  # what holding the code adds to a fused score in [0, 1]; with 1 none that lacks it comes before
    lacks: bool = False  # whether the question is about a code that no candidate holds

    def relevance(self, chunk_id: str, relevance: float) -> float:
        """The *relevance* of a chunk in [0, 1] with what it holds exactly, or with what nobody holds.

        >>> round(Exactness(frozenset({"a"})).relevance("a", 0.2), 2), Exactness(lacks=True).relevance("a", 0.8)
        (0.92, 0.4)
        """
        if chunk_id in self.holders:
            return EXACT_RELEVANCE + (1 - EXACT_RELEVANCE) * relevance
        return LACKING_SHARE * relevance if self.lacks else relevance

    def ordered(self, fused: Sequence[Fused]) -> list[Fused]:
        """*fused*, best first, with the bonus for the chunks of `first`; scores stay in [0, 1]."""
        if not self.first:
            return list(fused)
        added = dict.fromkeys(self.first, self.bonus)
        whole = 1 + self.bonus
        return by_score(one._replace(score=(one.score + added.get(one.hit.chunk_id, 0.0)) / whole) for one in fused)


NOTHING_EXACT = Exactness()


def exactness(question: str, hits: Sequence[Hit]) -> Exactness:
    """Which of *hits* hold what *question* names exactly.

    A code, address, quotation or amount decides alone.  A plain number, a date or a name does where the question
    asks for nothing else that a chunk lacks, and so does a single word that few candidates hold.
    """
    terms = exact_terms(question)
    deciding = [term for term in terms if term.decides]
    words, names = _other_words(question, terms)
    asks_for_one = len(words) == 1 or (words and words <= names)
    if not terms and not asks_for_one:
        return NOTHING_EXACT
    texts = {hit.chunk_id: fold(_text_of(hit)) for hit in hits}
    if deciding:
        return _by_terms(deciding, texts, is_about=len(words) <= ABOUT_WORDS)
    return _by_words(terms, words, names, hits, texts)


def _by_terms(terms: Sequence[_ExactTerm], texts: Mapping[str, str], *, is_about: bool) -> Exactness:
    """Chunks that hold all terms that stand anywhere; of several codes in different chunks each counts."""
    terms_of = {id_: frozenset(term for term in terms if term.stands_in(text)) for id_, text in texts.items()}
    known = frozenset().union(*terms_of.values())
    missing = tuple(term.text for term in terms if term.is_code and term not in known) if texts else ()
    if not known:
        return Exactness(missing=missing, lacks=is_about and bool(missing))
    whole = frozenset(id_ for id_, found in terms_of.items() if found == known)
    some = whole or frozenset(id_ for id_, found in terms_of.items() if found)
    return Exactness(some, some, missing, 1.0 if is_about else LONG_BONUS)


def _by_words(
    terms: Sequence[_ExactTerm],
    words: frozenset[str],
    names: frozenset[str],
    hits: Sequence[Hit],
    texts: Mapping[str, str],
) -> Exactness:
    stems = tuple(words)
    every = (1 << len(stems)) - 1
    chunks = list({hit.chunk_id: hit for hit in hits}.values())
    contained = contained_words(stems, chunks) if stems else [0] * len(chunks)
    most = RARE_NAMES if names else RARE_CHUNKS
    if (
        stems
        and not terms
        and min(sum(number >> place & 1 for number in contained) for place in range(len(stems))) > most
    ):
        return NOTHING_EXACT
    return Exactness(
        frozenset(
            hit.chunk_id
            for hit, number in zip(chunks, contained, strict=True)
            if number == every and all(term.stands_in(texts[hit.chunk_id]) for term in terms)
        )
    )


def _text_of(hit: Hit) -> str:
    return "\n".join((hit.chunk.in_context, *hit.chunk.heading_path, hit.facts.names, hit.key.path))


@lru_cache(maxsize=256)
def exact_terms(question: str) -> tuple[_ExactTerm, ...]:
    """The terms of *question* that must stand in a document as they are written.

    >>> [term.text for term in exact_terms('Where is AX-2292-B, "the red one", of \u00a7 4 (2) and foo.baz?')]
    ['AX-2292-B', 'the red one', '\u00a7 4 (2)', 'foo.baz']
    >>> [term.text for term in exact_terms("Call +49 30 1234567 or ann@acme.example about 1,250.00 EUR")]
    ['+49 30 1234567', 'ann@acme.example', '1,250.00 EUR']
    >>> exact_terms("Is the red pump on, and/or the e.g. blue one?")
    ()
    >>> [term.text for term in exact_terms("什么是模拟LC-34的拔除插头测试?")]
    ['LC-34']
    """
    plain = _apart(question.translate(_FOLDS))
    found = [_term(match) for match in _TERMS.finditer(plain)]
    return tuple({term.text: term for term in found if term is not None}.values())


def is_spread(question: str) -> bool:
    """Whether *question* names something of several words or numbers, which an index finds one by one: look further.

    >>> is_spread("What does \u00a7 4 (2) say?"), is_spread("Where is AX-2292-B?")
    (True, False)
    """
    return any(term.decides and (term.pattern is None or " " in term.text) for term in exact_terms(question))


def with_spellings(question: str) -> str:
    """*question* with its codes as documents may write them too: an index finds words as they are joined.

    >>> with_spellings("What is QX5521?"), with_spellings("Where is BK-33-C?"), with_spellings("Is it on?")
    ('What is QX5521? QX-5521', 'Where is BK-33-C? BK33C', 'Is it on?')
    """
    codes = [term.text for term in exact_terms(question) if term.is_code]
    other = ["-".join(_PARTS.findall(code)) if code.isalnum() else "".join(_PARTS.findall(code)) for code in codes]
    return " ".join([question, *other])


def fold(text: str) -> str:
    """*text* in one case, with plain blanks and hyphens, and without the escapes of Markdown."""
    plain = text if text.isascii() else _apart(unicodedata.normalize("NFC", text).translate(_FOLDS))
    return (_ESCAPE.sub("", plain) if "\\" in plain else plain).casefold()


def _apart(text: str) -> str:
    """*text* with blanks around what is in a script without them, so that codes and numbers within it have ends."""
    return UNSPACED.sub(r" \g<0> ", text)


def _term(match: re.Match[str]) -> _ExactTerm | None:
    kind, text = str(match.lastgroup), match[str(match.lastgroup)]
    if kind in {"quoted", "single", "guillemets"}:
        return _ExactTerm(text, _spelled(text), decides=len(text.split()) > 1)
    if kind in {"address", "ticked"}:
        return _ExactTerm(text, _spelled(text))
    if kind == "section":
        is_precise = re.search(r"[§(]|\d[a-z]|^art", text.casefold()) is not None
        return _ExactTerm(text, _section(text), decides=is_precise)
    if kind == "amount":
        return _ExactTerm(text, _amount(text), decides=sum(map(str.isdigit, text)) > 1)
    if kind == "date":
        return _ExactTerm(text, _spelled(text), decides=False)
    if kind == "phone":
        digits = sum(map(str.isdigit, text))
        return _ExactTerm(text.strip(), None) if digits >= _PHONE_DIGITS else None if " " in text else _token(text)
    return _token(text)


def _token(text: str) -> _ExactTerm | None:
    """A code, identifier or number; None for a plain word."""
    size = sum(map(str.isalnum, text))
    digits = sum(map(str.isdigit, text))
    if _VERSION.fullmatch(text) or (digits == size and _NUMBER.fullmatch(text)):
        return _ExactTerm(text, _spelled(text), decides=digits > LEAST_CODE) if digits > 2 or "." in text else None
    if not digits:
        return _ExactTerm(text, _spelled(text)) if _IDENTIFIER.fullmatch(text) else None
    if digits == size:
        return _ExactTerm(text, _spelled(text), decides=digits > LEAST_CODE)
    if _IDENTIFIER.fullmatch(text) and _LONG_WORD.search(text):
        return _ExactTerm(text, _spelled(text))
    is_joined = size < len(text)
    is_word = any(each.search(text) for each in (_LONG_WORD, _COUNTED)) or _NO_CODE.match(text) is not None
    decides = not is_word and (size >= LEAST_CODE or is_joined)
    is_code = decides and digits > 1 and size >= LEAST_JOINED and (is_joined or not text.islower())
    return _ExactTerm(text, _code(text, size), decides, is_code)


def _spelled(text: str) -> re.Pattern[str]:
    """As it is written, whatever the white space."""
    words = [re.escape(word) for word in fold(text).split()]
    return _bounded(r"\s+".join(words), fold(text))


def _code(text: str, size: int) -> re.Pattern[str]:
    """Letters and digits; the joints between them may be written otherwise, or not at all, unless the code is short.

    >>> [_code("ISO9001:2015", 11).search(text) is not None for text in ("iso 9001:2015", "iso 9001 2015")]
    [True, False]
    """
    if size < LEAST_JOINED:
        return _spelled(text)
    tokens = re.findall(r"\d+|[^\W\d_]+|[^\w\s]|_", fold(text))
    inner, last = "", ""
    for token, before in zip(tokens, ["", *tokens], strict=False):
        if not token.isalnum():
            continue
        joint = before if before and not before.isalnum() else ""
        if last.isdigit() and token.isdigit():
            inner += "[-_ ]" if joint in "-_" else re.escape(joint)
        elif last:
            inner += "[-_./: ]?"
        inner += re.escape(token)
        last = token
    return _bounded(inner, text)


def _section(text: str) -> re.Pattern[str]:
    """Its parts, whatever the white space; an article however it is abbreviated."""
    first, *tokens = re.findall(r"\d+|[^\W\d_]+|§+|[^\w\s]", fold(text))
    if first in _ARTICLE:
        first = rf"(?:{'|'.join(_ARTICLE)})\.?"
        tokens = tokens[1:] if tokens[:1] == ["."] else tokens
    else:
        first = re.escape(first)
    return _bounded(r"\s*".join([first, *map(re.escape, tokens)]), text)


def _amount(text: str) -> re.Pattern[str]:
    """A number with its currency on either side."""
    folded = fold(text)
    number = _NUMBER.search(folded)
    assert number is not None  # noqa: S101 - the expression that found it holds one
    sign = (folded[: number.start()] + folded[number.end() :]).strip()
    euro = sign.startswith(("€", "eur"))
    money = "(?:€|eur(?:os?)?)" if euro else re.escape(sign)
    digits = _grouped(number[0].rstrip(".,'"))
    bare = rf"(?<![\w.,])(?:{money}\s*{digits}|{digits}\s*{money})"
    return re.compile(rf"{bare}(?![^\W_])(?![.,]\d)")


def _grouped(number: str) -> str:
    """A pattern for *number*, whose thousands may be set apart otherwise.

    >>> [re.fullmatch(_grouped("1,250.00"), text) is not None for text in ("1250.00", "1.250,00", "1,250.50", "125000")]
    [True, True, False, False]
    """
    decimals = re.search(r"[.,]\d\d?$", number)
    digits = "".join(filter(str.isdigit, number[: decimals.start()] if decimals else number))
    first = len(digits) % 3 or 3
    groups = [digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))]
    return "[,.' ]?".join(groups) + (f"[.,]{decimals[0][1:]}" if decimals else "")


def _bounded(inner: str, text: str) -> re.Pattern[str]:
    """*inner* where it is no part of a longer word, code or number."""
    before = _NOT_BEFORE if text[0].isalnum() else ""
    behind = _NOT_BEHIND if text[-1].isalnum() else ""
    return re.compile(before + inner + behind)


def _national(phone: str) -> str:
    return "".join(filter(str.isdigit, phone.replace("(0)", ""))).lstrip("0")


def _same_number(asked: str, written: str) -> bool:
    """Whether two phone numbers are one: one of them may leave out the code of its country.

    >>> _same_number("49301234567", "301234567"), _same_number("49301234567", "1234567"[:6])
    (True, False)
    """
    shorter = min(len(asked), len(written))
    return shorter >= _PHONE_DIGITS and (asked.endswith(written) or written.endswith(asked))


def _other_words(question: str, terms: Sequence[_ExactTerm]) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of what *question* asks about beside *terms*, and which of them it writes as names."""
    rest = question.translate(_FOLDS)
    for term in terms:
        rest = rest.replace(term.text, " ")
    words = content_words(rest) - _asking()
    capitals = re.findall(r"(?<=\S )[^\W\d_a-z]\w+", rest) if rest.strip() else []
    return words, words & content_words(" ".join(capitals))


@lru_cache(maxsize=1)
def _asking() -> frozenset[str]:
    return content_words(_ASKING_WORDS)
