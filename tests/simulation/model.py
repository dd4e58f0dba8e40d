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

What is put into a stage changes no timeline until somebody promotes it: a question that names the stage may see it, and
no other.  An environment hears of a promotion late, so floors rise as late.

What was live at a past moment was between the floor and the end of that moment, and is the same each time that it is
asked for; a purge takes it out of every past.  Who may read it is a matter of now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.simulation.process import CLOCK, START_S

HEARD_S = 7.0  # by then every environment has heard of a promotion
LATE_S = 70.0  # also where the registry did not answer
WORD = re.compile(r"\bzq\d+x\b")


class Violation(AssertionError):  # noqa: N818 - it is none of the program's errors
    """What was seen is not what may be seen.  Its first word is its kind, by which a failure is known again."""


Groups = frozenset[str] | None
"""Who may read: a caller needs one of the groups; "*" is everybody, None says nothing."""
Reads = Callable[[str, Groups, Groups], bool]
"""Whether a caller may read a key by the rule of its vault and by what the version itself states."""


@dataclass(frozen=True, slots=True)
class Since:
    """The floors when a question was asked: of each key, and of the rules; what may wait, and the place of purges.

    `indexed` is the newest place of each key whose version somebody has seen: a later one may never have been indexed.
    """

    floor: Mapping[str, int]
    indexed: Mapping[str, int]
    rule: int
    waiting: frozenset[str]
    purged: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Moment:
    """A past moment, and the first and the last place that may have been live; closer with every answer."""

    at_s: float
    floor: dict[str, int]
    last: dict[str, int]


class Model:
    """The timelines of all keys and of the rules; the simulation reports each change as it happens."""

    def __init__(self, heard_s: float = HEARD_S) -> None:
        self.heard_s = heard_s
        self.timeline: dict[str, list[str | None]] = {}
        self.floor: dict[str, int] = {}
        self.indexed: dict[str, int] = {}
        self.key_of: dict[str, str] = {}
        self.stated: dict[str | None, Groups] = {}  # by the version of a word
        self.rules: list[Groups] = [None]
        self.rule_floor = 0
        self.waiting: set[str] = set()  # words of versions that may wait in the stage
        self.by_stage: set[str] = set()  # words that came by it, ever
        self.purged: dict[str, int] = {}
        self.purging: set[str] = set()
        self._late: list[tuple[float, str, int]] = []
        self.together: list[dict[str, int]] = []  # of each promotion the places that are live from one moment on

    def changed(self, key: str, word: str | None) -> None:
        """The bucket holds *word* for *key* from now on."""
        self.timeline.setdefault(key, [None]).append(word)
        self.floor.setdefault(key, 0)
        if word is not None:
            self.key_of.setdefault(word, key)

    def now(self) -> Since:
        """The floors at this moment: an answer to a question that is asked now is measured by them."""
        for due in [each for each in self._late if each[0] <= CLOCK.now_s]:
            self._late.remove(due)
            self._raise_to(*due[1:])
        return Since(dict(self.floor), dict(self.indexed), self.rule_floor, frozenset(self.waiting), dict(self.purged))

    def moment(self) -> Moment:
        """What may be live now, to be asked for later."""
        return Moment(CLOCK.now_s, dict(self.now().floor), {key: self.last(key) for key in self.timeline})

    def waits(self, key: str, word: str) -> None:
        """*word* is put into the stage."""
        self.timeline.setdefault(key, [None])
        self.floor.setdefault(key, 0)
        self.key_of[word] = key
        self.waiting.add(word)
        self.by_stage.add(word)

    def may_go_live(self, key: str, words: list[str | None]) -> int:
        """A promotion has begun, after which *words* may be live, one after the other; the place of the last."""
        if words and words != self.timeline[key][-len(words) :]:
            self.timeline[key] += words
        return self.last(key)

    def promoted(self, places: dict[str, int]) -> None:
        """Somebody has read, or seen, that what is at these *places* is promoted: all of it at one moment."""
        self._late += [(CLOCK.now_s + self.heard_s, *each) for each in places.items()]
        if len(places) > 1:
            self.together.append(places)

    def last(self, key: str) -> int:
        """The place of the newest state of *key*."""
        return len(self.timeline[key]) - 1

    def gone(self, key: str, place: int, *, waited: frozenset[str], purge: bool) -> None:
        """Somebody has read that what was at and before *place* is deleted, and what *waited*."""
        self._raise_to(key, place)
        self.waiting -= {word for word in waited if self.key_of[word] == key}
        if purge:
            self.purged[key] = max(place, self.purged.get(key, 0))

    def ruled(self) -> None:
        """The newest rule is in force: the next question obeys it."""
        self.rule_floor = len(self.rules) - 1

    def settled(self) -> None:
        """All is quiet: nothing but the newest state may be seen."""
        self.ruled()
        self.waiting.clear()
        self._late.clear()
        for key in self.timeline:
            self.floor[key] = self.last(key)
            if self.timeline[key][-1] is not None:
                self.indexed[key] = self.last(key)

    def _seen(self, text: str) -> dict[str, str]:
        """The word of each key in an answer."""
        seen: dict[str, str] = {}
        for word in WORD.findall(text):
            if word not in self.key_of:
                raise Violation(f"unknown {word} was never in the bucket")
            key = self.key_of[word]
            if seen.setdefault(key, word) != word:
                raise Violation(f"mixed {key} is seen as {seen[key]} and {word} at once")
        return seen

    def saw(self, text: str, since: Since, reads: Reads, *, complete: bool, staged: bool = False) -> None:
        """Judge an answer to a question that was asked at *since*; *complete* if all that may be seen was asked for."""
        seen, rules = self._seen(text), self.rules[since.rule :]
        for places in self.together if not staged else ():
            once = {key: place for key, place in places.items() if self._once(key, seen)}
            news = {self.timeline[key].index(seen[key]) >= place for key, place in once.items()}
            if len(news) > 1:
                raise Violation(f"half of the promotion {places} is in {seen}")
        for key in sorted({*seen, *(since.floor if complete else ())}):
            word, begin = seen.get(key), since.floor.get(key, 0)
            was = self.timeline[key][begin:]
            if word is not None and not any(reads(key, rule, self.stated.get(word)) for rule in rules):
                raise Violation(f"leak {key} ({word}) is seen by who may not see it")
            if staged and word in since.waiting | self.waiting:
                continue
            for place, state in enumerate(was, begin):
                hidden = not all(reads(key, rule, self.stated.get(state)) for rule in rules)
                if state == word or (word is None and hidden):
                    if word is not None:
                        self.indexed[key] = max(place, self.indexed.get(key, 0))
                    if state in self.by_stage:
                        self.promoted({key: place})
                    else:
                        self._raise_to(key, place)
                    break
            else:
                raise Violation(
                    f"{'stale' if word else 'lost'} {key} is seen as {word}, but since {begin} it was {was}"
                )

    def _once(self, key: str, seen: Mapping[str, str]) -> bool:
        """Whether what is seen of a key is in one place of its timeline alone."""
        return key in seen and self.timeline[key].count(seen[key]) == 1

    def saw_past(self, text: str, then: Moment, since: Since, reads: Reads, *, complete: bool) -> None:
        """Judge an answer about the moment *then*, which was asked for at *since*."""
        seen, rules = self._seen(text), self.rules[since.rule :]
        for key in sorted({*seen, *(then.last if complete else ())}):
            if any(self.key_of[each] == key for each in self.by_stage):
                continue  # it answers from its promotion on, and the record says from when it was made live
            word, first, last = seen.get(key), then.floor.get(key, 0), then.last.get(key, -1)
            was = self.timeline[key][first : last + 1]
            known = self.timeline[key][since.indexed.get(key, 0) :]
            lists = [self.stated.get(each) for each in known if each is not None]
            may = [reads(key, rule, stated) for rule in rules for stated in lists]
            if word is None:
                if None not in was and all(may) and key not in self.purging:
                    raise Violation(f"forgotten {key} was {was} then, and is not seen")
                continue
            if not any(may):
                raise Violation(f"leak {key} ({word}) of the past is seen by who may not see it")
            places = [first + place for place, state in enumerate(was) if state == word]
            if not places:
                raise Violation(f"anachronism {key} is seen as {word}, but at {then.at_s - START_S:.3f} it was {was}")
            if places[0] <= since.purged.get(key, -1):
                raise Violation(f"unpurged {key} ({word}) is seen in the past")
            then.floor[key], then.last[key] = places[0], places[-1]

    def _raise_to(self, key: str, place: int) -> None:
        self.floor[key] = max(self.floor[key], place)
