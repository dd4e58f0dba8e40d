"""Retrieval from end to end: the rules of docs/api.md, held over every kind of index alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import Curve
from ragdrop.domain.retrieval import Retrieval
from ragdrop.errors import EmbeddingServiceError, InvalidDocTypeError, InvalidParamsError
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from tests.contract.chunk_index_suite import ENGINES, bucket_index
from tests.contract.opensearch_node import opensearch_url
from tests.world import World

WORDS = "alpha beta gamma delta"


@pytest.fixture(params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A tenant of its own on each engine; all the rest are fakes."""
    if request.param == "memory":
        yield World()
    elif request.param == "bucket":
        yield World(index=bucket_index(tmp_path))
    else:
        index = OpenSearchChunkIndex.from_url(opensearch_url(), shards=1)
        held = World(f"t-{uuid4().hex[:12]}", index=index)
        yield held
        tenant = held.registry.tenant(held.tenant)
        assert tenant is not None
        index.drop(tenant.index, Deadline.after(30))


def paths(found: Retrieval) -> list[str]:
    return [document.key.vault_path for document in found.documents]


def note(body: str, **fields: Any) -> str:
    """A document with front matter."""
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", "", body, ""])


def test_every_filter_of_the_contract_leaves_only_what_matches_it(world: World) -> None:
    fields = {
        "doc_type": "problem",
        "category": "ops",
        "tags": "[red, blue]",
        "session_id": "s-1",
        "date": "2026-03-01",
        "promotion_level": "important",
        "attributes": "{game: go}",
        "content_type": "decision",
    }
    world.put("team/notes/a.md", note(WORDS, **fields))
    world.put("team/other/b.md", note(WORDS, doc_type="insight", date="2025-01-01"))
    world.put("ops/c.md", note(WORDS))
    asked: list[dict[str, Any]] = [
        {"folders": ("team/notes",)},
        {"doc_types": ("problem",)},
        {"content_types": ("decision",)},
        {"categories": ("ops", "other")},
        {"tags": ("blue", "green")},
        {"session_ids": ("s-1",)},
        {"date_from": "2026-03-01"},
        {"date_from": "2025-06-01", "date_to": "2026-03-01"},
        {"attributes": {"game": "go"}},
        {"min_promotion_level": "important"},
        {"vaults": ("team",), "tags": ("red",)},
    ]

    assert [paths(world.search(WORDS, **each)) for each in asked] == [["team/notes/a.md"]] * len(asked)
    assert len(paths(world.search(WORDS, min_promotion_level="standard"))) == 3


def test_an_unknown_doc_type_is_refused_and_the_valid_ones_of_the_vaults_in_scope_are_named(world: World) -> None:
    world.put("team/a.md", note(WORDS, doc_type="problem"))
    world.put("hr/b.md", note(WORDS, doc_type="contract"))

    with pytest.raises(InvalidDocTypeError) as raised:
        world.search(WORDS, doc_types=("poem",), vaults=("team",))

    assert raised.value.details == {"field": "doc_types", "value": "poem", "allowed": ["problem"]}


def test_an_unknown_vault_is_refused_and_an_unknown_folder_matches_nothing(world: World) -> None:
    world.put("team/a.md", WORDS)

    with pytest.raises(InvalidParamsError, match="'nowhere'"):
        world.search(WORDS, vaults=("nowhere",))
    assert world.search(WORDS, folders=("nowhere",)).abstained


def test_preferred_folders_change_the_order_and_neither_scores_nor_the_threshold(world: World) -> None:
    text = WORDS + " one two three four five six seven eight"
    world.put("team/a/one.md", text)
    world.put("team/b/two.md", text + " epsilon")
    plain = world.search(text)

    preferred = world.search(text, prefer_folders=("team/b",))

    assert (paths(plain)[0], paths(preferred)[0]) == ("team/a/one.md", "team/b/two.md")
    assert {one.key: one.score for one in plain.documents} == {one.key: one.score for one in preferred.documents}


def test_what_is_under_min_relevance_is_not_given_and_nothing_over_it_abstains(world: World) -> None:
    world.calibrate(Curve(operating_point=0.9, width=0.02))
    world.put("team/same.md", WORDS)
    world.put("team/near.md", WORDS + " " + "other words here and more of them " * 3)

    found = world.search(WORDS, min_relevance=0.7)
    none = world.search("unheard of", min_relevance=0.7)

    assert (paths(found), found.total_matches, found.abstained) == (["team/same.md"], 1, False)
    assert (paths(none), none.total_matches, none.abstained) == ([], 0, True)


def test_important_adds_a_tenth_and_critical_fifteen_hundredths_capped_at_one(world: World) -> None:
    world.calibrate(Curve(operating_point=1.8, width=0.4))
    text = WORDS + " one two three"
    for level in ("standard", "important", "critical"):
        world.put(f"team/{level}.md", note(text, promotion_level=level))

    found = world.search(text + " four")
    added = {
        one.facts.promotion_level: round((one.score or 0) - (one.raw_score or 0), 6)
        for one in (*found.documents, *found.critical)
    }
    plain = world.search(text + " four", apply_boosting=False)

    assert added == {"standard": 0.0, "important": 0.1, "critical": 0.15}
    assert paths(found) == ["team/important.md", "team/standard.md"]
    assert all(one.score == one.raw_score for one in (*plain.documents, *plain.critical))


def test_a_critical_document_comes_first_whatever_its_score_and_alone_does_not_stop_abstaining(world: World) -> None:
    world.calibrate(Curve(operating_point=0.9, width=0.02))
    world.put("team/rule.md", note("never restart the press", promotion_level="critical", doc_type="rule"))
    world.put("team/same.md", WORDS)

    found = world.search(WORDS, min_relevance=0.7, limit=1)
    alone = world.search("unheard of", min_relevance=0.7)

    assert [one.key.path for one in found.critical] == ["rule.md"]
    assert paths(found) == ["team/same.md"]  # not counted against the limit
    assert found.critical[0].raw_score is not None
    assert found.critical[0].raw_score < 0.7
    assert "never restart the press" in found.critical[0].text
    assert (len(alone.critical), alone.abstained) == (1, True)
    assert world.search(WORDS, include_critical=False).critical == []


def test_a_critical_document_that_answers_stands_once_and_counts_as_a_match(world: World) -> None:
    world.put("team/rule.md", note(WORDS, promotion_level="critical"))

    found = world.search(WORDS)

    assert (len(found.critical), paths(found), found.total_matches, found.abstained) == (1, [], 1, False)


def test_critical_documents_obey_vaults_and_doc_types_and_no_other_filter(world: World) -> None:
    world.put("team/rule.md", note("never restart", promotion_level="critical", doc_type="rule"))
    world.put("ops/other.md", note("always restart", promotion_level="critical", doc_type="habit"))
    world.put("team/a.md", note(WORDS, tags="[red]", doc_type="note"))

    def critical(**fields: Any) -> list[str]:
        return sorted(one.key.path for one in world.search(WORDS, **fields).critical)

    assert critical() == ["other.md", "rule.md"]
    assert critical(vaults=("team",), tags=("red",)) == ["rule.md"]
    assert critical(doc_types=("habit",)) == ["other.md"]


def test_the_text_of_a_result_is_always_the_parsed_text_between_its_offsets(world: World) -> None:
    text = "\n\n\n".join(f"## Part {n}\n\nalpha beta {n}. " + f"filler {n} words \n" * 40 for n in range(12)) + "\n\n"
    world.put("team/long.md", text)
    parsed = world.app.documents.document_service.text(world.caller, world.key("team/long.md"))

    for expand in ("auto", "neighbours", "document"):
        [document] = world.search("alpha beta 7", expand=expand).documents
        assert parsed[document.text_start : document.text_end] == document.text
        assert document.chunks[0].hit.chunk.text in document.text


def test_a_document_of_up_to_500_lines_is_given_whole_and_a_longer_one_by_its_neighbours(world: World) -> None:
    def lines(count: int) -> str:
        return "\n".join(f"alpha line {n}" for n in range(count))

    world.put("team/short.md", lines(500))
    world.put("team/long.md", lines(501))

    by_name = {one.key.path: one for one in world.search("alpha line").documents}
    whole = {one.key.path: one for one in world.search("alpha line", expand="document").documents}

    assert by_name["short.md"].text == lines(500)
    assert len(by_name["long.md"].text) < len(lines(501))
    assert whole["long.md"].text == lines(501)


def test_a_whole_search_asks_the_index_twice_and_the_registry_once(world: World) -> None:
    world.put("team/rule.md", note("never restart", promotion_level="critical"))
    parts = "\n\n".join(f"## Part {n}\n\n" + f"filler {n} words\n" * 40 for n in range(90))
    world.put("team/a.md", f"{WORDS}\n\n{parts}")  # more chunks than hits come
    world.search(WORDS)  # the tenant's item and the heads are then cached
    before = len(world.registry.calls)
    indexed = list(getattr(world.index, "calls", []))

    world.search(WORDS, follow_links=False)

    assert world.registry.calls[before:] == ["change_counts"]
    if indexed:
        assert world.index.calls[len(indexed) :] == ["candidates", "read"]


def test_linked_documents_say_whence_and_how_far_and_never_repeat_a_result(world: World) -> None:
    world.put("team/a.md", WORDS + "\n\n[the valve](b.md) and [itself](a.md)\n")
    world.put("team/b.md", "the valve is shut, see [more](c.md)")
    world.put("team/c.md", "deep matters")

    found = world.search(WORDS, limit=1)

    assert [(one.key.path, one.linked_from.path, one.link_depth) for one in found.linked] == [
        ("b.md", "a.md", 1),
        ("c.md", "b.md", 2),
    ]
    assert world.search(WORDS, limit=1, follow_links=False).linked == []
    assert world.search(WORDS, limit=1, mode="fast").linked == []
    assert world.search(WORDS, limit=1, max_linked_docs=0).linked == []


def test_lexical_search_alone_answer_at_level_2_where_only_the_embedding_service_fails(world: World) -> None:
    world.put("team/a.md", WORDS)
    world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")

    found = world.search(WORDS, min_relevance=0.7)

    assert (paths(found), found.fallback_level, found.score_basis, found.degraded) == (
        ["team/a.md"],
        2,
        "lexical",
        True,
    )
    assert found.warnings == ["the embedding service did not answer: found by words alone"]
    with pytest.raises(EmbeddingServiceError):
        world.search(WORDS, allow_fallback=False)


def test_a_wrong_dimension_is_an_error_and_never_a_fallback(world: World) -> None:
    world.put("team/a.md", WORDS)
    world.embedder.fail_with = EmbeddingServiceError("7 dimensions", service="embedding", retryable=False)

    with pytest.raises(EmbeddingServiceError):
        world.search(WORDS)


def test_the_context_has_three_headed_groups_and_every_segment_its_particulars(world: World) -> None:
    world.put("team/rule.md", note("never restart", promotion_level="critical", date="2026-03-01"))
    world.put("team/a.md", note(WORDS + "\n\n[the valve](b.md)", doc_type="problem"))
    world.put("team/b.md", "the valve is shut")

    context = world.search(WORDS, limit=1, include_context=True).context or ""

    heads = [context.index(f"# {name} documents") for name in ("Critical", "Relevant", "Linked")]
    assert heads == sorted(heads)
    for line in ("path: team/a.md", "type: problem", "promotion level: critical", "date: 2026-03-01"):
        assert line in context
    assert "linked from: team/a.md" in context
    assert context.count("relevance: ") == context.count("characters: ") == 3


def test_debug_reports_of_every_candidate_why_it_was_returned_or_dropped(world: World) -> None:
    world.calibrate(Curve(operating_point=0.9, width=0.02))
    world.put("team/same.md", WORDS)
    world.put("team/far.md", "alpha " + "other words here and more of them " * 3)

    told = world.search(WORDS, min_relevance=0.7, debug=True).explanation
    assert told is not None
    by_path = {one.path: one for one in told.candidates}

    assert (by_path["same.md"].kept, by_path["same.md"].rank, by_path["same.md"].reason) == (True, 1, "kept")
    assert not by_path["far.md"].kept
    assert "under" in by_path["far.md"].reason
    assert all(one.score_lexical is None or 0 <= one.score_lexical <= 1 for one in told.candidates)
    assert told.settings["min_relevance"] == {"value": 0.7, "from": "request"}
    assert world.search(WORDS).explanation is None
