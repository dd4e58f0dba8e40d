"""True sentences and planted faults for the citation check, made from passages by rules and a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from groundcheck.clauses import denials
from groundcheck.sentences import sentences

MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
UNITS = {
    "km": "miles",
    "kilometres": "miles",
    "kilometers": "miles",
    "miles": "kilometres",
    "metres": "feet",
    "meters": "feet",
    "feet": "metres",
    "percent": "degrees",
    "%": " degrees",
    "years": "months",
    "months": "years",
    "days": "weeks",
    "weeks": "days",
    "hours": "minutes",
    "minutes": "hours",
    "seconds": "hours",
    "million": "billion",
    "billion": "million",
    "acres": "hectares",
    "tons": "kilograms",
    "kg": "tonnes",
    "dollars": "euros",
    "centuries": "decades",
    "decades": "centuries",
    "degrees": "percent",
    "nm": "mm",
    "°C": "°F",
    "mph": "km/h",
}
SYNONYMS = {
    "began": "started",
    "large": "big",
    "many": "numerous",
    "used": "employed",
    "also": "",
    "built": "constructed",
    "important": "significant",
    "including": "such as",
    "however,": "",
    "about": "roughly",
    "near": "close to",
    "during": "in",
    "received": "got",
    "located": "situated",
    "several": "various",
    "created": "made",
    "often": "frequently",
    "which": "that",
    "called": "known as",
    "because": "since",
    "usually": "normally",
    "became": "turned into",
}
_NUMBER = re.compile(r"(?<![\w.,-])(\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w-])")
_YEAR = re.compile(r"(?<![\w,.-])(1[0-9]{3}|20[0-2]\d)(?![\w,-]\d|\w)")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*")
_VERB = re.compile(r"\b(?:is|was|are|were|has|can|could|will|would|had)\b(?! not| n't)")
_UNIT = re.compile(r"(?<=\d)( ?)(" + "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True)) + r")(?!\w)")
_LEADING = re.compile(r"^(In|During|After|Since|By) ((?:the )?[^,]{3,30}), (\w)(.+?)([.!?]?)$", re.DOTALL)


@dataclass(frozen=True)
class PerturbedCase:
    """A sentence, the passage it cites, and whether the passage supports it."""

    kind: str
    sentence: str
    passage: str
    title: str
    is_true: bool


@dataclass(frozen=True)
class SourcePassage:
    """A paragraph to make cases of."""

    title: str
    text: str


Change = Callable[[str, SourcePassage, random.Random, Sequence[SourcePassage]], str | None]


def true_cases(passages: Sequence[SourcePassage], required: int, seed: int) -> list[PerturbedCase]:
    """Half of them word for word, half lightly paraphrased; fewer where the passages do not give so many."""
    chance = random.Random(seed)
    pool = shuffled_sentences(passages, chance)
    verbatim = [
        PerturbedCase("verbatim", said, source.text, source.title, is_true=True)
        for source, said in pool[: required // 2]
    ]
    changed: list[PerturbedCase] = []
    for source, said in pool[required // 2 :]:
        if len(changed) == required - len(verbatim):
            break
        spoken = paraphrase(said, chance)
        if spoken is not None:
            changed.append(PerturbedCase("paraphrase", spoken, source.text, source.title, is_true=True))
    return [*verbatim, *changed]


def false_cases(passages: Sequence[SourcePassage], required: int, seed: int) -> list[PerturbedCase]:
    """As many of each kind of fault as can be made, evenly."""
    chance = random.Random(seed)
    pool = shuffled_sentences(passages, chance)
    each = -(-required // len(CHANGES))
    cases: list[PerturbedCase] = []
    for kind, change in CHANGES.items():
        made = 0
        chance.shuffle(pool)
        for source, said in pool:
            if made == each:
                break
            spoilt = change(said, source, chance, passages)
            if spoilt is None or spoilt == said or spoilt.rstrip(".") in source.text:
                continue
            passage = chance.choice(passages) if kind == "wrong chunk" else source
            if kind == "wrong chunk" and (passage.text == source.text or said in passage.text):
                continue
            cases.append(PerturbedCase(kind, spoilt, passage.text, passage.title, is_true=False))
            made += 1
    return cases[:required]


def paraphrase(said: str, chance: random.Random) -> str | None:
    """The sentence with up to three words said otherwise, or its lead moved; None where no rule applies."""
    spoken = said
    moved = _LEADING.match(said)
    if moved and not re.search(r"[;:]", said):
        first, when, letter, rest, stop = moved.groups()
        spoken = f"{letter.upper()}{rest} {first.lower()} {when}{stop}"
    swaps = [word for word in SYNONYMS if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", spoken)]
    chance.shuffle(swaps)
    for word in swaps[:3]:
        instead = SYNONYMS[word]
        spoken = re.sub(rf"(?<!\w){re.escape(word)}(?!\w) ?", f"{instead} " if instead else "", spoken, count=1)
    if spoken == said and len(said) < 200:
        spoken = f"According to the source, {said if said.split()[0].isupper() else said[0].lower() + said[1:]}"
    return spoken if spoken != said else None


def shuffled_sentences(passages: Sequence[SourcePassage], chance: random.Random) -> list[tuple[SourcePassage, str]]:
    """The plain sentences of the passages, shuffled, each with its passage."""
    found = [
        (source, source.text[span.start : span.end])
        for source in passages
        for span in sentences(source.text)
        if 40 <= span.end - span.start <= 320
        and source.text[span.start].isupper()
        and source.text[span.end - 1] in ".!?"
    ]
    chance.shuffle(found)
    return found


def _number(said: str, source: SourcePassage, chance: random.Random, passages: Sequence[SourcePassage]) -> str | None:
    found = [match for match in _NUMBER.finditer(said) if not _YEAR.fullmatch(match.group())]
    if not found:
        return None
    match = chance.choice(found)
    value = int(match.group(1).replace(",", ""))
    other = value + chance.choice([1, 2, 3, 10, -1 if value > 1 else 5])
    return said[: match.start(1)] + (f"{other:,}" if "," in match.group(1) else str(other)) + said[match.end(1) :]


def _date(said: str, source: SourcePassage, chance: random.Random, passages: Sequence[SourcePassage]) -> str | None:
    months = [match for month in MONTHS for match in re.finditer(rf"\b{month}\b(?= \d)|(?<=\d ){month}\b", said)]
    if months and chance.random() < 0.5:
        match = chance.choice(months)
        return said[: match.start()] + chance.choice([m for m in MONTHS if m != match.group()]) + said[match.end() :]
    years = list(_YEAR.finditer(said))
    if not years:
        return None
    match = chance.choice(years)
    return said[: match.start()] + str(int(match.group()) + chance.choice([-10, -1, 1, 3, 7])) + said[match.end() :]


def _name(said: str, source: SourcePassage, chance: random.Random, passages: Sequence[SourcePassage]) -> str | None:
    found = list(_NAME.finditer(said))
    if not found:
        return None
    match = chance.choice(found)
    others = [m.group() for m in _NAME.finditer(source.text)] if chance.random() < 0.5 else []
    others = [name for name in others if not set(name.split()) & set(said.split())]
    if not others:
        others = [m.group() for m in _NAME.finditer(chance.choice(passages).text)]
        others = [name for name in others if not set(name.split()) & set(said.split())]
    return said[: match.start()] + chance.choice(others) + said[match.end() :] if others else None


def _unit(said: str, source: SourcePassage, chance: random.Random, passages: Sequence[SourcePassage]) -> str | None:
    found = list(_UNIT.finditer(said))
    if not found:
        return None
    match = chance.choice(found)
    return said[: match.start()] + " " + UNITS[match.group(2)].strip() + said[match.end() :]


def _negation(said: str, source: SourcePassage, chance: random.Random, passages: Sequence[SourcePassage]) -> str | None:
    if denials(said):
        spoken = re.sub(r"\bcannot\b", "can", re.sub(r"(?:n't| not| never)\b", "", said, count=1), count=1)
        return spoken if spoken != said else None
    found = list(_VERB.finditer(said))
    return said[: found[0].end()] + " not" + said[found[0].end() :] if found else None


def _misquote(said: str, source: SourcePassage, chance: random.Random, passages: Sequence[SourcePassage]) -> str | None:
    words = said.rstrip(".").split()
    if len(words) < 8 or '"' in said:
        return None
    place = chance.randrange(2, len(words) - 2)
    words[place] = "quite" if words[place].casefold() != "quite" else "rather"
    return f'The text says "{" ".join(words)}".'


def _wrong_chunk(
    said: str, source: SourcePassage, chance: random.Random, passages: Sequence[SourcePassage]
) -> str | None:
    return f"{said} "  # of another passage, see false_cases


CHANGES: dict[str, Change] = {
    "number": _number,
    "date": _date,
    "name": _name,
    "unit": _unit,
    "negation": _negation,
    "misquote": _misquote,
    "wrong chunk": _wrong_chunk,
}
