"""How long each stage of a request took."""

from __future__ import annotations

import itertools

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.resilience.timing import STAGES, Timer
from testing.memory_services import MemoryTracer
from tests.world import World


def test_the_times_of_a_stage_add_up() -> None:
    timer = Timer(clock=itertools.count().__next__)
    for _ in range(2):
        with timer.stage("embed"):
            pass

    assert timer.stages["embed"] == 2_000


def test_a_stage_that_fails_is_timed_too() -> None:
    timer = Timer(clock=itertools.count().__next__)
    with pytest.raises(ZeroDivisionError), timer.stage("check"):
        1 / 0  # noqa: B018 - it is to fail

    assert timer.stages["check"] == 1_000


def test_every_stage_of_an_answer_is_traced(world: World) -> None:
    tracer = MemoryTracer()
    world.app.ports.tracer = tracer
    world.put("team/pump.md", "# Pump\n\nThe pump's code is QX-5521.")
    world.chat.reply = "The pump's code is QX-5521. [1]"

    world.app.generate.ask(Question(Query("pump code", min_relevance=0.0)), world.caller, Deadline.after(20))

    assert sorted(name for name, _ in tracer.ended) == sorted([*STAGES, "generate", "check"])
