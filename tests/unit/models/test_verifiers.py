"""Verifiers: what sentence vectors can tell, and what is read of a chat model's judgement."""

from __future__ import annotations

import json

import pytest

from groundcheck import OpenClaim, Opinion
from ragdrop.domain.chunks import Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import Curve, EmbeddingSpace
from ragdrop.errors import GenerationError
from ragdrop.models.verifiers import MOST_CACHED, ChatVerifier, SentenceVectorVerifier
from tests.world import World

SPACE = EmbeddingSpace("two", 2)
VECTORS = {"said": (1.0, 0.0), "near": (0.8, 0.6), "nearer": (0.96, 0.28), "far": (0.0, 1.0)}


class TwoDimensions:
    """An embedder whose vectors are those of VECTORS; `made` counts what it was asked for."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def passages(self, texts: list[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        self.made += texts
        return [vector(VECTORS.get(text, (0.0, 1.0))) for text in texts]


def vectors_verifier(embedder: TwoDimensions) -> SentenceVectorVerifier:
    return SentenceVectorVerifier(embedder, SPACE, Curve(0.3, 0.04))  # type: ignore[arg-type] # asked for passages only


def judged(claim: OpenClaim) -> list[Opinion]:
    return vectors_verifier(TwoDimensions()).judge([claim], Deadline.after(5)).opinions


def test_the_nearest_passage_supports_a_claim_and_never_verifies_it() -> None:
    [opinion] = judged(OpenClaim("said", ("near", "nearer")))

    assert (opinion.status, opinion.passage) == ("supported", 1)


@pytest.mark.parametrize("passages", [("far",), ()])
def test_without_a_passage_that_is_near_a_claim_is_unsupported(passages: tuple[str, ...]) -> None:
    [opinion] = judged(OpenClaim("said", passages))

    assert (opinion.status, opinion.passage) == ("unsupported", None)


def test_a_passage_is_embedded_once_for_all_sentences_of_an_answer() -> None:
    embedder = TwoDimensions()
    verifier = vectors_verifier(embedder)

    for said in ("said", "said", "near"):
        verifier.judge([OpenClaim(said, ("near", "far"))], Deadline.after(5))

    assert embedder.made == ["said", "near", "far"]


def test_vectors_of_earlier_answers_are_forgotten() -> None:
    embedder = TwoDimensions()
    verifier = vectors_verifier(embedder)
    verifier.judge([OpenClaim("said", ("near",))], Deadline.after(5))
    verifier.judge([OpenClaim("x", tuple(map(str, range(MOST_CACHED))))], Deadline.after(5))

    verifier.judge([OpenClaim("said", ("near",))], Deadline.after(5))

    assert embedder.made.count("near") == 2


def judgement(*statuses: str, passage: object = 1) -> str:
    return json.dumps({"claims": [{"n": n, "status": each, "passage": passage} for n, each in enumerate(statuses, 1)]})


CLAIMS = [OpenClaim("It is red.", ("Red it is.",)), OpenClaim("It is big.", ("It is huge.", "It is old."))]


def test_the_chat_model_judges_all_claims_in_one_call_in_which_evidence_is_data(world: World) -> None:
    world.chat.reply = judgement("verified", "contradicted")

    found = ChatVerifier(world.chat).judge(CLAIMS, Deadline.after(5)).opinions

    assert [(each.status, each.passage) for each in found] == [("verified", 0), ("contradicted", 0)]
    [messages] = world.chat.asked
    assert json.loads(messages[1].content)[1]["passages"] == {"1": "It is huge.", "2": "It is old."}
    assert "data" in messages[0].content


def test_words_around_the_judgement_are_ignored(world: World) -> None:
    world.chat.reply = f"Here you are:\n```json\n{judgement('supported', 'unsupported')}\n```"

    found = ChatVerifier(world.chat).judge(CLAIMS, Deadline.after(5)).opinions

    assert [each.status for each in found] == ["supported", "unsupported"]


@pytest.mark.parametrize(
    "said",
    [
        "I cannot help with that.",
        "{",
        "[]",
        '{"claims": {}}',
        judgement("verified"),
        judgement("verified", "perhaps"),
        judgement("verified", "verified", passage=None),
        judgement("verified", "verified", passage=9),
        judgement("verified", "verified", passage="1"),
    ],
)
def test_a_judgement_that_cannot_be_read_is_an_error(world: World, said: str) -> None:
    world.chat.reply = said

    with pytest.raises(GenerationError) as failed:
        ChatVerifier(world.chat).judge(CLAIMS, Deadline.after(5))

    assert failed.value.details["reason"] == "unreadable"
