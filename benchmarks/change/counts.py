"""What is wrong with the answers after a step of the change script: stale, double, missing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.change.script import Step, markers

QUESTIONS = 80  # of a step: half of them words that must not come back, half words that are there
LIMIT = 10


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
