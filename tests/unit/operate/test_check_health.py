"""Health: every dependency is looked at at once, none that is behind an open breaker, and no look takes long."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from bucketindex.index import BucketChunkIndex
from ragdrop.errors import ConfigurationError, DatabaseError, EmbeddingServiceError, GenerationError, ObjectStoreError
from ragdrop.operate.health import CACHED_S, DEPENDENCIES, CheckHealth, Health, Look, ProbeResult
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.world import World


def look(world: World, *, deep: bool = False) -> Health:
    return CheckHealth(world.app.operate.health_probes, world.app.ports.breakers)(tenant=world.tenant, deep=deep)


def statuses(found: Health) -> dict[str, str]:
    return {name: each.status for name, each in found.dependencies.items()}


def test_all_is_well_where_every_dependency_answers(world: World) -> None:
    found = look(world)

    assert (found.healthy, found.status) == (True, "healthy")
    assert set(statuses(found).values()) == {"healthy"}
    assert tuple(found.dependencies) == DEPENDENCIES


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


def test_without_the_index_the_object_store_decides_whether_any_level_can_answer(world: World) -> None:
    world.index.fail_with = DatabaseError("away", service="index")
    alone = look(world).status
    world.state.fail_with = ObjectStoreError("away", service="object_store")

    assert (alone, look(world).status) == ("degraded", "unavailable")


@pytest.fixture
def bucket(tmp_path: Path) -> World:
    """Two documents in the bucket index, in a segment each."""
    state, manifests = MemoryObjectStore("state"), MemoryManifests()
    index = BucketChunkIndex(state, manifests, tmp_path, max_bytes=1 << 30)
    world = World(index=index, state=state, manifests=manifests)
    world.put("team/pump.md", "The pump is red.")
    world.put("team/valve.md", "The valve is blue.")
    return world


def spoil_manifest(bucket: World, body: str | None) -> None:
    """Remove the manifest, or put something else in its place."""
    tenant = bucket.registry.tenant(bucket.tenant)
    assert tenant is not None
    bucket.app.ports.manifests.delete(bucket.tenant, tenant.active.name)
    if body is not None:
        bucket.app.ports.manifests.write(bucket.tenant, tenant.active.name, body, 9, 0)


def test_segments_that_could_not_be_read_are_named(bucket: World, tmp_path: Path) -> None:
    first, _ = (each.key for each in bucket.state.entries("index/"))
    bucket.state.purge(first)
    assert bucket.search("pump valve").warnings == ["1 of 2 segments of the index could not be read"]

    found = look(bucket)

    name = first.rpartition("/")[2].removesuffix(".seg")
    assert (found.status, found.dependencies["index"].status) == ("degraded", "degraded")
    assert found.dependencies["index"].detail == (
        f"segment {name} is missing; it is rebuilt from stored texts within ten minutes, or at once by `ragdrop sweep`"
    )


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("deep", [False, True])
def test_segments_that_are_all_gone_are_reported_though_local_copies_still_answer(
    bucket: World, keyed: bool, deep: bool
) -> None:
    assert bucket.search("pump").fallback_level == 1
    for each in list(bucket.state.entries("index/")):
        bucket.state.purge(each.key)

    check = CheckHealth(bucket.app.operate.health_probes, bucket.app.ports.breakers)
    index = check(tenant=bucket.tenant if keyed else None, deep=deep).dependencies["index"]

    assert index.status == "unavailable"
    assert "is missing; segment" in (index.detail or "")


@pytest.mark.parametrize(
    ("manifest", "detail"),
    [(None, "its manifest lists 0 of at least 2 chunks"), ("garbage", "the manifest of the index cannot be read")],
)
def test_a_manifest_that_is_lost_or_garbage_is_reported(bucket: World, manifest: str | None, detail: str) -> None:
    spoil_manifest(bucket, manifest)

    index = look(bucket).dependencies["index"]

    assert (index.status, (index.detail or "").partition(";")[0]) == ("unavailable", detail)


def test_an_overwritten_segment_is_reported_without_reading_it(bucket: World) -> None:
    first = next(iter(bucket.state.entries("index/"))).key
    body = bytearray(bucket.state.get(first) or b"")
    body[len(body) // 2] ^= 1
    bucket.state.put(first, bytes(body), media_type="x")
    bucket.state.calls.clear()

    index = look(bucket).dependencies["index"]

    assert (index.status, "was overwritten" in (index.detail or "")) == ("degraded", True)
    assert "get" not in bucket.state.calls


def test_a_dependency_behind_an_open_breaker_is_not_touched(world: World) -> None:
    for _ in range(world.app.ports.breakers.rules.threshold):
        world.app.ports.breakers.leave("embedding", None, failed=True)

    found = look(world).dependencies["embedding"]

    assert (found.status, found.circuit_breaker_open, found.latency_ms) == ("unavailable", True, None)
    assert world.embedding_models.calls == 0


def test_a_model_that_the_endpoint_does_not_list_is_reported(world: World) -> None:
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


def test_a_wrong_setting_is_reported_without_its_text(world: World) -> None:
    world.registry.fail_with = ConfigurationError("table secret-name does not exist")

    assert look(world).dependencies["registry"].detail == "it is not set up right"


def test_a_shallow_look_is_shown_to_others_for_two_seconds(world: World) -> None:
    now_s = [0.0]
    check = CheckHealth(world.app.operate.health_probes, world.app.ports.breakers, stopwatch=lambda: now_s[0])
    check()
    check()
    assert world.chat_models.calls == 1
    now_s[0] += CACHED_S
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


@pytest.mark.parametrize(("reason", "status"), [("empty", "healthy"), ("unreachable", "unavailable")])
def test_a_model_that_is_not_done_thinking_after_one_token_is_well(world: World, reason: str, status: str) -> None:
    world.chat.fail_with = GenerationError("no text", service="chat", reason=reason)

    assert look(world, deep=True).dependencies["chat"].status == status
