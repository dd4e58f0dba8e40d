"""A streamed answer: what was found at once, citations only once checked, the whole at the end."""

from __future__ import annotations

import pytest

from ragdrop.domain.answers import Answer, Citation, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.errors import ForbiddenError, GenerationError
from ragdrop.generate.ask import AskEvent, SourcesFound
from tests.world import World


def events(world: World, text: str, **fields: str) -> list[AskEvent]:
    return list(world.app.generate.ask.stream(Question(Query(text), **fields), world.caller, Deadline.after(10)))  # type: ignore[arg-type]


def test_the_sources_come_first_and_the_whole_answer_last(world: World) -> None:
    world.put("team/pump.md", "The pump is red. It holds 7 litres.")
    world.chat.reply = "The pump is red [1]. It holds 7 litres [1]."

    first, *middle, last = events(world, "pump")

    assert isinstance(first, SourcesFound)
    assert [document.key.path for document in first.shown.documents()] == ["pump.md"]
    assert isinstance(last, Answer)
    assert "".join(event for event in middle if isinstance(event, str)) == last.text
    assert [event for event in middle if isinstance(event, Citation)] == last.citations


def test_no_citation_comes_before_its_sentence(world: World) -> None:
    world.put("team/pump.md", "The pump is red. It holds 7 litres.")
    world.chat.reply = "The pump is red [1]. It holds 7 litres [1]."
    said = ""

    for event in events(world, "pump"):
        if isinstance(event, str):
            said += event
        if isinstance(event, Citation):
            assert event.quote.rstrip(".") in said


def test_with_nothing_found_no_model_is_called(world: World) -> None:
    found, answer = events(world, "anything")

    assert isinstance(found, SourcesFound)
    assert isinstance(answer, Answer)
    assert answer.abstain_reason == "no_relevant_context"
    assert world.chat.asked == []


def test_a_sentinel_is_never_shown(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.chat.reply = "AMBIGUOUS_QUESTION"

    found, answer = events(world, "pump")

    assert isinstance(found, SourcesFound)
    assert isinstance(answer, Answer)
    assert answer.abstain_reason == "ambiguous_question"


def test_a_stream_that_breaks_off_has_given_what_it_gave(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.chat.reply = "The pump is red [1]. And more."
    world.chat.break_after = 3
    given: list[AskEvent] = []

    with pytest.raises(GenerationError):
        given.extend(world.app.generate.ask.stream(Question(Query("pump")), world.caller, Deadline.after(10)))

    assert isinstance(given[0], SourcesFound)
    assert "".join(event for event in given if isinstance(event, str)).startswith("The pump")


def test_leaving_a_stream_ends_the_models_work(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stream = world.app.generate.ask.stream(Question(Query("pump")), world.caller, Deadline.after(10))
    next(stream)
    next(stream)
    stream.close()

    assert world.chat.closed == 1


def test_a_document_that_is_deleted_while_the_model_writes_is_not_answered_from(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.chat.reply = "The pump is red [1]."
    stream = world.app.generate.ask.stream(Question(Query("pump")), world.caller, Deadline.after(10))
    given = [next(stream)]
    world.delete("team/pump.md")
    given += stream

    assert isinstance(given[-1], Answer)
    assert given[-1].abstain_reason == "insufficient_information"
    assert given[-1].citations == []


def test_prompts_of_ones_own_need_the_role_admin(world: World) -> None:
    world.caller = type(world.caller)(world.tenant, "writer")

    with pytest.raises(ForbiddenError):
        events(world, "pump", system_prompt="Say yes.")


def test_with_drop_what_is_not_supported_is_not_streamed(world: World) -> None:
    world.put("team/pump.md", "The pump is red. It holds 7 litres.")
    world.put(".ragdrop.json", '{"citation_policy": "drop"}')
    world.chat.reply = "The pump is blue [1]. It holds 7 litres [1]."

    said = "".join(event for event in events(world, "pump") if isinstance(event, str))

    assert "blue" not in said
    assert "7 litres" in said
