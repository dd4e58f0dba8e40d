"""What every ChunkIndex finds by words: forms and languages, fields, and questions that try to be more than words."""

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ragdrop.domain.chunks import CandidateQuery, Filters, vector
from tests.contract.chunk_index_suite import DIMENSION, Engine, now, paths, random_vector


def test_a_lexical_score_is_positive_and_larger_for_the_better_hit(engine: Engine) -> None:
    engine.write(
        engine.piece("one.md", "the pump stands beside the valve and the tank and the old shed"),
        engine.piece("two.md", "pump pump valve"),
        engine.piece("none.md", "nothing of that"),
    )

    hits = engine.words("pump")

    assert paths(hits) == ["two.md", "one.md"]
    assert hits[0].score > hits[1].score > 0.0


def test_any_of_the_words_is_enough_and_more_of_them_rank_higher(engine: Engine) -> None:
    engine.write(
        engine.piece("both.md", "pump and valve here"),
        engine.piece("one.md", "pump and shovel here"),
        engine.piece("none.md", "rake and shovel here"),
    )

    assert paths(engine.words("valve pump")) == ["both.md", "one.md"]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("The pumps were leaking.", "pump leaks"),
        ("Die Wärmepumpe läuft.", "wärmepumpe"),
        ("Die Wärmepumpe läuft.", "Warmepumpe"),
        ("Die Wa\u0308rmepumpe läuft.", "Wärmepumpe"),
        ("Le café est fermé.", "CAFE"),
        ("The code is QX-5521 now.", "code QX-5521?"),
        ("The code is QX-5521 now.", "5521"),
        ("Set retry_after_s to 3.", "retry_after_s"),
        ("Set retry_after_s to 3.", "retry"),
        ("The flag swift.fuzzy is on.", "fuzzy"),
        ("Насос течёт.", "насос"),
        ("the pump's valve", "pump"),
        ("to be or not to be", "to be"),
    ],
)
def test_words_are_found_whatever_their_form_or_language(engine: Engine, written: str, asked: str) -> None:
    engine.write(engine.piece("a.md", written), engine.piece("b.md", "something else entirely"))

    assert paths(engine.words(asked)) == ["a.md"]


def test_a_code_as_written_ranks_above_its_parts(engine: Engine) -> None:
    engine.write(
        engine.piece("parts.md", "Shelf 5521 holds 5521 bolts, see QX or 5521."),
        engine.piece("code.md", "Code: QX-5521."),
    )

    assert paths(engine.words("QX-5521"))[0] == "code.md"


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("What does WRN-4471 mean?", "## WRN-4471 means a full tray"),
        ("Where is BK-3301-C?", "| BK-3301-C | seal |"),
        ("Explain F.47", "the fan has F.47 here"),
        ("Who calls palette.mix?", "then palette.mix does it"),
        ("Who has jo.berg@acme.example?", "mail jo.berg@acme.example now"),
    ],
)
def test_a_chunk_with_the_code_of_a_question_comes_first(engine: Engine, asked: str, written: str) -> None:
    near = "WRN-4472 BK-3302-C F.4 palette-9 berg@other"
    engine.write(
        *(engine.piece(f"near-{number}.md", f"{near} {number}") for number in range(40)),
        engine.piece("code.md", f"{written}, and further words of a longer text that stands around it."),
    )

    assert paths(engine.words(asked))[0] == "code.md"


@pytest.mark.parametrize("field", ["title", "headings", "tags"])
def test_words_of_title_headings_and_tags_are_found(engine: Engine, field: str) -> None:
    values: dict[str, dict[str, object]] = {
        "title": {"title": "Turbine"},
        "headings": {"headings": ("Plant", "Turbine")},
        "tags": {"tags": ("turbine",)},
    }
    engine.write(engine.piece("a.md", "something", **values[field]), engine.piece("b.md", "something"))  # type: ignore[arg-type]

    assert paths(engine.words("turbine")) == ["a.md"]


def test_words_of_a_chunks_context_are_found_and_the_context_comes_back_beside_the_text(engine: Engine) -> None:
    piece = engine.piece("table.md", "| 7 | red 😀 |")
    row = replace(piece, chunk=replace(piece.chunk, context="| valve | colour 😀 |\n|---|---|", after="\n\n"))
    engine.write(row, engine.piece("plain.md", "| 8 | blue |"))

    (found,) = engine.words("valve")

    assert found.chunk == row.chunk
    assert engine.read("plain.md")[0].chunk.context == ""


@pytest.mark.parametrize("text", ["", "   ", "?!", "\"'*()^:-+", "😀", "\x00", "-- ; ' \" \\", "\u202e\u200b"])
def test_a_question_without_words_finds_nothing_by_words(engine: Engine, text: str) -> None:
    engine.write(engine.piece("a.md", "pump 😀 - ' \" \x00 words"))

    assert engine.words(text) == []


@pytest.mark.parametrize(
    "text",
    [
        'pump" OR text:"x',
        "pump AND NOT pump",
        "pump*",
        "NEAR(pump, 3)",
        "{text title} : pump ^pump",
        "pump\x00",
        "pump'; DROP TABLE chunks; --",
        "pump ~2 /.*/ [a TO b] && || !",
        "pump \ud800",
        "pump " + "x " * 497,
        "pump" + " a-b" * 249,
    ],
)
def test_operators_in_a_question_are_only_words(engine: Engine, text: str) -> None:
    engine.write(engine.piece("a.md", "pump"))

    assert paths(engine.words(text)) == ["a.md"]
    assert engine.count() == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("\x00")
@example('"' * 1_000)
@example("a.b" * 333)
@given(st.text(max_size=1_000))
def test_no_question_makes_the_index_fail(engine: Engine, text: str) -> None:
    if engine.count() == 0:
        engine.write(engine.piece("a.md", "pump"))

    assert set(paths(engine.words(text))) <= {"a.md"}


@pytest.mark.parametrize("text", ["nul \x00 pump", "half \ud83d pump", "\ufeffpump", "right \u202e pump"])
def test_odd_characters_in_a_text_keep_its_offsets(engine: Engine, text: str) -> None:
    engine.write(engine.piece("a.md", text))

    (hit,) = engine.words("pump")
    assert len(hit.chunk.text) == len(text)


def test_a_lexical_hit_has_its_cosine_where_the_question_has_a_vector_too(engine: Engine) -> None:
    wanted = random_vector(random.Random(1))
    far = vector([-value for value in wanted])
    engine.write(
        engine.piece("near.md", "the pump", near=wanted),
        engine.piece("far.md", "the pump too", near=far),
        engine.piece("none.md", "a pump without direction", near=vector([0.0] * DIMENSION)),
    )

    [both] = engine.chunks.candidates(engine.ref, [CandidateQuery("pump", wanted, Filters(), 30)], now())

    cosines = {hit.key.path: hit.cosine for hit in both.lexical}
    assert cosines == {"near.md": pytest.approx(1.0), "far.md": pytest.approx(-1.0, abs=1e-5), "none.md": None}
    assert [hit.cosine for hit in engine.words("pump")] == [None, None, None]
