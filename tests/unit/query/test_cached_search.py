"""Cached search: quick, and never wrong about what was deleted, replaced, or is not the caller's."""

from __future__ import annotations

from ragdrop.domain.tenants import Caller
from ragdrop.errors import DatabaseError
from tests.world import World


def test_the_same_question_is_answered_from_memory_after_one_look_at_the_registry(world: World) -> None:
    world.put("team/a.md", "alpha")
    first = world.search("alpha")
    calls = len(world.index.calls), len(world.registry.calls)

    again = world.search("alpha")

    assert (first.served_by, again.served_by) == ("index", "cache")
    assert again.documents == first.documents
    assert (len(world.index.calls), world.registry.calls[calls[1] :]) == (calls[0], ["change_counts"])
    assert (world.app.query.cached.counts.hits, world.app.query.cached.counts.misses) == (1, 1)


def test_a_deleted_document_is_never_served_from_memory(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.search("alpha")
    world.app.documents.document_service.delete(world.caller, world.key("team/a.md"))

    assert world.texts("alpha") == []


def test_a_replaced_document_is_never_served_from_memory(world: World) -> None:
    world.put("team/a.md", "alpha old")
    world.search("alpha")
    generation = world.app.tenants.directory.tenant("acme")
    world.put("team/a.md", "alpha new")

    assert generation is not None
    assert world.texts("alpha") == ["alpha new"]


def test_another_generation_is_another_question(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.search("alpha")
    world.put("team/b.md", "alpha")

    assert len(world.search("alpha").documents) == 2


def test_a_key_of_another_scope_gets_no_answer_of_a_wider_one(world: World) -> None:
    world.put("one/a.md", "alpha")
    world.put("two/a.md", "alpha")
    world.search("alpha")
    world.caller = Caller("acme", "reader", ("two",))

    found = world.search("alpha")

    assert (found.served_by, [document.key.vault for document in found.documents]) == ("index", ["two"])


def test_the_order_of_vaults_and_the_agent_make_no_other_question(world: World) -> None:
    world.put("one/a.md", "alpha")
    world.put("two/a.md", "alpha")
    world.search("alpha", vaults=("one", "two"), agent="x")

    assert world.search("alpha", vaults=("two", "one"), agent="y").served_by == "cache"
    assert world.search("alpha", vaults=("two",)).served_by == "index"


def test_an_answer_is_forgotten_after_five_minutes(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.search("alpha")
    world.now_s += 299

    assert world.search("alpha").served_by == "cache"
    world.now_s += 2
    assert world.search("alpha").served_by == "index"


def test_nothing_is_served_from_memory_while_the_registry_does_not_answer(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.search("alpha")
    world.registry.fail_with = DatabaseError("the registry did not answer", service="registry")

    try:
        served = world.search("alpha").served_by
    except DatabaseError:
        served = "none"

    assert served != "cache"


def test_an_empty_answer_is_not_cached(world: World) -> None:
    world.search("alpha")

    assert world.search("alpha").served_by != "cache"
