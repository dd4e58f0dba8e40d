"""The oracle: what an answer must show, may show and must not show, by a sequential model of the bucket.

Of each key the model has a timeline: the word that stood in the bucket after each change, None where there was
nothing.  Each text has one word of its own, so an answer says which version it shows.  `floor` is the place in the
timeline before which nobody may see the document any more: it rises with every answer, with every delete over HTTP that
was confirmed, and to the end once all is quiet.

The rules of a vault are a timeline too; its floor rises once the registry has the newest rule.

* must not: a word of a document that the caller may not read by any rule since the floor; two versions of one
  document; a version, or nothing at all, that was in the bucket only before the floor at the moment of the question;
* must: a document that was in the bucket, and readable by every rule, at every place from that floor on;
* may: all else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

WORD = re.compile(r"\bzq\d+x\b")


class Violation(AssertionError):  # noqa: N818 - it is none of the program's errors
    """What was seen is not what may be seen.  Its first word is its kind, by which a failure is known again."""


Groups = frozenset[str] | None
"""Who may read: a caller needs one of the groups; "*" is everybody, None says nothing."""
Reads = Callable[[str, Groups, Groups], bool]
"""Whether a caller may read a key by the rule of its vault and by what the version itself states."""


@dataclass(frozen=True, slots=True)
class Since:
    """The floors when a question was asked: of each key, and of the rules."""

    floor: Mapping[str, int]
    rule: int


class Model:
    """The timelines of all keys and of the rules; the simulation reports each change as it happens."""

    def __init__(self) -> None:
        self.timeline: dict[str, list[str | None]] = {}
        self.floor: dict[str, int] = {}
        self.key_of: dict[str, str] = {}
        self.stated: dict[str | None, Groups] = {}  # by the version of a word
        self.rules: list[Groups] = [None]
        self.rule_floor = 0

    def changed(self, key: str, word: str | None) -> None:
        """The bucket holds *word* for *key* from now on."""
        self.timeline.setdefault(key, [None]).append(word)
        self.floor.setdefault(key, 0)
        if word is not None:
            self.key_of.setdefault(word, key)

    def now(self) -> Since:
        """The floors at this moment: an answer to a question that is asked now is measured by them."""
        return Since(dict(self.floor), self.rule_floor)

    def last(self, key: str) -> int:
        """The place of the newest state of *key*."""
        return len(self.timeline[key]) - 1

    def gone(self, key: str, place: int) -> None:
        """Somebody was told that what was at and before *place* is deleted."""
        self._raise_to(key, place)

    def ruled(self) -> None:
        """The newest rule is in force: the next question obeys it."""
        self.rule_floor = len(self.rules) - 1

    def settled(self) -> None:
        """All is quiet: nothing but the newest state may be seen."""
        self.ruled()
        for key in self.timeline:
            self.floor[key] = self.last(key)

    def saw(self, text: str, since: Since, reads: Reads, *, complete: bool) -> None:
        """Judge an answer to a question that was asked at *since*; *complete* if all that may be seen was asked for."""
        seen: dict[str, set[str]] = {}
        for word in WORD.findall(text):
            if word not in self.key_of:
                raise Violation(f"unknown {word} was never in the bucket")
            seen.setdefault(self.key_of[word], set()).add(word)
        rules = self.rules[since.rule :]
        for key in sorted({*seen, *(since.floor if complete else ())}):
            words, begin = seen.get(key, set()), since.floor.get(key, 0)
            if len(words) > 1:
                raise Violation(f"mixed {key} is seen as {sorted(words)} at once")
            word, was = next(iter(words), None), self.timeline[key][begin:]
            if word is not None and not any(reads(key, rule, self.stated.get(word)) for rule in rules):
                raise Violation(f"leak {key} ({word}) is seen by who may not see it")
            for place, state in enumerate(was, begin):
                hidden = not all(reads(key, rule, self.stated.get(state)) for rule in rules)
                if state == word or (word is None and hidden):
                    self._raise_to(key, place)
                    break
            else:
                raise Violation(
                    f"{'stale' if word else 'lost'} {key} is seen as {word}, but since {begin} it was {was}"
                )

    def _raise_to(self, key: str, place: int) -> None:
        self.floor[key] = max(self.floor[key], place)
