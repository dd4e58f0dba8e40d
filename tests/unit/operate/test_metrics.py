"""Every metric that an alarm or the dashboard names is provoked here, by what it is there to tell of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import ModelCall
from ragdrop.domain.retrieval import Query
from ragdrop.errors import DatabaseError, EmbeddingServiceError, GenerationError
from ragdrop.models.cached_reader import CachedReader
from ragdrop.ports.telemetry import UNITS
from ragdrop.resilience.timing import note_call
from testing.memory_services import WordReader
from tests.world import World


def a_question(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.search("alpha")


def the_same_question_again(world: World) -> None:
    a_question(world)
    world.search("alpha")


def a_question_that_nothing_answers(world: World) -> None:
    world.search("alpha")


def a_model_that_fails(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.chat.fail_with = GenerationError("away", service="chat", reason="unreachable")
    with pytest.raises(GenerationError):
        ask(world)


def an_answer(world: World) -> None:
    world.app.ports.settings.chat_prices["scripted"] = (1.0, 2.0)
    world.put("team/a.md", "alpha")
    ask(world)


def a_question_that_is_read(world: World) -> None:
    world.app.ports.guarded_reader = CachedReader(WordReader())
    an_answer(world)


def a_question_whose_vector_is_counted(world: World) -> None:
    embed = world.embedder.query

    def query(*asked: Any) -> Any:
        note_call(ModelCall("hashing", 7, kind="embedding"))
        return embed(*asked)

    world.embedder.query = query
    world.search("alpha")


def an_embedding_service_that_is_away(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.embedder.fail_with = EmbeddingServiceError("away", service="embedding")
    world.search("alpha")


def an_embedding_service_that_throttles(world: World) -> None:
    world.embedder.fail_with = EmbeddingServiceError("later", service="embedding", status=429)
    world.search("alpha")


def an_index_that_stays_away(world: World) -> None:
    world.index.fail_with = DatabaseError("away", service="index")
    for number in range(world.app.ports.breakers.rules.threshold):
        world.search(f"alpha {number}")


def an_index_that_lost_everything(world: World) -> None:
    world.put("team/lost.md", "Lost.")
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    world.index.drop(tenant.index, Deadline.after(10))
    world.search("alpha")


def a_file_that_is_no_document(world: World) -> None:
    world.put("team/a.md", "")


def a_golden_question_that_is_not_answered_any_more(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.put("team/.ragdrop.json", '{"golden_questions": [{"question": "alpha", "document": "a.md"}]}')
    for _ in range(2):
        world.app.operate.golden_runs.run(world.caller, "team", Deadline.after(10))
        world.delete("team/a.md")


def ask(world: World) -> None:
    world.app.generate.ask(Question(Query("alpha")), world.caller, Deadline.after(10))


PROVOKED_BY: dict[str, tuple[Callable[[World], None], str | None]] = {
    "Requests": (a_question, None),
    "RequestLatency": (a_question, None),
    "AnswerLatency": (an_answer, None),
    "CacheHits": (the_same_question_again, None),
    "Abstentions": (a_question_that_nothing_answers, None),
    "Errors": (a_model_that_fails, None),
    "Fallbacks": (an_embedding_service_that_is_away, None),
    "Tokens": (an_answer, None),
    "ReaderPairs": (a_question_that_is_read, None),
    "ReaderTime": (a_question_that_is_read, None),
    "EmbeddingTokens": (a_question_whose_vector_is_counted, None),
    "Cost": (an_answer, None),
    "DependencyErrors": (an_embedding_service_that_is_away, "embedding"),
    "Throttles": (an_embedding_service_that_throttles, "embedding"),
    "BreakersOpened": (an_index_that_stays_away, "index"),
    "IndexLosses": (an_index_that_lost_everything, None),
    "GoldenDrops": (a_golden_question_that_is_not_answered_any_more, None),
    "IndexedDocuments": (a_question, None),
    "FailedDocuments": (a_file_that_is_no_document, None),
}


def test_every_metric_is_provoked_by_something() -> None:
    assert set(PROVOKED_BY) == set(UNITS)


@pytest.mark.parametrize("name", PROVOKED_BY)
def test_a_metric_is_emitted_where_what_it_reports_happens_and_not_before(world: World, name: str) -> None:
    provoke, dependency = PROVOKED_BY[name]
    assert world.metrics.total(name, dependency) == 0

    provoke(world)

    assert world.metrics.total(name, dependency) > 0


def test_a_throttle_counts_as_one_and_another_failure_does_not(world: World) -> None:
    an_embedding_service_that_throttles(world)
    an_embedding_service_that_is_away(world)

    assert world.metrics.total("Throttles", "embedding") == 1
    assert world.metrics.total("DependencyErrors", "embedding") == 2


def test_a_question_is_reported_in_one_line_with_its_zeros(world: World) -> None:
    a_question(world)

    told = {name: value for name, value, _ in world.metrics.seen if name in {"Errors", "Fallbacks", "CacheHits"}}

    assert told == {"Errors": 0.0, "Fallbacks": 0.0, "CacheHits": 0.0}
