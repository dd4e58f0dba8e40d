"""The oracle: what an answer must show, may show and must not show, by a sequential model of the bucket.

Of each key the model has a timeline: the word that stood in the bucket after each change, None where there was
nothing.  Each text has one word of its own, so an answer says which version it shows.  `floor` is the place in the
timeline before which nobody may see the document any more: it rises with every answer, with every delete over HTTP that
was confirmed, and to the end once all is quiet.

* must not: a word of a document that the caller may not see; two versions of one document; a version, or nothing at
  all, that was in the bucket only before the floor at the moment when the question was asked;
* must: a document that was in the bucket at every place from that floor on;
* may: all else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

WORD = re.compile(r"\bzq\d+x\b")


class Violation(AssertionError):  # noqa: N818 - it is none of the program's errors
    """What was seen is not what may be seen.  Its first word is its kind, by which a failure is known again."""


MaySee = Callable[[str, int], bool]
"""Whether a caller may see a key at a place of its timeline: by tenant and vault, and by rules where there are any."""


class Model:
    """The timelines of all keys; the simulation reports each change as it happens."""

    def __init__(self) -> None:
        self.timeline: dict[str, list[str | None]] = {}
        self.floor: dict[str, int] = {}
        self.key_of: dict[str, str] = {}

    def changed(self, key: str, word: str | None) -> None:
        """The bucket holds *word* for *key* from now on."""
        self.timeline.setdefault(key, [None]).append(word)
        self.floor.setdefault(key, 0)
        if word is not None:
            self.key_of.setdefault(word, key)

    def now(self) -> dict[str, int]:
        """The floors at this moment: an answer to a question that is asked now is measured by them."""
        return dict(self.floor)

    def last(self, key: str) -> int:
        """The place of the newest state of *key*."""
        return len(self.timeline[key]) - 1

    def gone(self, key: str, place: int) -> None:
        """Somebody was told that what was at and before *place* is deleted."""
        self._raise_to(key, place)

    def settled(self) -> None:
        """All is quiet: nothing but the newest state may be seen."""
        for key in self.timeline:
            self.floor[key] = self.last(key)

    def saw(self, text: str, since: Mapping[str, int], may_see: MaySee, *, complete: bool) -> None:
        """Judge an answer to a question that was asked at *since*; *complete* if all that may be seen was asked for."""
        seen: dict[str, set[str]] = {}
        for word in WORD.findall(text):
            if word not in self.key_of:
                raise Violation(f"unknown {word} was never in the bucket")
            seen.setdefault(self.key_of[word], set()).add(word)
        for key in sorted({*seen, *(since if complete else ())}):
            words = seen.get(key, set())
            if len(words) > 1:
                raise Violation(f"mixed {key} is seen as {sorted(words)} at once")
            word = next(iter(words), None)
            begin = since.get(key, 0)
            place = next((at for at in range(begin, self.last(key) + 1) if self.timeline[key][at] == word), None)
            if not may_see(key, begin if place is None else place):
                if word is not None:
                    raise Violation(f"leak {key} ({word}) is seen by who may not see it")
                continue
            if place is None:
                kind = "lost" if word is None else "stale"
                raise Violation(
                    f"{kind} {key} is seen as {word}, but since {begin} it was {self.timeline[key][begin:]}"
                )
            self._raise_to(key, place)

    def _raise_to(self, key: str, place: int) -> None:
        self.floor[key] = max(self.floor[key], place)
