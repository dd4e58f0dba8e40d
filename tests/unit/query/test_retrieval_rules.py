"""The numbers and rules of retrieval (docs/api.md), each tested by name."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ragdrop.domain.chunks import Chunk, Filters, Folder, Hit
from ragdrop.domain.documents import Facts, PromotionLevel
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import Calibration, Curve, EmbeddingSpace
from ragdrop.domain.retrieval import MAX_CANDIDATES, FoundChunk, FoundDocument, Query, candidate_limit
from ragdrop.query.assemble import within_share
from ragdrop.query.cache import answer_name
from ragdrop.query.explain import MAX_BYTES, Decision, explained
from ragdrop.query.fusion import Fused
from ragdrop.query.ranking import Boosts, Cutoff, RankedDocument, judged, rank, within_limit
from ragdrop.query.understand import Scopes, auto_limit
from tests.world import World

FACTS = Facts(title="", version_id="v1", indexed_at="2026-01-01T00:00:00Z")
OVERVIEW = "Give me an overview of everything? And why?"


def hit(path: str, text: str = "x", *, start: int = 0) -> Hit:
    chunk = Chunk(0, start, start + len(text), text)
    return Hit(DocumentKey("acme", "team", path), 1, chunk, FACTS, 0.5)


def found(path: str, text: str, chunk: str) -> FoundDocument:
    best = hit(path, chunk, start=text.index(chunk))
    return FoundDocument(best.key, 1, FACTS, 0.9, 0.9, (FoundChunk(best, 0.9),), text, 0, len(text))


@pytest.mark.parametrize(
    ("query", "limit"),
    [
        (Query("pump code"), 5),
        (Query("pump code", detail="brief"), 3),
        (Query("pump code", detail="detailed"), 7),
        (Query(OVERVIEW), 8),
        (Query(OVERVIEW, detail="detailed"), 8),
        (Query("why? how?"), 6),
        (Query("word " * 20), 6),
        (Query("pump", tags=("a",)), 4),
        (Query("pump", tags=("a",), folders=("b",)), 3),
        (Query("pump", tags=("a",), folders=("b",), session_ids=("c",), detail="brief"), 3),
        (Query("pump", vaults=("team",), doc_types=("note",)), 5),
    ],
)
def test_the_automatic_limit_is_5_and_goes_from_3_to_8_by_breadth_detail_and_narrow_filters(
    query: Query, limit: int
) -> None:
    assert auto_limit(query) == limit


def test_twice_the_limit_but_at_least_30_candidates_are_asked_for_of_each_scope_and_retriever() -> None:
    assert [candidate_limit(limit) for limit in (1, 15, 16, 20)] == [30, 30, 32, 40]


def test_at_most_200_candidates_count_after_merging() -> None:
    fused = [Fused(hit(f"{n}.md"), 1 - n / 1_000, 0.5, None) for n in range(MAX_CANDIDATES + 50)]

    ranked = rank(
        fused, relevance=lambda _: 1.0, cut=Cutoff(0.5), boosts=Boosts(0.0, 0.0), weight=lambda _: 1.0
    ).results

    assert len(ranked) == MAX_CANDIDATES == 200


NEAR = Cutoff(0.7, near_best=0.6)


def judged_by(scores: dict[str, tuple[float, float]], cut: Cutoff) -> tuple[list[str], list[str]]:
    """Results and nearest documents of candidates with these fused scores and relevances."""
    fused = [Fused(hit(path), score, 0.5, None) for path, (score, _) in scores.items()]
    relevance = {path: relevant for path, (_, relevant) in scores.items()}
    found = rank(
        fused, relevance=lambda one: relevance[one.hit.key.path], cut=cut, boosts=Boosts(), weight=lambda _: 1.0
    )
    return [one.key.path for one in found.results], [one.key.path for one in found.nearest]


def test_a_document_near_the_best_is_a_result_where_one_reaches_the_threshold() -> None:
    scores = {"a.md": (1.0, 0.75), "b.md": (0.65, 0.3), "c.md": (0.5, 0.3)}

    assert judged_by(scores, NEAR) == (["a.md", "b.md"], [])
    assert judged_by(scores, Cutoff(0.7)) == (["a.md"], [])


def test_where_none_reaches_the_threshold_the_three_nearest_are_reported_as_such() -> None:
    scores = {f"{name}.md": (1.0 - place / 10, 0.6) for place, name in enumerate("abcd")}

    assert judged_by(scores, NEAR) == ([], ["a.md", "b.md", "c.md"])


def test_noise_is_no_nearest_document() -> None:
    assert judged_by({"a.md": (1.0, 0.01)}, NEAR) == ([], [])


def test_a_caller_who_sets_min_relevance_gets_nothing_under_it() -> None:
    assert judged_by({"a.md": (1.0, 0.89), "b.md": (0.99, 0.95)}, Cutoff(0.9)) == (["b.md"], [])


def test_words_that_are_rare_in_the_index_count_beside_the_share_of_the_question() -> None:
    unfitted = Calibration(EmbeddingSpace("model", 8), Curve(0.4, 0.05))
    judgement = judged({"team": unfitted}, threshold=None, vectors=False, coverage={}, words_of="de")
    rare, common = (Fused(hit("a.md"), 1.0, None, score) for score in (40.0, 2.0))

    assert judgement.relevance(rare) > judgement.cut.threshold > judgement.relevance(common)


def ordered(*orders: float) -> list[RankedDocument]:
    keys = (DocumentKey("acme", "team", f"{place}.md") for place in range(len(orders)))
    return [RankedDocument(key, (), 0.0, order, ()) for key, order in zip(keys, orders, strict=True)]


def test_documents_beyond_the_automatic_limit_are_shown_where_they_are_about_as_good_as_the_best() -> None:
    ranked = ordered(1.0, 0.9, 0.8, 0.7, 0.4)

    assert len(within_limit(ranked, 2, many=10)) == 4
    assert len(within_limit(ranked, 2, many=3)) == 3
    assert len(within_limit(ranked, 5, many=10)) == 5
    assert within_limit([], 2, many=10) == []


@pytest.mark.parametrize("fields", [{"limit": 2}, {"mode": "fast"}, {"detail": "brief"}, {"floor": 0.1}])
def test_a_limit_that_somebody_set_holds_however_many_documents_are_good(fields: dict[str, Any]) -> None:
    world = World()
    for number in range(12):
        world.put(f"team/{number}.md", f"The valve of pump {number} is red.")

    assert len(world.search("Which valve is red?").documents) == 10
    assert len(world.search("Which valve is red?", **fields).documents) <= 5


def test_of_near_identical_documents_a_critical_one_ranks_before_an_important_one() -> None:
    def promoted(path: str, level: PromotionLevel, score: float) -> Fused:
        return Fused(replace(hit(path), facts=replace(FACTS, promotion_level=level)), score, 0.5, None)

    fused = [
        promoted("a.md", "important", 1.0),
        promoted("b.md", "standard", 0.995),
        promoted("c.md", "critical", 0.99),
    ]

    ranked = rank(fused, relevance=lambda _: 1.0, cut=Cutoff(0.5), boosts=Boosts(), weight=lambda _: 1.0).results

    assert [one.key.path for one in ranked] == ["c.md", "a.md", "b.md"]
    assert {one.found().score for one in ranked} == {1.0}  # what is shown stays on the scale


def test_folders_weigh_one_then_a_tenth_less_each_and_never_under_a_tenth() -> None:
    scopes = Scopes(Filters(), tuple(Folder(f"f{n}") for n in range(10)))

    weights = [scopes.weight(DocumentKey("acme", "team", f"f{n}/a.md")) for n in range(12)]

    assert weights == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1]


def test_one_scope_that_fails_leaves_the_others_and_makes_the_answer_degraded_with_a_warning(world: World) -> None:
    world.put("team/a/one.md", "alpha")
    world.put("team/b/two.md", "alpha")
    world.index.fails = lambda query: ("vector", "lexical") if query.filters.folders else ()

    answer = world.search("alpha", prefer_folders=("team/a",), include_critical=False)

    assert {one.key.path for one in answer.documents} == {"a/one.md", "b/two.md"}
    assert (answer.degraded, answer.fallback_level) == (True, 1)
    assert answer.warnings == ["1 of 2 scopes were searched in part or not at all"]


def test_where_the_second_round_is_full_of_superseded_revisions_too_there_is_no_third(world: World) -> None:
    world.put("team/live.md", "alpha gamma delta epsilon")
    for name, words in (("one", "alpha "), ("two", "alpha beta ")):
        world.put(f"team/{name}.md", "\n\n".join(f"# H{n}\n\n" + words * 100 for n in range(60)))
        world.documents.delete(world.key(f"team/{name}.md").s3_key)
        head = world.head(f"team/{name}.md")
        world.registry.tombstone(head.key, head, None, world.now_s)  # its chunks are still indexed
    before = world.index.calls.count("candidates")

    world.search("alpha")

    assert world.index.calls.count("candidates") - before == 2


def test_a_vector_hit_under_the_calibrated_noise_floor_is_dropped_and_debug_says_so(world: World) -> None:
    world.calibrate(Curve(operating_point=0.9, width=0.02))
    world.put("team/same.md", "alpha beta gamma delta")
    world.put("team/far.md", "zeta eta theta iota")

    explained_search = world.search("alpha beta gamma delta", min_relevance=0.7, debug=True).explanation
    assert explained_search is not None

    [far] = [one for one in explained_search.candidates if one.path == "far.md"]
    assert (far.kept, far.reason) == (False, "its cosine is under the noise floor")


def test_critical_documents_take_at_most_their_share_of_the_budget_and_a_warning_says_so(world: World) -> None:
    settings = {"critical_share": 0.1, "max_context_tokens": 4_500}  # 2,000 tokens of documents, 800 characters of it
    world.put(".ragdrop.json", json.dumps(settings))
    rules = " ".join(f"Rule {n} is to be followed at all times." for n in range(200))
    world.put("team/rule.md", f"---\npromotion_level: critical\n---\n\n{rules}")
    world.put("team/a.md", "alpha")

    answer = world.search("alpha")

    [critical] = answer.critical
    assert 400 <= len(critical.text) <= 800
    assert critical.text.endswith(".")
    assert answer.warnings == ["1 critical documents are shortened or left out: they may take 10% of the budget"]


def test_a_critical_document_that_does_not_fit_is_its_best_chunk_or_the_beginning_of_it_and_never_vanishes() -> None:
    long = "Never restart the press. " * 8 + "Call the shift leader first."

    chunk, left, short = within_share([found("a.md", "Before. " * 90 + long, long)], 300)
    cut, _, cut_short = within_share([found("a.md", long, long)], 60)
    gone, _, gone_short = within_share([found("a.md", long, long)], 10)

    assert (chunk[0].text, left, len(short)) == (long, 300 - len(long), 1)
    assert (cut[0].text, cut[0].text_end, len(cut_short)) == (
        "Never restart the press. Never restart the press.",
        49,
        1,
    )
    assert [part.chunk.text for part in cut[0].parts] == [cut[0].text]  # a prompt shows no more of it
    assert (gone, len(gone_short)) == ([], 1)


def test_debug_is_cut_to_stay_under_its_bound_and_says_how_much_was_left_out() -> None:
    fused = [Fused(hit(f"{n}.md", "ü" * 10_000), 0.5, 0.5, None) for n in range(150)]

    shown, left_out = explained(fused, Decision([], [], 0.5, 5, lambda _: 0.9))

    assert sum(len(one.text.encode()) for one in shown) <= MAX_BYTES
    assert (len(shown) > 50, len(shown) + left_out) == (True, 150)


@pytest.mark.parametrize("change", ["generation", "settings", "moves", "calibration", "active", "name"])
def test_an_answer_is_cached_under_everything_of_the_tenant_that_it_depends_on(world: World, change: str) -> None:
    tenant = world.registry.tenant("acme")
    assert tenant is not None
    world.calibrate(Curve(0.4, 0.1))
    world.put(".ragdrop.json", '{"max_results": 4}')
    later = world.registry.tenant("acme")
    values = {
        "calibration": later.calibration,
        "settings": later.settings,
        "active": replace(tenant.active, name="other-1"),
        "name": "other",
    }

    changed = replace(tenant, **{change: values.get(change, 7)})

    assert answer_name(Query("alpha"), world.caller, changed) != answer_name(Query("alpha"), world.caller, tenant)


@pytest.mark.parametrize(
    "field", [{"limit": 3}, {"mode": "fast"}, {"tags": ("a",)}, {"expand": "document"}, {"include_critical": False}]
)
def test_an_answer_is_cached_under_everything_of_the_request_but_the_agent(
    world: World, field: dict[str, object]
) -> None:
    tenant = world.registry.tenant("acme")
    assert tenant is not None
    plain = answer_name(Query("alpha", agent="one"), world.caller, tenant)

    assert plain == answer_name(Query("alpha", agent="two"), world.caller, tenant)
    assert plain != answer_name(Query("alpha", **field), world.caller, tenant)  # type: ignore[arg-type]
