"""Following links: which documents come, in which order, at what cost, and what a session changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import Followed, Query
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DatabaseError, EmbeddingServiceError
from ragdrop.query.follow_links import LinkRequest
from ragdrop.query.view import View
from tests.world import World


def follow(
    world: World, *roots: str, query: str = "pump seal", caller: Caller | None = None, **options: Any
) -> Followed:
    """Follow links from *roots*, which are found by what they are about."""
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    found = world.app.query.search(Query("root", limit=20), world.caller, Deadline.after(10)).documents
    by_path = {document.key.vault_path: document for document in found}
    exclude = options.pop("exclude", set())
    vector = world.embedder.query(query, tenant.active.space, Deadline.after(10))
    request = LinkRequest(tenant, caller or world.caller, vector, max_docs=5, max_depth=2)
    world.registry.calls.clear()
    world.index.calls.clear()
    return world.app.query.uncached_search._follow_links(
        view(world),
        [by_path[root] for root in roots],
        replace(request, **options),
        exclude=exclude,
        deadline=Deadline.after(10),
    )


def view(world: World) -> View:
    """The world's registry and index, nothing cached."""
    return View(world.app.ports.guarded_registry, world.app.ports.guarded_index)


def rows(followed: Followed) -> list[tuple[str, str, int, str]]:
    return [
        (document.key.vault_path, document.linked_from.vault_path, document.link_depth, document.link_text)
        for document in followed.documents
    ]


def test_a_linked_document_reports_where_it_was_linked_how_deep_and_by_which_words(world: World) -> None:
    world.put("team/a.md", "root: see [the parts](sub/b%20c.md#seals) and [[Deep]]")
    world.put("team/sub/b c.md", "pump seal parts, and [back](../a.md), [on](/notes/c)")
    world.put("team/notes/c.md", "the seal of a pump")
    world.put("team/notes/deep.md", "weather")

    followed = follow(world, "team/a.md")

    assert rows(followed) == [
        ("team/sub/b c.md", "team/a.md", 1, "the parts"),
        ("team/notes/deep.md", "team/a.md", 1, "Deep"),
        ("team/notes/c.md", "team/sub/b c.md", 2, "on"),
    ]
    first = followed.documents[0]
    assert first.text.startswith("pump seal parts")
    assert first.score == first.raw_score
    assert 0.0 < (first.score or 0.0) <= 1.0
    assert followed.warnings == []


def test_the_score_of_a_linked_document_is_calibrated_like_that_of_a_result(world: World) -> None:
    world.put("team/a.md", "root: see [b](b.md)")
    world.put("team/b.md", "pump seal, the root of all")

    [linked] = world.search("root see", limit=1, min_relevance=0.0).linked
    as_result = next(
        one
        for one in world.search("root see", min_relevance=0.0, follow_links=False).documents
        if one.key == linked.key
    )

    assert linked.score == linked.raw_score == linked.chunks[0].score
    assert linked.score == pytest.approx(as_result.score, abs=0.01)


def test_without_the_querys_vector_the_relevance_of_a_linked_document_is_unknown(world: World) -> None:
    world.put("team/a.md", "root: see [b](b.md)")
    world.put("team/b.md", "weather")
    world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")

    assert [document.score for document in world.search("root").linked] == [None]


def test_similarity_decides_within_a_level_and_the_number_of_documents_is_bounded(world: World) -> None:
    world.put("team/a.md", "root [1](weather.md) [2](pump.md) [3](half.md)")
    world.put("team/weather.md", "rain and wind")
    world.put("team/pump.md", "pump seal")
    world.put("team/half.md", "pump and rain")

    paths = [document.key.path for document in follow(world, "team/a.md", max_docs=2).documents]

    assert paths == ["pump.md", "half.md"]


@pytest.mark.parametrize(("max_docs", "max_depth"), [(0, 2), (5, 0)])
def test_zero_turns_links_off_and_costs_nothing(world: World, max_docs: int, max_depth: int) -> None:
    world.put("team/a.md", "root [b](b.md)")
    world.put("team/b.md", "pump")

    assert follow(world, "team/a.md", max_docs=max_docs, max_depth=max_depth).documents == []
    assert (world.registry.calls, world.index.calls) == ([], [])


def test_depth_one_stops_after_the_first_level(world: World) -> None:
    world.put("team/a.md", "root [b](b.md)")
    world.put("team/b.md", "pump [c](c.md)")
    world.put("team/c.md", "seal")

    assert [document.key.path for document in follow(world, "team/a.md", max_depth=1).documents] == ["b.md"]


def test_cycles_self_links_results_and_excluded_documents_do_not_come_again(world: World) -> None:
    world.put("team/a.md", "root [self](a.md) [b](b.md) [r](r.md) [x](x.md)")
    world.put("team/b.md", "pump [a](a.md) [b](b.md) [x](x.md)")
    world.put("team/r.md", "root too [b](b.md)")
    world.put("team/x.md", "pump")

    followed = follow(world, "team/a.md", "team/r.md", exclude={world.key("team/x.md")})

    assert [document.key.path for document in followed.documents] == ["b.md"]


def test_several_hits_that_link_to_a_document_raise_its_order_and_not_its_score(world: World) -> None:
    for root in ("a", "b", "c", "d", "e", "f"):
        world.put(
            f"team/{root}.md", f"root {root} [one](once.md) [many](many.md)" if root == "a" else "root [m](many.md)"
        )
    world.put("team/once.md", "# pump rain")
    world.put("team/many.md", "# pump rain wind")

    first, second = follow(world, *(f"team/{root}.md" for root in "abcdef")).documents

    assert (first.key.path, second.key.path) == ("many.md", "once.md")
    assert (first.score or 0.0) < (second.score or 0.0)


def test_links_never_leave_tenant_vault_or_the_keys_vaults(world: World) -> None:
    world.put("team/a.md", "root [o](../other/b.md) [t](../../globex/team/s.md) [[s]] [r](/other/b.md)")
    world.put("other/b.md", "pump")
    globex = World("globex", registry=world.registry, index=world.index, documents=world.documents)
    globex.put("team/s.md", "pump secret")

    assert follow(world, "team/a.md").documents == []
    across = follow(world, "team/a.md", across_vaults=True).documents
    assert [document.key for document in across] == [DocumentKey("acme", "other", "b.md")]
    scoped = Caller(world.tenant, "reader", vaults=("team",))
    assert follow(world, "team/a.md", across_vaults=True, caller=scoped).documents == []


def test_a_deleted_and_a_pending_target_are_not_served_and_an_overwritten_one_is_as_it_is_now(world: World) -> None:
    world.put("team/a.md", "root [b](b.md) [c](c.md)")
    world.put("team/b.md", "pump old")
    world.put("team/b.md", "pump new")
    world.put("team/c.md", "pump gone")
    world.delete("team/c.md")

    assert [document.text for document in follow(world, "team/a.md").documents] == ["pump new"]


def test_in_one_session_no_document_is_expanded_twice_and_in_another_it_is(world: World) -> None:
    world.put("team/a.md", "root [b](b.md)")
    world.put("team/b.md", "pump [c](c.md)")
    world.put("team/c.md", "seal")

    assert len(follow(world, "team/a.md", session="one").documents) == 2
    assert follow(world, "team/a.md", session="one").documents == []
    assert world.registry.calls == []
    assert len(follow(world, "team/a.md", session="two").documents) == 2
    world.now_s += 3_601
    assert len(follow(world, "team/a.md", session="one").documents) == 2


def test_an_outage_of_the_visited_cache_is_a_warning(world: World) -> None:
    world.put("team/a.md", "root [b](b.md)")
    world.put("team/b.md", "pump")
    world.visited.fail_with = DatabaseError("down", service="registry")

    followed = follow(world, "team/a.md", session="one")

    assert [document.key.path for document in followed.documents] == ["b.md"]
    assert len(followed.warnings) == 2


def test_without_a_vector_links_come_in_the_order_of_their_place(world: World) -> None:
    world.put("team/a.md", "root [b](b.md) [c](c.md)")
    world.put("team/b.md", "rain")
    world.put("team/c.md", "pump seal")
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    roots = world.app.query.search(Query("root"), world.caller, Deadline.after(10)).documents
    request = LinkRequest(tenant, world.caller, None, max_docs=5, max_depth=1)

    followed = world.app.query.uncached_search._follow_links(
        view(world), roots[:1], request, exclude=set(), deadline=Deadline.after(10)
    )

    assert roots[0].key.path == "a.md"
    assert [document.key.path for document in followed.documents] == ["b.md", "c.md"]


def test_hubs_of_two_hundred_links_cost_two_batch_reads_a_level_and_one_write_and_give_five(world: World) -> None:
    pages = 1_000
    for page in range(pages):
        links = " ".join(f"[{page + step}](p{(page + step) % pages}.md)" for step in range(1, 201))
        text = f"{'root ' * 40 if page < 5 else ''}pump {page} {links}"
        world.put(f"team/p{page}.md", text, ingest=False)
    paths = [f"team/p{page}.md" for page in range(pages)]
    world.deliver(world.message(*map(world.change, paths)), left_s=600)  # a busy machine takes a while for a thousand
    roots = paths[:3]
    world.visited.calls.clear()

    first = follow(world, *roots, session="one")

    assert len(first.documents) == 5
    assert world.registry.calls == ["named_and_heads", "heads"]
    assert world.index.calls.count("nearest_of") <= 1
    assert world.visited.calls == ["visited", "note"]

    second = follow(world, *roots, session="one")

    assert second.documents == []
    assert (world.registry.calls, world.index.calls) == ([], [])
    assert world.visited.calls == ["visited", "note", "visited"]
