"""Search: only live revisions, only what the caller may see."""

from __future__ import annotations

import pytest

from ragdrop.api.mcp.tool_shapes import RagContextSearch, RagQuery
from ragdrop.api.shapes.request_shapes import SearchRequest
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DatabaseError, InvalidParamsError
from ragdrop.ports.message_queue import Change
from ragdrop.tenants.directory import TENANT_TTL_S
from tests.world import World


def test_a_document_is_listed_once_with_its_best_chunks_first(world: World) -> None:
    world.put("team/a.md", "\n\n".join(f"# Part {n}\n\n" + f"alpha beta {n} " * 60 for n in range(6)))

    [document] = world.search("alpha beta").documents

    assert len(document.chunks) == 3
    scores = [chunk.score for chunk in document.chunks]
    assert scores == sorted(scores, key=lambda score: score or 0.0, reverse=True)
    assert document.score == scores[0]


def test_the_limit_counts_documents_and_the_total_does_not(world: World) -> None:
    for n in range(4):
        world.put(f"team/{n}.md", f"alpha number {n}")
    world.now_s += TENANT_TTL_S  # the counter is read with the tenant's item, which is cached for seconds

    found = world.search("alpha", limit=2)

    assert len(found.documents) == 2
    assert (found.total_matches, found.total_indexed) == (4, 4)


def test_vaults_restrict_and_an_unknown_one_is_named(world: World) -> None:
    world.put("one/a.md", "alpha")
    world.put("two/a.md", "alpha")

    assert [document.key.vault for document in world.search("alpha", vaults=("two",)).documents] == ["two"]
    with pytest.raises(InvalidParamsError, match="'three'") as raised:
        world.search("alpha", vaults=("three",))
    assert raised.value.details["allowed"] == ["one", "two"]


def test_a_folder_is_matched_on_segment_boundaries(world: World) -> None:
    world.put("one/notes/a.md", "alpha")
    world.put("one/notes-old/a.md", "alpha")

    found = world.search("alpha", folders=("notes",)).documents

    assert [document.key.path for document in found] == ["notes/a.md"]


def test_a_key_that_is_scoped_to_a_vault_does_not_see_the_others(world: World) -> None:
    world.put("one/a.md", "alpha")
    world.put("two/a.md", "alpha")
    world.caller = Caller("acme", "reader", ("two",))

    assert [document.key.vault for document in world.search("alpha").documents] == ["two"]
    with pytest.raises(InvalidParamsError) as raised:
        world.search("alpha", vaults=("one",))
    assert raised.value.details["allowed"] == ["two"]


def test_a_head_that_could_not_be_read_drops_its_document_and_says_so(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.put("team/b.md", "alpha")
    world.registry.unreadable = {world.key("team/a.md")}

    found = world.search("alpha")

    assert [document.key.path for document in found.documents] == ["b.md"]
    assert found.warnings == ["1 documents could not be verified and are left out"]


def test_a_registry_that_does_not_answer_is_an_error_and_not_an_empty_result(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.search("alpha")
    world.registry.fail_with = DatabaseError("down", service="registry")

    with pytest.raises(DatabaseError):
        world.search("alpha", allow_fallback=False)


def test_superseded_revisions_that_fill_the_candidates_lead_to_one_second_round(world: World) -> None:
    world.put("team/live.md", "alpha")
    world.put("team/gone.md", "\n\n".join(f"# H{n}\n\n" + "alpha " * 120 for n in range(60)))
    world.app.documents.document_service.delete(world.caller, world.key("team/gone.md"))
    before = world.index.calls.count("candidates")

    found = world.search("alpha")

    assert [document.key.path for document in found.documents] == ["live.md"]
    assert world.index.calls.count("candidates") - before <= 2


def test_another_tenants_documents_are_never_found(world: World) -> None:
    world.app.operate.operator.create_tenant("other")
    world.documents.put("other/team/secret.md", b"alpha secret", media_type="text/plain")
    world.deliver(world.message(Change("other/team/secret.md")))
    world.put("team/a.md", "alpha")

    assert world.texts("alpha secret") == ["alpha"]


def test_the_index_knows_the_words_of_every_scope_before_the_vector_is_there(world: World) -> None:
    world.put("team/pumps/a.md", "alpha")

    world.search("alpha of 2026-01-02", prefer_folders=("team/pumps",))

    assert {query.vector for query in world.index.ahead} == {None}
    assert [query.filters for query in world.index.ahead] == [query.filters for query in world.index.asked]


def test_what_the_hits_hold_whole_is_not_read_again() -> None:
    world = World()
    world.put("team/short.md", "alpha beta. See [next](next.md).\n\n")
    world.put("team/next.md", "delta")
    world.search("warm")
    before = len(world.index.calls)

    found = world.search("alpha beta", min_relevance=0.0)

    assert found.documents[0].text == "alpha beta. See [next](next.md)."
    assert "read" not in world.index.calls[before:]


def test_a_document_of_which_the_hits_hold_a_part_is_read() -> None:
    world = World()
    long = "\n\n".join(f"# Part {number}\n\n" + "filler words. " * 120 for number in range(40))
    world.put("team/long.md", f"{long}\n\n# Last\n\nalpha beta")
    world.search("warm")
    before = len(world.index.calls)

    found = world.search("alpha beta", expand="document", min_relevance=0.0)

    assert found.documents[0].text.startswith("# Part 0")
    assert found.documents[0].text.endswith("alpha beta")
    assert world.index.calls[before:].count("read") == 1


@pytest.mark.parametrize("asked", ["runbook", "Runbook", "RUNBOOK"])
def test_doc_types_match_whatever_the_case_of_their_letters(asked: str) -> None:
    world = World()
    world.put("team/a.md", "alpha", doc_type="Runbook")
    world.put("team/b.md", "alpha", doc_type="runbook")
    world.put("team/c.md", "alpha", doc_type="note")
    world.put("team/d.md", "alpha rule", doc_type="RunBook", promotion_level=" Critical ")

    found = world.search("alpha", doc_types=(asked,))

    assert {document.key.path for document in found.documents} == {"a.md", "b.md"}
    assert [document.key.path for document in found.critical] == ["d.md"]


def test_a_doc_type_that_settings_list_is_known_whatever_the_case_of_its_letters() -> None:
    world = World()
    world.put("team/a.md", "alpha", doc_type="insight")
    world.put(".ragdrop.json", '{"doc_types": ["Problem"]}')

    assert world.search("alpha", doc_types=("problem",)).documents == []


@pytest.mark.parametrize(
    "said",
    [
        "---\npromotion_level: CRITICAL\ncontent_type: Decision\n---\nalpha",
        "---\npromotion_level: ' critical '\ncontent_type: DECISION\n---\nalpha",
    ],
)
def test_front_matter_names_levels_and_content_types_in_any_case(said: str) -> None:
    world = World()
    world.put("team/a.md", said)

    [document] = world.search("alpha").critical

    assert (document.facts.promotion_level, document.facts.content_type) == ("critical", "decision")


def test_a_sidecar_names_levels_and_content_types_in_any_case() -> None:
    world = World()
    world.put("team/a.md.metadata.json", '{"promotion_level": "CRITICAL", "content_type": "Chat"}', ingest=False)
    world.put("team/a.md", "alpha")

    [document] = world.search("alpha").critical

    assert (document.facts.promotion_level, document.facts.content_type) == ("critical", "chat")


def test_a_request_names_levels_and_content_types_in_any_case() -> None:
    body = SearchRequest.model_validate(
        {"query": "alpha", "min_promotion_level": "Important", "content_type": ["Chat", "CODE"]}
    )

    assert (body.min_promotion_level, body.content_type) == ("important", ["chat", "code"])
    assert SearchRequest.model_validate({"query": "alpha", "content_type": "Chat"}).content_type == ["chat"]


def test_an_agents_request_names_levels_and_content_types_in_any_case() -> None:
    assert RagQuery.model_validate({"query": "a", "min_promotion_level": "CRITICAL"}).min_promotion_level == "critical"
    assert RagContextSearch.model_validate({"query": "a", "content_type": "Chat"}).content_type == "chat"
