"""Verifiers: what sentence vectors can tell, and what is read of a chat model's judgement."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from groundcheck import OpenClaim, Opinion
from ragdrop.domain.chunks import Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import Curve, EmbeddingSpace, log_odds
from ragdrop.errors import CircuitOpenError, GenerationError, ReaderError
from ragdrop.models.verifiers import MOST_CACHED, ChatVerifier, ReaderScale, ReaderVerifier, SentenceVectorVerifier
from ragdrop.ports.model_services import Reading
from testing.memory_services import WordReader
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
    return vectors_verifier(TwoDimensions()).judge([claim], Deadline.after(5))


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

    found = ChatVerifier(world.chat).judge(CLAIMS, Deadline.after(5))

    assert [(each.status, each.passage) for each in found] == [("verified", 0), ("contradicted", 0)]
    [messages] = world.chat.asked
    assert json.loads(messages[1].content)[1]["passages"] == {"1": "It is huge.", "2": "It is old."}
    assert "data" in messages[0].content


def test_words_around_the_judgement_are_ignored(world: World) -> None:
    world.chat.reply = f"Here you are:\n```json\n{judgement('supported', 'unsupported')}\n```"

    found = ChatVerifier(world.chat).judge(CLAIMS, Deadline.after(5))

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


class SaysOfPassages:
    """A reader that gives each passage `(supported, contradicted)`; `calls` are the pairs of each call."""

    def __init__(self, **of: tuple[float, float]) -> None:
        self._of = of
        self.calls: list[list[tuple[str, str]]] = []

    def read(self, pairs: list[tuple[str, str]], deadline: Deadline) -> list[Reading]:
        self.calls.append(pairs)
        return [Reading(0.5, 0.5, *self._of[passage]) for _, passage in pairs]


EVEN = ReaderScale(0.0, 1.0, 0.0, 0.0, {}, (log_odds(0.9), log_odds(0.5)), 0.8)
"""Looks at nothing but the reader's probabilities."""


def read_by(reader: SaysOfPassages, *claims: OpenClaim, scale: ReaderScale = EVEN) -> list[tuple[str, int | None]]:
    found = ReaderVerifier(reader, scale).judge(claims, Deadline.after(5))  # type: ignore[arg-type] # lists
    return [(each.status, each.passage) for each in found]


def claim(text: str, *texts: str) -> OpenClaim:
    return OpenClaim(text, (), texts)


@pytest.mark.parametrize(
    ("supported", "contradicted", "status"),
    [
        (0.9, 0.1, "verified"),
        (0.89, 0.1, "supported"),
        (0.5, 0.5, "supported"),
        (0.49, 0.51, "unsupported"),
        (0.2, 0.8, "contradicted"),
        (0.2, 0.79, "unsupported"),
    ],
)
def test_thresholds_make_a_status_of_what_the_reader_says(supported: float, contradicted: float, status: str) -> None:
    [(found, passage)] = read_by(SaysOfPassages(a=(supported, contradicted)), claim("It is red.", "a"))

    assert (found, passage) == (status, None if status == "unsupported" else 0)


def test_what_the_rules_found_weighs_with_what_the_reader_says() -> None:
    scale = replace(EVEN, overlap=2.0, findings={"contradicted:number": -3.0, "supported": 1.0})
    reader = SaysOfPassages(a=(0.6, 0.1))
    said = [
        replace(claim("It is red.", "a"), status="contradicted", reason="number"),
        replace(claim("It is old.", "a"), status="supported", reason="roles", support=0.9),
    ]

    assert [status for status, _ in read_by(reader, *said, scale=scale)] == ["unsupported", "verified"]


def test_the_best_text_decides_and_support_is_stronger_than_another_texts_contradiction() -> None:
    reader = SaysOfPassages(far=(0.1, 0.1), denies=(0.0, 0.99), says=(0.95, 0.0), denies_a_bit=(0.1, 0.85))

    found = read_by(
        reader, claim("It is red.", "far", "denies", "says"), claim("It is blue.", "denies_a_bit", "far", "denies")
    )

    assert found == [("verified", 2), ("contradicted", 2)]


def test_all_claims_are_read_in_one_call_and_none_cost_no_call() -> None:
    reader = SaysOfPassages(a=(0.6, 0.1), b=(0.1, 0.1))

    found = read_by(reader, claim("One.", "a", "b"), claim("Two."), claim("Three.", "b", "a"))

    assert found == [("supported", 0), ("unsupported", None), ("supported", 1)]
    assert reader.calls == [[("One.", "a"), ("One.", "b"), ("Three.", "b"), ("Three.", "a")]]
    assert (read_by(reader), len(reader.calls)) == ([], 1)


def test_what_is_not_english_is_not_read_so_that_the_rules_decide() -> None:
    reader = SaysOfPassages(**{"It is red.": (0.99, 0.0), "Die Pumpe ist nicht rot.": (0.99, 0.0)})

    found = read_by(
        reader,
        claim("Die Pumpe ist rot.", "It is red."),
        replace(claim("La pompa è nella cantina.", "It is red."), status="supported"),
        claim("The pump is red.", "Die Pumpe ist nicht rot.", "It is red."),
    )

    assert found == [("unsupported", None), ("supported", None), ("verified", 1)]
    assert reader.calls == [[("The pump is red.", "It is red.")]]


CLAIM = [claim("The pump is red.", "The pump is red and old.")]


def reading_world(reader: WordReader) -> World:
    world = World(settings={"VERIFIER": "reader", "READER_URL": "http://127.0.0.1:1", "BREAKER_THRESHOLD": "2"})
    world.app.ports.reader = reader
    return world


def test_the_setting_lets_the_reader_judge_and_what_it_read_is_not_read_again() -> None:
    reader = WordReader()
    verifier = reading_world(reader).app.ports.claim_verifier
    assert verifier is not None

    for _ in range(2):
        [opinion] = verifier.judge(CLAIM, Deadline.after(5))
        assert (opinion.status, opinion.passage) == ("verified", 0)

    assert reader.asked == [[("The pump is red.", "The pump is red and old.")]]


def test_a_reader_that_fails_opens_its_breaker_and_what_was_read_needs_neither() -> None:
    reader = WordReader()
    verifier = reading_world(reader).app.ports.claim_verifier
    assert verifier is not None
    verifier.judge(CLAIM, Deadline.after(5))
    reader.fail_with = ReaderError("down", service="reader", reason="unreachable")
    others = [claim("The pump is old.", *CLAIM[0].texts)]

    for _ in range(2):
        with pytest.raises(ReaderError):
            verifier.judge(others, Deadline.after(5))
    with pytest.raises(CircuitOpenError):
        verifier.judge(others, Deadline.after(5))

    assert verifier.judge(CLAIM, Deadline.after(5))


@pytest.mark.parametrize("reason", ["unreadable", "version"])
def test_a_reader_that_answers_wrongly_is_there_so_its_breaker_stays_closed(reason: str) -> None:
    reader = WordReader()
    verifier = reading_world(reader).app.ports.claim_verifier
    assert verifier is not None
    reader.fail_with = ReaderError("odd", service="reader", retryable=reason != "version", reason=reason)

    for _ in range(5):
        with pytest.raises(ReaderError):
            verifier.judge(CLAIM, Deadline.after(5))


def test_without_a_reader_all_is_as_it_was(world: World) -> None:
    ports = world.app.ports

    assert (ports.reader, ports.guarded_reader) == (None, None)
    assert isinstance(ports.claim_verifier, SentenceVectorVerifier)
