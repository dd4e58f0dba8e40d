"""Query vectors: a question is embedded once, here or elsewhere, and no cache can make a search fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.errors import DatabaseError
from ragdrop.query.cache import REST_S, SHARED_TTL_S, QueryVectors
from testing.memory_telemetry import MemoryTelemetry
from testing.models import HashingEmbedder

SPACE = EmbeddingSpace("hashing", 64)


class Environment:
    """An execution environment: its own cache over a store that it shares."""

    def __init__(self, store: MemoryTelemetry | None = None, size: int = 1_000) -> None:
        self.now_s = 1_000.0
        self.embedder = HashingEmbedder(dimension=64)
        self.store = store or MemoryTelemetry()
        self.vectors = QueryVectors(embedder=self.embedder, store=self.store, size=size, clock=lambda: self.now_s)

    def ask(self, text: str, tenant: str = "acme", space: EmbeddingSpace = SPACE) -> list[float]:
        return list(self.vectors(text, tenant, space, Deadline.after(10)))


def test_a_question_is_embedded_once_in_an_environment() -> None:
    here = Environment()

    assert here.ask("pump") == here.ask("pump")
    assert here.embedder.calls == 1
    assert (here.vectors.own.hits, here.vectors.own.misses) == (1, 1)


def test_another_environment_gets_the_vector_of_a_question_that_was_asked_again_from_the_shared_cache() -> None:
    here = Environment()
    here.ask("pump")
    expected = here.ask("pump")
    here.vectors.flush()
    there = Environment(here.store)

    assert there.ask("pump") == expected
    assert there.embedder.calls == 0
    assert there.vectors.shared.hits == 1


def test_what_was_asked_once_is_not_shared() -> None:
    here = Environment()
    here.ask("pump")
    here.vectors.flush()
    there = Environment(here.store)

    there.ask("pump")

    assert (there.embedder.calls, there.vectors.shared.hits) == (1, 0)


def test_what_was_shared_is_not_written_again() -> None:
    here = Environment()
    [here.ask("pump") for _ in range(2)]
    here.vectors.flush()

    here.ask("pump")
    here.vectors.flush()

    assert here.store.calls.count("put_query_vectors") == 1


def test_the_shared_vector_has_a_time() -> None:
    here = Environment()
    [here.ask("pump") for _ in range(2)]
    here.vectors.flush()
    there = Environment(here.store)
    there.now_s += SHARED_TTL_S

    there.ask("pump")

    assert there.embedder.calls == 1


@pytest.mark.parametrize("other", [replace(SPACE, model="other"), replace(SPACE, query_prefix="query: ")])
def test_another_model_or_prefix_has_another_vector(other: EmbeddingSpace) -> None:
    here = Environment()
    here.ask("pump")
    here.ask("pump", space=other)

    assert here.embedder.calls == 2


def test_tenants_share_no_vectors() -> None:
    here = Environment()
    [here.ask("pump", tenant="acme") for _ in range(2)]
    here.vectors.flush()
    here.ask("pump", tenant="other")

    assert here.embedder.calls == 2


def test_a_store_that_fails_is_left_alone_for_a_while_and_no_question_fails() -> None:
    here = Environment()
    here.store.fail_with = DatabaseError("down", service="telemetry")
    here.ask("one")
    here.ask("two")
    here.vectors.flush()

    assert here.store.calls == ["query_vector"]
    here.store.fail_with = None
    here.now_s += REST_S
    here.ask("three")
    assert here.store.calls == ["query_vector", "query_vector"]


def test_size_nought_turns_both_caches_off() -> None:
    here = Environment(size=0)
    here.ask("pump")
    here.ask("pump")
    here.vectors.flush()

    assert here.embedder.calls == 2
    assert here.store.calls == []


def test_the_store_never_sees_a_question() -> None:
    here = Environment()
    [here.ask("where is the pump") for _ in range(2)]
    here.vectors.flush()

    assert "pump" not in repr(here.store.__dict__)
