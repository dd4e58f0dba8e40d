"""The public function: each sentence of an answer with its status and evidence, and a second opinion on open ones."""

from __future__ import annotations

import pytest

from groundcheck import Checked, ClaimStatus, OpenClaim, Opinion, Passage, check

PUMP = Passage("The pump is red. It holds 7 litres.", id="pump.md")
BRIDGE = Passage("The bridge was closed because the river had risen.", id="bridge.md")
IN_OTHER_WORDS = "High water forced the crossing to shut."


class OneOpinion:
    """A second opinion that is always the same; `asked` are the claims that reached it."""

    def __init__(self, status: ClaimStatus, passage: int | None = 0) -> None:
        self.opinion = Opinion(status, passage)
        self.asked: list[OpenClaim] = []

    def __call__(self, claim: OpenClaim, *, has_evidence: bool) -> Opinion:
        self.asked.append(claim)
        return self.opinion


def statuses(found: list[Checked]) -> list[ClaimStatus]:
    return [each.status for each in found]


def test_evidence_names_its_passage_and_the_place_of_its_quote() -> None:
    [found] = check("It holds 7 litres.", [BRIDGE, PUMP])

    [evidence] = found.evidence
    assert (found.status, found.reason, found.support) == ("verified", None, 1.0)
    assert (evidence.passage.id, evidence.quote) == ("pump.md", "It holds 7 litres.")
    assert PUMP.text[evidence.start : evidence.end] == evidence.quote


def test_a_plain_text_is_named_by_its_place() -> None:
    [found] = check("It holds 7 litres.", [BRIDGE.text, PUMP.text])

    assert [each.passage.id for each in found.evidence] == [1]


def test_a_contradicted_sentence_comes_with_the_passage_that_contradicts_it() -> None:
    [found] = check("The pump is not red.", [PUMP])

    assert (found.status, found.reason) == ("contradicted", "negation")
    assert [each.quote for each in found.evidence] == ["The pump is red."]


def test_a_greeting_claims_nothing_and_every_sentence_has_its_place_in_the_answer() -> None:
    answer = "Here is what I found:\n\n- The pump is red.\n- It holds 9 litres."

    found = check(answer, [PUMP])

    assert statuses(found) == ["not_a_claim", "verified", "contradicted"]
    assert [answer[each.start : each.end] for each in found] == [each.text for each in found]


def test_a_sentence_of_two_passages_together_is_supported() -> None:
    passages = ["Kelly built the red pump.", "The tank holds 7 litres."]

    [found] = check("Kelly built the red pump and the tank holds 7 litres.", passages)

    assert (found.status, found.reason) == ("supported", "several")
    assert [each.passage.id for each in found.evidence] == [0, 1]


def test_a_long_passage_is_read_in_pieces_and_quoted_at_its_place() -> None:
    text = "Nothing is known about anything here. " * 400 + "The pump holds 7 litres. " + "The rest is silence. " * 400

    [found] = check("The pump holds 7 litres.", [text])

    [evidence] = found.evidence
    assert text[evidence.start : evidence.end] == evidence.quote == "The pump holds 7 litres."


def test_without_passages_every_claim_is_unsupported() -> None:
    assert statuses(check("The pump is red.", [])) == ["unsupported"]


def test_a_sentence_in_other_words_is_unsupported_without_a_second_opinion() -> None:
    assert statuses(check(IN_OTHER_WORDS, [PUMP, BRIDGE])) == ["unsupported"]


@pytest.mark.parametrize(("status", "reason"), [("verified", None), ("supported", "meaning")])
def test_a_second_opinion_finds_evidence_in_other_words(status: ClaimStatus, reason: str | None) -> None:
    [found] = check(IN_OTHER_WORDS, [BRIDGE, PUMP], second_opinion=OneOpinion(status))

    assert (found.status, found.reason) == (status, reason)
    assert [each.quote for each in found.evidence] == [BRIDGE.text]


@pytest.mark.parametrize("opinion", [OneOpinion("unsupported"), OneOpinion("contradicted", passage=None)])
def test_a_second_opinion_without_evidence_changes_nothing(opinion: OneOpinion) -> None:
    assert check(IN_OTHER_WORDS, [BRIDGE], second_opinion=opinion) == check(IN_OTHER_WORDS, [BRIDGE])


def test_a_second_opinion_is_not_asked_about_what_rules_decided() -> None:
    opinion = OneOpinion("verified")

    check("The pump is red. The pump is not red. It holds 9 litres.", [PUMP], second_opinion=opinion)

    assert opinion.asked == []


def test_a_second_opinion_cannot_overrule_the_relations_that_rules_read() -> None:
    passage = "The driver saw smoke because the old engine burnt."
    [found] = check("The engine burnt because of smoke.", [passage], second_opinion=OneOpinion("verified"))

    assert found.status != "verified"
