"""Verify: answers that other models wrote, and what a verifier may add to the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundcheck import ClaimStatus, OpenClaim, Opinion, Passage
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import CircuitOpenError, EmbeddingServiceError
from ragdrop.generate.citations import VerifiedAnswer, VerifyAnswer

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
