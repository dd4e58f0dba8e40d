"""Verify: answers that other models wrote, and what a verifier may add to the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundcheck import ClaimStatus, OpenClaim, Opinion, Passage
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import CircuitOpenError, EmbeddingServiceError
from ragdrop.generate.verify_answer import VerifiedAnswer, VerifyAnswer

SOURCES = [
    Passage("The pump is red. It holds 7 litres.", id="pump.md"),
    Passage("The bridge was closed because the river had risen.", id="bridge.md"),
]
IN_OTHER_WORDS = "High water forced the crossing to shut."


@dataclass
class SaysAlways:
    """A verifier with one opinion, or one error; `asked` are the claims that reached it."""

    status: ClaimStatus = "supported"
    error: Exception | None = None
    reads_relations: bool = True
    decides: bool = False
    asked: list[OpenClaim] = field(default_factory=list)
    calls: int = 0

    def judge(self, claims: Sequence[OpenClaim], deadline: Deadline) -> list[Opinion]:
        assert deadline.remaining_s() > 0
        self.calls += 1
        self.asked += claims
        if self.error is not None:
            raise self.error
        return [Opinion(self.status, 0) for _ in claims]


def verify(answer: str, verifier: SaysAlways | None = None, sources: Sequence[Passage] = SOURCES) -> VerifiedAnswer:
    return VerifyAnswer(verifier)(answer, sources, Deadline.after(10))


def statuses(found: VerifiedAnswer) -> list[str]:
    return [each.status for each in found.sentences]


def test_a_sentence_of_any_source_is_verified_with_the_place_of_its_quote() -> None:
    [sentence] = verify("It holds 7 litres.").sentences

    [proof] = sentence.evidence
    assert sentence.status == "verified"
    assert (proof.passage.id, proof.quote) == ("pump.md", "It holds 7 litres.")
    assert SOURCES[0].text[proof.start : proof.end] == proof.quote


def test_a_marker_names_a_source_by_its_place_and_no_other_counts() -> None:
    found = verify("The pump is red [2]. The pump is red. [1] The pump is red [9].")

    assert statuses(found) == ["unsupported", "verified", "unsupported"]
    assert [each.reason for each in found.sentences] == ["words", None, "unknown_marker"]


@pytest.mark.parametrize("status", ["verified", "supported"])
def test_a_verifier_finds_evidence_in_other_words(status: ClaimStatus) -> None:
    found = verify(IN_OTHER_WORDS, SaysAlways(status))

    assert statuses(found) == [status]


def test_one_that_decides_may_refuse_what_rules_accept_and_accept_what_they_refuse() -> None:
    doubted = verify("The pump that holds 7 litres is red.", SaysAlways("unsupported", decides=True))
    believed = verify("It holds 9 litres.", SaysAlways("supported", decides=True))
    stated = SaysAlways("unsupported", decides=True)

    assert (statuses(doubted), doubted.sentences[0].reason) == (["unsupported"], "meaning")
    assert {each.status for each in doubted.sentences[0].evidence} <= {"unsupported"}
    assert (statuses(believed), believed.sentences[0].reason) == (["supported"], "meaning")
    assert believed.sentences[0].evidence[0].quote == "It holds 7 litres."
    assert statuses(verify("It holds 7 litres.", stated)) == ["verified"]
    assert stated.asked == []


def test_one_that_cannot_read_relations_is_not_asked_about_what_has_evidence() -> None:
    verifier = SaysAlways("verified", reads_relations=False)

    found = verify("The pump that holds 7 litres is red.", verifier)

    assert verifier.asked == []
    assert "verified" not in statuses(found)


@pytest.mark.parametrize(
    "error",
    [EmbeddingServiceError("down", service="embedding"), CircuitOpenError("open", service="chat", retry_after_s=1)],
)
def test_a_verifier_that_is_down_never_makes_anything_better_and_is_asked_once(error: Exception) -> None:
    verifier = SaysAlways(error=error)

    found = verify(f"{IN_OTHER_WORDS} The ferry sank at dawn. The pump is red.", verifier)

    assert statuses(found) == ["unsupported", "unsupported", "verified"]
    assert verifier.calls == 1
    assert len(found.warnings) == 1


def test_all_open_sentences_of_an_answer_are_judged_in_one_call() -> None:
    verifier = SaysAlways()

    verify(f"{IN_OTHER_WORDS} The ferry sank at dawn. The pump is red. The gate is made of oak.", verifier)

    assert (verifier.calls, len(verifier.asked)) == (1, 3)


@given(st.text(max_size=300), st.lists(st.text(min_size=1, max_size=300), min_size=1, max_size=3))
def test_every_span_is_one_of_the_given_texts(answer: str, texts: list[str]) -> None:
    sources = [Passage(text, id=str(place)) for place, text in enumerate(texts)]

    for sentence in verify(answer, sources=sources).sentences:
        assert answer[sentence.start : sentence.end] == sentence.text
        for proof in sentence.evidence:
            assert texts[int(proof.passage.id)][proof.start : proof.end] == proof.quote


COSTS = Passage(
    "# Costs\n\n| date | item | category | amount (EUR) |\n|---|---|---|---|\n"
    "| 2026-08-03 | Food | Dog | 300 |\n| 2026-08-05 | Vet | Dog | 80 |\n| 2026-08-09 | Collar | Dog | 32.40 |\n"
    "| 2026-09-09 | Food | Dog | 30 |\n| 2026-08-09 | Rent | Flat | 900 |\n",
    id="costs.md",
)


@pytest.mark.parametrize(
    ("sentence", "status"),
    [
        ("The dog cost 412.40 EUR in August.", "supported"),
        ("The dog cost €412 in August 2026 [1].", "supported"),
        ("The dog cost 300 EUR in August.", "contradicted"),
        ("In August the dog cost 500 EUR.", "contradicted"),
        ("The average amount of the dog was 110.60 EUR.", "supported"),
        ("The largest amount of the dog was 300 EUR.", "supported"),
        ("The largest amount of the dog was 500 EUR.", "contradicted"),
        ("Der Hund kostete 500 EUR.", "unsupported"),
    ],
)
def test_a_number_is_compared_with_what_a_plan_over_the_rows_gives(sentence: str, status: ClaimStatus) -> None:
    found = verify(sentence, sources=[COSTS])

    assert statuses(found) == [status]
    assert [proof.rows_total for proof in found.computed.values()] == [5] * (status != "unsupported")


def test_a_computed_number_has_its_rows_as_evidence_and_its_expression() -> None:
    found = verify("The dog cost 412.40 EUR in August.", sources=[SOURCES[0], COSTS])

    [proof] = found.sentences[0].evidence
    assert proof.passage is COSTS
    assert proof.quote.splitlines() == COSTS.text.splitlines()[4:7]
    assert found.computed[0].expression.startswith('sum(amount (EUR)) where category is "Dog"')
    assert (found.computed[0].number, found.computed[0].rows_used) == ("412.40", 3)


@pytest.mark.parametrize(
    "sentence",
    [
        "The cat cost 412.40 EUR in August.",
        "The dog cost 500 USD in August.",
        "The dog cost 500 EUR in August 2025.",
        "The dog did not cost 412.40 EUR in August.",
        "The dog may cost 500 EUR in August.",
        "The dog cost about 400 EUR in August.",
        "The dog cost more than 500 EUR in August.",
        "Ida says that the dog cost 500 EUR.",
        "The dog cost 500 EUR this month.",
        "The dog cost 500 EUR in August [2].",
    ],
)
def test_a_sentence_without_one_certain_plan_is_judged_as_before(sentence: str) -> None:
    sources = [COSTS, SOURCES[0]]
    plain = [replace(each, text=each.text.replace("|", " ")) for each in sources]

    found = verify(sentence, sources=sources)

    assert found.computed == {}
    assert statuses(found) == statuses(verify(sentence, sources=plain))


def test_rows_of_a_csv_are_a_table_where_the_source_is_named_so() -> None:
    csv = Passage("day;tour;km\n2026-05-01;Rome;120\n2026-05-09;Bonn;85,5\n2026-06-02;Ulm;40\n", id="tours.csv")

    found = verify("Two tours were longer than 80 km. The tours were 300 km in total.", sources=[csv])

    assert statuses(found) == ["supported", "contradicted"]
    assert found.sentences[0].evidence[0].quote == "2026-05-01;Rome;120\n2026-05-09;Bonn;85,5\n"
    assert found.computed[0].cells == ("C2", "C3")
