"""Both verdicts, true and answering, on every path: fallback levels, streams, receipts, the past, stages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.history import STAGE
from ragdrop.domain.retrieval import Query
from ragdrop.errors import EmbeddingServiceError
from ragdrop.ports.model_services import Message, Reading
from tests.fallback_world import FallbackWorld
from tests.world import World

QUESTION = "What is the code of the pump?"
NEAR = "The code of the pump is on a sign."
HELD = "The code of the pump is QX-5521."


class ReadsCodes:
    """Takes whatever holds a code for an answer, and supports every claim."""

    def read(self, pairs: Sequence[tuple[str, str]], deadline: Deadline) -> list[Reading]:
        deadline.timeout_s(1.0, stage="read")
        sure = [0.99 if "QX" in passage else 0.001 for _, passage in pairs]
        return [Reading(each, each, 0.99, 0.0, (0, 3)) for each in sure]


def says_what_it_reads(messages: Sequence[Message]) -> str:
    """The line about the code, with its marker."""
    lines = messages[-1].content.splitlines()
    return next(line for line in lines if line.startswith("The code")) + " [1]"


@pytest.fixture
def world() -> World:
    world = World(reader=ReadsCodes())
    world.chat.reply = says_what_it_reads
    return world


def ask(world: World, **fields: Any) -> Answer:
    return world.app.generate.ask(Question(Query(QUESTION, **fields)), world.caller, Deadline.after(10))


def verdicts(answer: Answer) -> tuple[list[str], str, bool]:
    """What is true of its sentences, whether it answers, and whether it is shown."""
    return [claim.status for claim in answer.claims], answer.answers.status, answer.abstain_reason is None


ANSWERED = (["verified"], "yes", True)


def test_what_words_found_at_level_2_is_read_too(world: World) -> None:
    world.put("team/pump.md", HELD)
    world.embedder.fail_with = EmbeddingServiceError("away", service="embedding")

    answer = ask(world)

    assert answer.retrieval.fallback_level == 2
    assert verdicts(answer) == ANSWERED


def test_what_the_bucket_index_found_at_level_2_is_read_too(tmp_path: Path) -> None:
    world = FallbackWorld(tmp_path, reader=ReadsCodes())
    world.chat.reply = says_what_it_reads
    world.put("team/pump.md", HELD)
    world.cut()

    answer = ask(world)

    assert (answer.retrieval.fallback_level, answer.retrieval.served_by) == (2, "fallback")
    assert verdicts(answer) == ANSWERED


def test_at_level_2_what_does_not_answer_is_withheld_with_its_closest_passages(world: World) -> None:
    world.put("team/sign.md", NEAR)
    world.embedder.fail_with = EmbeddingServiceError("away", service="embedding")

    answer = ask(world)

    assert answer.abstain_reason == "insufficient_information"
    assert [passage.quote for passage in answer.closest] == [NEAR]


def test_a_receipt_has_both_verdicts(world: World) -> None:
    world.put("team/pump.md", HELD)
    answer = ask(world)

    receipt = world.receipts.receipt(world.tenant, answer.id or "", world.now_s)

    assert receipt is not None
    assert [each["status"] for each in receipt.body["sentences"]] == ["verified"]
    verdict = receipt.body["answers_question"]
    given = answer.answers
    assert given.status == "yes"
    assert (verdict["status"], verdict["score"], verdict["threshold"]) == ("yes", given.score, given.threshold)


def test_the_receipt_of_a_withheld_answer_says_that_it_does_not_answer(world: World) -> None:
    world.put("team/pump.md", HELD)
    world.chat.reply = "The code of the pump is on a sign. [1]"

    answer = ask(world)

    receipt = world.receipts.receipt(world.tenant, answer.id or "", world.now_s)
    assert receipt is not None
    assert (receipt.body["abstained"], receipt.body["answers_question"]["status"]) == (True, "no")
    assert receipt.body["sentences"] == []


def test_a_stream_ends_with_both_verdicts(world: World) -> None:
    world.put("team/pump.md", HELD)

    *_, last = world.app.generate.ask.stream(Question(Query(QUESTION)), world.caller, Deadline.after(10))

    assert isinstance(last, Answer)
    assert verdicts(last) == ANSWERED


def test_as_of_then_the_verdicts_are_of_what_the_documents_said_then(world: World) -> None:
    world.put("team/pump.md", HELD)
    then = rfc3339(world.now_s, precision="milliseconds")
    world.now_s += 60.0
    world.put("team/pump.md", NEAR)

    assert verdicts(ask(world, as_of=then)) == ANSWERED
    now = ask(world)
    assert (now.abstain_reason, [passage.quote for passage in now.closest]) == ("insufficient_information", [NEAR])


def test_a_stage_is_judged_by_what_it_would_say(world: World) -> None:
    world.put("team/pump.md", NEAR)
    world.put("team/pump.md", HELD, {STAGE: "spring"})

    assert verdicts(ask(world, stage="spring")) == ANSWERED
    assert ask(world).abstain_reason == "insufficient_information"
