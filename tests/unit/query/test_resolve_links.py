"""Resolving links: where each leads, and what that costs the registry."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import Link
from ragdrop.query.follow_links import resolve_links, targets_of
from tests.world import World


def leads_to(world: World, *links: str, known: dict[DocumentKey, int] | None = None) -> list[str | None]:
    """The paths that links of `team/notes/a.md` lead to."""
    targets = targets_of([(world.key("team/notes/a.md"), [Link(link) for link in links])], across_vaults=False)
    world.registry.calls.clear()
    found = resolve_links(world.registry, targets, Deadline.after(10), known=known)
    return [live[0].path if live else None for live in found]


def test_documents_that_links_name_as_they_are_written_cost_one_batch_read(world: World) -> None:
    world.put("team/notes/b.md", "words")
    world.put("team/top.md", "words")

    assert leads_to(world, "b.md", "../top.md#part", "b.md") == ["notes/b.md", "top.md", "notes/b.md"]
    assert world.registry.calls == ["named_and_heads"]


def test_what_only_a_name_shows_costs_a_second_one(world: World) -> None:
    world.put("team/notes/b.md", "words")
    world.put("team/deep/C.md", "words")

    assert leads_to(world, "b.md", "[[c]]", "../deep/c.md", "no.md") == ["notes/b.md", "deep/C.md", "deep/C.md", None]
    assert world.registry.calls == ["named_and_heads", "heads"]


def test_links_to_known_documents_cost_nothing(world: World) -> None:
    known = {world.key("team/notes/b.md"): 7}

    assert leads_to(world, "b.md", "b.md#part", known=known) == ["notes/b.md", "notes/b.md"]
    assert world.registry.calls == []


def test_a_name_that_leads_to_a_known_document_costs_the_look_at_the_name_alone(world: World) -> None:
    world.put("team/deep/b.md", "words")
    known = {world.key("team/deep/b.md"): 7}

    assert leads_to(world, "[[b]]", known=known) == ["deep/b.md"]
    assert world.registry.calls == ["named_and_heads"]


def test_a_path_as_written_goes_before_one_that_differs_in_case(world: World) -> None:
    world.put("team/notes/B.md", "words")
    assert leads_to(world, "b.md") == ["notes/B.md"]

    world.put("team/notes/b.md", "words")

    assert leads_to(world, "b.md", "B.md") == ["notes/b.md", "notes/B.md"]


def test_a_name_with_blanks_leads_to_a_file_with_hyphens_behind_one_with_blanks(world: World) -> None:
    world.put("team/deep/pump-guide.md", "words")
    assert leads_to(world, "[[Pump Guide]]") == ["deep/pump-guide.md"]

    world.put("team/deep/Pump Guide.md", "words")

    assert leads_to(world, "[[Pump Guide]]") == ["deep/Pump Guide.md"]


def test_of_more_links_than_one_batch_has_room_for_the_names_come_first(world: World) -> None:
    paths = [f"notes/p{number}.md" for number in range(60)]
    for path in paths:
        world.put(f"team/{path}", "words")

    assert leads_to(world, *(path.removeprefix("notes/") for path in paths)) == paths
    assert world.registry.calls == ["named_and_heads", "heads"]


def test_a_head_that_stayed_unread_is_asked_for_again(world: World) -> None:
    world.put("team/notes/b.md", "words")
    world.registry.unreadable.add(world.key("team/notes/b.md"))

    assert leads_to(world, "b.md", "[[other]]") == [None, None]
    assert world.registry.calls == ["named_and_heads", "heads"]
