"""Numbers with units, and dates, in a text: an answer must not change them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_CARDINAL_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_CARDINALS = _CARDINAL_WORDS.split()
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = dict(zip(_TENS_WORDS.split(), range(20, 100, 10), strict=True))
NUMBER_WORDS = {word: value for value, word in enumerate(_CARDINALS)} | _TENS
_SCALES = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
    "bn": 10**9,
    "mn": 10**6,
}
_ORDINAL_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINALS = {
    word: value
    for value, word in enumerate(
        _ORDINAL_WORDS.split(),
        start=1,
    )
}
# Spellings of one unit stand in one string; its first word is the unit's name.
_SPELLINGS = (
    "km kilometer kilometers kilometre kilometres kms",
    "m meter meters metre metres",
    "cm centimeter centimeters centimetre centimetres",
    "mm millimeter millimeters millimetre millimetres",
    "mile miles mi",
    "foot feet ft",
    "inch inches",
    "yard yards yd",
    "kg kilogram kilograms kilo kilos",
    "g gram grams",
    "mg milligram milligrams",
    "lb lbs pound pounds",
    "oz ounce ounces",
    "tonne tonnes ton tons",
    "l liter liters litre litres",
    "ml milliliter milliliters millilitre millilitres",
    "gallon gallons gal",
    "ms millisecond milliseconds",
    "s second seconds sec secs",
    "minute minutes min mins",
    "h hour hours hr hrs",
    "day days",
    "week weeks",
    "month months",
    "year years yr yrs",
    "decade decades",
    "century centuries",
    "% percent percentage per-cent pct",
    "$ dollar dollars usd",
    "€ euro euros eur",
    "£ gbp sterling",
    "¥ yen jpy",
    "degree degrees °",
    "°c celsius c",
    "°f fahrenheit f",
    "kelvin kelvins",
    "hz hertz",
    "khz kilohertz",
    "mhz megahertz",
    "ghz gigahertz",
    "w watt watts",
    "kw kilowatt kilowatts",
    "mw megawatt megawatts",
    "gw gigawatt gigawatts",
    "v volt volts",
    "kb kilobyte kilobytes kib",
    "mb megabyte megabytes mib",
    "gb gigabyte gigabytes gib",
    "tb terabyte terabytes tib",
    "byte bytes",
    "bit bits",
    "mph",
    "kmh km/h kph",
    "acre acres",
    "hectare hectares ha",
    "joule joules",
    "calorie calories",
    "pa pascal pascals",
    "bar bars",
    "nm nanometer nanometers nanometre nanometres",
    "µm um micrometer micrometers micrometre micrometres micron microns",
    "mol mole moles",
    "token tokens",
)
UNITS = {spelling: names.split()[0] for names in _SPELLINGS for spelling in names.split()}
_SIGNS = {"$": "$", "€": "€", "£": "£", "¥": "¥"}

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
    """A number with the unit behind or before it; `unit` is None where none is known, `#` for an ordinal."""

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
    """A date as far as it is told."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def told_by(self, other: CalendarDate) -> bool:
        """Whether *other* says all that this date says.

        >>> CalendarDate(1998, 3).told_by(CalendarDate(1998, 3, 4)), CalendarDate(1998, 3).told_by(CalendarDate(1998))
        (True, False)
        """
        mine, its = (self.year, self.month, self.day), (other.year, other.month, other.day)
        return all(part is None or part == told for part, told in zip(mine, its, strict=True))


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
    """Words of letters and digits, such as part numbers and versions, folded to one case.

    >>> identifiers("Model QX-5521 needs v1.2 on the 4th.")
    ['qx-5521', 'v1.2']
    """
    found = (match.group().casefold() for match in _IDENTIFIER.finditer(text))
    return [word for word in found if not re.fullmatch(r"[\d.,]+(?:st|nd|rd|th|s|[a-zµ°%]{1,3})?(?:-.*)?", word)]


def with_carets(text: str) -> str:
    """*text* with the powers of numbers written by a caret: a pattern takes a raised digit for a letter.

    >>> with_carets("10⁶ l of m²"), with_carets("10<sup>6</sup> l")
    ('10^6 l of m²', '10^6 l')
    """
    text = _RAISED_TAG.sub(r"^\1", text) if "<sup>" in text else text
    return text if text.isascii() else _RAISED.sub(lambda found: f"^{found[0].translate(_RAISED_DIGITS)}", text)


def quantities(text: str) -> list[Quantity]:
    """The numbers of *text* in digits and words, each with its unit; dates should be cut out before.

    >>> [(str(found.value), found.unit) for found in quantities("Two million people, 5.5 km, the 3rd, $7 and 12%")]
    [('2000000', None), ('5.5', 'km'), ('3', '#'), ('7', '$'), ('12', '%')]
    """
    tokens = list(_tokens(text))
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


def _tokens(text: str) -> Iterator[re.Match[str]]:
    return _TOKEN.finditer(text)


def _number(tokens: list[re.Match[str]], place: int) -> tuple[Decimal | None, str | None, int]:
    """The number that begins at *place*, if one does, and the place behind it."""
    token = tokens[place]
    word = (token["word"] or "").casefold()
    suffix = (token["suffix"] or "").casefold()
    unit: str | None = None
    if token["digits"]:
        try:
            value = Decimal(token["digits"].replace(",", ""))
        except InvalidOperation:  # pragma: no cover - the pattern only lets numbers through
            return None, None, place + 1
        unit = _SIGNS.get((token["sign"] or "").strip()) or UNITS.get(suffix)
        if _ORDINAL.fullmatch(suffix):
            return value, "#", place + 1
        if suffix in {"k", "bn", "mn"}:
            value *= {"k": 1_000, "bn": 10**9, "mn": 10**6}[suffix]
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
    while place < len(tokens) and (tokens[place]["word"] or "").casefold() in _SCALES:
        value *= _SCALES[(tokens[place]["word"] or "").casefold()]
        place += 1
    if unit is None and place < len(tokens):
        unit = UNITS.get((tokens[place]["word"] or "").casefold().replace(" ", ""))
    return value, unit, place
