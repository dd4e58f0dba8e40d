"""The questions over tables: the set agrees with its own files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.table_set import truth
from tests.table_set.make_sets import SETS, answered

TABLES = truth.tables()
QUESTIONS = truth.questions()
REASONS = {"ambiguous", "column", "unit", "value", "year"}


def test_the_set_has_forty_tables_of_eight_kinds_and_half_of_them_are_final() -> None:
    assert len(TABLES) == 40
    assert set(Counter(table["kind"] for table in TABLES.values()).values()) == {5}
    assert Counter(table["half"] for table in TABLES.values()) == {"tuning": 20, "final": 20}


def test_a_vault_is_of_one_half_so_that_no_final_table_is_near_a_tuned_one() -> None:
    halves = {(table["vault"], table["half"]) for table in TABLES.values()}
    assert len(halves) == len({vault for vault, _ in halves})


def test_every_table_has_a_file_of_8_to_400_rows() -> None:
    sizes = {name: len(truth.rows_of(table)) for name, table in TABLES.items()}
    assert {name: size for name, size in sizes.items() if not 8 <= size <= 400} == {}


def test_ids_and_texts_of_questions_are_unique_in_a_vault() -> None:
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    texts = Counter((TABLES[question["table"]]["vault"], question["ask"].casefold()) for question in QUESTIONS)
    assert [text for text, count in texts.items() if count > 1] == []


def test_each_half_has_150_questions_with_an_answer_and_look_alikes_of_each_reason() -> None:
    for final in (False, True):
        half = truth.questions(final=final)
        assert sum("answer" in question for question in half) >= 149
        assert {question["refuse"] for question in half if "refuse" in question} == REASONS


def test_a_question_has_either_an_answer_or_a_reason_to_refuse() -> None:
    assert [question["id"] for question in QUESTIONS if ("answer" in question) == ("refuse" in question)] == []


@pytest.mark.parametrize("name", TABLES)
def test_answers_and_their_rows_recompute_from_the_file(name: str) -> None:
    rows = truth.rows_of(TABLES[name])
    for question in QUESTIONS:
        if question["table"] == name and "answer" in question:
            assert [*truth.answer(question, rows)] == [question["answer"], question["rests_on"]], question["ask"]


SECOND = truth.tables(truth.SECOND)
SECOND_QUESTIONS = truth.questions(truth.SECOND)


def test_the_second_set_has_three_tables_of_each_of_eight_kinds_and_half_of_them_are_final() -> None:
    assert Counter(Counter(table["kind"] for table in SECOND.values()).values()) == {3: 8}
    assert Counter(table["half"] for table in SECOND.values()) == {"tuning": 12, "final": 12}
    assert len({(table["vault"], table["half"]) for table in SECOND.values()}) == 8


def test_each_table_of_the_second_set_has_six_questions_and_four_look_alikes() -> None:
    asked = Counter((question["table"], "refuse" in question) for question in SECOND_QUESTIONS)
    assert {name: count for name, count in asked.items() if count < (4 if name[1] else 6)} == {}
    assert len({name for name, _ in asked}) == len(SECOND)
    assert len({(SECOND[each["table"]]["vault"], each["ask"]) for each in SECOND_QUESTIONS}) == len(SECOND_QUESTIONS)


def test_the_third_set_has_twelve_tables_of_two_halves_and_a_third_of_its_questions_are_look_alikes() -> None:
    described, questions = truth.tables(truth.THIRD), truth.questions(truth.THIRD)
    assert Counter(table["half"] for table in described.values()) == {"tuning": 6, "final": 6}
    assert len({(table["vault"], table["half"]) for table in described.values()}) == 4
    assert {each["table"] for each in questions} == described.keys()
    assert 0.3 < sum("refuse" in each for each in questions) / len(questions) < 0.4


def test_all_of_the_fourth_set_is_final_and_half_of_its_questions_are_look_alikes_of_each_reason() -> None:
    described, questions = truth.tables(truth.FOURTH), truth.questions(truth.FOURTH)
    assert Counter(table["half"] for table in described.values()) == {"final": 12}
    assert {each["table"] for each in questions} == described.keys()
    assert len({each["ask"].casefold() for each in questions}) == len(questions)
    assert {each["refuse"] for each in questions if "refuse" in each} == REASONS
    assert 0.45 < sum("refuse" in each for each in questions) / len(questions) < 0.55


def test_all_of_the_fifth_set_is_final_and_a_third_of_its_questions_are_look_alikes_of_each_reason() -> None:
    described, questions = truth.tables(truth.FIFTH), truth.questions(truth.FIFTH)
    assert Counter(table["half"] for table in described.values()) == {"final": 12}
    assert len({table["kind"] for table in described.values()}) == 8
    assert {each["table"] for each in questions} == described.keys()
    assert len({each["ask"].casefold() for each in questions}) == len(questions)
    assert {each["refuse"] for each in questions if "refuse" in each} == REASONS
    assert 0.25 < sum("refuse" in each for each in questions) / len(questions) < 0.35


def test_all_of_the_sixth_set_is_final_and_a_third_of_its_questions_are_look_alikes_of_each_reason() -> None:
    described, questions = truth.tables(truth.SIXTH), truth.questions(truth.SIXTH)
    assert Counter(table["half"] for table in described.values()) == {"final": 13}
    assert len({table["kind"] for table in described.values()}) == 7
    assert Counter(table["language"] for table in described.values()) == {"en": 9, "de": 4}
    assert {each["table"] for each in questions} == described.keys()
    assert len({each["ask"].casefold() for each in questions}) == len(questions)
    assert {each["refuse"] for each in questions if "refuse" in each} == REASONS
    assert 0.25 < sum("refuse" in each for each in questions) / len(questions) < 0.35


def test_all_of_the_seventh_set_is_final_and_a_third_of_its_questions_are_look_alikes_of_each_reason() -> None:
    described, questions = truth.tables(truth.SEVENTH), truth.questions(truth.SEVENTH)
    assert Counter(table["half"] for table in described.values()) == {"final": 12}
    assert len({table["kind"] for table in described.values()}) == 7
    assert Counter(table["language"] for table in described.values()) == {"en": 9, "de": 3}
    assert {each["table"] for each in questions} == described.keys()
    assert len({each["ask"].casefold() for each in questions}) == len(questions)
    assert {each["refuse"] for each in questions if "refuse" in each} == REASONS
    assert 0.25 < sum("refuse" in each for each in questions) / len(questions) < 0.35


@pytest.mark.parametrize("of_set", SETS, ids=lambda folder: folder.name)
def test_answers_recompute_from_the_rows_that_the_files_are_written_from(of_set: Path, tmp_path: Path) -> None:
    assert answered(of_set, tmp_path) == truth.questions(of_set)
    texts = [path for path in tmp_path.rglob("*") if path.suffix in {".csv", ".tsv", ".md", ".html"}]
    stored = of_set / "files"
    assert [
        path.name for path in texts if path.read_bytes() != (stored / path.relative_to(tmp_path)).read_bytes()
    ] == []
    for path in tmp_path.iterdir():
        if path.suffix in {".xlsx", ".ods", ".docx"}:
            assert [*truth.grids(path)] == [*truth.grids(stored / path.name)], path.name
