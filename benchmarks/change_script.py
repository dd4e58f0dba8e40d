"""A life of some sixty files, made from a seed, and what is wrong with answers after each of its steps."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

SEED = 20261122
FILES = 60
WORDS = (  # noqa: SIM905 - easier to read
    "pump valve gasket bearing coolant sensor flange rotor housing shaft seal filter pressure torque inlet outlet "
    "schedule operator shift report inspection drawing supplier invoice contract warranty delivery crate pallet dock "
    "forklift corridor alarm ladder scaffold paint primer solvent sample ledger archive cabinet folder stamp notice"
).split()
WORDS_A_PARAGRAPH = 48
SHORT, LONG = 1, 8  # paragraphs of a version: one chunk, and two or three
_MARKER = re.compile(r"\bzx\d{4}q\b")
QUESTIONS = 80  # of a step: half of them words that must not come back, half words that are there
LIMIT = 10


@dataclass(frozen=True)
class Step:
    """What happened, in its order (a text, or None for a deletion), and the whole folder as it is after it."""

    name: str
    changes: tuple[tuple[str, str | None], ...]
    files: Mapping[str, str]


def markers(text: str) -> list[str]:
    return _MARKER.findall(text)


def steps(files: int = FILES, seed: int = SEED) -> list[Step]:
    """The script; the same for every system and every run.

    >>> script = steps(20)
    >>> len(script), len(script[0].files), script == steps(20)
    (12, 20, True)
    """
    life = _Life(random.Random(seed))
    for number in range(files):
        life.write(f"area-{number % 5}/file-{number:02}.txt")
    found = [life.step("put")]
    tenth = max(2, files // 10)
    doings: dict[str, Callable[[str], None]] = {
        "overwrite": life.write,
        "overwrite by something shorter": lambda path: life.write(path, SHORT),
        "edit one paragraph": life.edit,
        "delete": life.delete,
        "rename": lambda path: life.rename(path, f"moved/{path}"),
        "put the same bytes again": lambda path: life.put(path, life.files[path]),
        "copy, then delete the first": life.copy_and_delete,
        "delete, then put something else": life.replace,
        "overwrite, then put the earlier version back": life.overwrite_and_back,
    }
    for name, do in doings.items():
        for path in life.some(tenth):
            do(path)
        found.append(life.step(name))
    life.swap(*life.some(2))
    found.append(life.step("swap two files"))
    for path in [path for path in life.files if path.startswith("area-1/")]:
        life.delete(path)
    return [*found, life.step("delete a whole folder")]


class _Life:
    """The folder while the script is written."""

    def __init__(self, chance: random.Random) -> None:
        self.files: dict[str, str] = {}
        self._chance = chance
        self._made = 0
        self._changes: list[tuple[str, str | None]] = []

    def some(self, count: int) -> list[str]:
        return self._chance.sample(sorted(self.files), count)

    def step(self, name: str) -> Step:
        taken, self._changes = tuple(self._changes), []
        return Step(name, taken, dict(self.files))

    def put(self, path: str, text: str) -> None:
        self.files[path] = text
        self._changes.append((path, text))

    def write(self, path: str, paragraphs: int | None = None) -> None:
        count = paragraphs or self._chance.randint(SHORT, LONG)
        self.put(path, "\n\n".join(["# Notes", *(self._paragraph() for _ in range(count))]) + "\n")

    def edit(self, path: str) -> None:
        *stored, _ = self.files[path].split("\n\n")
        self.put(path, "\n\n".join([*stored, self._paragraph()]) + "\n")

    def delete(self, path: str) -> None:
        del self.files[path]
        self._changes.append((path, None))

    def rename(self, path: str, to: str) -> None:
        text = self.files[path]
        self.delete(path)
        self.put(to, text)

    def copy_and_delete(self, path: str) -> None:
        self.put(f"copies/{path}", self.files[path])
        self.delete(path)

    def replace(self, path: str) -> None:
        self.delete(path)
        self.write(path)

    def overwrite_and_back(self, path: str) -> None:
        text = self.files[path]
        self.write(path)
        self.put(path, text)

    def swap(self, one: str, other: str) -> None:
        first, second = self.files[one], self.files[other]
        self.put(one, second)
        self.put(other, first)

    def _paragraph(self) -> str:
        self._made += 1
        return f"zx{self._made:04}q {' '.join(self._chance.choices(WORDS, k=WORDS_A_PARAGRAPH))}."


@dataclass(frozen=True)
class GivenText:
    """One piece of text that a system gave for a question, and the path that it says it is from."""

    path: str
    text: str


@dataclass(frozen=True)
class Counts:
    """`stale` pieces given that their file no longer holds, `double` ones in one answer, `missing` paragraphs."""

    stale: int = 0
    double: int = 0
    missing: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.stale + other.stale, self.double + other.double, self.missing + other.missing)


def questions(script: Sequence[Step], at: int, seed: int) -> list[str]:
    """The words to ask for after step *at*: half of them of what is gone, where so much is gone."""
    chance = random.Random(seed + at)
    live = sorted({word for text in script[at].files.values() for word in markers(text)})
    ever = {word for step in script[: at + 1] for _, text in step.changes if text for word in markers(text)}
    dead = sorted(ever - set(live))
    asked = chance.sample(dead, min(len(dead), QUESTIONS // 2))
    return asked + chance.sample(live, min(len(live), QUESTIONS - len(asked)))


def counted(files: Mapping[str, str], answers: Sequence[Sequence[GivenText]], whole: Sequence[GivenText]) -> Counts:
    """Count over the *answers* to questions; *whole* is everything that the system gives when asked for all.

    >>> files = {"a.md": "zx0001q pump", "b.md": "zx0002q valve"}
    >>> same = GivenText("a.md", "zx0001q pump")
    >>> there = [same, same, GivenText("c.md", "zx0002q valve")]
    >>> counted(files, [there], there)
    Counts(stale=1, double=1, missing=1)
    """
    live = {(path, word) for path, text in files.items() for word in markers(text)}
    stale = sum(any((hit.path, word) not in live for word in markers(hit.text)) for hits in answers for hit in hits)
    double = sum(count - 1 for hits in answers for count in Counter(hits).values())
    there = {(hit.path, word) for hit in whole for word in markers(hit.text)}
    return Counts(stale, double, len(live - there))
