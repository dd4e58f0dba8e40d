"""Level 2 without OpenSearch: the bucket index beside it answers, and nothing deleted or replaced comes back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import ChunkingPlan
from ragdrop.errors import CircuitOpenError, DatabaseError, EmbeddingServiceError, ObjectStoreError
from testing.memory_registry import MemoryRegistry
from tests.fallback_world import FallbackWorld


@pytest.fixture
def world(tmp_path: Path) -> FallbackWorld:
    made = FallbackWorld(tmp_path)
    made.put("team/pump.md", "# Pumps\n\nThe pump is red.\n")
    made.put("team/valve.md", "# Valves\n\nThe valve is blue.\n")
    return made


def test_with_opensearch_down_the_bucket_index_answers_and_says_so(world: FallbackWorld) -> None:
    before = world.search("What colour is the pump?")
    world.now_s += 600  # no cached answer lives as long
    world.cut()

    found = world.search("What colour is the pump?")

    assert [one.key.path for one in found.documents] == [one.key.path for one in before.documents]
    assert [one.text for one in found.documents] == [one.text for one in before.documents]
    assert (found.fallback_level, found.served_by, found.degraded) == (2, "fallback", True)
    assert found.score_basis == "hybrid"
    assert found.warnings == ["answered from the bucket index: the index did not answer"]
    assert not found.circuit_breaker_open


def test_behind_an_open_breaker_of_opensearch_it_answers_too(world: FallbackWorld) -> None:
    world.cut(CircuitOpenError("open", service="index", retry_after_s=7))

    found = world.search("pump")

    assert (found.fallback_level, found.served_by, found.circuit_breaker_open) == (2, "fallback", True)


def test_with_the_embedding_service_down_too_words_decide(world: FallbackWorld) -> None:
    world.cut()
    world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")

    found = world.search("valve")

    assert (found.documents[0].key.path, found.score_basis, found.served_by) == ("valve.md", "lexical", "fallback")


def test_what_was_deleted_never_comes_back(world: FallbackWorld) -> None:
    world.delete("team/pump.md")
    world.cut()

    assert world.paths("pump red valve") == ["valve.md"]


def test_what_was_replaced_answers_with_its_new_text(world: FallbackWorld) -> None:
    world.put("team/pump.md", "The pump is green now.")
    world.cut()

    texts = world.texts("pump colour")
    assert "The pump is green now." in texts
    assert not any("pump is red" in text for text in texts)


def test_without_fallback_the_bucket_index_is_not_asked(world: FallbackWorld) -> None:
    world.cut()

    with pytest.raises(DatabaseError) as caught:
        world.search("pump", allow_fallback=False)
    assert caught.value.service == "index"


def test_where_the_bucket_index_holds_nothing_it_is_level_3(world: FallbackWorld) -> None:
    world.bucket.drop(world.ref(), Deadline.after(10))
    world.cut()

    assert (world.search("pump").fallback_level, world.search("pump").served_by) == (3, "none")
    with pytest.raises(DatabaseError) as caught:
        world.app.generate.ask(Question(Query("pump")), world.caller, Deadline.after(10))
    assert caught.value.service == "index"


def test_critical_documents_filters_and_neighbours_come_from_the_bucket_index_too(world: FallbackWorld) -> None:
    world.put("hr/rules.md", "---\npromotion_level: critical\ndoc_type: insight\n---\n\nNever open the pump.\n")
    world.cut()

    found = world.search("valve", vaults=("team", "hr"))
    filtered = world.search("pump", doc_types=("insight",), include_critical=False)

    assert [document.key.path for document in found.critical] == ["rules.md"]
    assert "Never open the pump." in found.critical[0].text
    assert [document.key.path for document in filtered.documents] == ["rules.md"]


def test_links_are_followed_in_the_bucket_index(world: FallbackWorld) -> None:
    world.put("team/start.md", "# Where to begin\n\nRead [about valves](valve.md).\n")
    world.cut()

    found = world.search("begin", limit=1)

    assert [(one.key.path, one.linked_from.path) for one in found.linked] == [("valve.md", "start.md")]


def test_with_s3_down_too_the_copies_that_are_cached_answer(world: FallbackWorld) -> None:
    world.cut()
    world.paths("pump")
    world.now_s += 3_600
    world.state.fail_with = ObjectStoreError("down", service="object_store")

    assert world.search("pump").fallback_level == 2


def test_with_s3_down_and_no_copies_it_is_level_3_and_names_both(world: FallbackWorld) -> None:
    world.cut()
    world.state.fail_with = ObjectStoreError("S3 is down", service="object_store")

    found = world.search("pump")

    assert (found.fallback_level, found.served_by) == (3, "none")
    assert found.warnings == [
        "nothing could be searched: the index did not answer",
        "nothing could be searched: S3 is down",
    ]


def test_after_a_reindex_the_bucket_index_answers_from_chunks_of_the_new_size(world: FallbackWorld) -> None:
    world.put("team/log.md", "\n\n".join(f"Entry {number} of the lighthouse keeper." for number in range(40)))
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    smaller = replace(tenant.active, chunking=ChunkingPlan(64, 0, 64, 0))
    before = max(map(len, world.texts("lighthouse keeper")))
    world.app.operate.reindex.run(world.tenant, smaller)
    world.now_s += 10
    world.cut()

    found = world.search("lighthouse keeper")

    assert found.served_by == "fallback"
    assert max(len(chunk.hit.chunk.text) for chunk in found.documents[0].chunks) < before


def test_a_tenant_that_moved_to_the_bucket_index_has_no_other_to_fall_back_to(world: FallbackWorld) -> None:
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    world.app.operate.reindex.run(world.tenant, replace(tenant.active, name="bucket-v1-hashing-64-1"))
    world.now_s += 10
    world.cut()

    found = world.search("pump")
    assert (found.fallback_level, found.served_by) == (1, "index")
    world.bucket.drop(world.ref(), Deadline.after(10))
    assert world.search("a pump that is red").fallback_level == 3


class DeadRegistry(MemoryRegistry):
    """A registry whose change counts cannot be read once it is `down`."""

    down = False

    def change_counts(self, *args: Any, **named: Any) -> Any:
        if self.down:
            raise DatabaseError("the registry did not answer", service="registry")
        return super().change_counts(*args, **named)


def test_with_the_registry_down_too_nothing_can_be_verified_so_it_is_level_3(tmp_path: Path) -> None:
    registry = DeadRegistry()
    world = FallbackWorld(tmp_path, registry=registry)
    world.put("team/pump.md", "The pump is red.")
    world.cut()
    registry.down = True

    found = world.search("pump")

    assert (found.fallback_level, found.served_by, found.documents) == (3, "none", [])
    with pytest.raises(DatabaseError):
        world.app.generate.ask(Question(Query("pump")), world.caller, Deadline.after(10))
