"""A document too large for one invocation is continued by messages, and nothing of it is visible before its end."""

from __future__ import annotations

import pytest

from ragdrop.api.shapes.document_shapes import record_shape
from ragdrop.domain.documents import Status
from tests.large_documents import PARTS, PATH, finish, large_world, one_part_at_a_time, text_of
from tests.world import World


@pytest.fixture
def world() -> World:
    return large_world()


def test_a_long_text_is_found_from_its_first_part_to_its_last(world: World) -> None:
    world.put(PATH, text_of("alpha"))

    head = world.head(PATH)
    assert head.status is Status.INDEXED
    assert world.chunk_count() == head.chunk_count >= PARTS
    assert any("Paragraph 9 of alpha" in text for text in world.texts("Paragraph 9 alpha", limit=20))


def test_the_chunks_of_all_parts_are_slices_of_the_text_with_ordinals_that_go_on(world: World) -> None:
    world.put(PATH, text_of("alpha"))

    kept = world.app.ports.revisions.open(world.key(PATH), world.head(PATH).revision)
    index = world.registry.tenant("acme").active.name
    assert kept is not None
    chunks = [chunk for chunk, _ in kept.chunks_between(index)]
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.text == text_of("alpha")[chunk.start : chunk.end] for chunk in chunks)


def test_what_does_not_fit_is_handed_over_and_invisible_until_it_is_done(world: World) -> None:
    one_part_at_a_time(world)
    world.put(PATH, text_of("alpha"))

    [handed] = world.queue.continued
    assert handed.part == 1
    assert world.head(PATH).status is Status.PENDING
    assert world.texts("alpha") == []

    assert finish(world) >= PARTS - 1
    assert world.head(PATH).status is Status.INDEXED
    assert world.texts("alpha") != []


def test_the_record_reports_how_many_chunks_are_done_while_the_rest_is_unknown(world: World) -> None:
    one_part_at_a_time(world)
    world.put(PATH, text_of("alpha"))

    half = record_shape(world.app.documents.document_service.record(world.caller, world.key(PATH)), "r")
    finish(world)
    done = record_shape(world.app.documents.document_service.record(world.caller, world.key(PATH)), "r")

    assert half.chunks_total is None
    assert half.chunks_done is not None
    assert 0 < half.chunks_done < world.head(PATH).chunk_count
    assert done.chunks_done == done.chunks_total == world.head(PATH).chunk_count


def test_the_old_revision_answers_until_the_new_one_is_whole(world: World) -> None:
    world.put(PATH, "The old text is short.")
    one_part_at_a_time(world)
    world.put(PATH, text_of("alpha"))

    assert world.texts("old text") == ["The old text is short."]
    finish(world)
    assert "The old text is short." not in world.texts("old text", limit=20)


def test_a_small_document_has_no_checkpoint(world: World) -> None:
    world.put("team/small.md", "Small.")

    assert not {"begin", "advance", "renew", "checkpoint"} & set(world.registry.calls)


def test_an_overwrite_half_way_stops_the_old_revision_and_leaves_nothing_of_it(world: World) -> None:
    one_part_at_a_time(world)
    world.put(PATH, text_of("alpha"))
    messages = world.handed_over()
    world.put(PATH, "Short now.")

    assert world.deliver(*messages) == []
    finish(world)

    assert world.texts("alpha short", limit=20) == ["Short now."]
    assert world.chunk_count() == 1


def test_a_delete_half_way_stops_it_too(world: World) -> None:
    one_part_at_a_time(world)
    world.put(PATH, text_of("alpha"))
    messages = world.handed_over()
    world.delete(PATH)

    assert world.deliver(*messages) == []
    assert world.head(PATH).status is Status.DELETED
    assert world.chunk_count() == 0
    assert world.queue.continued == []


def test_a_revision_superseded_while_a_part_is_written_removes_what_it_wrote(world: World) -> None:
    upsert = world.index.upsert

    def overwritten_meanwhile(*args: object) -> None:
        world.index.upsert = upsert
        world.put(PATH, "Short now.")
        upsert(*args)

    world.index.upsert = overwritten_meanwhile
    world.put(PATH, text_of("alpha"))
    finish(world)

    assert world.texts("alpha short", limit=20) == ["Short now."]
    assert world.chunk_count() == 1


def test_small_documents_of_a_batch_do_not_wait_for_a_large_one(world: World) -> None:
    world.put(PATH, text_of("alpha"), ingest=False)
    world.put("team/small.md", "A small one.", ingest=False)
    one_part_at_a_time(world)

    world.deliver(world.message(world.change(PATH)), world.message(world.change("team/small.md")))

    assert world.head("team/small.md").status is Status.INDEXED
    assert world.head(PATH).status is Status.PENDING


def test_a_change_of_metadata_embeds_nothing_of_a_long_text(world: World) -> None:
    world.put(PATH, text_of("alpha"))
    embedded = world.embedder.texts_embedded

    world.put(f"{PATH}.metadata.json", '{"category": "one"}')

    assert world.embedder.texts_embedded == embedded
    assert world.head(PATH).live_revision == world.head(PATH).revision


def test_a_copy_of_a_long_text_embeds_nothing(world: World) -> None:
    world.put("team/one.md", f"# Alpha\n\n{text_of('alpha')}")
    embedded = world.embedder.texts_embedded

    world.put("team/copy.md", f"# Alpha\n\n{text_of('alpha')}")

    assert world.embedder.texts_embedded == embedded
    assert world.head("team/copy.md").status is Status.INDEXED
