"""Recall of a caller with narrow groups: what others hide takes no room, by whatever rule it is hidden."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from tests.contract.chunk_index_suite import bucket_index
from tests.world import World

HIDDEN, OPEN = 300, 12  # more hidden ones than any list of candidates has


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(index=bucket_index(tmp_path))


def fill(world: World, path: Callable[[int], str], front: str) -> None:
    """Put many hidden documents that answer better than the few open ones, which say the same at greater length."""
    paths = []
    for number in range(HIDDEN):
        paths.append(path(number))
        world.put(paths[-1], f"{front}The pump stands in the cellar.", ingest=False)
    for number in range(OPEN):
        paths.append(f"team/open/{number}.md")
        text = f"The pump number {number} stands by the {'door ' * (number + 1)} in the cellar, as the plan says."
        world.put(paths[-1], text, ingest=False)
    world.changed(*paths)


def found(world: World, *groups: str) -> set[str]:
    caller = Caller(world.tenant, "reader", groups=groups)
    result = world.app.query.search(Query("pump cellar", limit=10, min_relevance=0.0), caller, Deadline.after(30))
    return {document.key.path.split("/")[0] for document in result.documents} | {str(len(result.documents))}


def test_documents_hidden_by_a_rule_take_no_room_from_others(world: World) -> None:
    world.put("team/.ragdrop.json", '{"access": [{"path": "hr/**", "groups": ["hr"]}]}')
    fill(world, lambda number: f"team/hr/{number}.md", "")

    assert found(world) == {"open", "10"}
    assert "hr" in found(world, "hr")


def test_documents_hidden_by_their_own_list_take_no_room_from_others(world: World) -> None:
    fill(world, lambda number: f"team/own/{number}.md", "---\naccess: [hr]\n---\n")

    assert found(world) == {"open", "10"}
    assert "own" in found(world, "hr")
