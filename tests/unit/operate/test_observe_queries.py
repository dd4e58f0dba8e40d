"""Every query leaves one structured log line: what it came to, and never what was asked."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import REQUEST_ID, Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.errors import DatabaseError, GenerationError, InvalidParamsError
from ragdrop.operate.observe import KEY_RETRY_S
from tests.world import World

SECRET = "zebra-valve"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "ragdrop")
    return caplog


def reported(lines: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(record) for record in lines.records if "query_hash" in vars(record)]


def ask(world: World, text: str) -> Any:
    return world.app.generate.ask(Question(Query(text)), world.caller, Deadline.after(10))


def test_a_search_leaves_one_line_with_its_counts_stages_and_labels(
    world: World, lines: pytest.LogCaptureFixture
) -> None:
    world.put("team/a.md", f"the {SECRET} is shut")
    token = REQUEST_ID.set("r-1")
    world.search(SECRET, agent="bot", tags=(), vaults=("team",))
    world.search(SECRET, agent="bot", vaults=("team",))
    REQUEST_ID.reset(token)

    first, second = reported(lines)

    assert (first["request_id"], first["tenant"], first["operation"], first["agent"]) == (
        "r-1",
        "acme",
        "search",
        "bot",
    )
    assert (first["results"], first["fallback"], first["fallback_level"], first["cached"]) == (1, False, 1, False)
    assert first["filters"] == ("vaults",)
    assert set(first["timings_ms"]) >= {"embed", "retrieve", "registry", "links", "assemble"}
    assert (second["cached"], second["query_hash"]) == (True, first["query_hash"])
    assert first["error_code"] is None


def test_no_line_holds_the_question_or_what_the_documents_say(world: World, lines: pytest.LogCaptureFixture) -> None:
    world.put("team/a.md", f"the {SECRET} is shut")
    world.search(SECRET)
    ask(world, SECRET)

    assert len(reported(lines)) == 2
    assert not any(SECRET in str(record) for record in reported(lines))


def test_equal_questions_of_two_tenants_have_different_digests(world: World, lines: pytest.LogCaptureFixture) -> None:
    other = World("other", telemetry=world.telemetry)
    for each in (world, other):
        each.put("team/a.md", "alpha")
        each.search("alpha")

    assert len({record["query_hash"] for record in reported(lines)}) == 2


def test_the_key_of_the_digests_is_shared_and_asked_for_once(world: World, lines: pytest.LogCaptureFixture) -> None:
    again = World(telemetry=world.telemetry)
    for each in (world, world, again):
        each.search("alpha")

    assert len({record["query_hash"] for record in reported(lines)}) == 1
    assert world.telemetry.calls.count("hash_key") == 2


def test_without_the_store_a_key_of_the_environments_own_stands_in(
    world: World, lines: pytest.LogCaptureFixture
) -> None:
    world.telemetry.fail_with = DatabaseError("down", service="telemetry")
    world.search("alpha")
    world.search("alpha")
    assert world.telemetry.calls.count("hash_key") == 1
    world.telemetry.fail_with = None
    world.now_s += KEY_RETRY_S
    world.search("alpha")

    hashes = [record["query_hash"] for record in reported(lines)]

    assert hashes[0] == hashes[1] != hashes[2]


def test_an_answer_reports_its_tokens_and_the_models_time(world: World, lines: pytest.LogCaptureFixture) -> None:
    world.put("team/a.md", "alpha beta")
    ask(world, "alpha")

    (line,) = reported(lines)

    assert (line["operation"], line["answered"]) == ("ask", True)
    assert {"generate", "check", "embed"} <= set(line["timings_ms"])
    assert line["prompt_tokens"] is not None


def test_a_streamed_answer_is_one_line_at_its_end(world: World, lines: pytest.LogCaptureFixture) -> None:
    world.put("team/a.md", "alpha beta")
    stream = world.app.generate.ask.stream(Question(Query("alpha")), world.caller, Deadline.after(10))
    next(stream)
    assert reported(lines) == []
    list(stream)

    assert [record["answered"] for record in reported(lines)] == [True]


def test_a_listener_who_leaves_is_a_query_without_an_answer(world: World, lines: pytest.LogCaptureFixture) -> None:
    world.put("team/a.md", "alpha beta")
    stream = world.app.generate.ask.stream(Question(Query("alpha")), world.caller, Deadline.after(10))
    next(stream)
    stream.close()

    (line,) = reported(lines)

    assert (line["answered"], line["error_code"], line["results"]) == (False, None, 1)


def test_a_failure_says_which_component_failed_at_which_stage(world: World, lines: pytest.LogCaptureFixture) -> None:
    world.put("team/a.md", "alpha beta")
    world.chat.fail_with = GenerationError("no", service="chat", reason="unreachable")
    with pytest.raises(GenerationError):
        ask(world, "alpha")

    (line,) = reported(lines)

    assert (line["error_code"], line["error_component"], line["error_stage"]) == (
        "GENERATION_ERROR",
        "chat",
        "generate",
    )


def test_a_search_that_nothing_served_says_why(world: World, lines: pytest.LogCaptureFixture) -> None:
    world.index.fail_with = DatabaseError("down", service="index")
    found = world.search("alpha")

    (line,) = reported(lines)

    assert (found.fallback_level, line["fallback_level"], line["error_code"]) == (3, 3, "DATABASE_ERROR")
    assert (line["error_component"], line["error_stage"]) == ("index", "retrieve")


def test_a_refused_query_names_the_code(world: World, lines: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InvalidParamsError):
        world.search("alpha", vaults=("nowhere",))

    assert [record["error_code"] for record in reported(lines)] == ["INVALID_PARAMS"]
