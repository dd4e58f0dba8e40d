"""What every ChunkIndex does: writing, reading, removing, and finding by vectors."""

import random
from dataclasses import replace

import pytest

from ragdrop.domain.chunks import CandidateQuery, ChunkRange, Filters, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ConfigurationError, DeadlineError
from tests.contract.chunk_index_suite import DIMENSION, Engine, cosine, new_ref, now, paths, random_vector


def test_a_tenant_without_chunks_is_an_empty_index(engine: Engine) -> None:
    assert engine.words("anything") == []
    assert engine.near(vector([1.0] * DIMENSION)) == []
    assert engine.read("a.md") == []
    assert engine.remove("a.md", before_revision=9) == 0
    assert engine.count() == 0
    assert engine.chunks.drop(engine.ref, now()) == 0


def test_an_index_that_can_be_searched_passes_its_check(engine: Engine) -> None:
    engine.chunks.check(now())


def test_a_chunk_comes_back_as_it_was_written(engine: Engine) -> None:
    written = engine.piece(
        "notes/größe 😀.md",
        "Die Größe\nder Pumpe 😀",
        revision=1_760_000_000_250,
        ordinal=3,
        headings=("Pumpen", "Größe"),
        title="Pumpen",
        summary="How large they are",
        doc_type="problem",
        content_type="decision",
        promotion_level="critical",
        date="2026-01-01",
        tags=("pump", "größe"),
        category="water",
        session_id="s1",
        agent="scribe",
        attributes={"game": "go", 'a "b"': "{c}", "empty": ""},
        char_count=1_234,
    )
    engine.write(written)

    (found,) = engine.words("Pumpe")
    assert (found.key, found.revision, found.chunk, found.facts) == (
        written.key,
        written.revision,
        written.chunk,
        written.facts,
    )
    assert found.chunk_id == written.id
    assert engine.read("notes/größe 😀.md", revision=1_760_000_000_250) == [replace(found, score=0.0)]


def test_a_chunk_without_headings_page_or_optional_facts_comes_back_as_it_was_written(engine: Engine) -> None:
    piece = engine.piece("a.md", "plain")
    engine.write(replace(piece, chunk=replace(piece.chunk, page=None)))

    (found,) = engine.words("plain")
    assert (found.chunk.page, found.chunk.heading_path, found.facts) == (None, (), piece.facts)


def test_a_chunk_keeps_the_names_of_its_places(engine: Engine) -> None:
    piece = engine.piece("a.xlsx", "plain")
    placed = replace(piece.chunk, page=None, places=((0, "Budget!A1:C1"), (3, "Budget!A2:C9")))
    engine.write(replace(piece, chunk=placed))

    (found,) = engine.words("plain")
    assert found.chunk == placed
    assert found.chunk.place == "Budget!A1:C9"


def test_the_same_id_replaces_words_facts_and_vector(engine: Engine) -> None:
    if not engine.replaces:
        pytest.skip("a revision never changes, so no shard looks for its chunks in another one")
    east, north = vector([1.0] + [0.0] * (DIMENSION - 1)), vector([0.0, 1.0] + [0.0] * (DIMENSION - 2))
    engine.write(engine.piece("a.md", "alpha", near=east, doc_type="problem"))
    engine.write(engine.piece("a.md", "omega", near=north, doc_type="insight"))

    assert engine.count() == 1
    assert engine.words("alpha") == []
    assert paths(engine.words("omega", filters=Filters(doc_types=("insight",)))) == ["a.md"]
    assert engine.near(north)[0].score == pytest.approx(1.0, abs=1e-5)


def test_of_two_chunks_of_one_id_in_one_call_the_last_stays(engine: Engine) -> None:
    engine.write(engine.piece("a.md", "alpha"), engine.piece("a.md", "omega"))

    assert [hit.chunk.text for hit in engine.read("a.md")] == ["omega"]


def test_writing_nothing_is_no_error(engine: Engine) -> None:
    engine.write()

    assert engine.count() == 0


def test_two_revisions_stand_side_by_side(engine: Engine) -> None:
    engine.write(engine.piece("a.md", "pump old"), engine.piece("a.md", "pump new", revision=2))

    assert {(hit.revision, hit.chunk.text) for hit in engine.words("pump")} == {(1, "pump old"), (2, "pump new")}
    assert [hit.chunk.text for hit in engine.read("a.md", revision=2)] == ["pump new"]
    assert engine.count() == 2


def test_revisions_that_are_excluded_do_not_come_back(engine: Engine) -> None:
    engine.write(
        engine.piece("a.md", "pump old"),
        engine.piece("a.md", "pump new", revision=2),
        engine.piece("b.md", "pump beside"),
    )
    without = frozenset({(engine.key("a.md"), 1), (engine.key("b.md"), 7), (engine.key("b.md", vault="other"), 1)})

    assert {hit.chunk.text for hit in engine.words("pump", without=without)} == {"pump new", "pump beside"}
    near = engine.near(engine.piece("x.md", "pump").vector, without=without)
    assert {hit.chunk.text for hit in near} == {"pump new", "pump beside"}


def test_excluded_revisions_make_room_for_others_under_the_limit(engine: Engine) -> None:
    wanted = engine.piece("x.md", "pump").vector
    engine.write(*[engine.piece(f"{number}.md", "pump") for number in range(6)])
    without = frozenset((engine.key(path), 1) for path in paths(engine.near(wanted, limit=3)))

    assert len(engine.near(wanted, limit=3, without=without)) == 3
    assert len(engine.words("pump", limit=3, without=without)) == 3


def test_removing_takes_older_revisions_and_keeps_newer_ones_and_neighbours(engine: Engine) -> None:
    engine.write(
        *[engine.piece("a.md", f"pump {ordinal}", revision=1, ordinal=ordinal) for ordinal in range(3)],
        engine.piece("a.md", "pump", revision=2),
        engine.piece("a.md", "pump", revision=3),
        engine.piece("a.md", "pump", vault="other"),
        engine.piece("a.md.md", "pump"),
    )

    assert engine.remove("a.md", before_revision=3) == 4
    assert {(hit.key.vault, hit.key.path, hit.revision) for hit in engine.words("pump")} == {
        ("team", "a.md", 3),
        ("other", "a.md", 1),
        ("team", "a.md.md", 1),
    }
    assert engine.count() == 3
    assert engine.remove("a.md", before_revision=3) == 0


def test_removed_chunks_are_not_found_by_vector_either(engine: Engine) -> None:
    piece = engine.piece("a.md", "pump")
    engine.write(piece)
    engine.remove("a.md", before_revision=2)

    assert engine.near(piece.vector) == []


def test_what_was_written_and_not_refreshed_is_removed_too(engine: Engine) -> None:
    engine.chunks.upsert(engine.ref, [engine.piece("a.md", "pump")], now())

    assert engine.remove("a.md", before_revision=2) == 1
    assert engine.words("pump") == []


def test_dropping_counts_and_leaves_an_index_that_can_be_written_again(engine: Engine) -> None:
    engine.write(*[engine.piece("a.md", "pump", ordinal=ordinal) for ordinal in range(5)])

    assert engine.chunks.drop(engine.ref, now()) == 5
    assert engine.count() == 0
    assert engine.words("pump") == []
    engine.write(engine.piece("b.md", "valve"))
    assert paths(engine.words("valve")) == ["b.md"]


def test_tenants_do_not_see_count_or_remove_each_others_chunks(engine: Engine) -> None:
    other = replace(engine, ref=new_ref())
    engine.write(engine.piece("a.md", "pump mine"))
    other.write(other.piece("a.md", "pump theirs"), other.piece("b.md", "pump theirs"))

    assert [hit.chunk.text for hit in engine.words("pump")] == ["pump mine"]
    assert [hit.chunk.text for hit in engine.near(other.piece("a.md", "pump theirs").vector)] == ["pump mine"]
    assert (engine.count(), other.count()) == (1, 2)
    foreign = other.key("a.md")
    assert engine.chunks.read(engine.ref, [ChunkRange(foreign, 1, 0, 9)], now()) == [[]]
    assert engine.chunks.remove(engine.ref, foreign, before_revision=9, deadline=now()) == 0
    assert engine.chunks.drop(engine.ref, now()) == 1
    assert other.count() == 2


def test_ranges_are_read_in_order_with_both_ends_and_in_the_order_asked(engine: Engine) -> None:
    engine.write(*[engine.piece("a.md", f"part {ordinal}", ordinal=ordinal) for ordinal in (11, 2, 0, 1, 3)])
    engine.write(engine.piece("b.md", "beside"))
    key = engine.key("a.md")
    ranges = [ChunkRange(key, 1, 1, 3), ChunkRange(engine.key("none.md"), 1, 0, 9), ChunkRange(key, 1, 0, 10**9)]

    read = engine.chunks.read(engine.ref, ranges, now())

    assert [[hit.chunk.ordinal for hit in hits] for hits in read] == [[1, 2, 3], [], [0, 1, 2, 3, 11]]
    assert {hit.score for hits in read for hit in hits} == {0.0}


def test_several_scopes_are_answered_in_their_order(engine: Engine) -> None:
    engine.write(engine.piece("a.md", "pump"), engine.piece("b.md", "pump", vault="other"))
    near = engine.piece("x.md", "pump").vector
    queries = [
        CandidateQuery("pump", near, Filters(vaults=("other",)), 10),
        CandidateQuery("pump", None, Filters(vaults=("team",)), 10),
        CandidateQuery(None, near, Filters(vaults=("nowhere",)), 10),
    ]

    first, second, third = engine.chunks.candidates(engine.ref, queries, now())

    assert (paths(first.vector), paths(first.lexical)) == (["b.md"], ["b.md"])
    assert (paths(second.vector), paths(second.lexical)) == ([], ["a.md"])
    assert (third.vector, third.lexical) == ([], [])


def test_vector_hits_are_the_exact_ones_under_a_filter_with_cosines_as_scores(engine: Engine) -> None:
    source = random.Random(7)
    pieces = [
        engine.piece(f"{number}.md", near=random_vector(source), doc_type=source.choice(["problem", "insight"]))
        for number in range(120)
    ]
    engine.write(*pieces)
    for _ in range(5):
        wanted = random_vector(source)
        allowed = [piece for piece in pieces if piece.facts.doc_type == "insight"]
        best = sorted(allowed, key=lambda piece: -cosine(wanted, piece.vector))[:10]

        hits = engine.near(wanted, filters=Filters(doc_types=("insight",)), limit=10)

        expected = pytest.approx([cosine(wanted, piece.vector) for piece in best], abs=engine.cosine_error)
        of_id = {piece.id: piece.vector for piece in allowed}
        assert [cosine(wanted, of_id[hit.chunk_id]) for hit in hits] == expected
        assert [hit.score for hit in hits] == expected


def test_what_was_looked_for_ahead_is_what_is_found_without(engine: Engine) -> None:
    pieces = [engine.piece(f"{number}.md", f"pump {'valve ' * number}", doc_type="manual") for number in range(8)]
    engine.write(*pieces)
    asked = CandidateQuery("pump valve", pieces[3].vector, Filters(doc_types=("manual",)), 5)
    [expected] = engine.chunks.candidates(engine.ref, [asked], now())

    engine.chunks.ready(engine.ref, now(), queries=[replace(asked, vector=None)])
    found = [engine.chunks.candidates(engine.ref, [asked], now())[0] for _ in range(2)]

    assert found == [expected, expected]


def test_equal_scores_are_ordered_by_document_and_ordinal(engine: Engine) -> None:
    pieces = [engine.piece(f"{number}.md", "pump", ordinal=ordinal) for number in range(6) for ordinal in range(2)]
    engine.write(*pieces)

    near, words = engine.near(engine.piece("x.md", "pump").vector, limit=5), engine.words("pump", limit=5)

    expected = [piece.id for piece in sorted(pieces, key=lambda piece: (piece.key.digest, piece.chunk.ordinal))][:5]
    assert [hit.chunk_id for hit in near] == expected
    assert [hit.chunk_id for hit in words] == expected


def test_an_opposite_vector_has_a_cosine_of_minus_one(engine: Engine) -> None:
    piece = engine.piece("a.md", near=vector([1.0] + [0.0] * (DIMENSION - 1)))
    engine.write(piece)

    (hit,) = engine.near(vector([-1.0] + [0.0] * (DIMENSION - 1)))

    assert hit.score == pytest.approx(-1.0, abs=1e-5)
    assert hit.score >= -1.0


def test_a_vector_of_zeros_is_near_nothing_but_its_words_are_found(engine: Engine) -> None:
    zeros = vector([0.0] * DIMENSION)
    engine.write(engine.piece("zero.md", "pump", near=zeros), engine.piece("a.md", "valve"))

    assert engine.near(zeros) == []
    assert paths(engine.near(engine.piece("x.md", "valve").vector)) == ["a.md"]
    assert paths(engine.words("pump")) == ["zero.md"]
    assert engine.count() == 2


def test_a_vector_of_another_dimension_is_refused_with_both_numbers_and_nothing_is_written(engine: Engine) -> None:
    wrong = engine.piece("b.md", near=vector([1.0] * (DIMENSION + 3)))

    with pytest.raises(ConfigurationError, match=rf"(?s){DIMENSION}\b.*{DIMENSION + 3}|{DIMENSION + 3}\b.*{DIMENSION}"):
        engine.write(engine.piece("a.md"), wrong)
    assert engine.count() == 0
    with pytest.raises(ConfigurationError):
        engine.near(wrong.vector)


def test_only_as_many_hits_come_as_were_asked_for(engine: Engine) -> None:
    engine.write(*[engine.piece(f"{number}.md", "pump") for number in range(9)])

    assert len(engine.words("pump", limit=4)) == 4
    assert len(engine.near(engine.piece("x.md", "pump").vector, limit=4)) == 4


def test_without_time_left_nothing_is_tried(engine: Engine) -> None:
    engine.write(engine.piece("a.md"))

    with pytest.raises(DeadlineError):
        engine.chunks.candidates(engine.ref, [CandidateQuery("a", None, Filters(), 5)], Deadline.after(-1.0))
