"""Questions in users' own words find the right document, and the laptop's answers are worth reading: a gate.

Only the tuning half is asked; the final half is for the table of docs/evidence/quality.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import mul
from pathlib import Path

import pytest

from benchmarks.collections import Collection
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.own_words import SAMPLE_VAULT, OwnWordsOutcome, asking, documents_of, measure, whole_list
from benchmarks.pipeline import TENANT, Pushed, pushed, soon
from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.retrieval import Query
from ragdrop.models.answerer import quoted_answer
from testing.models import ScriptedChatModel


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEmbeddings]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGDROP_BENCH_CACHE", str(tmp_path_factory.mktemp("vectors")))
        with LocalEmbeddings() as opened:
            yield opened


@pytest.fixture(scope="module")
def handbook(model: LocalEmbeddings) -> Iterator[Pushed]:
    def similarity(question: str, passages: Sequence[str]) -> list[float]:
        [wanted] = model.embed([question])
        return [sum(map(mul, wanted, given)) for given in model.embed(passages)]

    with pushed(Collection("handbook", documents_of(Path(SAMPLE_VAULT)), {}, {}, {}), model) as place:
        place.app.operate.calibrate(TENANT, place.collection.name, soon())
        place.app.ports.chat = ScriptedChatModel(lambda messages: quoted_answer(messages[-1].content, similarity))
        yield place


def ask(place: Pushed, text: str) -> Answer:
    return place.app.generate.ask(Question(Query(text)), place.caller, soon())


@pytest.mark.parametrize(
    ("vault", "first", "among_three", "abstained"), [("sample-vault", 7, 14, 2), ("fernseed", 16, 20, 6)]
)
def test_most_questions_find_their_document_and_few_get_no_answer(
    model: LocalEmbeddings, vault: str, first: int, among_three: int, abstained: int
) -> None:
    _, found = measure(vault, model, final=False)

    def within(most: int) -> int:
        return sum(one.place is not None and one.place < most for one in found.own)

    assert (within(1) >= first, within(3) >= among_three) == (True, True)
    assert sum(one.ask_abstained for one in found.own) <= abstained
    assert answered(found.foreign) == []


def test_a_visitor_of_the_demo_finds_most_of_what_they_ask_for(handbook: Pushed) -> None:
    found = list(asking(handbook, whole_list("demo")))

    assert sum(one.place is not None and one.place < 3 for one in found) >= 25
    assert sum(one.ask_abstained for one in found) <= 3


def answered(outcomes: Sequence[OwnWordsOutcome]) -> list[str]:
    return [one.question for one in outcomes if not one.ask_abstained]


def test_a_how_to_question_gets_the_steps_of_the_runbook(handbook: Pushed) -> None:
    given = ask(handbook, "What should I do when a certificate is about to expire?")

    assert {citation.hit.key.path for citation in given.citations} == {"runbooks/certificate renewal.md"}
    assert given.text.splitlines()[0] == "Look at the job's last run: `larkctl job log cert-renew --last`. [1]"
    assert given.text.splitlines()[-1] == "Tell Finch: `larkctl finch reload-certs`. [1]"


def test_a_question_for_a_person_gets_the_one_sentence(handbook: Pushed) -> None:
    assert ask(handbook, "Who is on call?").text == "One person carries the phone for a week. [1]"


def test_a_question_with_a_month_is_answered_from_the_review_of_that_month(handbook: Pushed) -> None:
    given = ask(handbook, "What went wrong in January 2025?")

    assert {citation.hit.key.path for citation in given.citations} == {"incidents/2025-01-22-expired-certificate.md"}
    assert given.retrieval.documents[0].key.path == "incidents/2025-01-22-expired-certificate.md"


def test_a_question_that_nothing_answers_shows_the_closest_documents(handbook: Pushed) -> None:
    found = ask(handbook, "Wie lange werden Backups aufbewahrt?").retrieval

    assert found.abstained
    assert "runbooks/backup-restore.md" in [document.key.path for document in found.nearest]
