"""Sentences, words and quotations of a text, and the small words of German, French and Spanish in English."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

# A sentence ends at . ! ? … (with closing quotes or brackets) before white space and something that can begin one;
# a blank line, a list item, a table row and a heading end one too.
_GERMAN_MONTHS = "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"  # "am 3. Mai"
_BREAK = re.compile(
    rf"(?<=[.!?…。！？])(?:(?<!\b\d\.)(?<!\b\d\d\.)|(?!\s+(?:{_GERMAN_MONTHS})\b))[\"'”’)\]]*\s+(?=[\"'“‘(\[*_`]*[A-Z0-9ÀÖØ-ÞΑ-ΩА-Я])|\n\s*\n|\n(?=\s*(?:[-*+•|#>]|\d+[.)])\s?)|(?<=\|)\s*\n"
)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"\w+(?:[.,:/'’-]\w+)*", re.UNICODE)
_STOP_WORDS = (
    "a about after all also an and any are as at be been before being but by can could did do does for from had has "
    "have he her his how i if in into is it its may me might more most must my no nor not of on or our out over shall "
    "she should so some such than that the their them then there these they this those to too under until up us very "
    "was we were what when where which while who whom why will with would you your"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Span:
    """A slice of a text: code points, `end` exclusive."""

    start: int
    end: int


def sentences(text: str) -> list[Span]:
    r"""The sentences of *text* in order, without the white space around them.

    >>> text = "It rains. Dr. No stays in.\n- one\n- two"
    >>> [text[span.start:span.end] for span in sentences(text)]
    ['It rains.', 'Dr.', 'No stays in.', '- one', '- two']
    """
    spans, start = [], 0
    for gap in [*_BREAK.finditer(text), None]:
        end = gap.start() if gap else len(text)
        piece = text[start:end]
        lead = len(piece) - len(piece.lstrip())
        if piece.strip():
            spans.append(Span(start + lead, start + len(piece.rstrip())))
        start = gap.end() if gap else end
    return spans


def units(text: str) -> list[Span]:
    r"""The sentences of *text*, and each fenced block of code as one; a fence that is not closed goes to the end.

    >>> text = "Set it. So:\n```\na = 1\n\nb = 2\n```\nDone."
    >>> [text[span.start:span.end] for span in units(text)]
    ['Set it.', 'So:', '```\na = 1\n\nb = 2\n```', 'Done.']
    """
    found, place = [], 0
    for fence in [*_FENCE.finditer(text), None]:
        end = fence.start() if fence else len(text)
        found += [Span(place + span.start, place + span.end) for span in sentences(text[place:end])]
        if fence:
            found.append(Span(fence.start(), fence.start() + len(fence.group().rstrip())))
            place = fence.end()
    return found


def words(text: str) -> list[str]:
    """The words of *text* in small letters; numbers and codes with their inner marks are one word.

    >>> words("Port 7,316 of QX-5521!")
    ['port', '7,316', 'of', 'qx-5521']
    """
    return [found.group().casefold() for found in _WORD.finditer(text)]


def stemmed_words(text: str) -> list[str]:
    """The words that carry meaning, with repetitions: no stop words, plain endings cut.

    >>> stemmed_words("The pumps are failing")
    ['pump', 'fail']
    """
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Cut a plain English ending, so that `pumps` meets `pump`; numbers and short words stay.

    >>> stem("retries"), stem("failed"), stem("7.5")
    ('retry', 'fail', '7.5')
    """
    if len(word) < 5 or not word.isalpha():
        return word[:-1] if len(word) == 4 and word.endswith("s") and word.isalpha() and word[-2] != "s" else word
    for ending, instead in (("ies", "y"), ("ing", ""), ("edly", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
            return (word[: -len(ending)] + instead).rstrip("e") or word
    return word.rstrip("e") if len(word) > 4 else word


# Quotations: where a passage stands word for word.

SHORTEST_QUOTE = 2  # words: a shorter one in quotation marks is a term, not a quotation
_FOLDS = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " "})
_QUOTED = re.compile(r'"([^"\n]+)"|“([^”\n]+)”|„([^“”\n]+)[“”]')
_CUTS_BEFORE = re.compile(r"\w$|\d[.,]$")  # a find that begins within a word or a number
_CUTS_BEHIND = re.compile(r"\w|[.,]\d")


def quotations(claim: str) -> list[str]:
    """The quoted passages of *claim* that have at least two words.

    >>> quotations('He said "never again" and “no”.')
    ['never again']
    """
    found = [next(part for part in match.groups() if part) for match in _QUOTED.finditer(claim)]
    return [quote.rstrip(".,;:!?") for quote in found if len(quote.split()) >= SHORTEST_QUOTE]


def find_folded(passage: str, text: str) -> Span | None:
    r"""Where *passage* stands in *text*, regardless of white space, case and typographic quotes; None if nowhere.

    >>> find_folded('He said “no”', 'Then he  said\n"NO".'), find_folded("5 km", "15 km")
    (Span(start=5, end=18), None)
    """
    whole, places = _folded(text)
    needle = " ".join(passage.lower().split()) if passage.isascii() else _folded(passage)[0].strip()
    start = whole.find(needle) if needle else -1
    while start >= 0:
        end = start + len(needle)
        if not _CUTS_BEFORE.search(whole[max(0, start - 2) : start]) and not _CUTS_BEHIND.match(whole[end : end + 2]):
            return Span(places[start], places[end - 1] + 1)
        start = whole.find(needle, start + 1)
    return None


@lru_cache(maxsize=1_024)
def _folded(text: str) -> tuple[str, tuple[int, ...]]:
    """*text* in one case, with plain quotation marks and single blanks, and the place of each of its characters."""
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text.translate(_FOLDS)):
        if letter.isspace():
            if letters and letters[-1] == " ":
                continue
            letter = " "  # noqa: PLW2901
        low = letter.lower()
        letters.append(low if len(low) == 1 else letter)
        places.append(place)
    return "".join(letters), tuple(places)


# Other languages: their small words, numbers and dates, so that the rules can read them.

Language = Literal["en", "de", "fr", "es", ""]
"""The language of a sentence; empty if no rule reads it."""

# English and the words that stand for it. Words that carry meaning are only compared, so they stay untranslated.
_GERMAN = {
    "not": "nicht kein keine keinen keinem keiner keines nie niemals nirgends niemand nichts weder",
    "without": "ohne",
    "only": "nur lediglich ausschließlich allein",
    "all": "alle allen aller jede jeder jedes jeden immer stets sämtliche",
    "some": "einige einigen manche manchen manchmal gelegentlich mehrere wenige",
    "most": "meist meistens meisten überwiegend hauptsächlich gewöhnlich",
    "may": "kann können könnte könnten möglicherweise vielleicht darf dürfen",
    "must": "muss müssen soll sollen sollte sollten",
    "if": "wenn falls sofern außer",
    "or": "oder entweder",
    "before": "bevor vor",
    "after": "nachdem nach",
    "because": "weil wegen da deshalb daher",
    "about": "etwa ungefähr rund fast",
    "than": "als",
    "will": "wird werden",
    "the": "der die das den dem des",
    "a": "ein eine einen einem einer eines",
    "and": "und sowie",
    "is": "ist sind war waren wurde wurden sei",
    "has": "hat haben hatte hatten",
    "of": "von vom",
    "in": "in im ins bei beim an am auf zu zum zur für mit aus über unter durch um",
    "it": "es er sie ihr ihre sein seine dies dieser diese dieses",
    "that": "dass",
    "but": "aber sondern",
    "hours": "stunde stunden",
    "days": "tag tage tagen",
    "weeks": "woche wochen",
    "months": "monat monate monaten",
    "years": "jahr jahre jahren",
    "minutes": "minute minuten",
    "seconds": "sekunde sekunden",
    "percent": "prozent",
}
_FRENCH = {
    "not": "pas jamais aucun aucune rien personne ni nul nulle",
    "without": "sans",
    "only": "seulement uniquement seul seule",
    "all": "tous toutes tout toute chaque toujours",
    "some": "quelques certains certaines parfois plusieurs",
    "most": "plupart généralement principalement souvent habituellement",
    "may": "peut peuvent pourrait pourraient peut-être",
    "must": "doit doivent devrait devraient faut",
    "if": "si sauf",
    "or": "ou soit",
    "before": "avant",
    "after": "après",
    "because": "parce car puisque",
    "about": "environ presque",
    "will": "sera seront",
    "the": "le la les l",
    "a": "un une des",
    "and": "et",
    "is": "est sont était étaient été fut",
    "has": "a ont avait avaient",
    "of": "de du d",
    "in": "en dans au aux à sur par pour avec sous chez",
    "it": "il elle ils elles ce cette ces cet son sa ses se s y on leur leurs",
    "that": "que qui qu",
    "but": "mais",
    "": "ne n",
    "hours": "heure heures",
    "days": "jour jours",
    "weeks": "semaine semaines",
    "months": "mois",
    "years": "an ans année années",
    "minutes": "minute minutes",
    "seconds": "seconde secondes",
}
_SPANISH = {
    "not": "no nunca jamás ningún ninguna ninguno nada nadie ni tampoco",
    "without": "sin",
    "only": "solo sólo solamente únicamente",
    "all": "todos todas todo toda cada siempre",
    "some": "algunos algunas algún alguna varios varias",
    "most": "mayoría generalmente principalmente",
    "may": "puede pueden podría podrían quizá quizás",
    "must": "debe deben debería deberían",
    "if": "si salvo excepto",
    "or": "o",
    "before": "antes",
    "after": "después",
    "because": "porque pues",
    "about": "aproximadamente casi unos unas",
    "will": "será serán",
    "the": "el la los las",
    "a": "un una",
    "and": "y e",
    "is": "es son era eran fue fueron está están ser",
    "has": "ha han había hay tiene tienen",
    "of": "de del",
    "in": "en a al por para con sobre bajo",
    "it": "ello él ella ellos ellas su sus se le lo este esta estos estas",
    "that": "que",
    "but": "pero sino",
    "hours": "hora horas",
    "days": "día días",
    "weeks": "semana semanas",
    "months": "mes meses",
    "years": "año años",
    "minutes": "minuto minutos",
    "seconds": "segundo segundos",
}
_MONTHS = {
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
ENGLISH_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905


def _table(words: dict[str, str], months: str) -> dict[str, str]:
    made = {word: english for english, same in words.items() for word in same.split()}
    return made | dict(zip(months.split(), ENGLISH_MONTHS, strict=True))


_TABLES: dict[Language, dict[str, str]] = {
    "de": _table(_GERMAN, _MONTHS["de"]),
    "fr": _table(_FRENCH, _MONTHS["fr"]),
    "es": _table(_SPANISH, _MONTHS["es"]),
}
_LETTERS = re.compile(r"[^\W\d_]+")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3})((?:[.\u00a0\u202f ]\d{3})+)(?=,\d|(?![\d.,]*\d))")
_DECIMAL = re.compile(r"(?<![\d.,])(\d+),(\d+)(?![\d.,]*\d)")
_DATE = re.compile(r"(?<![\d.,/])(\d{1,2})[./](\d{1,2})[./](\d{4})(?!\d)")
_ANY_MONTH = "|".join(ENGLISH_MONTHS)
_DAY_OF = re.compile(rf"\b(\d{{1,2}})(?:\.|er)? (?:of )?({_ANY_MONTH})(?: of)?\b")


@lru_cache(maxsize=4_096)
def detected_language(text: str) -> Language:
    """The language most of whose small words *text* has; English if none are found and all letters are ASCII.

    >>> [detected_language(text) for text in ("The pump is red.", "Die Pumpe ist rot.", "ポンプは赤い。", "Rent: £50.")]
    ['en', 'de', '', 'en']
    """
    words = Counter(word.casefold() for word in _LETTERS.findall(text))
    votes: dict[Language, int] = {"en": sum(count for word, count in words.items() if word in STOP_WORDS)}
    votes |= {name: sum(count for word, count in words.items() if word in table) for name, table in _TABLES.items()}
    best = max(votes, key=votes.__getitem__)
    if votes[best] == 0:
        return "en" if all(map(str.isascii, words)) else ""
    is_sure = votes[best] > max(votes["en"], 1) or votes["en"] == 0  # one such word may be part of a name
    return best if is_sure else "en"


@lru_cache(maxsize=4_096)
def in_english(text: str) -> str:
    """*text* with its small words, numbers and dates in English, if it is German, French or Spanish.

    >>> in_english("Die Pumpe fasst nicht 1.234,5 Liter."), in_english("Gebaut am 3. März 1998 und am 04.05.1999.")
    ('the Pumpe fasst not 1234.5 Liter.', 'Gebaut in 3 march 1998 and in 4 may 1999.')
    """
    language = detected_language(text)
    if language in {"en", ""}:
        return text
    table = _TABLES[language]
    text = _DATE.sub(_named_month, text)
    text = _THOUSANDS.sub(lambda found: found[1] + re.sub(r"\D", "", found[2]), text)
    text = _DECIMAL.sub(r"\1.\2", text)
    text = _LETTERS.sub(
        lambda found: table.get(found[0].casefold(), found[0]), text.replace("’", "'").replace("'", " ")
    )
    return _DAY_OF.sub(r"\1 \2", text)


def _named_month(found: re.Match[str]) -> str:
    month = int(found[2])
    return f"{int(found[1])} {ENGLISH_MONTHS[month - 1]} {found[3]}" if 1 <= month <= 12 else found[0]
