"""What the reader is trained on: the open sets that may train what is shipped, and the passages in data/."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

OWN = Path(__file__).parent / "data"
CLAIMS = {"true": "supported", "false": "contradicted", "unsaid": "neutral"}
"""What the last part of a claim's field says of it."""
ENDS = ("", "_2", "_3")
"""What the fields of a second and a third statement end in."""
ASKED = frozenset({"asked_answered", "asked_near"})
"""The cells of questions as people ask them."""
CLASSES = tuple(CLAIMS.values())
"""The classes of the support head, in the order of its outputs."""
TWO_CLASSES = frozenset(
    {"begin", "cg2c-doc", "expertqa", "wice", "entailmentbank", "halueval-qa", "scitail-dev", "dnc", "bump"}
)
"""Sets whose "neutral" means "not supported" and may hide contradictions."""
MOST = {"dnc": 2_500, "med-help": 3_500}
"""Rows of sets made by templates that are taken at most: they are many and say little."""
CONJUNCTIONS = 8_000  # rows of conjnli, which lies in the folder of tests with a part to train on
NO_NEGATIVES = frozenset({"multihop", "pubmedqa"})
"""Sets whose passages do not answer alone: they teach relevance only."""
SHARE_ALIKE = frozenset(
    {"cad-nli", "snli-devtest", "fever", "fever-symmetric", "fool-me-twice", "wice", "med-help", "folio", "halueval-qa"}
    | {"squad2-half", "squad1-sentences", "qnli-dev", "boolq", "nq-open-oracle", "multihop", "conjnli"}
)
"""Sets with texts under CC BY-SA: `--permissive` trains without them (ADR 0032)."""
CLAIMS_THAT_SEARCH = ("fever", "fool-me-twice", "wice", "expertqa", "factcheck-gpt", "cg2c-doc", "scitail-dev")
"""Sets of claims with evidence: a claim ranks its evidence above that of others, as a question does its passage."""
_SENTENCE = re.compile(r"\S(?:[^.!?\n]|[.!?](?!\s))*[.!?]*")
_WORD = re.compile(r"\w+")
DEV_TENTHS = 1
"""Of the project's own training passages a tenth is left for choosing between models."""


@dataclass(frozen=True, slots=True)
class Row:
    """A query (a question or a claim) with a passage, and what is known of the pair; None is not known."""

    query: str
    passage: str
    source: str
    support: str | None = None  # supported, contradicted, neutral, or unsupported: one of the last two
    answerable: bool | None = None
    span: tuple[int, int] | None = None  # characters of the passage
    relevant: bool | None = None


Unit = list[Row]
"""Rows of one query that are ranked among themselves; the relevant one, where there is one, is the first."""


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def own_passages(part: str) -> list[dict[str, Any]]:
    """The passages of `train`, `dev` or `test`; items that a reader doubted are gone from them."""
    passages = []
    for path in sorted(OWN.glob("part-*.jsonl")):
        for passage in read_lines(path):
            if part_of(passage) == part:
                for kind in ("claims", "questions"):
                    passage[kind] = {k: v for k, v in passage[kind].items() if k not in passage.get("left_out", ())}
                passages.append(passage)
    return passages


def part_of(passage: dict[str, Any]) -> str:
    """`test`, or for one of ten of the others `dev`.

    >>> part_of({"id": "01-001", "split": "test"})
    'test'
    """
    if passage["split"] == "test":
        return "test"
    tenth = int(hashlib.sha256(f"dev {passage['id']}".encode()).hexdigest(), 16) % 10
    return "dev" if tenth < DEV_TENTHS else "train"


def cell(field: str) -> str:
    """The cell of the square that a claim or a question stands in.

    >>> cell("plain_true_3")
    'plain_true'
    """
    return "_".join(field.split("_")[:2])


def label_of(field: str) -> str:
    """What the claim of a *field* is to its passage.

    >>> label_of("own_false_2")
    'contradicted'
    """
    return CLAIMS[field.split("_")[1]]


def own_rows(passages: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Row]]:
    """Each item with its field's name, like `own_true` or `other_near`; a second square's begin like `own_true_2`."""
    for passage in passages:
        text = passage["passage"]
        for field, claim in passage["claims"].items():
            yield field, Row(claim, text, "own", support=label_of(field))
        for field, question in passage["questions"].items():
            if isinstance(question, str):
                yield field, Row(question, text, "own", answerable=False)
            else:
                asked, answer = question
                at = text.index(answer)
                yield field, Row(asked, text, "own", answerable=True, span=(at, at + len(answer)), relevant=True)


def find_span(answer: str, passage: str) -> tuple[int, int] | None:
    """Where *answer* stands as whole words, without regard to case; None where it does not or stands too often.

    >>> find_span("red", "A Red one, and a bored one")
    (2, 5)
    """
    found = [
        match.span() for match in re.finditer(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", passage, re.IGNORECASE)
    ]
    return found[0] if 0 < len(found) <= 2 else None


def open_sets(train: Path, file: str, *, trains: bool = True) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The name of each open set that has *file*, and its lines to train on, or the others."""
    for path in sorted(train.glob(f"*/{file}")):
        if not path.parent.name.startswith("test-"):
            yield path.parent.name, [line for line in read_lines(path) if (line["split"] == "train") == trains]


def support_rows(train: Path, verify: Path) -> list[Row]:
    """The claims of the open sets."""
    rows = []
    for name, lines in open_sets(train, "pairs.jsonl"):
        most = MOST.get(name)
        for line in lines if most is None else Random(name).sample(lines, min(len(lines), most)):
            label = line["label"]
            if label == "neutral" and name in TWO_CLASSES:
                label = "unsupported"
            rows.append(Row(line["hypothesis"], line["premise"], name, support=label))
    lines = [line for line in read_lines(verify / "conjnli" / "pairs.jsonl") if line["split"] == "train"]
    taken = Random("conjnli").sample(lines, min(len(lines), CONJUNCTIONS))
    rows += [Row(line["hypothesis"], line["premise"], "conjnli", support=line["label"]) for line in taken]
    return rows


def question_rows(train: Path) -> list[Row]:
    """The questions of the open sets, each with one passage."""
    rows = []
    for name, lines in open_sets(train, "qa.jsonl"):
        for line in lines:
            good = bool(line.get("relevant", line["answerable"]))
            answer = line.get("answer")
            span = find_span(answer, line["passage"]) if good and answer and name != "boolq" else None
            answers = None if name in NO_NEGATIVES else line["answerable"]
            rows.append(Row(line["question"], line["passage"], name, None, answers, span, good))
    return rows


def into_units(rows: Iterable[Row], mined: dict[str, list[str]], rng: Random, *, most: int = 3) -> list[Unit]:
    """Rows of one query together: a relevant one first, then its own near misses, then passages of *mined*.

    *mined* has, by query, passages of other queries that the search finds near; they answer nothing.
    """
    queries: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        queries[row.query].append(row)
    units = []
    for query, together in queries.items():
        good = [row for row in together if row.relevant]
        bad = [row for row in together if not row.relevant]
        rng.shuffle(bad)
        for number, row in enumerate(good):
            near = bad[number * (most - 1) : (number + 1) * (most - 1)]
            found = mined.get(query, [])
            count = min(most - 1 - len(near), 2, len(found))
            others = [not_relevant(row, text) for text in rng.sample(found, count)]
            units.append([row, *near, *others])
        left = bad[len(good) * (most - 1) :] if good else bad
        units.extend([row] for row in left[:most])
    return units


def asked(passages: Iterable[dict[str, Any]], mined: dict[str, list[str]], rng: Random) -> Iterator[Unit]:
    """Questions as people ask them, each with its passage and with passages of *mined*, which do not answer it.

    A question that its passage only seems to answer meets the passages that are near to its neighbours' questions.
    """
    for passage in passages:
        rows = [row for field, row in own_rows([passage]) if cell(field) in ASKED]
        pool = [text for row in rows for text in mined.get(row.query, [])]
        for row in rows:
            found = mined.get(row.query, []) if row.relevant else rng.sample(pool, min(2, len(pool)))
            yield [row, *(not_relevant(row, text) for text in dict.fromkeys(found))]


def contrasts(passages: Iterable[dict[str, Any]], rng: Random) -> Iterator[Unit]:
    """Questions as people ask them on one passage together."""
    return beside((row for field, row in own_rows(passages) if cell(field) in ASKED), rng)


def written_for_squadshifts(asked: Iterable[Row], part: str) -> Iterator[Row]:
    """The project's questions on passages of SQuADShifts that are `train` or `dev`, and that set's own answered ones.

    *asked* are the questions of the open sets.  The project has questions alone: a passage is named by what its SHA-256
    begins with.
    """
    theirs = [row for row in asked if row.source == "squadshifts"]
    named = {hashlib.sha256(row.passage.encode()).hexdigest()[:12]: row.passage for row in theirs}
    written = set()
    for line in read_lines(OWN / "squadshifts.jsonl"):
        if line["split"] == part:
            text = named[line["passage"]]
            written.add(text)
            for question, *span in line["answered"]:
                yield Row(question, text, "own-squadshifts", None, True, (span[0], span[1]), True)
            for question in line["near"]:
                yield Row(question, text, "own-squadshifts", None, False)
    yield from (row for row in theirs if row.answerable and row.passage in written)


def beside(rows: Iterable[Row], rng: Random, *, most: int = 3) -> Iterator[Unit]:
    """Questions on one passage together: up to *most* that it answers and as many near ones."""
    passages: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        passages[row.passage].append(row)
    for together in passages.values():
        rng.shuffle(together)
        answered, near = ([row for row in together if bool(row.answerable) is flag] for flag in (True, False))
        for at in range(0, max(len(answered), len(near)), most):
            yield answered[at : at + most] + near[at : at + most]


def quotations(units: Iterable[Unit], rng: Random) -> Iterator[Unit]:
    """The same questions on what would be quoted: a title with one or two sentences.

    They are those of the answer, and those that have most words of the question and no answer.
    """
    for unit in units:
        made: Unit = []
        for row in unit:
            title, line, _ = row.passage.partition("\n")
            above = title + line if line else ""
            spans = [each.span() for each in _SENTENCE.finditer(row.passage, len(above))]
            right = [each for each in spans if row.span and each[0] < row.span[1] and row.span[0] < each[1]]
            if right and row.span and right[0][0] <= row.span[0]:
                shift = len(above) - right[0][0]
                span = row.span[0] + shift, row.span[1] + shift
                made.append(replace(row, passage=above + row.passage[right[0][0] : right[-1][1]], span=span))
            wrong = sorted((each for each in spans if each not in right), key=_shared_words(row.query, row.passage))
            if wrong:
                chosen = sorted(wrong[-rng.randint(1, 2) :])
                text = above + " ".join(row.passage[slice(*each)] for each in chosen)
                made.append(Row(row.query, text, row.source, answerable=False))
        if made:
            yield made


def squares(passages: Iterable[dict[str, Any]], *sides: str) -> Iterator[Unit]:
    """The claims on each passage in the words of *sides* (`own`, `other`, `plain`), by statement."""
    for passage in passages:
        for end in ENDS:
            fields = [f"{side}_{kind}{end}" for side in sides for kind in CLAIMS]
            unit = [
                Row(passage["claims"][field], passage["passage"], "own", support=label_of(field))
                for field in fields
                if field in passage["claims"]
            ]
            if unit:
                yield unit


def sides(passages: Iterable[dict[str, Any]], rng: Random) -> Iterator[Unit]:
    """The claims of each square with one of its sentences as the evidence, once a true and once a false one.

    Two sentences say the same, or one is the other with its sense turned: short, and without a passage to lean on.
    A false sentence as evidence makes the true claims false, so that no claim is likely alone.
    """
    for passage in passages:
        for end in ENDS:
            square = {
                field: passage["claims"][field + end]
                for side in ("own", "other")
                for field in (f"{side}_{kind}" for kind in CLAIMS)
                if field + end in passage["claims"]
            }
            for kind, turned in (("true", "false"), ("false", "true")):
                said = [field for field in square if field.endswith(kind)]
                if not said:
                    continue
                evidence = rng.choice(said)
                labels = {kind: "supported", turned: "contradicted", "unsaid": "neutral"}
                yield [
                    Row(claim, square[evidence], "own", support=labels[field.split("_")[1]])
                    for field, claim in square.items()
                    if field != evidence
                ]


def windows(units: Iterable[Unit], rng: Random) -> list[Unit]:
    """The same squares with the sentences around their statement in place of the whole passage.

    The statement is where the words of the first true claim are; at most three sentences, and one or none more.
    """
    made = []
    for unit in units:
        true = next((row for row in unit if row.support == "supported"), None)
        if true is not None:
            evidence = _window(true.query, true.passage, rng)
            made.append([Row(row.query, evidence, row.source, row.support) for row in unit])
    return made


def _window(claim: str, passage: str, rng: Random) -> str:
    spans = [each.span() for each in _SENTENCE.finditer(passage)]
    shared = _shared_words(claim, passage)
    best, most = (0, len(spans)), -1.0
    for first in range(len(spans)):
        for last in range(first + 1, min(first + 3, len(spans)) + 1):
            gain = shared((spans[first][0], spans[last - 1][1])) - 0.4 * (last - first)
            if gain > most:
                best, most = (first, last), gain
    first, last = max(0, best[0] - rng.randint(0, 1)), min(len(spans), best[1] + rng.randint(0, 1))
    return passage[spans[first][0] : spans[last - 1][1]] if spans else passage


def _shared_words(query: str, passage: str) -> Callable[[tuple[int, int]], int]:
    """How many words of *query* a stretch of *passage* has."""
    words = set(_WORD.findall(query.lower()))
    return lambda span: len(words & set(_WORD.findall(passage[slice(*span)].lower())))


def not_relevant(row: Row, passage: str) -> Row:
    """The query of *row* with a *passage* that is not about it: it answers nothing, and supports nothing."""
    support = "unsupported" if row.support is not None else None
    answerable = False if row.answerable is not None else None
    return Row(row.query, passage, row.source + "/mined", support, answerable, None, False)
