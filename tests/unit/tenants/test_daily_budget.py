"""A tenant's budget of the day: what is over it is refused with what and until when."""

from __future__ import annotations

from typing import Any

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import RateLimits
from ragdrop.errors import DatabaseError, RateLimitedError
from ragdrop.tenants.limits import DAY_S, USED_TTL_S
from tests.world import World

NIGHT = "2027-01-16T00:00:00Z"  # when the day of the world's clock, 08:00, ends


def bounded(world: World, **limits: Any) -> World:
    world.app.operate.operator.set_rates(world.tenant, RateLimits(**limits))
    world.app.tenants.directory.forget(world.tenant)
    return world


def ask(world: World) -> Any:
    return world.app.generate.ask(Question(Query("alpha")), world.caller, Deadline.after(10))


def put(world: World, name: str) -> None:
    world.app.documents.document_service.put(
        world.caller, world.key(name), b"alpha", media_type="text/plain", metadata={}
    )


def used(world: World, **counts: int) -> None:
    world.telemetry.add_counts(world.tenant, "2027-01-15T03", counts)


def test_no_answer_is_made_once_the_tokens_of_the_day_are_used(world: World) -> None:
    bounded(world, daily_tokens=100).put("team/a.md", "alpha")
    used(world, prompt_tokens=60, completion_tokens=40)

    with pytest.raises(RateLimitedError) as raised:
        ask(world)

    details = raised.value.details
    assert (details["limited"], details["limit"], details["used"], details["until"]) == ("tokens", 100, 100, NIGHT)
    assert details["retry_after_s"] == 16 * 3_600
    assert world.chat.asked == []


def test_a_streamed_answer_is_refused_before_its_first_word(world: World) -> None:
    bounded(world, daily_tokens=1)
    used(world, prompt_tokens=1)

    with pytest.raises(RateLimitedError):
        next(world.app.generate.ask.stream(Question(Query("alpha")), world.caller, Deadline.after(10)))


def test_searches_use_no_tokens_and_go_on(world: World) -> None:
    bounded(world, daily_tokens=1).put("team/a.md", "alpha")
    used(world, prompt_tokens=1)

    assert world.texts("alpha") == ["alpha"]


def test_the_next_day_has_a_new_budget(world: World) -> None:
    bounded(world, daily_tokens=1).put("team/a.md", "alpha")
    used(world, prompt_tokens=1)
    world.now_s += DAY_S

    assert ask(world).text


def test_answers_use_up_the_budget_by_themselves(world: World) -> None:
    bounded(world, daily_tokens=1).put("team/a.md", "alpha")
    ask(world)
    world.now_s += USED_TTL_S

    with pytest.raises(RateLimitedError):
        ask(world)


def test_documents_are_counted_as_they_are_written_and_refused_over_the_limit(world: World) -> None:
    bounded(world, daily_documents=2)
    put(world, "team/a.md")
    put(world, "team/b.md")

    with pytest.raises(RateLimitedError) as raised:
        put(world, "team/c.md")
    with pytest.raises(RateLimitedError):
        world.app.documents.document_service.upload_form(world.caller, world.key("team/c.md"), media_type="text/plain")

    assert (raised.value.details["limited"], raised.value.details["until"]) == ("documents", NIGHT)
    assert world.documents.head("acme/team/c.md") is None


def test_what_other_environments_wrote_counts_too(world: World) -> None:
    bounded(world, daily_documents=2)
    used(world, documents=2)

    with pytest.raises(RateLimitedError):
        put(world, "team/a.md")


def test_without_a_budget_nothing_is_read_or_counted(world: World) -> None:
    world.put("team/a.md", "alpha")
    put(world, "team/b.md")
    ask(world)

    assert "counts" not in world.telemetry.calls
    assert world.telemetry.calls.count("add_counts") == 1  # of the query, for stats


def test_where_the_counts_cannot_be_read_nothing_is_refused(world: World) -> None:
    bounded(world, daily_tokens=1, daily_documents=1).put("team/a.md", "alpha")
    world.telemetry.fail_with = DatabaseError("down", service="telemetry")

    put(world, "team/b.md")

    assert ask(world).text
