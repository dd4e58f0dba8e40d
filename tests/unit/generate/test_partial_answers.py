"""Partial answers: what the sources do not say is said as such; a model that cannot answer never shows its sentinel."""

from __future__ import annotations

import pytest

from ragdrop.domain.answers import Answer, Question, Turn
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.retrieval import Query
from ragdrop.generate.citations import AnswerReader, CitationPolicy
from tests.unit.generate.test_citations import SEGMENTS, cite
from tests.world import World


@pytest.mark.parametrize("policy", ["mark", "drop", "abstain"])
@pytest.mark.parametrize(
    "gap",
    [
        "When it was painted is not known [missing].",
        "Wann sie gestrichen wurde, steht dort nicht. [missing]",
        "The sources do not say when it was painted.",
        "In den Dokumenten steht nichts dazu.",
        "Les documents ne disent pas quand elle a été peinte.",
        "There is no date of the painting in the sources.",
    ],
)
def test_a_sentence_that_says_what_the_sources_do_not_say_is_missing(gap: str, policy: CitationPolicy) -> None:
    answer = cite(f"The pump is red [1]. {gap}", SEGMENTS, policy)

    assert [claim.status for claim in answer.claims] == ["verified", "missing"]
    assert (answer.reason, answer.unsupported) == (None, [])
    assert "[missing]" not in answer.text


@pytest.mark.parametrize(
    "claim",
    ["It costs 500 EUR [missing].", "The pump is made of brass [missing].", "The documents do not need a stamp."],
)
def test_a_claim_does_not_pass_as_what_is_missing(claim: str) -> None:
    answer = cite(f"The pump is red [1]. {claim}", SEGMENTS)

    assert answer.claims[-1].status == "unsupported"
    assert "[missing]" not in answer.text


def test_an_answer_that_only_says_what_is_missing_abstains() -> None:
    assert cite("The sources do not say who painted it.", SEGMENTS).reason == "insufficient_information"


@pytest.mark.parametrize(
    "reply",
    [
        "INSUFFICIENT_INFORMATION",
        "**INSUFFICIENT_INFORMATION**.",
        "I am sorry: insufficient_information",
        "The answer is INSUFFICIENT INFORMATION here.",
        "Let me see.\n\nINSUFFICIENT_INFORMATION\n",
    ],
)
@pytest.mark.parametrize("size", [1, 4, 999])
def test_a_sentinel_anywhere_abstains_and_no_piece_of_it_leaves(reply: str, size: int) -> None:
    reader = AnswerReader(SEGMENTS, bucket="b")
    released = [each for start in range(0, len(reply), size) for each in reader.feed(reply[start : start + size])]
    released += reader.finish()

    said = "".join(each for each in released if isinstance(each, str))
    assert "INSUF" not in said.upper()
    assert reader.answer.reason == "insufficient_information"


def test_what_stands_before_a_sentinel_with_its_evidence_is_an_answer_without_it() -> None:
    answer = cite("The pump is red [1]. INSUFFICIENT_INFORMATION", SEGMENTS)

    assert (answer.text, answer.reason) == ("The pump is red [1].", None)


def test_an_abstention_is_in_the_language_of_the_question(world: World) -> None:
    world.put("team/pumpe.md", "Die Pumpe ist rot.")
    world.chat.reply = "INSUFFICIENT_INFORMATION"

    answer = ask(world, Question(Query("Wer hat die Pumpe in der Werkstatt gebaut?")))

    assert answer.text == "Die gefundenen Dokumente reichen nicht aus, um diese Frage zu beantworten."


def test_the_prompt_has_the_turns_that_a_question_follows_up_and_the_date_of_the_clock(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.chat.reply = "The pump is red [1]."

    ask(world, Question(Query("pump colour"), turns=(Turn("user", "Is it green?"), Turn("user", "the colour?"))))

    user = world.chat.asked[0][-1].content
    assert " user: Is it green?\n" in user
    assert f"Today is {rfc3339(world.app.ports.clock())[:10]}.\n" in user


def test_the_receipt_names_the_conversation_that_it_leaves_out(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.chat.reply = "The pump is red [1]."

    answer = ask(world, Question(Query("pump colour"), turns=(Turn("user", "Is it green?"),)))

    receipt = world.app.generate.store_receipts.read(world.caller, answer.id or "", Deadline.after(5))
    assert receipt.body["request_left_out"] == ["history"]


def ask(world: World, question: Question) -> Answer:
    return world.app.generate.ask(question, world.caller, Deadline.after(10))
