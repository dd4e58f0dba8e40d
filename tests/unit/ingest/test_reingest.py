"""Re-ingest: what was embedded before is not embedded again."""

from __future__ import annotations

from tests.world import World

LONG = "\n\n".join(f"Paragraph {n}: the quick brown fox jumps over the lazy dog near gate {n}." for n in range(200))


def test_a_change_of_metadata_alone_embeds_nothing(world: World) -> None:
    world.put("team/fox.md", LONG)
    embedded = world.embedder.texts_embedded

    world.put("team/fox.md", LONG, category="animals")

    assert world.embedder.texts_embedded == embedded
    [document] = world.search("quick fox").documents
    assert document.facts.category == "animals"


def test_an_edited_paragraph_embeds_few_chunks(world: World) -> None:
    world.put("team/fox.md", LONG)
    embedded = world.embedder.texts_embedded

    world.put("team/fox.md", LONG.replace("Paragraph 100:", "Paragraph one hundred:"))

    assert 1 <= world.embedder.texts_embedded - embedded <= 3


def test_a_copy_of_a_file_embeds_nothing(world: World) -> None:
    world.put("team/fox.md", f"# Foxes\n\n{LONG}")
    embedded = world.embedder.texts_embedded

    world.put("team/copy.md", f"# Foxes\n\n{LONG}")

    assert world.embedder.texts_embedded == embedded
    assert {document.key.path for document in world.search("quick fox").documents} == {"fox.md", "copy.md"}


def test_documents_of_one_batch_share_an_embedding_call_and_the_same_text_is_embedded_once(world: World) -> None:
    for name, text in (("a", "# Pumps leak."), ("b", "# Valves stick."), ("c", "# Pumps leak.")):
        world.put(f"team/{name}.md", text, ingest=False)

    world.deliver(*(world.message(world.change(f"team/{name}.md")) for name in "abc"))

    assert (world.embedder.calls, world.embedder.texts_embedded) == (1, 2)
    assert len(world.texts("pumps valves", limit=20)) == 3
