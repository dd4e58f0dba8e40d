"""Golden answers: questions as people ask them over a few notes, by the laptop's models with the reader in force."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.collections import Collection, CollectionDocument
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.own_words import SourceFile
from benchmarks.pipeline import Pushed, delivery, pushed, soon
from ragdrop.domain.answers import Answer, Question, Turn
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Query
from ragdrop.generate.prompt import CondenseConversation
from ragdrop.ports.message_queue import Change

NOTES = {
    "recipes/potato-soup.md": """# Potato soup

Serves 4. 30 minutes.

Fry two onions, add a kilo of potatoes and a litre of stock, and let it simmer for 20 minutes. The secret ingredient
that thickens it is a handful of grated apple. Season with marjoram.
""",
    "recipes/plum-cake.md": """# Plum cake

Serves 12. 75 minutes. Bake at 180 degrees on the lower shelf. Let it cool before you cut it.
""",
    "home/boiler.md": """# Boiler

The boiler is in the cellar. Its pressure should be 1.6 bar.

| code | meaning | what to do |
|---|---|---|
| E-104 | no water | fill up to 1.6 bar |
| E-119 | the fan is stuck | call Mr Hollander, 0555 0117 |
""",
    "home/lease.md": """# Lease of the flat in Weavers' Lane

The rent is 890 euros and is due on the third working day of each month. We may end the lease with three months'
notice. Pets need the landlord's permission.
""",
    "health/dentist.md": """# Dentist

The appointment with Dr Okafor is on Tuesday, 9 February at 10:40. Bring the insurance card.
""",
    "work/ida.md": """# Ida

Ida leads the print room. She works from home on Mondays and Thursdays. Her birthday is on 2 May.
""",
    "work/print-room.md": """# Print room

Large orders need two days. The machine is serviced every first Friday of a month by Kessler and Sons.
""",
}


@pytest.fixture(scope="module")
def notes() -> Iterator[Pushed]:
    documents: list[CollectionDocument] = [SourceFile(path, "", text) for path, text in NOTES.items()]
    with LocalEmbeddings() as model, pushed(Collection("notes", documents, {}, {}, {}), model) as place:
        if model.reader is None:
            pytest.skip("no reader was trained: models/reader/reader.onnx is missing")
        place.answer_locally()
        yield place


def ask(place: Pushed, text: str, **more: object) -> Answer:
    return place.app.generate.ask(Question(Query(text, vaults=("notes",)), **more), place.caller, soon())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Which secret ingredient thickens the soup?", "grated apple"),
        ("What do I do when the boiler shows E-119?", "Mr Hollander"),
        ("what does E-104 mean", "no water"),
        ("When is my appointment at the dentist?", "9 February"),
        ("how much rent do we pay", "890 euros"),
        ("which days does Ida work from home?", "Mondays and Thursdays"),
        ("how long do big orders take in the print room", "two days"),
    ],
)
def test_the_answer_holds_the_fact_and_both_signs_are_green(notes: Pushed, question: str, fact: str) -> None:
    answer = ask(notes, question)

    assert fact in answer.text
    assert answer.answers.status == "yes"
    assert {claim.status for claim in answer.claims} <= {"verified", "supported", "not_a_claim"}


@pytest.mark.parametrize(
    "question", ["Hello!", "x" * 5_000, "x " * 5_000, "Who won the regatta of 1931?", "what does E-777 mean"]
)
def test_what_the_notes_do_not_hold_is_not_answered(notes: Pushed, question: str) -> None:
    assert ask(notes, question).abstain_reason is not None


def test_an_abstention_quotes_the_closest_passages_and_may_be_answered_anyway(notes: Pushed) -> None:
    question = "Which shop sells Ida her paper?"

    refused, anyway = ask(notes, question), ask(notes, question, answer_anyway=True)

    assert refused.abstain_reason is not None
    assert refused.closest
    assert all(passage.quote in NOTES[passage.hit.key.path] for passage in refused.closest)
    assert anyway.abstain_reason is None


def test_a_new_question_in_a_conversation_is_not_answered_from_the_last_one(notes: Pushed) -> None:
    turns = [
        Turn("user", "Which days does Ida work from home?"),
        Turn("assistant", "On Mondays and Thursdays [1]."),
        Turn("user", "When is my appointment at the dentist?"),
    ]

    asked = CondenseConversation(notes.app.ports.chat)(turns, soon())

    answer = ask(notes, asked.text, turns=asked.turns)
    assert "9 February" in answer.text
    assert {citation.hit.key.path for citation in answer.citations} == {"health/dentist.md"}


def test_a_vault_that_grows_beside_it_changes_no_answer(notes: Pushed) -> None:
    question = "how much notice do we have to give for the flat?"
    before = ask(notes, question)
    afterwards = []

    for number in range(60):
        key = DocumentKey(notes.caller.tenant, "others", f"{number}.md")
        text = f"# Lease {number}\n\nThe tenant of house {number} gives notice in week {number}; the rent is {number}."
        notes.app.ports.documents.put(key.s3_key, text.encode(), media_type="text/markdown", metadata={})
        assert not notes.app.ingest.reconcile([delivery(Change(key.s3_key, f"{number:018X}"))], soon())
        if number in {4, 59}:  # before and after that vault is calibrated
            notes.app.tenants.directory.forget(notes.caller.tenant)
            afterwards.append(ask(notes, question).text)

    assert "three months" in before.text
    assert afterwards == [before.text, before.text]
