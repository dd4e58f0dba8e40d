"""Dates of a question: documents of that day or month come first, by their date, title or file name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragdrop.domain.chunks import Filters, Hit
from ragdrop.query.fusion import Fused, by_score

DATE_BONUS = 0.2  # of a fused score; twice that of a heading which holds every word
DATE_COVERAGE = 0.75  # what a document of that date is taken to cover of the question at least

_MONTHS = (
    "january january januar",
    "february february februar",
    "march march märz",
    "april april april",
    "may may mai",
    "june june juni",
    "july july juli",
    "august august august",
    "september september september",
    "october october oktober",
    "november november november",
    "december december dezember",
)
_NUMBERS = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
_NUMBERS |= {name[:3]: number for name, number in _NUMBERS.items()} | {"sept": 9}
_NAME = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_ISO = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?\b")
_DAY_FIRST = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?)?({_NAME})\.?,?\s+(\d{{4}})\b", re.IGNORECASE
)
_MONTH_FIRST = re.compile(rf"\b({_NAME})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AskedDate:
    """A month of a year, or one of its days where `day` is not None."""

    year: int
    month: int
    day: int | None = None

    @property
    def iso(self) -> str:
        """What dates in it begin with.

        >>> AskedDate(2025, 1).iso, AskedDate(2025, 1, 22).iso
        ('2025-01', '2025-01-22')
        """
        day = "" if self.day is None else f"-{self.day:02}"
        return f"{self.year}-{self.month:02}{day}"

    def filters(self, whole: Filters) -> Filters:
        """*whole*, and only documents of this date."""
        day = 31 if self.day is None else self.day
        return replace(
            whole, date_from=f"{self.year}-{self.month:02}-{self.day or 1:02}", date_to=f"{self.iso[:7]}-{day:02}"
        )


def dates_in(question: str) -> tuple[AskedDate, ...]:
    """The dates that *question* names, each once: years with a month, in figures or in English or German words.

    >>> [date.iso for date in dates_in("What went wrong in January 2025, and on 5 June 2025?")]
    ['2025-01', '2025-06-05']
    >>> dates_in("Which port was it in 2025?")
    ()
    """
    found = [AskedDate(int(year), int(month), int(day) if day else None) for year, month, day in _ISO.findall(question)]
    found += [_date(year, name, day) for name, day, year in _MONTH_FIRST.findall(question)]
    found += [_date(year, name, day) for day, name, year in _DAY_FIRST.findall(question)]
    return tuple(dict.fromkeys(found))


def _date(year: str, name: str, day: str) -> AskedDate:
    number = int(day) if day and 1 <= int(day) <= 31 else None
    return AskedDate(int(year), _NUMBERS[name.casefold()], number)


def of_dates(hits: Sequence[Hit], dates: Sequence[AskedDate]) -> frozenset[str]:
    """The ids of the chunks whose document is of one of *dates*, by its date, title or path."""
    return frozenset(hit.chunk_id for hit in hits if _is_of(hit, dates)) if dates else frozenset()


def _is_of(hit: Hit, dates: Sequence[AskedDate]) -> bool:
    told = [hit.facts.date or "", *(found.iso for found in dates_in(f"{hit.facts.title} {hit.key.path}"))]
    return any(one.startswith(date.iso) for one in told for date in dates)


def covered_by_date(covered: Mapping[str, float], dated: frozenset[str]) -> Mapping[str, float]:
    """*covered* with what a date covers of the question."""
    if not dated:
        return covered
    return {id_: max(share, DATE_COVERAGE) if id_ in dated else share for id_, share in covered.items()}


def favoured(fused: Sequence[Fused], dated: frozenset[str]) -> list[Fused]:
    """*fused* with the bonus for the chunks of *dated*, best first."""
    if not dated:
        return list(fused)
    whole = 1 + DATE_BONUS
    scored = [replace(one, score=(one.score + DATE_BONUS * (one.hit.chunk_id in dated)) / whole) for one in fused]
    return by_score(scored)
