"""Level 2 without the index: the snapshot answers, and nothing comes back that was deleted or replaced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.errors import CircuitOpenError, DatabaseError, EmbeddingServiceError, ObjectStoreError
from testing.memory_registry import MemoryRegistry
from tests.snapshot_world import Snapshots


@pytest.fixture
def world(tmp_path: Path) -> Snapshots:
    made = Snapshots(tmp_path)
    made.put("team/pump.md", "# Pumps\n\nThe pump is red.\n")
    made.put("team/valve.md", "# Valves\n\nThe valve is blue.\n")
    return made


def test_with_the_index_down_the_snapshot_answers_and_says_so(world: Snapshots) -> None:
    before = world.search("What colour is the pump?")
    world.write()
    world.now_s += 600  # no cached answer lives as long
    world.cut()

    found = world.search("What colour is the pump?")

    assert [one.key.path for one in found.documents] == [one.key.path for one in before.documents]
    assert [one.text for one in found.documents] == [one.text for one in before.documents]
    assert (found.fallback_level, found.served_by, found.degraded) == (2, "snapshot", True)
    assert (found.snapshot_age_s, found.snapshot_coverage, found.score_basis) == (600.0, 1.0, "hybrid")
    assert found.warnings == [
        "answered from the snapshot: the index did not answer",
        "the snapshot was made 10 minutes ago",
    ]
    assert not found.circuit_breaker_open


def test_behind_an_open_breaker_of_the_index_it_answers_too(world: Snapshots) -> None:
    world.write()
    world.cut_off.error = CircuitOpenError("open", service="index", retry_after_s=7)

    found = world.search("pump")

    assert (found.fallback_level, found.served_by, found.circuit_breaker_open) == (2, "snapshot", True)


def test_with_the_embedding_service_down_too_words_decide(world: Snapshots) -> None:
    world.write()
    world.cut()
    world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")

    found = world.search("valve")

    assert (found.documents[0].key.path, found.score_basis, found.served_by) == ("valve.md", "lexical", "snapshot")


def test_what_was_deleted_after_the_snapshot_was_made_never_comes_back(world: Snapshots) -> None:
    world.write()
    world.delete("team/pump.md")
    world.cut()

    assert world.paths("pump red valve") == ["valve.md"]


def test_what_was_replaced_after_the_snapshot_was_made_does_not_answer_from_it(world: Snapshots) -> None:
    world.write()
    world.put("team/pump.md", "The pump is green now.")
    world.cut()

    assert world.paths("pump red valve") == ["valve.md"]


def test_without_a_snapshot_it_is_level_3(world: Snapshots) -> None:
    world.cut()

    assert (world.search("pump").fallback_level, world.search("pump").served_by) == (3, "none")
    with pytest.raises(DatabaseError) as caught:
        world.app.generate.ask(Question(Query("pump")), world.caller, Deadline.after(10))
    assert caught.value.service == "index"


def test_critical_documents_filters_and_neighbours_come_from_the_snapshot_too(world: Snapshots) -> None:
    world.put("hr/rules.md", "---\npromotion_level: critical\ndoc_type: insight\n---\n\nNever open the pump.\n")
    world.write()
    world.cut()

    found = world.search("valve", vaults=("team", "hr"))
    filtered = world.search("pump", doc_types=("insight",), include_critical=False)

    assert [document.key.path for document in found.critical] == ["rules.md"]
    assert "Never open the pump." in found.critical[0].text
    assert [document.key.path for document in filtered.documents] == ["rules.md"]


def test_links_are_followed_in_the_snapshot(world: Snapshots) -> None:
    world.put("team/start.md", "# Where to begin\n\nRead [about valves](valve.md).\n")
    world.write()
    world.cut()

    found = world.search("begin", limit=1)

    assert [(one.key.path, one.linked_from.path) for one in found.linked] == [("valve.md", "start.md")]


def test_with_s3_down_the_snapshot_that_is_held_answers(world: Snapshots) -> None:
    world.write()
    world.cut()
    world.paths("pump")
    world.now_s += 3_600
    world.state.fail_with = ObjectStoreError("down", service="object_store")

    assert world.search("pump").fallback_level == 2


def test_after_a_move_to_another_index_words_decide_until_there_is_a_new_snapshot(world: Snapshots) -> None:
    world.write()
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    moved = replace(tenant.active, name=tenant.active.name + "-next")
    world.registry.move_indexes(tenant, active=moved, building=None, previous=tenant.active)
    world.app.tenants.directory.forget(world.tenant)
    world.cut()

    found: Retrieval = world.search("pump")

    assert (found.documents[0].key.path, found.score_basis, found.fallback_level) == ("pump.md", "lexical", 2)


class DeadRegistry(MemoryRegistry):
    """A registry whose heads cannot be read once it is told so."""

    down = False

    def heads(self, *args: Any, **named: Any) -> Any:
        if self.down:
            raise DatabaseError("the registry did not answer", service="registry")
        return super().heads(*args, **named)


def test_with_the_registry_down_too_nothing_can_be_verified_so_it_is_level_3(tmp_path: Path) -> None:
    registry = DeadRegistry()
    world = Snapshots(tmp_path, registry=registry)
    world.put("team/pump.md", "The pump is red.")
    world.write()
    world.cut()
    registry.down = True

    found = world.search("pump")

    assert (found.fallback_level, found.served_by, found.documents) == (3, "none", [])
    with pytest.raises(DatabaseError):
        world.app.generate.ask(Question(Query("pump")), world.caller, Deadline.after(10))
