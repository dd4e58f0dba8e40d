"""The golden questions of the sample vault are what they claim to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

VAULT = Path(__file__).parents[2] / "localstack/sample-vault"
LINES = (Path(__file__).parent / "golden_sample_vault.jsonl").read_text("utf-8").splitlines()
QUESTIONS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
ANSWERABLE = [question for question in QUESTIONS if question["document"]]


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question["question"][:40])
def test_the_text_that_answers_stands_in_its_document_and_in_no_other(question: dict[str, Any]) -> None:
    holders = [
        path.relative_to(VAULT).as_posix()
        for path in VAULT.rglob("*.*")
        if question["text"].encode() in path.read_bytes()
    ]

    assert holders == [question["document"]]


def test_there_are_fifty_questions_and_some_that_nothing_answers() -> None:
    assert len(ANSWERABLE) == 50
    assert len(QUESTIONS) > len(ANSWERABLE)
