"""Heads that an environment holds: read once, forgotten with a change of their slot."""

from __future__ import annotations

from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Heads, name_of
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DatabaseError
from ragdrop.query.view import CACHED_S, LiveViews
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_registry import MemoryRegistry
from tests.contract.registry_examples import claimed, indexed, tombstoned

PUMP, VALVE, LOST = (DocumentKey("acme", "team", name) for name in ("pump.md", "valve.md", "lost.md"))


class Clock:
    """A clock that stands still until it is set."""

    now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def registry() -> MemoryRegistry:
    registry = MemoryRegistry()
    for key in (PUMP, VALVE):
        indexed(registry, key)
    return registry


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def known(registry: MemoryRegistry, clock: Clock) -> LiveViews:
    return LiveViews(registry, MemoryChunkIndex(), clock=clock)


def heads(known: LiveViews, *keys: DocumentKey) -> Heads:
    """The heads that one more search is given."""
    return known.view().heads(keys, Deadline.after(60))


def asked(registry: MemoryRegistry, known: LiveViews, *keys: DocumentKey) -> list[str]:
    """What one more search asks the registry for."""
    registry.calls.clear()
    heads(known, *keys)
    return registry.calls


def test_what_did_not_change_is_read_once(registry: MemoryRegistry, known: LiveViews) -> None:
    first = heads(known, PUMP, LOST)

    assert asked(registry, known, PUMP, LOST) == ["change_counts"]
    assert heads(known, PUMP, LOST) == first == registry.heads([PUMP, LOST], Deadline.after(60))


def test_only_what_is_not_known_is_read(registry: MemoryRegistry, known: LiveViews) -> None:
    heads(known, PUMP)
    seen: list[Any] = []
    read = registry.named_and_heads

    def noted(names: Any, keys: Any, deadline: Deadline) -> Any:
        seen.extend(keys)
        return read(names, keys, deadline)

    registry.named_and_heads = noted

    heads(known, PUMP, VALVE)

    assert seen == [VALVE]


def test_a_document_that_was_deleted_is_read_again(registry: MemoryRegistry, known: LiveViews) -> None:
    heads(known, PUMP, VALVE)
    tombstoned(registry, PUMP)

    found = heads(known, PUMP, VALVE).found

    assert found[PUMP].live_revision is None
    assert found[VALVE].live_revision is not None


def test_a_claim_changes_nothing_that_answers(registry: MemoryRegistry, known: LiveViews) -> None:
    heads(known, PUMP)
    claimed(registry, PUMP)

    assert asked(registry, known, PUMP) == ["change_counts"]


def test_one_search_reads_the_counts_once(registry: MemoryRegistry, known: LiveViews) -> None:
    search, deadline = known.view(), Deadline.after(60)
    registry.calls.clear()

    search.promoted("acme", deadline)
    search.heads([PUMP], deadline)
    search.named_and_heads([name_of(PUMP)], [VALVE], deadline)

    assert registry.calls.count("change_counts") == 1


def test_names_and_promoted_documents_are_known_until_anything_changes(
    registry: MemoryRegistry, known: LiveViews
) -> None:
    def read() -> list[str]:
        registry.calls.clear()
        search, deadline = known.view(), Deadline.after(60)
        search.promoted("acme", deadline)
        search.named_and_heads([name_of(LOST), name_of(PUMP)], [], deadline)
        return list(registry.calls)

    whole = read()
    again = read()
    indexed(registry, VALVE)

    assert again == ["change_counts"]
    assert read() == whole == ["change_counts", "promoted", "named_and_heads"]


def test_what_could_not_be_read_is_asked_for_again(registry: MemoryRegistry, known: LiveViews) -> None:
    registry.unreadable.add(PUMP)
    assert heads(known, PUMP, VALVE).unread == {PUMP}
    registry.unreadable.clear()

    assert PUMP in heads(known, PUMP).found


def test_what_is_known_does_not_answer_while_the_counts_cannot_be_read(
    registry: MemoryRegistry, known: LiveViews
) -> None:
    heads(known, PUMP)
    registry.fail_with = DatabaseError("it is away", service="registry")

    with pytest.raises(DatabaseError):
        heads(known, PUMP)


def test_what_is_known_is_read_again_after_five_minutes(
    registry: MemoryRegistry, known: LiveViews, clock: Clock
) -> None:
    heads(known, PUMP)
    clock.now_s += CACHED_S

    assert asked(registry, known, PUMP) == ["change_counts", "named_and_heads"]


def test_a_tenant_that_is_made_again_starts_with_nothing_known(registry: MemoryRegistry, known: LiveViews) -> None:
    before = heads(known, PUMP).found[PUMP]
    tombstoned(registry, PUMP)
    registry.forget_document(PUMP)
    registry.forget_tenant("acme")
    after = indexed(registry, PUMP, title="Valves")  # the counts are at one again

    assert before != heads(known, PUMP).found[PUMP] == after


def test_more_than_one_batch_is_refused(known: LiveViews) -> None:
    keys = [DocumentKey("acme", "team", f"{number}.md") for number in range(101)]

    with pytest.raises(ValueError, match="at most 100"):
        heads(known, *keys)
