"""The passages written for the reader: full squares, split by passage, and nothing of them in what judges it."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from statistics import mean

import pytest

from benchmarks.collections import data_folder
from groundcheck.sentences import stemmed_words
from models.reader.data import Row, cell, own_passages, own_rows, question_rows, written_for_squadshifts

ROOT = Path(__file__).resolve().parents[2]
PASSAGES = [passage for part in ("train", "dev", "test") for passage in own_passages(part)]
ROWS = list(own_rows(PASSAGES))
RUN_OF_WORDS = 8
JUDGED_IN_PROJECT = ("benchmarks/own_words", "benchmarks/verification", "tests/groundcheck", "localstack/sample-vault")


def shared_words(row: Row) -> float:
    """The share of the query's words that stand in its passage."""
    query, passage = set(stemmed_words(row.query)), stemmed_words_of(row.passage)
    return len(query & passage) / max(1, len(query))


@lru_cache(maxsize=4_000)
def stemmed_words_of(passage: str) -> set[str]:
    return set(stemmed_words(passage))


def wins(high: list[float], low: list[float]) -> float:
    """The share of pairs in which *high* is above *low*; a tie counts half.  0.5 is chance."""
    ranked = sorted(low)
    return mean((bisect_left(ranked, value) + bisect_right(ranked, value)) / 2 for value in high) / len(low)


def shares(*fields: str) -> list[float]:
    return [shared_words(row) for field, row in ROWS if cell(field) in fields]


def test_there_are_as_many_items_passages_and_registers_as_a_model_needs() -> None:
    assert len({passage["passage"] for passage in PASSAGES}) == len(PASSAGES) >= 1_500
    assert len({passage["register"] for passage in PASSAGES}) >= 30
    assert len(ROWS) >= 8_000
    assert sum(1 for _ in own_rows(own_passages("test"))) >= 1_500


def test_the_split_is_by_passage_and_nothing_but_its_id_decides() -> None:
    for passage in PASSAGES:
        part = int(passage["id"][:2])
        every = 5 if part <= 8 else 10 if part <= 55 else 1
        is_test = int(hashlib.sha256(passage["id"].encode()).hexdigest(), 16) % every == 0
        assert (passage["split"] == "test") == is_test


def test_an_answer_stands_in_its_passage() -> None:
    for _, row in ROWS:
        if row.span:
            assert row.passage[slice(*row.span)].strip()


@pytest.mark.parametrize(
    ("true", "false", "off"),
    [
        (("own_true",), ("own_false",), 0.06),
        (("other_true",), ("other_false",), 0.06),
        (("plain_true",), ("plain_false",), 0.06),
        (("own_true", "other_true"), ("own_false", "other_false"), 0.06),
        # what is not said needs a new word here and there
        (("own_true", "other_true"), ("own_unsaid", "other_unsaid"), 0.1),
        (("own_answered", "other_answered"), ("own_near", "other_near"), 0.1),
        (("asked_answered",), ("asked_near",), 0.1),
    ],
)
def test_lexical_overlap_is_at_chance(true: tuple[str, ...], false: tuple[str, ...], off: float) -> None:
    assert wins(shares(*true), shares(*false)) == pytest.approx(0.5, abs=off)


@pytest.mark.parametrize("part", ["train", "dev"])
def test_questions_on_passages_of_others_have_their_answer_there_and_share_as_many_words(part: str) -> None:
    data = data_folder()
    if data is None:
        pytest.skip("RAGDROP_EVAL_DATA is not set")
    rows = list(written_for_squadshifts(question_rows(data / "train"), part))
    answered, near = ([row for row in rows if bool(row.answerable) is flag] for flag in (True, False))

    assert all(row.passage[slice(*row.span)].strip() for row in answered if row.span)
    assert wins([*map(shared_words, answered)], [*map(shared_words, near)]) == pytest.approx(0.5, abs=0.06)
    assert not any({*runs(row.query)} & {*runs(row.passage)} for row in rows if row.source == "own-squadshifts")


def test_no_eight_words_in_a_row_stand_in_a_set_that_judges_the_reader() -> None:
    data = data_folder()
    if data is None:
        pytest.skip("RAGDROP_EVAL_DATA is not set")
    written = {run: passage["id"] for passage in PASSAGES for run in runs(passage["passage"])}
    asked = question_rows(data / "train")
    questions = [row for part in ("train", "dev") for row in written_for_squadshifts(asked, part)]
    written |= {run: row.query for row in questions if row.source == "own-squadshifts" for run in runs(row.query)}

    found = {
        written[run]: path.name
        for path in judging_files(data)
        for run in runs(path.read_text("utf-8", "replace"))
        if run in written
    }

    assert found == {}


def judging_files(data: Path) -> Iterator[Path]:
    for root in (data, *(ROOT / name for name in JUDGED_IN_PROJECT)):
        for path in sorted(root.rglob("*")):
            trains = data / "train" in path.parents and not path.parent.name.startswith("test-")
            if path.suffix in {".json", ".jsonl", ".md", ".txt", ".tsv"} and not trains:
                yield path


def runs(text: str) -> Iterator[str]:
    words = re.findall(r"[a-z0-9]+", text.replace("\\n", " ").lower())
    for at in range(len(words) - RUN_OF_WORDS + 1):
        yield " ".join(words[at : at + RUN_OF_WORDS])
