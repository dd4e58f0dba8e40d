"""A search with ranked folders or a reranker: they move results, and a failure of theirs is a warning."""

from __future__ import annotations

import pytest

from ragdrop.errors import GenerationError, RerankError
from ragdrop.query.candidates import NOT_RERANKED
from ragdrop.query.understand import ALL_FOLDERS
from testing.memory_services import WordReranker
from tests.world import World


@pytest.fixture
def world() -> World:
    made = World()
    made.app.ports.reranker = None
    for folder in ("alpha", "beta", "gamma"):
        made.put(f"team/{folder}/a.md", "The pump is red.")
    return made


def folders(world: World, **fields: object) -> list[str]:
    return [document.key.path.partition("/")[0] for document in world.search("pump", **fields).documents]


def test_the_folders_that_the_model_chose_come_behind_the_preferred_ones_and_before_the_rest(world: World) -> None:
    world.chat.reply = '["team/gamma"]'

    assert folders(world, prefer_folders=("beta",), rank_folders=True) == ["beta", "gamma", "alpha"]
    assert folders(world, rank_folders=True, mode="fast")[0] == "alpha"


def test_debug_reports_the_folders_chosen_and_those_there_were(world: World) -> None:
    world.chat.reply = '["team/gamma"]'

    explanation = world.search("pump", rank_folders=True, debug=True).explanation

    assert explanation is not None
    assert explanation.folders_selected == ["team/gamma"]
    assert explanation.folders_available == ["team/alpha", "team/beta", "team/gamma"]


def test_a_ranking_that_fails_makes_the_answer_degraded_and_is_not_cached(world: World) -> None:
    world.chat.fail_with = GenerationError("down", service="chat")

    found = world.search("pump", rank_folders=True)

    assert (len(found.documents), found.degraded, found.warnings) == (3, True, [ALL_FOLDERS])
    assert world.search("pump", rank_folders=True).served_by == "index"


def test_a_reranker_moves_the_best_and_its_failure_is_reported() -> None:
    world, reranker = World(), WordReranker()
    world.app.ports.reranker = reranker
    world.put("team/a.md", "pump pump pump pump")
    world.put("team/b.md", "where does a pump stand")

    assert [document.key.path for document in world.search("where stand pump").documents] == ["b.md", "a.md"]
    reranker.fail_with = RerankError("down", service="rerank")
    found = world.search("where does the pump stand")
    assert (found.degraded, found.warnings) == (True, [NOT_RERANKED])
