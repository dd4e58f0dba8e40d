"""Reading: what was found is read against the question, and an answer is shown only where it answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import pytest

from ragdrop.domain.answers import Answer, AnswersQuestion, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace, log_odds
from ragdrop.domain.retrieval import Query
from ragdrop.errors import EmbeddingServiceError, ReaderError
from ragdrop.generate.answering import (
    NOT_COMPARED,
    NOT_READ,
    SURE_WORTH,
    AnswerScale,
    ReadFound,
    ReadPassage,
    ReadQuestion,
)
from ragdrop.generate.ask import Ask
from ragdrop.generate.verify_answer import VerifyAnswer
from ragdrop.models.sentence_vectors import NearestSentence
from ragdrop.ports.model_services import Reading
from testing.memory_services import WordReader
from tests.unit.query.test_exact import hit
from tests.world import World

if TYPE_CHECKING:
    from ragdrop.ports.model_services import Embedder

HALF = AnswerScale((1.0, 0.0, 0.0), (1.0, 0.0), least=log_odds(0.5), least_answer=0.5, sure=0.8)
"""What holds half of the question's words, and a word more, answers it."""


@dataclass
class ReadWorld:
    """A world whose questions a WordReader reads; `world.chat` is asked for answers."""

    world: World = field(default_factory=World)
    reader: WordReader = field(default_factory=WordReader)

    def ask(self, text: str, **more: object) -> Answer:
        parts = self.world.app.generate
        ask: Ask = parts._ask
        read = ReadQuestion(self.reader, HALF)
        ask._read = ask._prepare._read = read
        question = replace(Question(Query(text)), **more)  # type: ignore[arg-type]
        return parts.ask(question, self.world.caller, Deadline.after(10))


@pytest.fixture
def reading() -> ReadWorld:
    return ReadWorld()


def verdict(question: str, answer: str, reader: WordReader | None = None) -> AnswersQuestion:
    return ReadQuestion(reader or WordReader(), HALF).verdict(question, answer, Deadline.after(10))


def test_the_document_that_answers_best_comes_first_in_the_prompt(reading: ReadWorld) -> None:
    reading.world.put("team/colour.md", "The pump is red.")
    reading.world.put("team/code.md", "The code of the old pump is QX-5521.")
    reading.world.chat.reply = "The code of the old pump is QX-5521. [1]"

    answer = reading.ask("What is the code of the old pump?")

    assert answer.retrieval.documents[0].key.path == "code.md"
    assert answer.answers.status == "yes"


def test_where_no_passage_may_answer_the_model_is_not_asked_and_the_closest_passages_are_quoted(
    reading: ReadWorld,
) -> None:
    reading.world.put("team/pump.md", "# Pump\n\nThe pump is red.")
    reading.world.put("team/valve.md", "The valve is old.")

    answer = reading.ask("Who built and painted that red pump in Leipzig?")

    assert reading.world.chat.asked == []
    assert answer.abstain_reason == "insufficient_information"
    assert [(passage.hit.key.path, passage.quote) for passage in answer.closest] == [
        ("pump.md", "The pump is red."),
        ("valve.md", "The valve is old."),
    ]
    assert answer.closest[0].start == len("# Pump\n\n")


def test_a_passage_that_surely_answers_counts_though_another_ranks_first() -> None:
    def found(worth: float, *, least: float = -0.79) -> ReadFound:
        reading = Reading(0.5, 0.5, 0.0, 0.0)
        first = ReadPassage(hit("a.md", "It is late."), reading, found=0.0, rank=2.0, worth=-0.9)
        return ReadFound((first, replace(first, rank=1.0, worth=worth)), least=least)

    assert found(SURE_WORTH).answers
    assert not found(SURE_WORTH - 0.1).answers
    assert not found(SURE_WORTH, least=math.inf).answers  # a greeting


def test_an_abstention_names_the_words_of_the_question_that_no_passage_has(reading: ReadWorld) -> None:
    reading.world.put("team/pump.md", "# Pump\n\nThe pump is red.")

    refused = reading.ask("Who built and painted the pumps in Leipzig?")

    assert "no passage that was found has: built, painted, leipzig" in refused.warnings


def test_an_abstention_names_what_the_prompt_had_no_room_for(reading: ReadWorld) -> None:
    for number in range(4):
        reading.world.put(f"team/{number}.md", f"# Pump {number}\n\n" + f"The old pump {number} is red. " * 150)
    reading.world.chat.reply = "INSUFFICIENT_INFORMATION"

    refused = reading.ask("Is the old pump red?", max_context_tokens=4_000)

    assert [warning for warning in refused.warnings if "no room in the prompt (max_context_tokens)" in warning]


def test_a_closest_passage_has_its_number_and_the_one_that_it_is_compared_with(reading: ReadWorld) -> None:
    reading.world.put("team/pump.md", "The pump is red.")

    [closest] = reading.ask("Who built and painted that pump in Leipzig?").closest

    assert closest.threshold == 0.5
    assert closest.score is not None
    assert closest.score < closest.threshold


def test_answer_anyway_asks_the_model_and_shows_what_it_says_with_the_verdict(reading: ReadWorld) -> None:
    reading.world.put("team/pump.md", "The pump is red.")
    reading.world.chat.reply = "The pump is red. [1]"

    answer = reading.ask("Who built and painted that pump in Leipzig?", answer_anyway=True)

    assert answer.abstain_reason is None
    assert answer.text == "The pump is red. [1]"
    assert answer.answers.status == "no"


def test_a_true_answer_that_does_not_answer_is_withheld(reading: ReadWorld) -> None:
    reading.world.put("team/pump.md", "The old pump is red. Ida built the old pump.")
    reading.world.chat.reply = "The old pump is red. [1]"

    answer = reading.ask("Who built the old pump?")

    assert answer.abstain_reason == "insufficient_information"
    assert answer.answers == AnswersQuestion("no", "no_name")
    assert not answer.citations
    assert not answer.claims
    assert "Ida built the old pump." in answer.closest[0].quote


def test_a_short_answer_with_a_price_is_read_like_any_other() -> None:
    assert verdict("Which old wheel has the price?", "Old wheel price: £50").status == "unsure"


def test_an_answer_that_may_answer_another_question_is_shown_as_unsure() -> None:
    asked = "Which colour has the old pump?"

    surely, perhaps = verdict(asked, "The old pump has a red colour."), verdict(asked, "The old pump is red.")

    assert (surely.status, perhaps.status) == ("yes", "unsure")
    assert perhaps.score is not None
    assert HALF.least_answer <= perhaps.score < HALF.sure == perhaps.threshold


def test_an_answer_whose_passages_hardly_lead_is_unsure(reading: ReadWorld) -> None:
    reading.world.put("team/old.md", "The old pump has a red colour.")
    reading.world.chat.reply = "The old pump has a red colour. [1]"
    alone = reading.ask("Which colour has the old pump?").answers
    reading.world.put("team/new.md", "The old pump has a colour.")

    beside = reading.ask("Which colour has the old pump?").answers

    assert alone.status == "yes"
    assert alone.score is not None
    assert beside.score is not None
    assert beside.score < alone.score


def test_an_answer_that_has_the_code_of_the_question_is_judged_alone(reading: ReadWorld) -> None:
    reading.world.put("team/codes.md", "E-104 means that the pump has no water.")
    reading.world.chat.reply = "E-104 means that the pump has no water. [1]"

    of_code = reading.ask("What does E-104 mean for the pump?").answers
    of_words = reading.ask("What does no water mean for the pump?").answers

    assert (of_code.threshold, of_words.threshold) == (HALF.sure, HALF.sure_read)


def test_a_reader_that_is_down_costs_the_verdict_and_says_so(reading: ReadWorld) -> None:
    reading.world.put("team/pump.md", "The pump is red.")
    reading.world.chat.reply = "The pump is red. [1]"
    reading.reader.fail_with = ReaderError("down", service="reader")

    answer = reading.ask("Which colour has the pump?")

    assert answer.text == "The pump is red. [1]"
    assert (answer.answers.status, answer.answers.reason) == ("unchecked", "not_read")
    assert NOT_READ in answer.warnings


def test_a_question_in_another_language_is_not_read(reading: ReadWorld) -> None:
    reading.world.put("team/pumpe.md", "Die Pumpe ist rot.")
    reading.world.chat.reply = "Die Pumpe ist rot. [1]"

    answer = reading.ask("Welche Farbe hat die Pumpe?")

    assert reading.reader.asked == []
    assert answer.answers == AnswersQuestion()


def test_an_abstention_without_a_reader_quotes_what_the_search_ranked_first() -> None:
    world = World()
    world.put("team/pump.md", "# Pump\n\nThe pump is red. " + "It runs. " * 100)
    world.chat.reply = "INSUFFICIENT_INFORMATION"

    answer = world.app.generate.ask(Question(Query("pump")), world.caller, Deadline.after(10))

    [passage] = answer.closest
    assert passage.quote.startswith("The pump is red. It runs.")
    assert len(passage.quote) <= 300
    assert passage.score is None


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        ("How much does the pump cost?", "The pump can be bought in the shop.", "no_number"),
        ("Who built the pump?", "The pump was built well in Leipzig.", None),
        ("Who built the pump?", "the pump is red", "no_name"),
        ("What is the pump's code?", "The pump's code.", "repeats_question"),
        ("How long does it take?", "It takes two days.", None),
        ("Who may enter?", "Members may enter.", None),
    ],
)
def test_what_an_answer_lacks_is_said_before_anything_is_read(question: str, answer: str, reason: str | None) -> None:
    assert verdict(question, answer).reason in ({reason} if reason else {None, "reader"})


def test_the_verdict_has_the_numbers_that_were_compared() -> None:
    found = verdict("Which code has the old pump?", "Which old pump has the code QX-5521?")

    assert (found.status, found.reason, found.threshold) == ("yes", None, 0.8)
    assert found.score == pytest.approx(1.0)


def test_a_given_answer_is_checked_against_a_question_where_there_is_one() -> None:
    check = VerifyAnswer(None, ReadQuestion(WordReader(), HALF))

    without = check("It costs nothing.", [], Deadline.after(10))
    asked = check("The pump is red. [1]", [], Deadline.after(10), question="How many pumps are there?")

    assert without.answers is None
    assert asked.answers == AnswersQuestion("no", "no_number")


@dataclass
class SentenceEmbedder:
    """Vectors of two numbers: whether a text speaks of the *subject*, and the rest."""

    subject: str = "code"
    fails: bool = False
    embedded: list[str] = field(default_factory=list)

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> list[float]:
        return [1.0, 0.0]

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[list[float]]:
        if self.fails:
            raise EmbeddingServiceError("down", service="embedding")
        self.embedded += texts
        return [[1.0, 0.0] if self.subject in text else [0.0, 1.0] for text in texts]


QUESTION = "What is the code of the old pump?"


def order_with(embedder: SentenceEmbedder, reading: ReadWorld, *, times: int = 1) -> list[str]:
    """The documents that a question finds, in the order of a reader with *embedder*'s sentences."""
    nearest = NearestSentence(cast("Embedder", embedder), EmbeddingSpace("m", 2))
    read = ReadQuestion(reading.reader, replace(HALF, compared=(0.0, 100.0)), nearest=nearest)
    documents = reading.world.search(QUESTION, min_relevance=0.0).documents
    for _ in range(times):
        ordered, _ = read.rerank(QUESTION, documents, Deadline.after(10))
    return [each.key.path for each in ordered]


def test_the_passage_with_the_nearest_sentence_comes_before_one_that_is_near_as_a_whole(reading: ReadWorld) -> None:
    reading.world.put("team/long.md", "The pump of the old mill is what all asked for. The code hangs in the cellar.")
    reading.world.put("team/near.md", "What is the old pump of the mill is what all of the house asked.")

    assert order_with(SentenceEmbedder("code hangs"), reading) == ["long.md", "near.md"]
    assert order_with(SentenceEmbedder("of the house"), reading) == ["near.md", "long.md"]


def test_without_vectors_of_sentences_the_reader_and_the_search_order_alone(reading: ReadWorld) -> None:
    reading.world.put("team/long.md", "The pump of the old mill is what all asked for. The code hangs in the cellar.")
    reading.world.put("team/near.md", "What is the old pump of the mill is what all of the house asked.")
    alone, _ = ReadQuestion(reading.reader, HALF).rerank(
        QUESTION, reading.world.search(QUESTION, min_relevance=0.0).documents, Deadline.after(10)
    )

    assert order_with(SentenceEmbedder(fails=True), reading) == [each.key.path for each in alone]


def test_an_answer_says_that_its_sentences_could_not_be_compared(reading: ReadWorld) -> None:
    reading.world.put("team/long.md", "The pump of the old mill is what all asked for. The code hangs in the cellar.")
    reading.world.put("team/near.md", "What is the old pump of the mill is what all of the house asked.")
    nearest = NearestSentence(cast("Embedder", SentenceEmbedder(fails=True)), EmbeddingSpace("m", 2))
    read = ReadQuestion(reading.reader, HALF, nearest=nearest)

    found = read(QUESTION, reading.world.search(QUESTION, min_relevance=0.0), Deadline.after(10))

    assert (len(found.passages), found.warnings) == (2, (NOT_COMPARED,))


def test_a_sentence_is_embedded_once(reading: ReadWorld) -> None:
    reading.world.put("team/one.md", "The code of the pump is QX-5521. Ask the office for it.")
    reading.world.put("team/two.md", "The old pump has no code at all. Nobody asks for it here.")
    embedder = SentenceEmbedder()

    order_with(embedder, reading, times=2)

    assert len(embedder.embedded) == len(set(embedder.embedded)) == 4
