"""FoundTyped as one types: names, words, codes and quotations, over the fake and over the bucket index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError
from ragdrop.query.find import FoundTyped
from tests.contract.chunk_index_suite import bucket_index
from tests.world import World

TEXTS = {
    "team/machines/pump.md": "---\ntags: [hydraulics]\n---\n# The red pump\n\nIts code is QX-5521. It stands here.",
    "team/machines/valve.md": "# Valve\n\nThe valve stands beside the red old pump.",
    "team/notes/größe.md": "# Maße\n\nDie Größe der Halle beträgt 40 Meter.",
    "hr/pay.md": "# Pay\n\nThe pump attendant earns more.",
}


@pytest.fixture(params=["fake", "bucket"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    made = World(index=bucket_index(tmp_path) if request.param == "bucket" else None)
    for path, text in TEXTS.items():
        made.put(path, text)
    return made


def find(world: World, text: str, caller: Caller | None = None, **fields: Any) -> list[FoundTyped]:
    return world.app.query.find(Query(text, **fields), caller or world.caller, Deadline.after(10))


def found(world: World, text: str, **fields: Any) -> list[tuple[str, str]]:
    return [(each.key.path, each.found_in) for each in find(world, text, **fields)]


@pytest.mark.parametrize(
    ("typed", "place"),
    [("red pu", "title"), ("PUMP", "title"), ("hydrau", "tag"), ("qx-5521", "text"), ("QX-55", "text")],
)
def test_a_document_is_found_by_what_its_name_or_text_begins_with(world: World, typed: str, place: str) -> None:
    assert found(world, typed)[0] == ("machines/pump.md", place)


def test_documents_come_by_title_then_by_path_then_by_text(world: World) -> None:
    assert found(world, "pump") == [
        ("machines/pump.md", "title"),
        *sorted([("machines/valve.md", "text"), ("pay.md", "text")], key=lambda one: found(world, "pump").index(one)),
    ]
    assert {path for path, place in found(world, "machines") if place == "path"} == {
        "machines/pump.md",
        "machines/valve.md",
    }


def test_accents_and_case_do_not_matter(world: World) -> None:
    assert found(world, "masse")[0] == ("notes/größe.md", "title")
    assert found(world, "GRÖS")[0] == ("notes/größe.md", "path")


def test_every_word_must_be_there_and_a_quotation_as_it_is_written(world: World) -> None:
    assert [path for path, _ in found(world, "valve stands beside")] == ["machines/valve.md"]
    assert found(world, "valve spade") == []
    assert [path for path, _ in found(world, '"red old pump"')] == ["machines/valve.md"]
    assert [path for path, _ in found(world, '"red pump"')] == ["machines/pump.md"]


def test_an_excerpt_is_of_the_parsed_text_and_marks_what_was_typed(world: World) -> None:
    [finding] = find(world, "earns")

    assert finding.excerpt is not None
    assert finding.excerpt.marked is not None
    first, last = finding.excerpt.marked
    assert finding.excerpt.text[first - finding.excerpt.start : last - finding.excerpt.start] == "earns"


def test_a_key_of_one_vault_finds_nothing_of_another(world: World) -> None:
    of_team = Caller("acme", "reader", ("team",))

    assert [each.key.path for each in find(world, "pay", of_team)] == []
    assert "pay.md" not in {each.key.path for each in find(world, "pump", of_team)}
    with pytest.raises(InvalidParamsError, match="no vault named 'hr'"):
        find(world, "pay", of_team, vaults=("hr",))


def test_a_rule_hides_a_document_from_names_and_texts(world: World) -> None:
    world.put("team/secret.md", "---\naccess: [board]\n---\n# Secret pump\n\nThe secret pump is blue.")
    readers = Caller("acme", "reader"), Caller("acme", "reader", groups=("board",))

    assert [[each.key.path for each in find(world, "secret pum", who)] for who in readers] == [[], ["secret.md"]]


def test_what_was_deleted_or_replaced_is_not_found(world: World) -> None:
    world.delete("team/machines/valve.md")
    world.put("team/machines/pump.md", "# The blue pump\n\nNothing else.")

    assert found(world, "valve") == []
    assert found(world, "QX-5521") == []
    assert found(world, "blue p") == [("machines/pump.md", "title")]


@pytest.mark.parametrize("typed", ['"', "?!", "a", "*", "[", "\\", "the ", '"""', "\u4e00", "x" * 200, "p.*", "\ud800"])
def test_nothing_that_is_typed_is_syntax_or_an_error(world: World, typed: str) -> None:
    assert len(find(world, typed)) <= 40


def test_a_limit_leaves_room_for_names_and_for_texts(world: World) -> None:
    for number in range(6):
        world.put(f"team/more/{number}.md", f"# Pump {number}\n\nWords.")

    places = [place for _, place in found(world, "pump", limit=4)]

    assert sorted(places) == ["text", "text", "title", "title"]
