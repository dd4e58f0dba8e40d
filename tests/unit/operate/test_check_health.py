"""Health: every dependency is looked at at once, none that is behind an open breaker, and no look takes long."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ConfigurationError, DatabaseError, EmbeddingServiceError, GenerationError, ObjectStoreError
from ragdrop.operate.health import DEPENDENCIES, HELD_S, CheckHealth, DependencyStatus, Health, Look, ProbeResult
from tests.world import World


def look(world: World, *, deep: bool = False) -> Health:
    return CheckHealth(world.app.operate.health_probes, world.app.ports.breakers)(tenant=world.tenant, deep=deep)


def statuses(found: Health) -> dict[str, str]:
    return {name: each.status for name, each in found.dependencies.items()}


def test_all_is_well_where_every_dependency_answers(world: World) -> None:
    found = look(world)

    assert (found.healthy, found.status) == (True, "healthy")
    assert {name: status for name, status in statuses(found).items() if status != "healthy"} == {"snapshot": "absent"}
    assert set(found.dependencies) == set(DEPENDENCIES)


@pytest.mark.parametrize(
    ("part", "error", "dependency", "status"),
    [
        ("embedding_models", EmbeddingServiceError("away", service="embedding"), "embedding", "degraded"),
        ("chat_models", GenerationError("away", service="chat"), "chat", "degraded"),
        ("state", ObjectStoreError("away", service="object_store"), "object_store", "degraded"),
        ("registry", DatabaseError("away", service="registry"), "registry", "unavailable"),
    ],
)
def test_a_dependency_that_is_away_is_named_and_says_how_much_is_lost(
    world: World, part: str, error: Exception, dependency: str, status: str
) -> None:
    getattr(world, part).fail_with = error

    found = look(world)

    assert (found.healthy, found.status, statuses(found)[dependency]) == (False, status, "unavailable")
    assert found.dependencies[dependency].detail == "away"


def test_without_the_index_the_snapshot_decides_whether_any_level_can_answer(world: World) -> None:
    world.index.fail_with = DatabaseError("away", service="index")
    probes = world.app.operate.health_probes

    def with_snapshot(status: DependencyStatus) -> str:
        return CheckHealth(probes | {"snapshot": lambda _: ProbeResult(status)}, world.app.ports.breakers)().status

    assert {status: with_snapshot(status) for status in ("absent", "unavailable")} == {
        "absent": "unavailable",
        "unavailable": "unavailable",
    }
    assert {status: with_snapshot(status) for status in ("healthy", "unknown")} == {
        "healthy": "degraded",
        "unknown": "degraded",
    }
    world.state.fail_with = ObjectStoreError("away", service="object_store")
    assert with_snapshot("unknown") == "unavailable"


def test_a_snapshot_says_how_old_it_is_and_how_much_it_holds(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.app.operate.write_snapshot(world.tenant, Deadline.after(600))
    world.now_s += 90

    found = look(world).dependencies["snapshot"]

    assert (found.status, found.detail) == ("healthy", "90 s old, holds 100% of the chunks")


def test_a_dependency_behind_an_open_breaker_is_not_touched(world: World) -> None:
    for _ in range(world.app.ports.breakers.rules.threshold):
        world.app.ports.breakers.leave("embedding", None, failed=True)

    found = look(world).dependencies["embedding"]

    assert (found.status, found.circuit_breaker_open, found.latency_ms) == ("unavailable", True, None)
    assert world.embedding_models.calls == 0


def test_a_model_that_the_endpoint_does_not_list_is_told(world: World) -> None:
    world.chat_models.names = frozenset({"another:latest"})
    found = look(world)
    assert (statuses(found)["chat"], found.status) == ("unavailable", "degraded")
    assert found.dependencies["chat"].detail == "it answers, and does not list scripted"

    world.chat_models.names = frozenset({"scripted:latest"})
    assert statuses(look(world))["chat"] == "healthy"


def test_an_endpoint_that_lists_no_models_is_there_all_the_same(world: World) -> None:
    world.embedding_models.names = None

    assert statuses(look(world))["embedding"] == "healthy"


def test_a_deep_look_does_real_work(world: World) -> None:
    look(world)
    assert (world.embedder.calls, len(world.chat.asked)) == (0, 0)

    look(world, deep=True)

    assert (world.embedder.calls, len(world.chat.asked), world.chat.max_tokens) == (1, 1, 1)


def test_a_wrong_setting_is_told_without_its_text(world: World) -> None:
    world.registry.fail_with = ConfigurationError("table secret-name does not exist")

    assert look(world).dependencies["registry"].detail == "it is not set up right"


def test_a_shallow_look_is_shown_to_others_for_two_seconds(world: World) -> None:
    now_s = [0.0]
    check = CheckHealth(world.app.operate.health_probes, world.app.ports.breakers, stopwatch=lambda: now_s[0])
    check()
    check()
    assert world.chat_models.calls == 1
    now_s[0] += HELD_S
    check()

    assert world.chat_models.calls == 2


def test_a_dependency_that_hangs_is_given_up_and_keeps_none_of_the_others(world: World) -> None:
    done = threading.Event()

    def hangs(_look: Look) -> ProbeResult:
        done.wait(10)
        return ProbeResult()

    probes: dict[str, Any] = world.app.operate.health_probes | {"chat": hangs}
    found = CheckHealth(probes, world.app.ports.breakers)()
    done.set()

    assert 1_900 < found.latency_ms < 5_000
    assert (found.dependencies["chat"].status, found.dependencies["chat"].latency_ms) == ("unavailable", None)
    assert statuses(found)["index"] == "healthy"
