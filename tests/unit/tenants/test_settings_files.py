"""Settings files: dropped like any object, applied where they are valid, in whatever order their events come."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import DetailFilters, Status
from ragdrop.domain.settings import FILE_SETTINGS, Tunables
from ragdrop.domain.tenants import StoredSettings
from ragdrop.errors import DatabaseError
from ragdrop.tenants.settings_in_force import in_force
from tests.world import TENANT, World

OWN = ".ragdrop.json"
TEAM = "team/.ragdrop.json"


def drop(world: World, path: str, *, ingest: bool = True, **fields: Any) -> str:
    return world.put(path, json.dumps(fields), ingest=ingest)


def settings(world: World, *vaults: str) -> Tunables:
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    return in_force(Tunables(), tenant, vaults=vaults).values


@pytest.mark.parametrize("path", [OWN, TEAM])
def test_a_dropped_file_is_in_force_and_listed_as_settings(world: World, path: str) -> None:
    version_id = drop(world, path, min_relevance=0.25)

    head = world.head(path)
    assert settings(world, "team").min_relevance == 0.25
    assert (head.status, head.live_version_id, head.doc_type) == (Status.INDEXED, version_id, "settings")
    page = world.app.documents.document_service.page(
        world.caller, vault=None, prefix="", status=None, cursor=None, limit=10
    )
    assert [listed.key.vault_path for listed in page.heads] == [path]


def test_a_settings_file_is_never_found_and_has_no_chunks(world: World) -> None:
    world.put("team/a.md", "a note on relevance")
    drop(world, TEAM, min_relevance=0.25, doc_types=["relevance"])

    assert world.texts("min relevance") == ["a note on relevance"]
    assert world.chunk_count() == 1


def test_an_invalid_file_is_listed_as_failed_and_the_last_valid_one_stays_in_force(world: World) -> None:
    drop(world, OWN, min_relevance=0.25)
    drop(world, OWN, min_relevance=7, max_results="many", colour="red")

    head = world.head(OWN)
    assert head.status is Status.FAILED
    assert head.error is not None
    assert head.error.code == "INVALID_SETTINGS"
    assert [field in head.error.message for field in ("min_relevance: 7", 'max_results: "many"', "colour")] == [
        True
    ] * 3
    assert settings(world).min_relevance == 0.25


def test_every_problem_of_a_long_list_is_reported(world: World) -> None:
    unknown: dict[str, Any] = {f"unknown_setting_{number}": number for number in range(30)}
    drop(world, OWN, **unknown)

    error = world.head(OWN).error
    assert error is not None
    assert error.message.count("no such setting") == 30


def test_a_deleted_file_gives_the_defaults_back(world: World) -> None:
    drop(world, OWN, min_relevance=0.25)
    world.delete(OWN)

    assert settings(world) == Tunables()
    assert world.head(OWN).status is Status.DELETED


def test_a_restored_file_is_in_force_again(world: World) -> None:
    drop(world, OWN, min_relevance=0.25)
    world.delete(OWN)
    top = world.documents.newest(f"{TENANT}/{OWN}")
    assert top is not None
    world.documents.remove_version(f"{TENANT}/{OWN}", top[0])
    world.changed(OWN)

    assert settings(world).min_relevance == 0.25


def test_a_purged_file_leaves_no_settings_even_if_its_event_comes_last(world: World) -> None:
    drop(world, TEAM, min_relevance=0.25)
    world.now_s += 10
    world.app.documents.purge_documents(world.caller, world.key(TEAM), Deadline.after(10))
    world.changed(TEAM)

    assert settings(world, "team") == Tunables()
    assert world.registry.head(world.key(TEAM)) is None


def test_a_file_is_in_force_though_it_was_claimed_just_before_another_worker_found_none(world: World) -> None:
    world.changed("team/.ragdrop.json")  # there is none yet
    world.now_s -= 1

    world.put("team/.ragdrop.json", '{"chunk_tokens": 64}')

    assert world.registry.tenant("acme").settings_of("team") == {"chunk_tokens": 64}


def test_a_file_that_is_purged_while_it_is_applied_leaves_no_settings(world: World) -> None:
    keep_settings = world.registry.keep_settings

    def purged_meanwhile(name: str, vault: str, applied: StoredSettings) -> bool:
        world.registry.keep_settings = keep_settings
        key = world.key("team/.ragdrop.json")
        world.app.documents.purge_documents(world.caller, key, Deadline.after(10))
        world.changed("team/.ragdrop.json")
        return keep_settings(name, vault, applied)

    world.registry.keep_settings = purged_meanwhile
    world.put("team/.ragdrop.json", '{"chunk_tokens": 64}')

    assert world.registry.tenant("acme").settings_of("team") == {}


def test_a_file_that_is_deleted_while_it_is_applied_leaves_no_settings(world: World) -> None:
    keep_settings = world.registry.keep_settings

    def deleted_meanwhile(name: str, vault: str, applied: StoredSettings) -> bool:
        world.registry.keep_settings = keep_settings
        world.delete(TEAM)
        return keep_settings(name, vault, applied)

    world.registry.keep_settings = deleted_meanwhile
    drop(world, TEAM, min_relevance=0.25)

    assert settings(world, "team") == Tunables()
    assert world.head(TEAM).status is Status.DELETED


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_events_in_any_order_and_twice_end_with_what_the_bucket_holds(order: tuple[int, ...]) -> None:
    world = World()
    changes = []
    for value in (0.1, 0.2, 0.3):
        drop(world, OWN, ingest=False, min_relevance=value)
        changes.append(world.change(OWN))
    for position in (*order, *order):
        world.deliver(world.message(changes[position]))

    assert settings(world).min_relevance == 0.3


def test_a_file_that_failed_half_way_is_applied_when_its_message_comes_again(world: World) -> None:
    drop(world, OWN, ingest=False, min_relevance=0.25)
    message = world.message(world.change(OWN))
    activate = world.registry.activate
    world.registry.activate = lambda *_: (_ for _ in ()).throw(DatabaseError("gone", service="registry"))

    assert world.deliver(message) == [message]
    world.registry.activate = activate
    assert world.deliver(message) == []

    assert world.head(OWN).status is Status.INDEXED
    assert settings(world).min_relevance == 0.25


def test_settings_reach_a_document_that_comes_later_in_the_same_batch(world: World) -> None:
    drop(world, TEAM, ingest=False, chunk_tokens=32)
    world.put("team/a.md", "word " * 400, ingest=False)

    world.changed(TEAM, "team/a.md")

    assert world.head("team/a.md").chunk_count > 10


def test_prompts_stand_only_in_the_tenants_own_file(world: World) -> None:
    drop(world, OWN, system_prompt="Answer in rhyme.")
    drop(world, TEAM, system_prompt="Answer in rhyme.")

    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    assert tenant.settings_of(None) == {"system_prompt": "Answer in rhyme."}
    assert world.head(TEAM).status is Status.FAILED


@pytest.mark.parametrize(
    "template", ["{% for %}", "{{ nobody_gave_this }}", "{{ ''.__class__.__mro__ }}", "{{ 'a' * 9 }}"]
)
def test_a_template_that_does_not_render_is_refused_when_it_is_dropped(world: World, template: str) -> None:
    drop(world, OWN, prompt_template=template)

    error = world.head(OWN).error
    assert error is not None
    assert "prompt_template: this template" in error.message


def test_a_template_with_sources_and_question_is_taken(world: World) -> None:
    template = "Between {{ mark }} lines:\n{{ sources }}\n\n{% if question %}Question: {{ question }}{% endif %}"

    drop(world, OWN, prompt_template=template)

    assert world.head(OWN).status is Status.INDEXED


def test_a_budget_that_leaves_no_room_for_documents_is_refused(world: World) -> None:
    drop(world, OWN, max_context_tokens=2_000)

    error = world.head(OWN).error
    assert error is not None
    assert "max_context_tokens: 2000" in error.message


def test_a_failed_replacement_keeps_the_live_revision_where_the_vault_says_so(world: World) -> None:
    drop(world, TEAM, keep_last_good=True)
    for vault in ("team", "other"):
        world.put(f"{vault}/a.md", f"good {vault}")
        world.put(f"{vault}/a.md", b"")

    assert world.head("team/a.md").status is Status.FAILED
    assert world.texts("good") == ["good team"]
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    assert tenant.documents == 1


def test_a_category_that_the_settings_do_not_list_is_left_out_with_a_warning(world: World) -> None:
    drop(world, TEAM, categories=["howto"])
    world.put("team/a.md", "---\ncategory: howto\n---\nalpha")
    world.put("team/b.md", "---\ncategory: gossip\n---\nbeta")
    world.put("other/c.md", "---\ncategory: gossip\n---\ngamma")

    records = [
        world.app.documents.document_service.record(world.caller, world.key(name)).detail
        for name in ("team/a.md", "team/b.md", "other/c.md")
    ]
    assert [detail.facts.category for detail in records if detail] == ["howto", None, "gossip"]
    assert records[1] is not None
    assert any("gossip" in warning for warning in records[1].warnings)


def test_documents_cut_by_older_settings_are_listed_as_outdated_and_a_reindex_brings_them_along(world: World) -> None:
    text = "".join(f"Sentence number {number} of the note. " for number in range(60))
    world.put("team/a.md", text)
    world.put("other/a.md", text)
    drop(world, TEAM, chunk_tokens=40)

    assert outdated(world) == ["team/a.md"]
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    assert world.app.operate.reindex.run(TENANT, tenant.active) is None
    assert world.app.operate.reindex.run(TENANT, tenant.active, again=True) is not None
    assert outdated(world) == []
    world.put("team/b.md", text)
    assert outdated(world) == []


def outdated(world: World) -> list[str]:
    page = world.app.documents.document_service.page(
        world.caller, vault=None, prefix="", status=None, cursor=None, limit=10, filters=DetailFilters(outdated=True)
    )
    return [head.key.vault_path for head in page.heads]


def test_every_setting_has_a_nested_name_of_two_parts_which_no_other_has() -> None:
    nested = [each.nested for each in FILE_SETTINGS.values()]

    assert {name.count(".") for name in nested} == {1}
    assert len(set(nested)) == len(nested)


def test_a_nested_file_is_in_force_under_the_flat_names(world: World) -> None:
    drop(world, OWN, retrieval={"min_relevance_score": 0.25}, link_resolution={"max_depth": 1}, max_results=4)

    values = settings(world, "team")
    assert (values.min_relevance, values.max_link_depth, values.max_results) == (0.25, 1, 4)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"retrieval": {"max_docs": 3}}, "retrieval.max_docs: 3 is not allowed (no such setting)"),
        ({"retrieval": {"min_relevance_score": 7}}, "retrieval.min_relevance_score: 7 is not allowed (a number from"),
        ({"search": {"max_results": 3}}, "search: what stands there is not allowed (no such setting)"),
        ({"chunking": 3}, "chunking: 3 is not allowed (an object of tokens, overlap_tokens)"),
        ({"max_results": 3, "retrieval": {"max_results": 4}}, "retrieval.max_results: 4 is not allowed (max_results"),
    ],
)
def test_a_nested_name_that_cannot_be_applied_is_named(world: World, fields: dict[str, Any], problem: str) -> None:
    drop(world, OWN, **fields)

    error = world.head(OWN).error
    assert error is not None
    assert (error.code, problem in error.message) == ("INVALID_SETTINGS", True), error.message


def test_a_nested_prompt_in_a_vaults_file_is_refused(world: World) -> None:
    drop(world, TEAM, generation={"system_prompt": "Be brief."})

    error = world.head(TEAM).error
    assert error is not None
    assert "generation.system_prompt" in error.message
