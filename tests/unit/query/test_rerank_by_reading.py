"""`rerank` on a search: the reader orders the first results, says so, and costs nothing where it is not asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ragdrop.domain.retrieval import Reranking
from ragdrop.errors import ReaderError
from ragdrop.ports.model_services import Reading
from testing.memory_services import WordReader
from tests.world import World

QUESTION = "What is the pump code of the old mill?"
RERANKED = Reranking("reranked", "ragdrop-reader")
DOWN = ReaderError("down", service="reader", reason="unreachable")


class PrefersMills(WordReader):
    """Takes what is of a mill for the answer."""

    def _reading(self, query: str, passage: str) -> Reading:
        return replace(super()._reading(query, passage), relevance=float("miller" in passage))


def filled(reader: WordReader | None) -> World:
    """A world in which the words put the wrong document first."""
    world = World(reader=reader) if reader is not None else World()
    world.put("team/words.md", "What is the pump code of the old mill? Nobody knows the code of the pump.")
    world.put("team/answer.md", "The miller opens the old pump by 4711.")
    return world


def order(world: World, **fields: Any) -> list[str]:
    return [document.key.path for document in world.search(QUESTION, **fields).documents]


def test_the_reader_orders_the_results_and_changes_no_score() -> None:
    world = filled(PrefersMills())

    plain, reranked = world.search(QUESTION), world.search(QUESTION, rerank=True)

    assert [document.key.path for document in plain.documents] == ["words.md", "answer.md"]
    assert [document.key.path for document in reranked.documents] == ["answer.md", "words.md"]
    assert {each.key: each.score for each in plain.documents} == {each.key: each.score for each in reranked.documents}
    assert (plain.reranking, reranked.reranking) == (None, RERANKED)


def test_a_search_that_does_not_ask_for_it_reads_nothing() -> None:
    reader = PrefersMills()

    order(filled(reader))

    assert reader.asked == []


def test_the_limit_cuts_behind_the_new_order() -> None:
    assert order(filled(PrefersMills()), rerank=True, limit=1) == ["answer.md"]


def test_a_reranked_answer_is_cached_apart_from_the_plain_one() -> None:
    world = filled(PrefersMills())
    both = [order(world, rerank=rerank) for rerank in (False, True)]

    again = [world.search(QUESTION, rerank=rerank) for rerank in (False, True)]

    assert [found.served_by for found in again] == ["cache", "cache"]
    assert [[document.key.path for document in found.documents] for found in again] == both
    assert again[1].reranking == RERANKED


def test_without_a_reader_a_field_says_so_and_nothing_is_degraded() -> None:
    found = filled(None).search(QUESTION, rerank=True)

    assert [document.key.path for document in found.documents] == ["words.md", "answer.md"]
    assert (found.reranking, found.degraded, found.warnings) == (Reranking("no_reader"), False, [])


def test_a_reader_that_fails_leaves_the_order_of_the_search_and_a_warning() -> None:
    reader = PrefersMills()
    world = filled(reader)
    reader.fail_with = DOWN

    found = world.search(QUESTION, rerank=True)

    assert [document.key.path for document in found.documents] == ["words.md", "answer.md"]
    assert (found.reranking, found.degraded) == (Reranking("not_read"), True)
    assert [warning for warning in found.warnings if "the reader did not answer" in warning]
    reader.fail_with = None
    assert world.search(QUESTION, rerank=True).reranking == RERANKED  # what was degraded is not cached


@pytest.mark.parametrize(
    ("question", "status"),
    [("Wie lautet der Code der alten Pumpe in der Mühle?", "language"), ("zebra", "nothing_found")],
)
def test_what_is_not_read_says_why(question: str, status: str) -> None:
    world = filled(PrefersMills())
    fields: dict[str, Any] = {"tags": ("none",)} if status == "nothing_found" else {}

    assert world.search(question, rerank=True, **fields).reranking == Reranking(status)  # type: ignore[arg-type] # parameters


def test_a_code_that_is_named_stays_first_whatever_the_reader_says() -> None:
    world = World(reader=PrefersMills())
    world.put("team/code.md", "The valve QX-5521 is in the cellar.")
    world.put("team/mill.md", "The miller knows where the valve is.")

    found = world.search("Where is the valve QX-5521?", rerank=True)

    assert found.reranking == RERANKED
    assert found.documents[0].key.path == "code.md"


class KnowsMills(WordReader):
    """Finds an answer in what is of a mill, and in nothing else."""

    def _reading(self, query: str, passage: str) -> Reading:
        return replace(
            super()._reading(query, passage), answerable=0.95 if "miller" in passage else 0.01, relevance=0.5
        )


def far_away(text: str, reader: WordReader) -> World:
    """A world with a document that is too far from the question for a result."""
    world = World(settings={"MIN_RELEVANCE": "0.7"}, reader=reader)
    world.put("team/far.md", text)
    return world


FAR = "Who may lift that gate during floods at night?"


def test_what_is_under_the_threshold_is_a_result_where_the_reader_takes_it_to_answer() -> None:
    world = far_away("The miller may lift the gate at night.", KnowsMills())

    found = world.search(FAR)

    assert [document.key.path for document in found.documents] == ["far.md"]
    assert (found.abstained, found.nearest, found.total_matches) == (False, [], 1)


def test_what_the_reader_finds_no_answer_in_stays_under_the_threshold() -> None:
    found = far_away("The baker may lift the gate at night.", KnowsMills()).search(FAR)

    assert found.abstained
    assert [document.key.path for document in found.nearest] == ["far.md"]


def test_a_threshold_of_the_request_decides_whatever_the_reader_says() -> None:
    reader = KnowsMills()

    found = far_away("The miller may lift the gate at night.", reader).search(FAR, min_relevance=0.7)

    assert found.abstained
    assert reader.asked == []
