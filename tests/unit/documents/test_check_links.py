"""Broken links: what leads to no document is listed, whatever way it is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragdrop.domain.documents import Detail, DetailFilters, Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.links import reference
from ragdrop.ports.registry import Claim
from readers.text import read_markdown
from tests.world import World


def broken(world: World, path: str) -> tuple[str, ...]:
    return world.app.documents.document_service.record(world.caller, world.key(path)).broken_links


def test_a_link_resolves_by_path_suffix_case_escape_folder_name_and_root(world: World) -> None:
    for path in ("docs/B c.md", "docs/guide/README.md", "top.md", "deep/er/Größe.md", "docs/v1.2.md"):
        world.put(f"team/{path}", "words")
    targets = "B%20c.md B%20c b%20C.md guide guide/ guide/README ./../top.md /top /team/top.md B%20c.md?x=1#y v1.2"
    wiki = "[[top]] [[größe]] [[er/größe]] [[Deep/er/Größe.md#a|b]] [[B c]] ![[v1.2]]"
    world.put("team/docs/a.md", " ".join(f"[x]({target})" for target in targets.split()) + " " + wiki)

    assert broken(world, "team/docs/a.md") == ()


def test_a_missing_or_deleted_target_and_one_out_of_the_vault_are_broken_and_an_external_one_is_not(
    world: World,
) -> None:
    world.put("other/b.md", "words")
    world.put("team/gone.md", "words")
    world.put("team/a.md", "[x](no.md) [y](https://a.example) [z](../other/b.md) [[never]] [g](gone.md) [t](#top)")
    assert broken(world, "team/a.md") == ("no.md", "../other/b.md", "[[never]]")

    world.delete("team/gone.md")

    assert broken(world, "team/a.md") == ("no.md", "../other/b.md", "[[never]]", "gone.md")


def test_documents_with_broken_links_can_be_listed(world: World) -> None:
    world.put("team/a.md", "[x](no.md)")
    world.put("team/b.md", "[x](a.md)")
    filters = DetailFilters(broken_links=True)

    page = world.app.documents.document_service.page(
        world.caller, vault=None, prefix="", status=None, cursor=None, limit=100, filters=filters
    )

    assert [head.key.path for head in page.heads] == ["a.md"]


def test_of_a_real_vault_at_least_2120_relative_links_are_found(world: World) -> None:
    folder = os.environ.get("RAGDROP_EVAL_DATA")
    if not folder:
        pytest.skip("RAGDROP_EVAL_DATA is not set")
    vault = Path(folder) / "vault-nuget"
    details = [
        _live(world, DocumentKey(world.tenant, "nuget", str(file.relative_to(vault))), file)
        for file in sorted(vault.rglob("*.md"))
    ]

    relative = sum(1 for detail in details for link in detail.links if reference(link, detail.key))
    missing = sum(len(broken(world, detail.key.vault_path)) for detail in details)

    assert relative - missing >= 2_120


def _live(world: World, key: DocumentKey, file: Path) -> Detail:
    """A live document with the links of *file*, without chunks."""
    head = world.registry.claim(key, None, Claim("v1", None, "m1", 0.0, None, world.now_s))
    assert head is not None
    links = read_markdown(file.read_bytes()).links
    facts = Facts(title=key.path, version_id="v1", indexed_at="2026-01-01T00:00:00Z")
    detail = Detail(
        key, head.revision, facts, 0, "", 0, "", "text/markdown", "detected", tuple(link.target for link in links)
    )
    world.registry.point(detail)
    world.registry.activate(detail, world.now_s)
    return detail
