"""Read the cells of a column as numbers, amounts, dates, durations or booleans, by the habits of the whole column."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Literal

from groundcheck.facts import MONTHS, UNITS

ColumnKind = Literal["number", "amount", "date", "duration", "text", "boolean"]
CURRENCIES = {
    "€": "EUR", "eur": "EUR", "euro": "EUR", "euros": "EUR", "$": "USD", "usd": "USD", "us$": "USD", "dollar": "USD",
    "dollars": "USD", "£": "GBP", "gbp": "GBP", "chf": "CHF", "fr.": "CHF", "¥": "JPY", "jpy": "JPY", "yen": "JPY",
    "sek": "SEK", "nok": "NOK", "dkk": "DKK", "pln": "PLN", "czk": "CZK", "cad": "CAD", "aud": "AUD", "inr": "INR",
    "₹": "INR", "cny": "CNY", "kroner": "NOK", "kronor": "SEK", "franken": "CHF", "francs": "CHF", "zloty": "PLN",
    "rupees": "INR",
}  # fmt: skip
EMPTY = frozenset({"", "-", "–", "—", "n/a", "na", "none", "null", "k.a.", "k. a.", "?", "...", "…", "nan"})
"""What people write where there is nothing."""
_GERMAN = "januar februar märz april mai juni juli august september oktober november dezember"
MONTH_NUMBERS = MONTHS | {name: number for number, name in enumerate(_GERMAN.split(), start=1)}
MONTH_NUMBERS |= {"mrz": 3, "maerz": 3, "okt": 10, "dez": 12, "mär": 3}
_TRUE = frozenset({"true", "yes", "y", "ja", "wahr", "x", "✓", "✔", "☑", "✅", "[x]", "oui"})
_FALSE = frozenset({"false", "no", "n", "nein", "falsch", "[ ]", "☐", "✗", "✘", "❌", "[]", "non"})
_MARKS = frozenset({"x", "✓", "✔", "☑", "✅", "[x]"})
_NUMBER = re.compile(
    r"(?P<sign>[-+−(]?)\s*(?P<before>[^\W\d]{1,6}\.?|[$€£¥₹]|US\$)?\s*(?P<minus>[-−]?)"
    r"(?P<digits>\d[\d.,'’ \u00a0\u202f]*(?:[eE][-+]?\d{1,2})?)(?<![ \u00a0\u202f])\s*"
    r"(?P<after>[^\d\s()][^\d()]{0,14})?\)?"
)
_ISO = re.compile(
    r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?:[T ](\d{1,2}):(\d\d)(?::(\d\d))?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"
)
_PARTS = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{2,4})(?:,?[T ]+(\d{1,2}):(\d\d)(?::(\d\d))?)?")
_MONTH_YEAR = re.compile(r"(0[1-9]|1[0-2])[./]((?:19|20)\d\d)")
_DAY_FIRST = re.compile(r"(?:[^\W\d]+,? )?(\d{1,2})(?:\.|st|nd|rd|th)? ([^\W\d]{3,9})\.?,? (\d{4})")
_MONTH_FIRST = re.compile(r"([^\W\d]{3,9})\.? (?:(\d{1,2})(?:st|nd|rd|th)?,? )?(\d{4})")
_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d))?")
_SPOKEN = re.compile(
    r"(?:(\d+(?:[.,]\d+)?) ?(?:d|days?|tage?) ?)?(?:(\d+(?:[.,]\d+)?) ?(?:h|hrs?|hours?|std|stunden?) ?)?"
    r"(?:(\d+(?:[.,]\d+)?) ?(?:m|mins?|minutes?|minuten?|') ?)?(?:(\d+(?:[.,]\d+)?) ?(?:s|secs?|seconds?|sek) ?)?"
)
LASTS = re.compile(
    r"m+:ss|\bmin:s|\(h:mm?\)|duration|length|time spent|elapsed|dauer|lasted|took|hours|laufzeit|moving|"
    r"running time|pace",
    re.I,
)
DAY_S = 86_400


_ERROR = re.compile(r"#[A-Z/0]{2,8}[!?]?")  # of a formula
Counts = Mapping[str, int]
"""Texts of cells, and how many cells have each."""


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """What a column is: a value for each distinct text, None where the cell is empty; `unread` are of another kind.

    Numbers and amounts are Decimals, dates and durations whole seconds, booleans 0 and 1.
    """

    kind: ColumnKind
    unit: str
    values: dict[str, Decimal | int | None]
    units: dict[str, str]
    unread: frozenset[str] = frozenset()


def unit_in(name: str) -> str:
    """The unit or currency that a header states: in brackets, behind `in`, or as its last word; empty if none.

    >>> unit_in("Distance (km)"), unit_in("Betrag in EUR"), unit_in("Price €"), unit_in("Name"), unit_in("Hours")
    ('km', 'EUR', 'EUR', '', 'h')
    """
    found = [*re.findall(r"[(\[]([^()\[\]]{1,15})[)\]]", name), *re.findall(r"(?:\bin|/|,)\s+(\S{1,10})$", name)]
    plain = name.replace("_", " ").split()
    if name.casefold() in {"year", "jahr", "month", "week", "day"}:  # a date, not a duration
        return ""
    money = [word for word in plain if unit_name(word) in CURRENCIES.values()]
    for text in [
        *money,
        *found,
        *plain[-1:],
        *(word for word in plain[:1] if len(word) > 4 and word.casefold() != "second"),
    ]:
        unit = unit_name(text)
        if unit:
            return unit
    return ""


_EMPHASIS = re.compile(
    r"(?:\*\*|__|~~|`)(.+?)(?:\*\*|__|~~|`)|!?\[\[(?:[^\]|]*\|)?([^\]]+)\]\]|!?\[([^\]]*)\]\([^)]*\)"
)
_CELL_END = re.compile(r"(?<!\\)\|")


def split_row(line: str) -> list[str]:
    r"""The cells of a line of a Markdown table, without emphasis and links around their texts.

    >>> split_row("| a\\|b | **12** | [[x|y]] |"), split_row("a | b")
    (['a|b', '12', 'y'], ['a', 'b'])
    """
    line = line.strip()
    line = line[1:] if line.startswith("|") else line
    line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    if "\\" not in line and "[" not in line and "*" not in line and "_" not in line and "`" not in line:
        return [cell.strip() for cell in line.split("|")]
    line = re.sub(r"\[\[([^\]|]*)\|([^\]]*)\]\]", r"\2", line)
    cells = (cell.strip().replace("\\|", "|") for cell in _CELL_END.split(line))
    return [_EMPHASIS.sub(lambda found: next(filter(None, found.groups()), ""), cell) for cell in cells]


def unit_factor(unit: str, other: str) -> Decimal | None:
    """How many of *other* one *unit* is; None if they do not measure the same.

    >>> unit_factor("h", "s"), unit_factor("m", "km"), unit_factor("kg", "km")
    (Decimal('3600'), Decimal('0.001'), None)
    """
    if unit == other or (unit, other) == ("lb", "GBP"):  # pounds
        return Decimal(1)
    mine, its = _SIZES.get(unit), _SIZES.get(other)
    return Decimal(mine[1]) / Decimal(its[1]) if mine and its and mine[0] == its[0] else None


_SIZES = {
    "km": ("m", "1000"), "m": ("m", "1"), "cm": ("m", "0.01"), "mm": ("m", "0.001"), "h": ("s", "3600"),
    "minute": ("s", "60"), "s": ("s", "1"), "day": ("s", "86400"), "kg": ("g", "1000"), "g": ("g", "1"),
    "tonne": ("g", "1000000"), "mg": ("g", "0.001"), "l": ("l", "1"), "ml": ("l", "0.001"),
}  # fmt: skip


def unit_name(text: str) -> str:
    """One name for the spellings of a unit or currency; empty if it is none.

    >>> unit_name("Kilometers"), unit_name("€"), unit_name("EUR"), unit_name("cups")
    ('km', 'EUR', 'EUR', '')
    """
    text = text.strip().strip(".").casefold() if text.strip() not in {"fr.", "Fr."} else "fr."
    text = text.replace("\u03bc", "\u00b5")  # the letter mu, which small letters make of the sign of micro
    own = {
        "kwh": "kWh",
        "kilowattstunden": "kWh",
        "km/h": "kmh",
        "std": "h",
        "stunden": "h",
        "minuten": "minute",
        "tage": "day",
        "prozent": "%",
        "liter": "l",
        "t": "tonne",
        **dict.fromkeys(("m²", "m2", "qm", "sqm", "quadratmeter"), "m²"),
        **dict.fromkeys(("m³", "m3", "cbm", "kubikmeter"), "m³"),
        **dict.fromkeys(("kcal", "calories", "kalorien"), "kcal"),
        **{unit: unit for unit in ("mg/l", "µg/l", "g/l")},
    }
    return CURRENCIES.get(text) or own.get(text) or UNITS.get(text, "")


def read_column(name: str, texts: Counts, *, comma: bool | None) -> ReadColumn:
    """The kind of a column of *texts*, with their counts, under the header *name*.

    *comma* says how its neighbours write decimals.

    A column is of a kind if at least nine of ten of its cells are.  A cell that is of no kind, such as `#REF!`, is
    unread: what would need it is refused.

    >>> read_column("Betrag", {"1.234,50 €": 1, "7,00 €": 1}, comma=None).values
    {'1.234,50 €': Decimal('1234.50'), '7,00 €': Decimal('7.00')}
    >>> read_column("paid", {"yes": 2, "no": 1}, comma=None).kind, read_column("day", {"3.5.1890": 1}, comma=None).kind
    ('boolean', 'date')
    """
    filled = [text for text in texts if text.casefold() not in EMPTY]
    for read in (_booleans, _durations, _dates):
        found = read(name, filled, texts)
        if found is not None:
            return found
    return _numbers(name, filled, texts, comma=comma) or ReadColumn("text", "", {}, {})


def _mostly(
    kind: ColumnKind, filled: Sequence[str], texts: Counts, parse: Callable[[str], int | None]
) -> ReadColumn | None:
    values: dict[str, Decimal | int | None] = dict.fromkeys(texts)
    values |= {text: parse(text) for text in filled}
    unread = frozenset(text for text in filled if values[text] is None)
    wrong = sum(texts[text] for text in unread if not _ERROR.fullmatch(text))
    errors = sum(texts[text] for text in unread) - wrong
    right = sum(texts[text] for text in filled) - errors
    return ReadColumn(kind, "", values, {}, unread) if right > wrong and wrong * 10 <= right else None


def _booleans(_name: str, filled: Sequence[str], texts: Counts) -> ReadColumn | None:
    folded = {text: text.casefold().strip() for text in texts}
    if not filled or not all(folded[text] in _TRUE | _FALSE for text in filled):
        return None
    marks = all(folded[text] in _MARKS for text in filled)
    values: dict[str, Decimal | int | None] = {
        text: (0 if marks else None) if text not in filled else int(word in _TRUE) for text, word in folded.items()
    }
    return ReadColumn("boolean", "", values, {})


def _durations(name: str, filled: Sequence[str], texts: Counts) -> ReadColumn | None:
    clocks = [found for text in filled[:10_000] if (found := _CLOCK.fullmatch(text))]
    longest = max((int(found[1]) for found in clocks), default=0)
    is_time = re.search(r"(?i)\btime\b|zeit\b", name) is not None and not re.search(
        r"(?i)start|end|begin|von|bis", name
    )
    lasts = bool(LASTS.search(name)) or (is_time and (longest > 23 or any(found[3] for found in clocks)))
    whole = [found for found in clocks if found[3]]
    has_hours = (whole and all(len(found[1]) == 2 for found in whole)) or not (
        whole or re.search(r"(?i)m+:ss|min", name) or longest > 200
    )

    def seconds(text: str) -> int | None:
        clock = _CLOCK.fullmatch(text)
        if clock:
            first, second, third = (int(part or 0) for part in clock.groups())
            whole = first * 3600 + second * 60 + third if clock[3] or has_hours else first * 60 + second
            return whole if lasts else None
        spoken = _SPOKEN.fullmatch(text.casefold())
        if not spoken or not any(spoken.groups()):
            return None
        parts = [Decimal((part or "0").replace(",", ".")) for part in spoken.groups()]
        return int(sum(part * size for part, size in zip(parts, (DAY_S, 3600, 60, 1), strict=True)))

    mixed = any(_CLOCK.fullmatch(text) or re.search(r"\d ?[a-z'].*\d ?[a-z']", text.casefold()) for text in filled)
    return _mostly("duration", filled, texts, seconds) if mixed else None


def _dates(_name: str, filled: Sequence[str], texts: Counts) -> ReadColumn | None:
    parts = [found for text in filled[:10_000] if (found := _PARTS.fullmatch(text)) and len(found[1]) < 3]
    day_first = any(int(found[1]) > 12 for found in parts) or all(found[2] == "." for found in parts)
    month_first = any(int(found[3]) > 12 for found in parts)
    if parts and day_first == month_first:
        return None  # 3/4/2026 may be two days: the column stays text
    return _mostly("date", filled, texts, lambda text: seconds_of_date(text, month_first=month_first))


def seconds_of_date(text: str, *, month_first: bool = False) -> int | None:
    """Seconds from the first day of year 1 to a date as people write it, with its time of day; None if it is none.

    >>> seconds_of_date("2026-08-03") == seconds_of_date("3.8.2026") == seconds_of_date("Aug 3, 2026")
    True
    >>> seconds_of_date("31.2.2026"), seconds_of_date("0001-01-01 00:01")
    (None, 60)
    """
    time = (0, 0, 0)
    if found := _ISO.fullmatch(text):
        year, month, day = int(found[1]), int(found[2]), int(found[3] or 1)
        time = int(found[4] or 0), int(found[5] or 0), int(found[6] or 0)
    elif found := _PARTS.fullmatch(text):
        first, second, third = int(found[1]), int(found[3]), int(found[4])
        time = int(found[5] or 0), int(found[6] or 0), int(found[7] or 0)
        if len(found[1]) == 4:
            year, month, day = first, second, third
        else:
            day, month, year = (second, first, third) if month_first else (first, second, third)
            year += (2000 if year < 70 else 1900) if len(found[4]) == 2 else 0
    elif found := _MONTH_YEAR.fullmatch(text):
        year, month, day = int(found[2]), int(found[1]), 1
    elif found := _DAY_FIRST.fullmatch(text):
        year, month, day = int(found[3]), MONTH_NUMBERS.get(found[2].casefold(), 0), int(found[1])
    elif found := _MONTH_FIRST.fullmatch(text):
        year, month, day = int(found[3]), MONTH_NUMBERS.get(found[1].casefold(), 0), int(found[2] or 1)
    else:
        return None
    try:
        return (date(year, month, day).toordinal() - 1) * DAY_S + time[0] * 3600 + time[1] * 60 + time[2]
    except ValueError:
        return None


def decimal_comma(texts: Sequence[str]) -> bool | None:
    """Whether numbers of *texts* have a decimal comma; None if nothing says so.

    >>> decimal_comma(["1.234,50"]), decimal_comma(["1,234.50"]), decimal_comma(["7,5"]), decimal_comma(["1.234"])
    (True, False, True, None)
    """
    votes = {True: 0, False: 0}
    for text in texts[:10_000]:
        found = None if seconds_of_date(text) is not None else re.search(r"\d[\d.,]*\d", text)
        digits = found[0] if found else ""
        comma, point = digits.rfind(","), digits.rfind(".")
        if comma >= 0 and point >= 0:
            votes[comma > point] += 1
        elif comma >= 0 or point >= 0:
            mark = "," if comma >= 0 else "."
            if digits.count(mark) > 1:
                votes[mark == "."] += 1
            elif len(digits) - max(comma, point) - 1 != 3 or digits.startswith("0"):
                votes[mark == ","] += 1
    return None if votes[True] == votes[False] else votes[True] > votes[False]


def _numbers(name: str, filled: Sequence[str], texts: Counts, *, comma: bool | None) -> ReadColumn | None:
    own = decimal_comma(filled)
    decimals = bool(comma) if own is None else own
    units: dict[str, str] = {}

    def number(text: str) -> Decimal | None:
        found = _NUMBER.fullmatch(text)
        written = found and _decimal(found["digits"], comma=decimals)
        if not found or written is None:
            return None
        unit = ""
        for affix in (found["before"], found["after"]):
            if affix and affix.strip() not in {",-", ".-", ",–"}:
                known = unit_name(affix)
                if not known or (affix == found["before"] and known not in CURRENCIES.values()):
                    return None  # `L-1001` is a name, not litres
                unit = known
        units[text] = unit
        return -written if found["sign"] in {"-", "−", "("} or found["minus"] else written

    found = _mostly("number", filled, texts, number)  # type: ignore[arg-type]
    if found is None or re.fullmatch(
        r"(?i)(.*\W)?(id|no\.?|(?:\w*[a-z])?nr\.?|\w*nummer|plz|zip|phone|telefon|code|sku|bib)", name.strip()
    ):
        return None
    written = {unit for unit in units.values() if unit}
    stated = unit_in(name)
    if not written:
        unit = stated
    elif len(written) == 1 and (all(units.values()) or stated in {"", *written}):
        unit = next(iter(written))
    else:
        unit = "mixed"
        units = {text: each or stated for text, each in units.items()}
    currencies = set(CURRENCIES.values())
    kind: ColumnKind = "amount" if (written or {stated}) & currencies else "number"
    return ReadColumn(kind, unit, found.values, units if unit == "mixed" else {}, found.unread)


def _decimal(digits: str, *, comma: bool) -> Decimal | None:
    plain = re.sub(r"['’ \u00a0\u202f]", "", digits)
    thousands, point = (".", ",") if comma else (",", ".")
    whole, mark, rest = plain.partition(point)
    if (
        thousands in rest
        or point in rest
        or (thousands in whole and not re.fullmatch(r"\d{1,3}(?:[.,]\d{2,3})*[.,]\d{3}", whole))
    ):
        return None
    try:
        return Decimal(whole.replace(thousands, "") + (f".{rest}" if mark and rest else ""))
    except InvalidOperation:
        return None
