"""A second set of true sentences and planted faults: other kinds, from other passages."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from benchmarks.perturbations import MONTHS, PerturbedCase, SourcePassage, told_sentences
from groundcheck.sentences import sentences

SPELLINGS = {
    "km": "kilometres", "kilometers": "km", "kilometres": "km", "metres": "m", "meters": "m", "feet": "ft",
    "percent": "%", "%": " percent", "kg": "kilograms", "hours": "hrs", "minutes": "min", "miles": "mi",
}  # fmt: skip
SMALL = dict(zip("two three four five six seven eight nine ten eleven twelve".split(), range(2, 13), strict=True))  # noqa: SIM905
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()  # noqa: SIM905
COMPARED = {
    "more than": "less than", "less than": "more than", "at least": "at most", "at most": "at least",
    "over": "under", "largest": "smallest", "higher": "lower", "highest": "lowest", "largely": "hardly",
    "before": "after", "after": "before", "increased": "decreased", "most": "fewest", "oldest": "youngest",
    "larger": "smaller", "older": "younger", "longest": "shortest", "north": "south", "western": "eastern",
}  # fmt: skip
_MONTH = "|".join(MONTHS)
_DATE = re.compile(rf"\b({_MONTH}) (\d{{1,2}}), (\d{{4}})\b|\b(\d{{1,2}}) ({_MONTH}) (\d{{4}})\b")
_UNIT = re.compile(r"(?<=\d)( ?)(" + "|".join(sorted(map(re.escape, SPELLINGS), key=len, reverse=True)) + r")(?!\w)")
_NAME = r"[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*"
_PASSIVE = re.compile(rf"^({_NAME}) (?:was|were) (\w+ed) by ({_NAME})((?: (?:in|on|at|for|as|to)\b[^,;:]*)?)([.])$")
_ACTIVE = re.compile(rf"^({_NAME}) (\w{{3,}}ed) (?:the )?({_NAME})((?: (?:in|on|at|for|as|to)\b[^,;:]*)?)([.])$")
_PAIR = re.compile(rf"^(The )?({_NAME}) ((?![A-Z(]).*?[a-z]{{3,}}.*? )({_NAME})((?![-/\w]| [A-Z(\d]).*)$")
_NUMBERS = re.compile(r"(?<![\w.,$-])(\d{1,3}(?:,\d{3})+|\d+)(?![\w.,-]*\w)")
_DECIMAL = re.compile(r"(?<![\w.,-])(\d+)\.(\d+)(?![\w.-]*\w)")
_RANGE = re.compile(r"\b(between|from) (\d[\d,.]*\d|\d) (and|to) (\d[\d,.]*\d|\d)\b")

Rewording = Callable[[str, SourcePassage, random.Random], str | None]


def reworded_cases(
    passages: Sequence[SourcePassage], wanted: int, seed: int
) -> tuple[list[PerturbedCase], list[PerturbedCase]]:
    """True sentences and planted faults, at most *wanted* of each, evenly over their kinds."""
    pool = told_sentences(passages, random.Random(seed))
    return _cases(TRUE, pool, wanted, seed, is_true=True), _cases(FAULTS, pool, wanted, seed + 1, is_true=False)


def _cases(
    kinds: dict[str, Rewording], pool: Sequence[tuple[SourcePassage, str]], wanted: int, seed: int, *, is_true: bool
) -> list[PerturbedCase]:
    chance = random.Random(seed)
    cases: list[PerturbedCase] = []
    for kind, reword in kinds.items():
        made = 0
        for held, said in chance.sample(pool, len(pool)):
            spoken = reword(said, held, chance)
            if spoken is None or spoken == said or (not is_true and spoken.rstrip(".") in held.text):
                continue
            cases.append(PerturbedCase(kind, spoken, held.text, held.title, is_true=is_true))
            made += 1
            if made == -(-wanted // len(kinds)):
                break
    return cases[:wanted]


def _date_reformatted(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    match = _DATE.search(said)
    if match is None:
        return None
    month, day, year = (match[1], match[2], match[3]) if match[1] else (match[5], match[4], match[6])
    number = MONTHS.index(month) + 1
    forms = [f"{year}-{number:02}-{int(day):02}", f"the {day}th of {month} {year}", f"{month[:3]} {day}, {year}"]
    forms.append(f"{day} {month} {year}" if match[1] else f"{month} {day}, {year}")
    return said[: match.start()] + chance.choice(forms) + said[match.end() :]


def _unit_spelled(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    match = _UNIT.search(said)
    return said[: match.start()] + " " + SPELLINGS[match[2]].strip() + said[match.end() :] if match else None


def _number_spelled(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    for word, value in SMALL.items():
        if re.search(rf" {word} (?!of\b)", said):
            return said.replace(f" {word} ", f" {value} ", 1)
    match = re.search(r"(?<![\w.,$])\d{1,3},\d{3}(?![\w,.]*\d)", said)
    return said.replace(match.group(), match.group().replace(",", ""), 1) if match else None


def _voice(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    if match := _PASSIVE.match(said):
        return f"{match[3]} {match[2]} {match[1]}{match[4]}{match[5]}"
    if match := _ACTIVE.match(said):
        return f"{match[3]} was {match[2]} by {match[1]}{match[4]}{match[5]}"
    return None


def _pronoun_resolved(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    match = re.match(r"(?:He|She|It) (?=[a-z]+)", said)
    title = re.sub(r" \(.*\)$", "", held.title)
    return f"{title} {said[match.end() :]}" if match and title and title in held.text else None


def _merged(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    spans = [held.text[span.start : span.end] for span in sentences(held.text)]
    place = spans.index(said) if said in spans else -1
    if not 0 <= place < len(spans) - 1 or len(said) > 160 or not 30 < len(spans[place + 1]) < 160 or '"' in said:
        return None
    following = spans[place + 1]
    plain = following.split()[0] in {"The", "It", "He", "She", "This", "They", "In", "A"}
    if not plain or not re.search(r"[a-z]{3}\.$", said):
        return None
    return f"{said.rstrip('.')}, and {following[0].lower() + following[1:]}"


def _shortened(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    short = re.sub(r" \([^()]*\)", "", said)
    short = re.sub(r", (?:which|who|where|including|such as) [^,;]*(?=\.$)", "", short)
    return short if len(short) > 40 else None


def _contracted(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    spoken = re.sub(r"\b(did|was|were|is|are|does|do|has|had|could|would) not\b", r"\1n't", said, count=1)
    return spoken if spoken != said else None


def _fronted(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    match = re.match(
        r"^(The \w+|(?:He|She|It|They)) ([^,;:]{15,}) ((?:in|on|since|until) (?:[A-Z]\w+ )?\d{4})\.$", said
    )
    return f"{match[3].capitalize()}, {match[1][0].lower() + match[1][1:]} {match[2]}." if match else None


def _names_swapped(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    match = _PAIR.match(said)
    if match is None or re.search(r"\band\b|\bor\b|,", match[3]) or set(match[2].split()) & set(match[4].split()):
        return None
    if match[2] in {"The", "They", "She", "His", "Her", "This", "Its"} or match[4] == "The":
        return None
    inside = re.sub(r"(?:^|[.!?]) *\w+", "", held.text)  # without what stands first in a sentence
    if not all(set(name.split()) <= set(re.findall(r"[A-Z][a-z]+", inside)) for name in (match[2], match[4])):
        return None
    if re.match(r"(?:is|was|are|were) (?:the|a|an)\b", match[3]) or re.match(r"[, ]*(?:and|or)\b|,", match[5]):
        return None
    return f"{match[1] or ''}{match[4]} {match[3]}{match[2]}{match[5]}"


def _numbers_swapped(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    found = list(_NUMBERS.finditer(said))
    if len(found) < 2 or found[0].group() == found[1].group():
        return None
    first, second = found[:2]
    between = said[first.end() : second.start()]
    if re.fullmatch(r"\W*(?:and|or)?\W*", between) or re.search(rf"(?:{_MONTH})", said[first.start() :]):
        return None
    return said[: first.start()] + second.group() + between + first.group() + said[second.end() :]


def _range(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    match = _RANGE.search(said)
    if match is None:
        return None
    end = int(float(match[4].replace(",", ""))) + chance.choice([1, 2, 5])
    return said[: match.start(4)] + str(end) + said[match.end(4) :]


def _comparison(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    found = [word for word in COMPARED if re.search(rf" {word} ", said)]
    if not found:
        return None
    word = chance.choice(found)
    return re.sub(rf" {word} ", f" {COMPARED[word]} ", said, count=1)


def _ordinal(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    found = [word for word in ORDINALS if re.search(rf" {word} ", said)]
    if found:
        return said.replace(f" {found[0]} ", f" {chance.choice([w for w in ORDINALS if w not in found])} ", 1)
    match = re.search(r"\b(\d{1,2})(st|nd|rd|th)\b", said)
    return said[: match.start()] + f"{int(match[1]) + 1}{match[2]}" + said[match.end() :] if match else None


def _decimal(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    match = _DECIMAL.search(said)
    if match is None:
        return None
    moved = f"{match[1]}{match[2][0]}.{match[2][1:] or '0'}" if chance.random() < 0.5 else f"0.{match[1]}{match[2]}"
    return said[: match.start()] + moved + said[match.end() :]


def _day_and_month(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    match = _DATE.search(said)
    if match is None:
        return None
    month, day = (match[1], int(match[2])) if match[1] else (match[5], int(match[4]))
    number = MONTHS.index(month) + 1
    if day > 12 or day == number:
        return None
    changed = f"{MONTHS[day - 1]} {number}, {match[3] or match[6]}"
    return said[: match.start()] + changed + said[match.end() :]


def _negated_contraction(said: str, held: SourcePassage, chance: random.Random) -> str | None:
    spoken = re.sub(r"\b(did|was|were|is|are|does|has|had|could|would)(?! not|n't)\b", r"\1n't", said, count=1)
    return spoken if spoken != said else None


TRUE: dict[str, Rewording] = {
    "date written otherwise": _date_reformatted,
    "unit spelled otherwise": _unit_spelled,
    "number spelled otherwise": _number_spelled,
    "active and passive": _voice,
    "pronoun resolved": _pronoun_resolved,
    "two sentences merged": _merged,
    "shortened": _shortened,
    "contraction": _contracted,
    "time put first": _fronted,
}
FAULTS: dict[str, Rewording] = {
    "names swapped": _names_swapped,
    "numbers swapped": _numbers_swapped,
    "end of a range": _range,
    "comparison turned": _comparison,
    "ordinal": _ordinal,
    "decimal point moved": _decimal,
    "day and month swapped": _day_and_month,
    "contracted not": _negated_contraction,
}
