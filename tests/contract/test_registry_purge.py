"""What every Registry does when a document is purged: all that it keeps of it goes."""

from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.registry import Registry
from tests.contract.registry_examples import NOW_S, claimed, detail_of, indexed, tombstoned


def test_a_forgotten_document_leaves_nothing_and_its_neighbour_stays(registry: Registry, key: DocumentKey) -> None:
    other = DocumentKey(key.tenant, key.vault, key.path + ".bak")
    indexed(registry, key)
    last = indexed(registry, key)
    neighbour = indexed(registry, other)
    tombstoned(registry, key)

    assert registry.forget_document(key) == 7  # the head; of two revisions and a tombstone each the item and the change
    assert registry.changes(key.tenant, key.vault, after="", limit=10) != []  # of the neighbour
    assert registry.changes_of(key, before_revision=None, limit=10) == []
    assert registry.head(key) is None
    assert registry.detail(key, last.revision) is None
    assert registry.head(other) == neighbour
    assert registry.forget_document(key) == 0


def test_a_revision_above_the_last_that_is_forgotten_stays(registry: Registry, key: DocumentKey) -> None:
    indexed(registry, key)
    tombstone = tombstoned(registry, key)
    again = indexed(registry, key)

    assert registry.forget_document(key, last=tombstone.revision) == 4  # of a revision and a tombstone
    assert registry.head(key) == again
    assert registry.detail(key, again.revision) is not None
    assert [change.revision for change in registry.changes_of(key, before_revision=None, limit=10)] == [again.revision]


def test_a_revision_still_running_does_not_bring_a_forgotten_document_back(
    registry: Registry, key: DocumentKey
) -> None:
    running = claimed(registry, key)
    registry.forget_document(key)

    assert registry.activate(detail_of(key, running.revision), NOW_S) is None
    assert registry.head(key) is None
