"""The token budget: what is admitted, in which order it is shown, and that it is never exceeded."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ragdrop.domain.answers import Shown
from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.documents import Facts, PromotionLevel
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import FoundChunk, FoundDocument
from ragdrop.domain.tokens import estimate_tokens
from ragdrop.generate.prompt import CUT, DOCUMENT_OVERHEAD_TOKENS, SEGMENT_OVERHEAD_TOKENS, TOO_LARGE, fit

CHUNK = 1_000
ROOM = 5_500
CHUNK_TOKENS = estimate_tokens("x" * CHUNK)


def document(
    name: str,
    size: int = 5_000,
    *,
    score: float | None = 0.5,
    level: PromotionLevel = "standard",
    matching: int = 0,
    overlap: int = 0,
) -> FoundDocument:
    """A document of *size* characters in chunks of 1,000, of which the one at place *matching* was found.

    Each chunk begins with the last *overlap* characters of the one before.
    """
    facts = Facts(title=name, version_id="v", indexed_at="2026-01-01T00:00:00Z", promotion_level=level, char_count=size)
    key = DocumentKey("acme", "team", name)
    starts = range(0, max(1, size - overlap), CHUNK - overlap)
    hits = [
        Hit(key, 1, Chunk(place, start, min(size, start + CHUNK), "x" * min(CHUNK, size - start)), facts)
        for place, start in enumerate(starts)
    ]
    return FoundDocument(
        key, 1, facts, score, score, (FoundChunk(hits[matching], score),), "x" * size, 0, size, tuple(hits)
    )


def cost(shown: Shown) -> int:
    chunks = sum(estimate_tokens(segment.text) + SEGMENT_OVERHEAD_TOKENS for segment in shown.segments)
    return chunks + sum(label(source.document) for source in shown.sources)


def label(found: FoundDocument) -> int:
    named = estimate_tokens(found.key.vault_path) + estimate_tokens(found.facts.title)
    return DOCUMENT_OVERHEAD_TOKENS + named


def names(shown: Shown, *, whole: bool = False) -> list[str]:
    return [source.document.key.path for source in shown.sources if not (whole and source.cut)]


def test_of_100_documents_of_5000_characters_an_8000_token_budget_takes_the_best_and_lists_the_rest() -> None:
    found = [document(f"{n:03}", score=1 - n / 200) for n in range(100)]

    shown = fit([], found, tokens=ROOM)

    assert names(shown, whole=True) == ["000", "001", "002", "003", "004"]
    assert 0 < len(shown.sources) < 10
    assert names(shown) == sorted(names(shown))
    left_out = {out.key.path for out in shown.excluded if out.reason == TOO_LARGE}
    assert left_out | set(names(shown)) == {f"{n:03}" for n in range(100)}
    assert cost(shown) <= ROOM


def test_the_best_is_admitted_before_critical_before_important_before_the_next_before_linked() -> None:
    rule = document("rule", 1_000, score=0.1, level="critical")
    important = document("imp", 1_000, score=0.2, level="important")
    best = document("best", 1_000, score=0.9)
    next_best = document("next", 1_000, score=0.95)
    linked = document("link", 1_000, score=0.9)
    order = ["best", "rule", "imp", "next", "link"]
    one = CHUNK_TOKENS + SEGMENT_OVERHEAD_TOKENS + label(best)

    for room in range(1, 6):
        shown = fit([rule], [best, next_best, important], [linked], tokens=room * one)

        assert set(names(shown)) == set(order[:room])
        assert {out.key.path for out in shown.excluded} == set(order[room:])


def test_critical_documents_take_their_share_of_a_requests_budget_and_no_more() -> None:
    rules = [document(f"rule{number}", 1_000, level="critical", score=None) for number in range(9)]
    found = [document(f"{number}", 1_000) for number in range(9)]
    room = 8 * (CHUNK_TOKENS + SEGMENT_OVERHEAD_TOKENS + label(rules[0]))

    shown = fit(rules, found, tokens=room, critical_share=0.5)

    assert [source.group for source in shown.sources] == ["critical"] * 4 + ["relevant"] * 4


def test_critical_documents_never_push_out_the_only_relevant_one() -> None:
    rules = [document(f"rule{number}", 1_000, level="critical", score=None) for number in range(9)]

    shown = fit(rules, [document("answer", 3_000, matching=2)], tokens=700, critical_share=1.0)

    assert names(shown)[-1] == "answer"
    assert [segment.hit.chunk.ordinal for segment in shown.sources[-1].segments] == [2]


def test_the_layout_is_critical_then_relevant_as_given_then_linked_and_the_numbers_run_through() -> None:
    shown = fit(
        [document("rule", 2_000, score=None, level="critical")],
        [document("high", 2_000, score=0.3), document("low", 1_000, score=0.9, level="important")],
        [document("linked", 1_000)],
        tokens=ROOM,
    )

    assert names(shown) == ["rule", "high", "low", "linked"]
    assert [segment.number for segment in shown.segments] == [1, 2, 3, 4, 5, 6]


def test_a_critical_document_larger_than_the_budget_is_shown_up_to_a_chunks_end() -> None:
    shown = fit([document("rule", 50_000, level="critical", score=None)], [], tokens=ROOM)

    [source] = shown.sources
    assert source.cut
    assert [segment.hit.chunk.ordinal for segment in source.segments] == list(range(len(source.segments)))
    assert [(out.key.path, out.reason) for out in shown.excluded] == [("rule", CUT)]
    assert ROOM - CHUNK_TOKENS - SEGMENT_OVERHEAD_TOKENS < cost(shown) <= ROOM


def test_what_two_chunks_share_is_shown_and_counted_once() -> None:
    overlapping = document("overlapping", 2_600, overlap=200)
    needed = estimate_tokens("x" * 2_600) + 3 * SEGMENT_OVERHEAD_TOKENS + label(overlapping)

    shown = fit([], [overlapping], tokens=needed + 3)

    assert names(shown, whole=True) == ["overlapping"]
    assert sum(len(segment.text) for segment in shown.segments) == shown.sources[0].characters == 2_600


def test_a_long_document_is_shown_by_the_chunk_that_matches() -> None:
    shown = fit([], [document("long", 50_000, matching=30)], tokens=ROOM)

    assert [segment.hit.chunk.ordinal for segment in shown.segments] == [30]
    assert shown.sources[0].cut


def test_where_one_does_not_fit_the_next_may() -> None:
    shown = fit([], [document("first", 1_000, score=0.9), document("small", 100, score=0.1)], tokens=200)

    assert names(shown) == ["small"]
    assert [(out.key.path, out.reason) for out in shown.excluded] == [("first", TOO_LARGE)]


sizes = st.lists(st.integers(1, 9_000), max_size=12)


@given(critical=sizes, relevant=sizes, linked=sizes, tokens=st.integers(0, 8_000))
def test_it_is_never_over_the_budget_and_every_document_is_shown_or_listed(
    critical: Sequence[int], relevant: Sequence[int], linked: Sequence[int], tokens: int
) -> None:
    groups = [
        [document(f"{group}{place}", size, score=(place % 7) / 7) for place, size in enumerate(sizes_of_group)]
        for group, sizes_of_group in (("c", critical), ("r", relevant), ("l", linked))
    ]

    shown = fit(groups[0], groups[1], groups[2], tokens=tokens)

    assert cost(shown) <= tokens
    reported = {*names(shown, whole=True), *(out.key.path for out in shown.excluded)}
    assert reported == {found.key.path for group in groups for found in group}
    assert {source.document.key.path for source in shown.sources if source.cut} <= {
        out.key.path for out in shown.excluded if out.reason == CUT
    }
    assert [segment.number for segment in shown.segments] == list(range(1, len(shown.segments) + 1))
