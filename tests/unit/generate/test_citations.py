"""Citations: markers resolved, sentences checked, and nothing leaves before its check."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragdrop.domain.answers import Citation, Segment
from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.generate.citations import AnswerReader, CitationPolicy, CitedAnswer


def segment(number: int, text: str, *, path: str = "pump.md", headings: tuple[str, ...] = ()) -> Segment:
    facts = Facts(title=path, version_id="v1", indexed_at="2026-01-01T00:00:00Z")
    return Segment(
        number, Hit(DocumentKey("acme", "team", path), 1, Chunk(0, 100, 100 + len(text), text, headings), facts)
    )


def cite(answer: str, segments: list[Segment], policy: CitationPolicy = "mark") -> CitedAnswer:
    return AnswerReader(segments, bucket="b", policy=policy).read(answer)


SEGMENTS = [
    segment(1, "The pump is red. It holds 7 litres."),
    segment(2, "Whales swim. The pump was built in March 1998 by Kelly.", path="notes/history.md", headings=("Past",)),
]


def test_a_marker_that_names_nothing_is_removed_and_its_sentence_is_unsupported() -> None:
    answer = cite("The pump is red [7]. It holds 7 litres [1][9].", SEGMENTS)

    assert answer.text == "The pump is red. It holds 7 litres [1]."
    assert [(claim.text, claim.reason) for claim in answer.unsupported] == [("The pump is red", "unknown_marker")]


def test_a_span_counts_from_the_start_of_the_document() -> None:
    [citation] = cite("It holds 7 litres. [1]", SEGMENTS).citations

    assert (citation.start, citation.end, citation.quote) == (117, 135, "It holds 7 litres.")


def test_unsupported_spans_are_of_the_answer_as_it_leaves() -> None:
    answer = cite("It is old [8]. The pump is blue and loud [1]!", SEGMENTS)

    assert [answer.text[claim.start : claim.end] for claim in answer.unsupported] == [
        "It is old",
        "The pump is blue and loud",
    ]


@pytest.mark.parametrize(
    "marker",
    ["[2]", "[ 2 ]", "[File: history.md, Section: Past]", "[File: notes/history.md]", "(source: notes/history.md)"],
)
def test_every_form_of_marker_names_its_source(marker: str) -> None:
    answer = cite(f"Kelly built the pump in March 1998 {marker}.", SEGMENTS)

    assert answer.text == "Kelly built the pump in March 1998 [1]."
    assert answer.citations[0].hit == SEGMENTS[1].hit
    assert [citation.status for citation in answer.citations] == ["verified"]


def test_a_sentence_may_stand_on_two_sources_together() -> None:
    answer = cite("The red pump holds 7 litres and was built by Kelly [1][2].", SEGMENTS)

    assert [citation.status for citation in answer.citations] == ["supported", "supported"]
    assert [(claim.status, claim.reason) for claim in answer.claims] == [("supported", "several")]


def test_with_drop_the_unsupported_sentence_goes_with_its_full_stop() -> None:
    answer = cite("The pump is not red [1]. Kelly built it [2].", SEGMENTS, policy="drop")

    assert answer.text == "Kelly built it [1]."
    assert answer.reason is None


def test_with_abstain_one_unsupported_sentence_ends_the_answer() -> None:
    answer = cite("Kelly built it [2]. The pump is not red [1].", SEGMENTS, policy="abstain")

    assert (answer.text, answer.reason) == ("", "insufficient_information")


def test_an_answer_of_unsupported_sentences_alone_abstains_when_they_are_dropped() -> None:
    assert cite("It is blue [1].", SEGMENTS, policy="drop").reason == "insufficient_information"


def test_brackets_in_code_are_no_markers() -> None:
    answer = cite("Use `list[1]` here:\n```\nx[2]\n```\n", SEGMENTS)

    assert answer.text == "Use `list[1]` here:\n```\nx[2]\n```"
    assert answer.citations == []


def test_a_sentinel_never_leaves() -> None:
    reader = AnswerReader(SEGMENTS, bucket="b")

    assert [*reader.feed("INSUFFICIENT_"), *reader.feed("INFORMATION."), *reader.finish()] == []
    assert reader.answer.reason == "insufficient_information"


ANSWERS = st.lists(
    st.sampled_from(
        [
            "The pump is red",
            "It holds 8 litres",
            " [1]",
            "[2]",
            " [9]",
            ". ",
            "\n\n",
            "(source: pump.md)",
            "`x[1]`",
            "[",
        ]
    ),
    max_size=12,
).map("".join)


@given(answer=ANSWERS, policy=st.sampled_from(["mark", "drop", "abstain"]), data=st.data())
def test_however_an_answer_is_cut_into_pieces_it_is_read_the_same(
    answer: str, policy: CitationPolicy, data: st.DataObject
) -> None:
    reader, place, released = AnswerReader(SEGMENTS, bucket="b", policy=policy), 0, []
    while place < len(answer):
        size = data.draw(st.integers(1, 5))
        released += reader.feed(answer[place : place + size])
        place += size
    released += reader.finish()

    assert reader.answer == cite(answer, SEGMENTS, policy=policy)
    if reader.answer.reason is None:
        assert "".join(part for part in released if isinstance(part, str)).rstrip() == reader.answer.text


def test_text_passes_at_once_and_a_citation_only_behind_its_sentence() -> None:
    reader = AnswerReader(SEGMENTS, bucket="b")

    assert reader.feed("The pump is ") == ["The pump is"]
    assert reader.feed("red [") == [" red"]
    assert reader.feed("1") == []
    first, citation = reader.feed("]. And")[:2]
    assert first == " [1]"
    assert isinstance(citation, Citation)
    assert citation.status == "verified"


def test_a_marker_behind_a_sentence_that_was_released_cannot_drop_it_any_more() -> None:
    reader = AnswerReader([segment(1, "The pump is red."), segment(2, "Whales sing.")], bucket="b", policy="drop")
    released = [*reader.feed("The pump is red [1][[2]["), *reader.finish()]

    assert "".join(part for part in released if isinstance(part, str)).rstrip() == reader.answer.text
    assert reader.answer.text.startswith("The pump is red [1]")


def test_a_marker_by_file_name_cites_the_segment_of_that_file_that_supports_its_sentence() -> None:
    segments = [segment(1, "The pump is red."), segment(2, "It holds 7 litres."), segment(3, "It is old.")]

    [citation] = cite("It holds 7 litres [File: pump.md].", segments).citations

    assert (citation.marker, citation.hit, citation.status) == (1, segments[1].hit, "verified")


@pytest.mark.parametrize("policy", ["mark", "drop"])
def test_a_number_that_is_the_text_of_a_link_is_no_marker(policy: CitationPolicy) -> None:
    said = "See [1](https://example.org/a) and ![2](b.png) for more. The pump is red [1](source: pump.md)."

    whole = cite(said, SEGMENTS, policy=policy)
    reader = AnswerReader(SEGMENTS, bucket="b", policy=policy)
    for letter in said:
        reader.feed(letter)
    reader.finish()

    assert ("[1](https://example.org/a) and ![2](b.png)" in whole.text) == (policy == "mark")  # no source says it
    assert [citation.marker for citation in whole.citations] == [1]
    assert reader.answer == whole


def test_code_that_stands_in_the_source_is_supported_in_its_fence() -> None:
    segments = [segment(1, "Set the port:\n\nport = 8443\nhost = here\n")]

    assert cite("```ini\nport = 8443\nhost = here\n``` [1]", segments).unsupported == []
    [bad] = cite("```ini\nport = 8444\nhost = here\n``` [1]", segments).unsupported
    assert bad.reason == "number"


# Sentences without a marker: attributed to a source, unsupported, or claiming nothing.


def test_a_sentence_without_a_marker_is_attributed_to_the_source_that_supports_it() -> None:
    answer = cite("Kelly built the pump in March 1998.", SEGMENTS)

    [citation] = answer.citations
    assert (citation.marker, citation.status, citation.attributed) == (1, "verified", True)
    assert citation.quote == "The pump was built in March 1998 by Kelly."
    assert answer.text == "Kelly built the pump in March 1998."


@pytest.mark.parametrize(
    "said",
    [
        "The pump works fine.",
        "The pump holds 70 litres.",
        "Meier built the pump in March 1998.",
        "The pump is not red.",
    ],
)
def test_a_sentence_without_a_marker_that_no_source_supports_is_unsupported(said: str) -> None:
    marked, dropped, refused = (cite(said, SEGMENTS, policy=p) for p in ("mark", "drop", "abstain"))

    assert [claim.text for claim in marked.unsupported] == [said]
    assert marked.text == said
    assert (dropped.reason, refused.reason) == ("insufficient_information", "insufficient_information")


def test_a_sentence_of_two_sources_together_is_attributed_to_both() -> None:
    answer = cite("The red pump holds 7 litres and was built by Kelly.", SEGMENTS)

    assert [citation.attributed for citation in answer.citations] == [True, True]
    assert answer.unsupported == []


def test_with_drop_unsupported_sentences_go_wherever_they_stand() -> None:
    said = "It works fine. The pump is red [1]. It never fails. Nobody complained.\n\nIt holds 7 litres."

    assert cite(said, SEGMENTS, policy="drop").text == "The pump is red [1]. It holds 7 litres."


@pytest.mark.parametrize(
    "said",
    [
        "Hello! Here is what I found:",
        "## The pump",
        "Thank you for your question.",
        "I hope this helps.",
        "Based on the provided documents:",
        "Do you want to know more about the pump?",
        "---",
    ],
)
def test_a_sentence_that_claims_nothing_needs_no_source(said: str) -> None:
    answer = cite(f"{said}\n\nThe pump is red [1].", SEGMENTS, policy="abstain")

    assert answer.reason is None
    assert answer.text.startswith(said)


@pytest.mark.parametrize(
    "said", ["## The pump leaks", "Did you know that it holds 70 litres?", "Meier says:", "Here is what Meier found:"]
)
def test_a_heading_a_question_or_a_lead_in_with_new_words_is_a_claim(said: str) -> None:
    assert cite(f"{said}\n\nThe pump is red [1].", SEGMENTS).unsupported != []


def test_every_list_item_and_table_row_is_one_sentence() -> None:
    said = "- The pump is red\n- The pump is green\n\n| built | 1998 |\n| built | 1999 |\n"

    assert [claim.text for claim in cite(said, SEGMENTS).unsupported] == ["- The pump is green", "| built | 1999 |"]


def test_code_without_a_marker_must_stand_in_a_source() -> None:
    segments = [segment(1, "Set the port:\n\nport = 8443\n\nhost = here\n")]

    assert cite("```ini\nport = 8443\n\nhost = here\n```", segments).unsupported == []
    assert cite("```ini\nport = 8444\n\nhost = here\n```", segments).unsupported != []


def test_markers_count_from_one_in_the_order_of_the_answer() -> None:
    segments = [segment(1, "Whales swim."), segment(2, "It holds 7 litres."), segment(3, "The pump is red.")]
    answer = cite("The pump is red [3]. It holds 7 litres. It is red and whales swim [3][1].", segments)

    assert [citation.marker for citation in answer.citations] == [1, 2, 1, 3]
    assert answer.text == "The pump is red [1]. It holds 7 litres. It is red and whales swim [1][3]."


@given(answer=ANSWERS)
def test_no_sentence_that_claims_something_leaves_without_a_status(answer: str) -> None:
    whole = cite(answer, SEGMENTS)
    covered = set().union(*(range(claim.start, claim.end) for claim in whole.claims))

    for place, letter in enumerate(whole.text):
        assert not letter.isalpha() or place in covered


def test_a_reader_that_is_finished_twice_says_the_same() -> None:
    reader = AnswerReader(SEGMENTS, bucket="b")
    reader.feed("The pump is red. It works fine.")
    reader.finish()
    once = reader.answer

    assert reader.finish() == []
    assert reader.answer == once
