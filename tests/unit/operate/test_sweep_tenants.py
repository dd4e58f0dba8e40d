"""The schedule's sweep: every active tenant has its turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest

from bucketindex.index import BucketChunkIndex
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import EmbeddingServiceError, ObjectStoreError
from ragdrop.operate.sweep_tenants import Round
from ragdrop.ports.object_store import ListedObject
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.world import COPIES, TENANT, World


def test_the_schedule_sweeps_every_active_tenant_and_one_that_fails_does_not_stop_the_others() -> None:
    world = World()
    for name in ("bravo", "charlie"):
        world.app.operate.operator.create_tenant(name)
        world.documents.put(f"{name}/team/a.md", b"New.", media_type="text/plain")
    broken = _BreaksFor("bravo", world.documents)
    cast("Any", world.app.ports).documents = broken
    world.now_s += 1_000

    done = world.app.operate.sweep_tenants(Deadline.after(600))

    assert done.failures == {"bravo": "DATABASE_ERROR"}
    assert {report.tenant for report in done.reports} == {TENANT, "charlie"}
    assert world.queue.sent == ["charlie/team/a.md"]
    assert not done.sound


def test_each_hour_the_schedule_begins_with_another_tenant_whatever_their_number() -> None:
    world = World()
    names = [TENANT, *(f"tenant{number}" for number in range(5))]
    for name in names[1:]:
        world.app.operate.operator.create_tenant(name)

    begun_with = []
    for _ in names:
        begun_with.append(world.app.operate.sweep_tenants(Deadline.after(600)).reports[0].tenant)
        world.now_s += 3_600

    assert sorted(begun_with) == sorted(names)


def test_a_tenant_that_has_doubled_since_its_fit_is_calibrated_again_after_its_sweep() -> None:
    world = World()
    fill(world, 0, 20)
    sweep(world)
    first = pairs(world)
    fill(world, 20, 39)
    sweep(world)
    before_the_double = pairs(world)
    fill(world, 39, 40)
    sweep(world)

    assert (first, before_the_double, pairs(world)) == (20, 20, 40)


def test_a_fit_that_fails_does_not_fail_the_sweep() -> None:
    world = World()
    fill(world, 0, 20)
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    old = replace(tenant.fits["team"], documents=10, pairs=10)
    world.registry.put_calibration(TENANT, old, vault="team")
    world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")

    done = sweep(world)

    assert done.sound
    assert pairs(world) == 10


def test_a_fit_that_fails_is_reported_and_tried_again_after_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    fill(world, 0, 19)
    world.app.operate.calibrate(TENANT, "team", Deadline.after(60))
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    old = replace(tenant.fits["team"], documents=9, pairs=9)
    fill(world, 19, 20)
    world.registry.put_calibration(TENANT, old, vault="team")
    world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")
    sweep(world)
    world.embedder.fail_with = None
    calls = world.embedder.calls

    sweep(world)

    assert "failed to calibrate a vault" in caplog.text
    assert (pairs(world), world.embedder.calls) == (9, calls)

    world.now_s += 600
    sweep(world)

    assert pairs(world) == 20


def test_ingest_calibrates_a_tenant_with_its_twentieth_document_and_again_when_it_has_doubled() -> None:
    world = World()
    fill(world, 0, 19)
    before = pairs(world)
    fill(world, 19, 20)
    first = pairs(world)
    fill(world, 20, 40)

    assert (before, first, pairs(world)) == (None, 20, 40)
    world.now_s += 60  # readers hold the tenant for some seconds
    explanation = world.search("The keeper of mark 3x", debug=True).explanation
    assert explanation is not None
    assert (explanation.calibration["basis"], explanation.calibration["documents"]) == ("fitted", 40)


def test_segments_that_no_reader_uses_any_more_are_removed_after_an_hour() -> None:
    world = bucket_world()
    index = index_of(world)
    world.now_s += 1  # the names of segments end with their time
    world.state.modified_at = at(world.now_s)
    assert world.app.ports.bucket_index.merge(index, Deadline.after(10), everything=True) == 3
    segments = [each.key for each in world.state.entries("index/") if each.key.endswith(".seg")]

    sweep(world)
    within_the_hour = [each.key for each in world.state.entries("index/") if each.key.endswith(".seg")]
    world.now_s += 3_600
    sweep(world)

    assert (len(segments), within_the_hour) == (4, segments)
    latest = max(segments, key=lambda key: key.rpartition("-")[2])
    assert [each.key for each in world.state.entries("index/")] == [latest]
    assert len(world.texts("pump", limit=20)) == 3


def test_segments_that_cannot_be_removed_are_a_failure_of_that_tenant_alone() -> None:
    world = World(state=_CannotList())
    world.app.operate.operator.create_tenant("bravo")

    done = sweep(world)

    assert done.failures == {TENANT: "DATABASE_ERROR"}
    assert [report.tenant for report in done.reports] in ([TENANT, "bravo"], ["bravo", TENANT])


def bucket_world() -> World:
    """A world over the bucket index, with three documents in a segment each."""
    state, manifests = MemoryObjectStore("state"), MemoryManifests()
    state.modified_at = at(1_800_000_000)
    index = BucketChunkIndex(
        state, manifests, Path(COPIES.name) / uuid4().hex, max_bytes=1 << 30, clock=lambda: world.now_s
    )
    world = World(state=state, manifests=manifests, index=index, bucket_index=index)
    for number in range(3):
        world.put(f"team/{number}.md", f"Pump {number}.")
    return world


def index_of(world: World) -> IndexRef:
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    return tenant.index


def at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


class _CannotList(MemoryObjectStore):
    """A state bucket that cannot list the segments of one tenant."""

    def entries(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        if prefix.startswith(f"index/{TENANT}/"):
            raise ObjectStoreError("down", service="object_store")
        return super().entries(prefix, start_after=start_after)


def fill(world: World, first: int, end: int) -> None:
    for number in range(first, end):
        world.put(f"team/{number}.md", f"# The keeper of mark {number}x\n\nHe keeps {number}x.\n")


def sweep(world: World) -> Round:
    world.now_s += 10
    return world.app.operate.sweep_tenants(Deadline.after(600))


def pairs(world: World) -> int | None:
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    return tenant.fits["team"].pairs if tenant.fits else None


class _BreaksFor:
    """A bucket that cannot list one tenant."""

    def __init__(self, tenant: str, bucket: MemoryObjectStore) -> None:
        self._tenant = tenant
        self._bucket = bucket

    def entries(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        if prefix.startswith(self._tenant):
            raise ObjectStoreError("down", service="object_store")
        return self._bucket.entries(prefix, start_after=start_after)
