"""Languages: the small words, numbers and dates of German, French and Spanish, put so that the rules can read them."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Literal

from groundcheck.sentences import STOP_WORDS

Language = Literal["en", "de", "fr", "es", ""]
"""What a sentence is written in; empty where rules do not know it."""

# What a word stands for. Words that carry the meaning stay as they are: they are only compared.
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
_ENGLISH_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905


def _table(words: dict[str, str], months: str) -> dict[str, str]:
    made = {word: english for english, same in words.items() for word in same.split()}
    return made | dict(zip(months.split(), _ENGLISH_MONTHS, strict=True))


_TABLES: dict[Language, dict[str, str]] = {
    "de": _table(_GERMAN, _MONTHS["de"]),
    "fr": _table(_FRENCH, _MONTHS["fr"]),
    "es": _table(_SPANISH, _MONTHS["es"]),
}
_WORD = re.compile(r"[^\W\d_]+")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3})((?:[.\u00a0\u202f ]\d{3})+)(?=,\d|(?![\d.,]*\d))")
_DECIMAL = re.compile(r"(?<![\d.,])(\d+),(\d+)(?![\d.,]*\d)")
_DATE = re.compile(r"(?<![\d.,/])(\d{1,2})[./](\d{1,2})[./](\d{4})(?!\d)")
_ANY_MONTH = "|".join(_ENGLISH_MONTHS)
_DAY = re.compile(rf"\b(\d{{1,2}})(?:\.|er)? (?:of )?({_ANY_MONTH})(?: of)?\b")


@lru_cache(maxsize=4_096)
def language_of(text: str) -> Language:
    """The language whose small words *text* has most of; English where nobody's were found and all letters are plain.

    >>> [language_of(text) for text in ("The pump is red.", "Die Pumpe ist rot.", "ポンプは赤い。")]
    ['en', 'de', '']
    """
    words = Counter(word.casefold() for word in _WORD.findall(text))
    votes: dict[Language, int] = {"en": sum(count for word, count in words.items() if word in STOP_WORDS)}
    votes |= {name: sum(count for word, count in words.items() if word in table) for name, table in _TABLES.items()}
    best = max(votes, key=votes.__getitem__)
    if votes[best] == 0:
        return "en" if text.isascii() else ""
    is_sure = votes[best] > max(votes["en"], 1) or votes["en"] == 0  # one such word may be part of a name
    return best if is_sure else "en"


@lru_cache(maxsize=4_096)
def in_english(text: str) -> str:
    """*text* with its small words, numbers and dates as English writes them, if it is German, French or Spanish.

    >>> in_english("Die Pumpe fasst nicht 1.234,5 Liter."), in_english("Gebaut am 3. März 1998 und am 04.05.1999.")
    ('the Pumpe fasst not 1234.5 Liter.', 'Gebaut in 3 march 1998 and in 4 may 1999.')
    """
    language = language_of(text)
    if language in {"en", ""}:
        return text
    table = _TABLES[language]
    text = _DATE.sub(_named_month, text)
    text = _THOUSANDS.sub(lambda found: found[1] + re.sub(r"\D", "", found[2]), text)
    text = _DECIMAL.sub(r"\1.\2", text)
    text = _WORD.sub(lambda found: table.get(found[0].casefold(), found[0]), text.replace("’", "'").replace("'", " "))
    return _DAY.sub(r"\1 \2", text)


def _named_month(found: re.Match[str]) -> str:
    month = int(found[2])
    return f"{int(found[1])} {_ENGLISH_MONTHS[month - 1]} {found[3]}" if 1 <= month <= 12 else found[0]
