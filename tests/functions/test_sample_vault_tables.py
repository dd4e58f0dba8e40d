"""The five kinds of questions that a table answers, over the sample vault, with their cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from tests.world import World

SAMPLE = Path(__file__).parents[2] / "localstack/sample-vault"


@pytest.fixture(scope="module")
def vault() -> World:
    world = World()
    for path in sorted(SAMPLE.rglob("*")):
        if path.is_file():
            world.put(f"team/{path.relative_to(SAMPLE).as_posix()}", path.read_bytes())
    return world


@pytest.mark.parametrize(
    ("question", "value", "path", "cells"),
    [
        ("How much did the dog cost in August?", "143.25", "office/office-budget.xlsx", "'2025'!J6"),
        ("How many tours were longer than 80 km?", "17", "office/bike-tours.csv", "D6"),
        ("Which tour was the longest?", "Lake loop", "office/bike-tours.csv", "B23"),
        ("How much more did trains cost than coffee in May?", "252.7", "office/office-budget.xlsx", "'2025'!G8"),
        (
            "Which notes are tagged roof and are not done?",
            "Leak above the server cupboard, Skylight of the meeting room",
            "",
            "documents and notes!A",
        ),
    ],
)
def test_a_question_of_each_kind_has_its_golden_answer(
    vault: World, question: str, value: str, path: str, cells: str
) -> None:
    answer = vault.app.generate.ask(Question(Query(question)), vault.caller, Deadline.after(10))

    assert answer.table is not None
    assert (answer.table.value, answer.table.path) == (value, path)
    assert any(cell.startswith(cells) for cell in answer.table.cells)
    assert {claim.status for claim in answer.claims} == {"verified"}
    for citation in answer.citations:
        key = citation.hit.key
        text = vault.app.documents.document_service.text(vault.caller, key, start=citation.start, end=citation.end)
        assert text == citation.quote
