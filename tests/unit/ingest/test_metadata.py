"""Metadata of a document: names in any spelling, values as they are written, other fields as attributes."""

from __future__ import annotations

import json

import pytest

from ragdrop.domain.documents import Detail, Facts
from ragdrop.ingest.metadata import MAX_OTHER_FIELDS
from tests.world import World

PATH = "team/a.md"


def detail_of(world: World) -> Detail:
    head = world.head(PATH)
    detail = world.registry.detail(head.key, head.live_revision or 0)
    assert detail is not None
    return detail


def facts_of(world: World, front: str) -> Facts:
    world.put(PATH, f"---\n{front}\n---\nThe alpha pump.")
    return detail_of(world).facts


def test_the_names_of_fields_count_in_any_spelling(world: World) -> None:
    found = facts_of(world, "Title: Boat\nDoc-Type: guide\nPROMOTION LEVEL: important\nTAGS: [a, b]\nDate: 2024-05-01")

    assert (found.title, found.doc_type, found.promotion_level) == ("Boat", "guide", "important")
    assert (found.tags, found.date, found.attributes) == (("a", "b"), "2024-05-01", {})


def test_a_field_under_two_names_is_a_warning(world: World) -> None:
    assert facts_of(world, "title: Boat\nTitle: Ship").title == "Ship"
    assert detail_of(world).warnings == ("title is stated under several names; the last value counts",)


def test_usual_names_of_other_programs_are_understood(world: World) -> None:
    found = facts_of(world, "keywords: a, b\ndescription: All about pumps")

    assert (found.tags, found.summary) == (("a", "b"), "All about pumps")


def test_tags_are_read_without_the_sign_before_them(world: World) -> None:
    assert facts_of(world, 'tags: ["#alpha", "#beta/gamma", "C#", "#1"]').tags == ("alpha", "beta/gamma", "C#", "#1")


@pytest.mark.parametrize("text", ["\n---\naccess: [hr]\n---\nText", "---\naccess: [hr]\n\nText"])
def test_access_of_a_front_matter_that_is_not_quite_one_opens_nothing(world: World, text: str) -> None:
    world.put(PATH, text)

    assert detail_of(world).facts.access in {("hr",), ()}


def test_a_description_beside_a_summary_is_an_attribute(world: World) -> None:
    found = facts_of(world, "summary: Pumps\ndescription: All about pumps")

    assert (found.summary, found.attributes) == ("Pumps", {"description": "All about pumps"})


def test_fields_without_a_name_in_ragdrop_become_attributes(world: World) -> None:
    found = facts_of(world, "author: Mira\nnr: 007\nteam: [red, blue]\nship:\n  name: Gull\nattributes:\n  author: Ann")

    assert found.attributes == {"author": "Ann", "nr": "007", "team": "red, blue", "ship.name": "Gull"}
    assert detail_of(world).warnings == ()


@pytest.mark.parametrize("value", ["NO", "2.50", "0755", "12:30", "true"])
def test_a_filter_on_the_written_value_finds_the_document(world: World, value: str) -> None:
    facts_of(world, f"attributes:\n  state: {value}")

    assert world.texts("alpha", attributes={"state": value}) == ["The alpha pump."]
    assert world.texts("alpha", attributes={"state": "False"}) == []


def test_fields_that_cannot_be_attributes_are_named_in_a_warning(world: World) -> None:
    found = facts_of(world, "crew:\n  - name: Mira\n  - name: Ann\nlog: " + "x" * 1_001)

    assert found.attributes == {}
    [warning] = detail_of(world).warnings
    assert "'crew', 'log'" in warning


def test_so_many_fields_become_attributes_and_no_more(world: World) -> None:
    found = facts_of(world, "\n".join(f"f{number}: x" for number in range(MAX_OTHER_FIELDS + 1)))

    assert len(found.attributes) == MAX_OTHER_FIELDS
    assert f"'f{MAX_OTHER_FIELDS}'" in detail_of(world).warnings[0]


def test_attributes_of_the_sidecar_and_of_the_front_matter_come_together(world: World) -> None:
    world.put(f"{PATH}.metadata.json", '{"attributes": {"site": "north", "unit": "m"}, "Author": "Mira"}')
    found = facts_of(world, "attributes:\n  unit: km")

    assert found.attributes == {"site": "north", "unit": "km", "Author": "Mira"}


def test_numbers_of_a_sidecar_stay_as_they_are_written(world: World) -> None:
    world.put(f"{PATH}.metadata.json", '{"attributes": {"version": 1.10, "ready": true}, "tags": [2.50, 7]}')
    world.put(PATH, "alpha")

    found = detail_of(world).facts
    assert (found.attributes, found.tags) == ({"version": "1.10", "ready": "true"}, ("2.50", "7"))


def test_numbers_in_object_metadata_stay_as_they_are_written(world: World) -> None:
    world.put(PATH, "alpha", attributes='{"version": 1.10}', Tag="a, b", mtime="17")

    found = detail_of(world).facts
    assert (found.attributes, found.tags) == ({"version": "1.10", "mtime": "17"}, ("a", "b"))


def test_what_ragdrop_writes_into_object_metadata_is_no_attribute(world: World) -> None:
    world.put(PATH, "alpha", {"ragdrop-by": "key of Ann", "Author": "Mira"})

    assert detail_of(world).facts.attributes == {"author": "Mira"}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-5-1", "2024-05-01"),
        ("2024-05-01T09:30:00Z", "2024-05-01T09:30:00+00:00"),
        ("2024-05-01 9:30:00 +02:00", "2024-05-01T09:30:00+02:00"),
        ("20240501", "2024-05-01"),
    ],
)
def test_the_forms_of_a_date(world: World, stated: str, expected: str) -> None:
    assert facts_of(world, f"date: {stated}").date == expected


def test_a_document_is_found_by_its_aliases(world: World) -> None:
    world.put("team/b.md", "The beta pump.")
    found = facts_of(world, "title: Annual leave\naliases: [PTO, time off]")

    assert found.attributes == {"aliases": "PTO, time off"}
    assert [document.key.path for document in world.search("PTO", min_relevance=0.5).documents] == ["a.md"]


def test_deep_maps_of_a_sidecar_end_in_a_warning(world: World) -> None:
    deep: object = "x"
    for _ in range(400):
        deep = {"a": deep}
    world.put(f"{PATH}.metadata.json", json.dumps({"deep": deep}))
    world.put(PATH, "alpha")

    assert "are left out" in detail_of(world).warnings[0]
