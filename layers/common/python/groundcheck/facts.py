"""Facts that a sentence must not change: numbers with units, dates, names and their places."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from functools import lru_cache

from groundcheck.clauses import OPPOSITES
from groundcheck.sentences import ENGLISH_MONTHS, STOP_WORDS

MONTHS = {name: number for number, month in enumerate(ENGLISH_MONTHS, start=1) for name in (month, month[:3])}
MONTHS["sept"] = 9
_CARDINAL_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = dict(zip(_TENS_WORDS.split(), range(20, 100, 10), strict=True))
NUMBER_WORDS = {word: value for value, word in enumerate(_CARDINAL_WORDS.split())} | _TENS
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SUFFIXES = {"k": 1_000, "mn": 10**6, "bn": 10**9}
_SCALES |= {"mn": 10**6, "bn": 10**9}  # "5 mn"
_ORDINAL_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINALS = {word: value for value, word in enumerate(_ORDINAL_WORDS.split(), start=1)}
# Spellings of one unit; the first is the unit's name.
_SPELLINGS = (
    "km kilometer kilometers kilometre kilometres kms; m meter meters metre metres; cm centimeter centimeters "
    "centimetre centimetres; mm millimeter millimeters millimetre millimetres; mile miles mi; foot feet ft; inch "
    "inches; yard yards yd; kg kilogram kilograms kilo kilos; g gram grams; mg milligram milligrams; lb lbs pound "
    "pounds; oz ounce ounces; tonne tonnes ton tons; l liter liters litre litres; ml milliliter milliliters "
    "millilitre millilitres; gallon gallons gal; ms millisecond milliseconds; s second seconds sec secs; minute "
    "minutes min mins; h hour hours hr hrs; day days; week weeks; month months; year years yr yrs; decade decades; "
    "century centuries; % percent percentage per-cent pct; $ dollar dollars usd; € euro euros eur; £ gbp sterling; "
    "¥ yen jpy; degree degrees °; °c celsius c; °f fahrenheit f; kelvin kelvins; hz hertz; khz kilohertz; mhz "
    "megahertz; ghz gigahertz; w watt watts; kw kilowatt kilowatts; mw megawatt megawatts; gw gigawatt gigawatts; v "
    "volt volts; kb kilobyte kilobytes kib; mb megabyte megabytes mib; gb gigabyte gigabytes gib; tb terabyte "
    "terabytes tib; byte bytes; bit bits; mph; kmh km/h kph; acre acres; hectare hectares ha; joule joules; calorie "
    "calories; pa pascal pascals; bar bars; nm nanometer nanometers nanometre nanometres; µm um micrometer "
    "micrometers micrometre micrometres micron microns; mol mole moles; token tokens"
)
UNITS = {spelling: names.split()[0] for names in _SPELLINGS.split(";") for spelling in names.split()}

_MONTH = r"(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{3,4})"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\w.-])(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})(?![\d-])",
        rf"\b{_MONTH}\s+{_DAY}(?!\d)(?:,?\s+{_YEAR}\b)?",
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR}\b)?(?!\w)",
        rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}\b",
    )
)
_TOKEN = re.compile(
    r"(?P<sign>[$€£¥]\s?)?(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<suffix>[a-zA-Zµ°%]+)?(?!\w)"
    r"|(?P<word>[^\W\d_]+|°\s?[CF]\b|[%°])"
)
_IDENTIFIER = re.compile(r"(?<![\w.])(?=[\w./-]*[^\W\d_])(?=[\w./-]*\d)\w+(?:[./-]\w+)*")
_RAISED = re.compile(r"(?<=\d)[⁺⁻]?[⁰¹²³⁴-⁹]+")
_RAISED_TAG = re.compile(r"(?<=\d)<sup>([+-]?\d+)</sup>")  # of HTML within Markdown
_RAISED_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_HAS_DIGIT = re.compile(r"\d")
_ORDINAL = re.compile(r"st|nd|rd|th", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit: None where there is none, `#` for an ordinal."""

    value: Decimal
    unit: str | None = None


_MULTIPLES: dict[str, tuple[str, str]] = {
    "minute": ("s", "60"), "h": ("s", "3600"), "day": ("s", "86400"), "week": ("s", "604800"), "ms": ("s", "0.001"),
    "decade": ("year", "10"), "century": ("year", "100"), "km": ("m", "1000"), "cm": ("m", "0.01"),
    "mm": ("m", "0.001"), "kg": ("g", "1000"), "mg": ("g", "0.001"), "tonne": ("g", "1000000"), "ml": ("l", "0.001"),
}  # fmt: skip
"""Units as multiples of another: those that are exact."""
_ONE_OF = re.compile(r"\b(?:an?|per|each|every) ([^\W\d_]+)\b", re.IGNORECASE)
_TIMES = {"twice": 2, "thrice": 3}


def same_amount(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities are the same amount in other units.

    >>> same_amount(Quantity(Decimal(14), "day"), Quantity(Decimal(2), "week"))
    True
    """
    if one.unit is None or other.unit is None:
        return False
    mine, its = _MULTIPLES.get(one.unit, (one.unit, "1")), _MULTIPLES.get(other.unit, (other.unit, "1"))
    return mine[0] == its[0] and one.value * Decimal(mine[1]) == other.value * Decimal(its[1])


def implied(text: str) -> list[Quantity]:
    """Quantities without a number: "a week", "twice".

    >>> [(int(each.value), each.unit) for each in implied("Twice a week.")]
    [(1, 'week'), (2, None)]
    """
    ones = [Quantity(Decimal(1), UNITS[unit]) for unit in map(str.casefold, _ONE_OF.findall(text)) if unit in UNITS]
    times = [
        Quantity(Decimal(value)) for word, value in _TIMES.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE)
    ]
    return [*ones, *times]


@dataclass(frozen=True, slots=True)
class CalendarDate:
    """A date; parts that the text leaves out are None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def is_in(self, other: CalendarDate) -> bool:
        """Whether *other* has all parts of this date.

        >>> CalendarDate(1998, 3).is_in(CalendarDate(1998, 3, 4)), CalendarDate(1998, 3).is_in(CalendarDate(1998))
        (True, False)
        """
        parts = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        return all(mine is None or mine == its for mine, its in parts)


def dates(text: str) -> tuple[list[CalendarDate], str]:
    """The dates of *text* that name a month, and the text with blanks in their place.

    >>> dates("On March 4, 1998 it rained.")
    ([CalendarDate(year=1998, month=3, day=4)], 'On               it rained.')
    """
    found: list[CalendarDate] = []
    if not _HAS_DIGIT.search(text):
        return found, text
    for pattern in _DATES:
        found.extend(map(_date, pattern.finditer(text)))
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    return found, text


def fold_dates(text: str) -> str:
    """*text* with each date that names a month as one word.

    >>> fold_dates("Born 4 March 1998.")
    'Born <1998-3-4>.'
    """
    for pattern in _DATES if _HAS_DIGIT.search(text) else ():
        text = pattern.sub(lambda match: "<{0.year}-{0.month}-{0.day}>".format(_date(match)), text)
    return text


def identifiers(text: str) -> list[str]:
    """Words of letters and digits, such as part numbers and versions, in small letters.

    >>> identifiers("Model QX-5521 needs v1.2 on the 4th.")
    ['qx-5521', 'v1.2']
    """
    found = (match.group().casefold() for match in _IDENTIFIER.finditer(text))
    return [word for word in found if not re.fullmatch(r"[\d.,]+(?:st|nd|rd|th|s|[a-zµ°%]{1,3})?(?:-.*)?", word)]


def with_carets(text: str) -> str:
    """*text* with powers written by a caret: to a pattern, a raised digit is a letter.

    >>> with_carets("10⁶ l of m²"), with_carets("10<sup>6</sup> l")
    ('10^6 l of m²', '10^6 l')
    """
    text = _RAISED_TAG.sub(r"^\1", text) if "<sup>" in text else text
    return text if text.isascii() else _RAISED.sub(lambda found: f"^{found[0].translate(_RAISED_DIGITS)}", text)


def quantities(text: str) -> list[Quantity]:
    """The numbers of *text* in digits and words, with their units; cut dates out first.

    >>> [(str(found.value), found.unit) for found in quantities("Two million people, 5.5 km, the 3rd, $7 and 12%")]
    [('2000000', None), ('5.5', 'km'), ('3', '#'), ('7', '$'), ('12', '%')]
    """
    tokens = list(_TOKEN.finditer(text))
    found: list[Quantity] = []
    place = 0
    while place < len(tokens):
        value, unit, place = _number(tokens, place)
        if value is not None:
            found.append(Quantity(value, unit))
    return found


def _date(match: re.Match[str]) -> CalendarDate:
    named = match.groupdict()
    month = int(named["number"]) if named.get("number") else MONTHS[named["month"].casefold()]
    year, day = named.get("year"), named.get("day")
    return CalendarDate(int(year) if year else None, month, int(day) if day else None)


def _number(tokens: list[re.Match[str]], place: int) -> tuple[Decimal | None, str | None, int]:
    """The number that begins at *place*, if any, its unit, and the place behind both."""
    token = tokens[place]
    word = (token["word"] or "").casefold()
    suffix = (token["suffix"] or "").casefold()
    unit: str | None = None
    if token["digits"]:
        value = Decimal(token["digits"].replace(",", ""))
        unit = (token["sign"] or "").strip() or UNITS.get(suffix)
        if _ORDINAL.fullmatch(suffix):
            return value, "#", place + 1
        value *= _SUFFIXES.get(suffix, 1)
    elif word in _ORDINALS:
        return Decimal(_ORDINALS[word]), "#", place + 1
    elif word in NUMBER_WORDS:
        value = Decimal(NUMBER_WORDS[word])
        after = tokens[place + 1]["word"] if place + 1 < len(tokens) else None
        ones = NUMBER_WORDS.get((after or "").casefold())
        if word in _TENS and ones is not None and 0 < ones < 10:
            value, place = value + ones, place + 1
    else:
        return None, None, place + 1
    place += 1
    while place < len(tokens) and (scale := _SCALES.get((tokens[place]["word"] or "").casefold())):
        value *= scale
        place += 1
    if unit is None and place < len(tokens):
        unit = UNITS.get((tokens[place]["word"] or "").casefold().replace(" ", ""))
    return value, unit, place


# Names: capitalised words that the evidence must contain.

_WORD = re.compile(r"[^\W\d_][\w.]*(?:[-'’][^\W\d_]\w*)*", re.UNICODE)
# Words that begin a sentence with a capital and name nothing.
_OPENING_WORDS = (
    "according additionally afterwards also although another because besides both compared consequently currently "
    "despite due during each earlier either eventually every finally following furthermore generally given hence "
    "however important in indeed initially instead its later likewise many meanwhile moreover most nearly neither "
    "nevertheless nonetheless note notably now nowadays often once one only originally other others otherwise overall "
    "people per perhaps previously rather recently regarding several similarly since sometimes soon specifically "
    "still subsequently therefore though through throughout thus today together two typically unless unlike until "
    "upon usually various whereas whether within yes yet three four five six seven eight nine ten first second third "
    "the document documents source sources text passage context author authors researchers scientists experts "
    "scholars critics historians users it's there's"
)
_OPENERS = frozenset(_OPENING_WORDS.split())
_DERIVED = ("ed", "ing")


def names(sentence: str) -> list[str]:
    """The names of *sentence*, folded; its first word counts only if it cannot be a plain word.

    >>> names("According to Shirley Temple, Ghana's capital is Accra."), names("Kelly married Jay-Z.")
    (['shirley', 'temple', 'ghana', 'accra'], ['kelly', 'jay-z'])
    """
    found = list(_WORD.finditer(sentence))
    return [
        folded_proper_name(match.group())
        for place, match in enumerate(found)
        if _is_name(match.group())
        and (place > 0 or _names_at_start(match, sentence, found[1:2]))
        and not _begins_a_quote(sentence, match)
    ]


@lru_cache(maxsize=16_384)
def folded_proper_name(word: str) -> str:
    """One spelling of a name: no case, no dots, no possessive ending.

    >>> folded_proper_name("U.S."), folded_proper_name("Ghana's"), folded_proper_name("James'")
    ('us', 'ghana', 'james')
    """
    return re.sub(r"['’]s?$", "", word.casefold()).replace(".", "")


@lru_cache(maxsize=1_024)
def folded_words(text: str) -> frozenset[str]:
    """All words of *text*, folded as names are, and the parts of joined words.

    >>> sorted(folded_words("Jay-Z's U.S. tour"))
    ['jay', 'jay-z', 'tour', 'us', 'z']
    """
    found: set[str] = set()
    for match in _WORD.finditer(text):
        word = folded_proper_name(match.group())
        found.add(word)
        if "-" in word or "'" in word or "’" in word:
            found.update(re.split(r"[-'’]", word))
    return frozenset(found)


def stands_in(name: str, words: Set[str]) -> bool:
    """Whether a name, its plural or all parts of a joined name are among *words*.

    >>> stands_in("romans", {"roman"}), stands_in("jay-z", {"jay", "z"}), stands_in("bob", {"rob"})
    (True, True, False)
    """
    if name in words or name.rstrip("s") in words or f"{name}s" in words:
        return True
    parts = [part for part in re.split(r"[-'’]", name) if part]
    return len(parts) > 1 and all(part in words for part in parts)


def _is_name(word: str) -> bool:
    if word[0].isupper():
        return len(word) > 1 and word.casefold() not in STOP_WORDS
    return not word.islower() and word.casefold() != word  # iPhone, eBay


def _names_at_start(first: re.Match[str], sentence: str, following: list[re.Match[str]]) -> bool:
    folded = folded_proper_name(first.group())
    if any(letter.isupper() for letter in first.group()[1:]):
        return True
    if folded in _OPENERS or folded in STOP_WORDS:
        return False
    if following and following[0].group()[0].isupper() and following[0].group().casefold() not in STOP_WORDS:
        return True
    adverb = folded.endswith("ly") and sentence[first.end() :].startswith(",")
    return not adverb and not folded.endswith(_DERIVED)


def _begins_a_quote(sentence: str, match: re.Match[str]) -> bool:
    """Whether the word begins a quoted sentence, which has a capital; quotes are checked verbatim."""
    before = sentence[: match.start()].rstrip(" ")
    return before.endswith(('"', "“", "„")) and before.count('"') % 2 == 1


_SLOT = re.compile(r"<[^>\s]+>|\d+(?:[.,]\d+)*|[^\W\d_][\w.]*(?:[-'’]\w+)*|[,;]")
_KINDS = frozenset({"<name>", "<number>", "<date>"})
_LISTED = frozenset({"and", "or", ",", ";"})  # what stands between two that may change places


@dataclass(frozen=True, slots=True)
class _Slot:
    """A word of a sentence; `kind` is the word itself, or what it is: a name, a number, a date."""

    kind: str
    value: str


def changed_places(claim: str, evidence: str) -> str | None:
    """What changed places between two sentences of the same words: `name`, `number`, `date`, `negation`, or None.

    Found are two names that changed places, a name between the words of another, and a word in the place of its
    opposite.  Members of a list may change places, and so may names if a passive became active (a "by" less).

    >>> changed_places("Accra lies south of Kumasi.", "Kumasi lies south of Accra.")
    'name'
    >>> changed_places("Rome and Oslo won 7 of 9 games.", "Oslo and Rome won 9 of 7 games.")
    'number'
    >>> changed_places("Kumasi was founded by Tutu.", "Tutu founded Kumasi.")
    """
    known = frozenset((*names(claim), *names(evidence)))
    said, shown = _slots(claim, known), _slots(evidence, known)
    matcher = SequenceMatcher(None, [slot.kind for slot in said], [slot.kind for slot in shown], autojunk=False)
    if _turned(said, shown, matcher):
        return "negation"
    if _passives(said) != _passives(shown):
        return None
    moved = [
        (said[block.a + step], shown[block.b + step], said[block.a : block.a + block.size], step)
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
        if said[block.a + step].kind in _KINDS and said[block.a + step].value != shown[block.b + step].value
    ]
    for mine, _, around, step in moved:
        if 0 < step < len(around) - 1 and not _a_list([around[step - 1]]) and not _a_list([around[step + 1]]):
            return mine.kind.strip("<>")
    places = {id(slot): place for place, slot in enumerate(said)}
    for one, (mine, its, _, _) in enumerate(moved):
        for other, its_other, _, _ in moved[one + 1 :]:
            crossed = mine.value == its_other.value and other.value == its.value and mine.kind == other.kind
            if crossed and not _a_list(said[places[id(mine)] : places[id(other)]]):
                return mine.kind.strip("<>")
    return None


def _turned(said: Sequence[_Slot], shown: Sequence[_Slot], matcher: SequenceMatcher[str]) -> bool:
    """Whether a word stands where the other sentence has its opposite."""
    return any(
        shown[there].value in OPPOSITES.get(said[here].value, ())
        for tag, a, a_end, b, b_end in matcher.get_opcodes()
        if tag == "replace" and a_end - a == b_end - b
        for here, there in zip(range(a, a_end), range(b, b_end), strict=True)
    )


def _slots(text: str, known: frozenset[str]) -> list[_Slot]:
    """The words of *text*; dates and neighbouring names are one each."""
    found: list[_Slot] = []
    for match in _SLOT.finditer(fold_dates(text)):
        word = folded_proper_name(match.group())
        if word[0] == "<":
            found.append(_Slot("<date>", word))
        elif word[0].isdigit() or word in NUMBER_WORDS:
            value = NUMBER_WORDS.get(word, word.replace(",", ""))
            found.append(_Slot("<number>", str(value)))
        elif word in known and not match.group().islower():
            if found and found[-1].kind == "<name>":
                found[-1] = _Slot("<name>", f"{found[-1].value} {word}")
            else:
                found.append(_Slot("<name>", word))
        else:
            found.append(_Slot(word, word))
    return found


def _passives(slots: Sequence[_Slot]) -> int:
    return sum(slot.value == "by" for slot in slots)


def _a_list(between: Sequence[_Slot]) -> bool:
    return all(slot.kind in _LISTED or slot.kind == between[0].kind for slot in between)
