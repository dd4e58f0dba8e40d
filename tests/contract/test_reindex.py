"""Reindex on the real indexes: queries go on while it runs, none fails, none mixes, and it can be cut off or undone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan
from ragdrop.errors import RagdropError
from tests.contract.chunk_index_suite import ENGINES, chunk_index_engine
from tests.world import World

DOCUMENTS = 12
TEXT = "\n\n".join(f"Paragraph {n} tells of the lighthouse keeper and the tide at mark {n}." for n in range(30))


@pytest.fixture(params=[engine for engine in ENGINES if engine != "memory"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with chunk_index_engine(request.param, tmp_path) as engine:
        world = World(engine.ref.tenant, index=engine.chunks)
        world.app.operate.reindex.page_size = 2
        for n in range(DOCUMENTS):
            world.put(f"team/{n}.md", f"# Log {n}\n\n{TEXT}", ingest=False)
        world.changed(*(f"team/{n}.md" for n in range(DOCUMENTS)))
        yield world
        tenant = world.registry.tenant(world.tenant)
        assert tenant is not None
        for index in tenant.targets:
            engine.chunks.drop(tenant.part_of(index), Deadline.after(30))


def smaller_chunks(world: World) -> ActiveIndex:
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    return replace(tenant.active, chunking=ChunkingPlan(64, 0, 64, 0))


Place = tuple[str, int, int]


class Questions(threading.Thread):
    """Asks without a pause, each time as a reader who has just looked up the tenant; keeps where each answer stood."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._ended = threading.Event()
        self.answers: list[set[Place]] = []
        self.failed: list[RagdropError] = []

    def run(self) -> None:
        while not self._ended.is_set():
            self._world.app.tenants.directory.forget(self._world.tenant)
            try:
                documents = self._world.search("lighthouse keeper tide", limit=20).documents
            except RagdropError as exc:
                self.failed.append(exc)
            else:
                chunks = [(found.key.path, chunk.hit.chunk) for found in documents for chunk in found.chunks]
                self.answers.append({(path, chunk.start, chunk.end) for path, chunk in chunks})

    def end(self) -> None:
        self._ended.set()
        self.join()


def places(world: World, index: str) -> set[Place]:
    """Where the chunks of the documents that stay as they are stand in *index*."""
    found = set()
    for n in range(1, DOCUMENTS):
        head = world.head(f"team/{n}.md")
        kept = world.app.ports.revisions.open(head.key, head.live_revision or 0)
        chunks = kept.chunks_between(index) if kept else []
        found |= {(head.key.path, chunk.start, chunk.end) for chunk, _ in chunks}
    return found


def test_under_a_stream_of_queries_none_fails_and_none_mixes_indexes(world: World) -> None:
    questions = Questions(world)
    questions.start()
    changed: list[int] = []

    def change_one_half_way(done: int, _total: int) -> None:
        if done == DOCUMENTS // 2 and not changed:
            changed.append(done)
            world.put("team/0.md", "The lighthouse was sold to a painter.")

    try:
        report = world.app.operate.reindex.run(world.tenant, smaller_chunks(world), change_one_half_way)
        time.sleep(0.5)  # some questions to the new index
    finally:
        questions.end()

    assert report is not None
    old, new = places(world, report.from_index), places(world, report.to_index)
    assert questions.failed == []
    unchanged = [{place for place in answer if place[0] != "0.md"} for answer in questions.answers]
    assert all(answer <= old or answer <= new for answer in unchanged)
    assert any(answer <= new and not answer <= old for answer in unchanged)
    world.now_s += 10
    assert "The lighthouse was sold to a painter." in world.texts("lighthouse", limit=20)


def test_one_that_was_killed_half_way_completes_when_it_is_started_again(world: World) -> None:
    def kill(done: int, _total: int) -> None:
        if done == DOCUMENTS // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.app.operate.reindex.run(world.tenant, smaller_chunks(world), kill)
    report = world.app.operate.reindex.run(world.tenant, smaller_chunks(world))

    assert report is not None
    assert report.documents == DOCUMENTS
    assert report.copied == DOCUMENTS - DOCUMENTS // 2


def test_a_rollback_returns_the_old_answers(world: World) -> None:
    before = world.texts("lighthouse keeper", limit=3)
    world.app.operate.reindex.run(world.tenant, smaller_chunks(world))
    world.now_s += 10
    assert world.texts("lighthouse keeper", limit=3) != before

    world.app.operate.reindex.rollback(world.tenant)

    world.now_s += 10
    assert world.texts("lighthouse keeper", limit=3) == before
