"""How often a whole search asks OpenSearch, counted by its HTTP requests (docs/architecture.md)."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from tests.contract.opensearch_node import CountingConnection, counting_connection, opensearch_url
from tests.world import World

WORDS = "alpha beta gamma delta"


def another_connection() -> OpenSearchChunkIndex:
    """The same index as another environment connects to it."""
    return OpenSearchChunkIndex.from_url(opensearch_url(), shards=1)


@pytest.fixture
def counted() -> Iterator[tuple[World, type[CountingConnection]]]:
    """A world of linked documents on OpenSearch, and what was sent to it."""
    connection = counting_connection()
    index = OpenSearchChunkIndex.from_url(opensearch_url(), shards=1, connection_class=connection)
    world = World(f"t-{uuid4().hex[:12]}", index=index)
    long = "\n\n".join(f"## Part {n}\n\n" + f"filler {n} words \n" * 40 for n in range(90))
    world.put("team/a.md", f"[b](b.md)\n\n{long}\n\n## Last\n\n{WORDS}\n")
    world.put("team/b.md", "another page, see [c](c.md)")
    world.put("team/c.md", "deep matters")
    world.put("team/rule.md", "---\npromotion_level: critical\n---\nnever restart")
    world.search("warm")  # the tenant's item is then cached
    connection.seen.clear()
    yield world, connection
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    index.drop(tenant.index, Deadline.after(30))


def searches(connection: type[CountingConnection]) -> int:
    """Requests since the last count, all of which must be searches."""
    seen, connection.seen[:] = list(connection.seen), []
    assert all(one.startswith("POST ") and "_msearch" in one for one in seen)
    return len(seen)


def test_a_search_without_links_is_one_request_for_candidates_and_one_for_texts_that_were_not_read_before(
    counted: tuple[World, type[CountingConnection]],
) -> None:
    world, connection = counted
    world.put("team/d.md", "a write through this index makes it forget the texts")
    connection.seen.clear()

    world.search(WORDS, follow_links=False)
    first = searches(connection)
    world.search(f"{WORDS} again", follow_links=False)

    assert (first, searches(connection)) == (2, 1)


def test_a_replaced_text_that_was_read_before_does_not_answer(counted: tuple[World, type[CountingConnection]]) -> None:
    world, _ = counted
    world.search(WORDS)
    shared = {"registry": world.registry, "documents": world.documents, "state": world.state}
    writer = World(world.tenant, index=another_connection(), **shared)

    world.put("team/rule.md", "---\npromotion_level: critical\n---\nalways restart", ingest=False)
    writer.deliver(world.message(world.change("team/rule.md")))
    found = world.search(f"{WORDS} again")

    assert [document.text.strip() for document in found.critical] == ["always restart"]


def test_each_level_of_links_is_one_request_more(counted: tuple[World, type[CountingConnection]]) -> None:
    world, connection = counted

    one = world.search(WORDS, limit=1, expand="neighbours", max_link_depth=1)
    after_one = searches(connection)
    two = world.search(WORDS, limit=1, expand="neighbours")

    assert ([doc.key.path for doc in one.linked], after_one) == (["b.md"], 2)
    assert ([doc.key.path for doc in two.linked], searches(connection)) == (["b.md", "c.md"], 3)


def test_the_key_and_the_tenants_item_are_read_once_for_many_searches(
    counted: tuple[World, type[CountingConnection]],
) -> None:
    world, _ = counted
    secret, _ = world.app.operate.operator.create_key(world.tenant, "reader", ())
    before = len(world.registry.calls)

    for text in ("one", "two", "three"):
        caller = world.app.tenants.directory.caller(secret)
        world.search(f"{WORDS} {text}")
        assert caller.tenant == world.tenant

    asked = world.registry.calls[before:]
    assert (asked.count("api_key"), asked.count("tenant")) == (1, 0)


def test_following_links_costs_the_index_one_more_search_a_level_and_no_separate_read() -> None:
    world = World()
    long = "\n\n".join(f"## Part {n}\n\n" + f"filler {n} words \n" * 40 for n in range(90))
    last = "\n\n".join(f"## Last {n}\n\n" + f"{WORDS} {n}. " * 60 for n in range(4))
    world.put("team/long.md", f"[the valve](b.md)\n\n{long}\n\n{last}\n")
    world.put("team/b.md", "the valve is shut")
    world.search(WORDS, follow_links=False)
    before, indexed = len(world.registry.calls), len(world.index.calls)

    found = world.search(WORDS, limit=1, expand="neighbours")

    assert 0 not in {chunk.hit.chunk.ordinal for chunk in found.documents[0].chunks}  # the links stand with that one
    assert [one.key.path for one in found.linked] == ["b.md"]
    assert world.registry.calls[before:] == ["change_counts", "named_and_heads"]
    assert world.index.calls[indexed:] == ["candidates", "read", "nearest_of"]


def test_every_search_writes_its_counts_once_one_from_the_cache_too() -> None:
    world = World()
    world.put("team/a.md", "alpha")
    world.search("warm")  # the key of the digests is then cached
    world.telemetry.calls.clear()

    for text in ("alpha", "alpha"):
        world.search(text)

    assert world.telemetry.calls.count("add_counts") == 2
