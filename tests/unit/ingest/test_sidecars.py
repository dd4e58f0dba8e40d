"""Sidecars: metadata beside a document, whichever comes first, whatever becomes of it."""

from __future__ import annotations

import json

import pytest

from ragdrop.domain.documents import Facts
from ragdrop.ports.message_queue import Change
from tests.world import World

PATH = "team/a.md"
SIDECAR = "team/a.md.metadata.json"


def facts(world: World) -> Facts:
    [document] = world.search("alpha").documents
    return document.facts


def put_sidecar(world: World, **fields: object) -> None:
    world.put(SIDECAR, json.dumps(fields))


def test_a_sidecar_that_comes_before_its_document_applies(world: World) -> None:
    put_sidecar(world, category="early")
    world.put(PATH, "alpha")

    assert facts(world).category == "early"


def test_a_sidecar_that_comes_later_changes_or_goes_applies(world: World) -> None:
    world.put(PATH, "alpha")

    put_sidecar(world, category="one", tags=["t"])
    assert (facts(world).category, facts(world).tags) == ("one", ("t",))
    put_sidecar(world, category="two")
    assert (facts(world).category, facts(world).tags) == ("two", ())
    world.delete(SIDECAR)
    assert facts(world).category is None


def test_a_sidecars_changes_embed_nothing(world: World) -> None:
    world.put(PATH, "alpha")
    embedded = world.embedder.texts_embedded

    put_sidecar(world, category="one")
    world.delete(SIDECAR)

    assert world.embedder.texts_embedded == embedded


def test_front_matter_beats_the_sidecar_and_the_sidecar_beats_object_metadata(world: World) -> None:
    put_sidecar(world, category="sidecar", summary="sidecar")
    world.put(PATH, "---\ncategory: front\n---\nalpha", category="object", summary="object", agent="object")

    assert (facts(world).category, facts(world).summary, facts(world).agent) == ("front", "sidecar", "object")


def test_a_broken_sidecar_is_a_recorded_warning(world: World) -> None:
    world.put(PATH, "alpha")
    world.put(SIDECAR, "{broken")

    head = world.head(PATH)
    detail = world.registry.detail(head.key, head.live_revision or 0)
    assert detail is not None
    assert detail.warnings == ("the sidecar is not valid JSON and is left out",)


def test_the_sequencer_of_a_sidecars_event_says_nothing_of_the_document(world: World) -> None:
    world.put(PATH, "alpha")
    world.documents.put(world.key(SIDECAR).s3_key, b'{"category": "x"}', media_type="application/json")

    world.deliver(world.message(Change(world.key(SIDECAR).s3_key, "00")))

    assert facts(world).category == "x"


def test_deleting_a_document_whose_sidecar_stays_removes_it_from_answers(world: World) -> None:
    world.put(PATH, "alpha")
    put_sidecar(world, category="x")

    world.delete(PATH)

    assert world.texts("alpha") == []


@pytest.mark.parametrize("channel", ["front matter", "sidecar", "object metadata"])
def test_a_bad_field_costs_itself_alone_and_is_a_recorded_warning(world: World, channel: str) -> None:
    fields = {"date": "2025-13-45", "promotion_level": "critical"}
    if channel == "sidecar":
        put_sidecar(world, **fields)
    front = "---\ndate: 2025-13-45\npromotion_level: critical\n---\n" if channel == "front matter" else ""
    world.put(PATH, f"{front}alpha", fields if channel == "object metadata" else {})

    head = world.head(PATH)
    detail = world.registry.detail(head.key, head.live_revision or 0)
    assert detail is not None
    assert (detail.facts.promotion_level, detail.facts.date) == ("critical", None)
    assert detail.warnings == ("date '2025-13-45' is not a date of ISO 8601 and is left out",)


def test_a_value_that_is_cut_is_a_recorded_warning(world: World) -> None:
    put_sidecar(world, title="t" * 301, tags=["a", {"b": 1}, "c" * 101])
    world.put(PATH, "alpha")

    head = world.head(PATH)
    detail = world.registry.detail(head.key, head.live_revision or 0)
    assert detail is not None
    assert detail.warnings == (
        "title is cut to its first 300 characters",
        "tags that are not plain values are left out",
        "tags are cut to 50 of at most 100 characters",
    )
