"""What every Registry does with the checkpoints and leases of large documents."""

from dataclasses import replace

from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.registry import Checkpoint, Registry
from tests.contract.registry_examples import NOW_S, claimed, detail_of, indexed, now, tombstoned

FIRST = Checkpoint(9, chunks={"ragdrop-v1": 0})


def begun(registry: Registry, key: DocumentKey) -> int:
    """The number of a large revision that was claimed and begun."""
    revision = claimed(registry, key).revision
    registry.begin(detail_of(key, revision), FIRST)
    return revision


def test_a_revision_that_never_began_has_no_checkpoint(registry: Registry, key: DocumentKey) -> None:
    assert registry.checkpoint(key, claimed(registry, key).revision) is None
    assert registry.checkpoint(key, indexed(registry, key).revision) is None


def test_what_began_has_its_detail_and_its_checkpoint_before_the_flip(registry: Registry, key: DocumentKey) -> None:
    revision = begun(registry, key)

    assert registry.checkpoint(key, revision) == FIRST
    assert registry.detail(key, revision) == detail_of(key, revision)
    assert now(registry, key).live_revision is None


def test_a_checkpoint_moves_from_where_it_is_and_from_nowhere_else(registry: Registry, key: DocumentKey) -> None:
    revision = begun(registry, key)
    taken = replace(FIRST, hop=1, idle_hops=1, worker="m:1")

    assert registry.advance(key, revision, FIRST, taken)
    assert not registry.advance(key, revision, FIRST, replace(taken, worker="other:1"))
    assert registry.advance(key, revision, taken, taken.moved({"ragdrop-v1": 3}))
    assert registry.checkpoint(key, revision) == Checkpoint(9, 1, 1, 0, "m:1", {"ragdrop-v1": 3})


def test_a_move_repeated_is_no_loss(registry: Registry, key: DocumentKey) -> None:
    revision = begun(registry, key)
    taken = replace(FIRST, hop=1, worker="m:1")

    assert registry.advance(key, revision, FIRST, taken)
    assert registry.advance(key, revision, FIRST, taken)


def test_a_checkpoint_that_was_forgotten_cannot_be_moved(registry: Registry, key: DocumentKey) -> None:
    revision = begun(registry, key)
    registry.forget(key, revision + 1)

    assert registry.checkpoint(key, revision) is None
    assert not registry.advance(key, revision, FIRST, FIRST.moved({}))
    assert registry.detail(key, revision) is None


def test_the_flip_ends_the_checkpoint(registry: Registry, key: DocumentKey) -> None:
    revision = begun(registry, key)
    registry.activate(detail_of(key, revision), NOW_S)

    assert registry.checkpoint(key, revision) is None
    assert not registry.advance(key, revision, FIRST, FIRST.moved({}))


def test_a_lease_is_renewed_by_the_message_that_continues(registry: Registry, key: DocumentKey) -> None:
    revision = begun(registry, key)

    assert registry.renew(key, revision, "m2", NOW_S + 999)
    assert (now(registry, key).message_id, now(registry, key).lease_until_s) == ("m2", NOW_S + 999)


def test_a_lease_of_what_is_not_pending_or_superseded_is_not_renewed(registry: Registry, key: DocumentKey) -> None:
    old = begun(registry, key)
    new = claimed(registry, key).revision

    assert not registry.renew(key, old, "m2", NOW_S + 999)
    tombstoned(registry, key)
    assert not registry.renew(key, new, "m2", NOW_S + 999)
    assert now(registry, key).message_id is None
