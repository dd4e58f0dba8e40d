"""What every ChunkIndex tells of the revisions that it holds, and how single ones are removed: for the sweep."""

import pytest

from tests.contract.chunk_index_suite import Engine, new_ref, now


def listed(engine: Engine, *, limit: int = 100) -> list[tuple[str, str, int]]:
    """Vault, path and revision of all, page by page."""
    found, cursor = [], None
    while True:
        page = engine.chunks.revisions(engine.ref, cursor=cursor, limit=limit, deadline=now())
        assert len(page.revisions) <= limit
        assert {each.key.tenant for each in page.revisions} <= {engine.ref.tenant}
        assert {each.indexed_at for each in page.revisions} <= {"2026-01-02T03:04:05Z"}
        found += [(each.key.vault, each.key.path, each.revision) for each in page.revisions]
        cursor = page.cursor
        if cursor is None:
            return found


def test_a_tenant_without_chunks_has_no_revisions(engine: Engine) -> None:
    assert listed(engine) == []


def test_every_revision_is_listed_once_however_many_chunks_it_has(engine: Engine) -> None:
    engine.write(*(engine.piece("a.md", revision=1, ordinal=number) for number in range(3)))
    engine.write(engine.piece("a.md", revision=2), engine.piece("a.md", vault="other", revision=1))
    engine.write(engine.piece("größe 😀.md", revision=1_760_000_000_250))

    found = listed(engine)

    assert sorted(found) == [
        ("other", "a.md", 1),
        ("team", "a.md", 1),
        ("team", "a.md", 2),
        ("team", "größe 😀.md", 1_760_000_000_250),
    ]


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_pages_join_to_the_whole_also_while_revisions_are_removed(engine: Engine, limit: int) -> None:
    engine.write(*(engine.piece(f"{number}.md", revision=number + 1) for number in range(7)))
    whole = listed(engine)
    first = engine.chunks.revisions(engine.ref, cursor=None, limit=limit, deadline=now())
    for each in first.revisions:
        engine.remove(each.key.path, before_revision=each.revision + 1)

    rest: list[tuple[str, str, int]] = []
    cursor = first.cursor
    while cursor is not None:
        page = engine.chunks.revisions(engine.ref, cursor=cursor, limit=limit, deadline=now())
        rest += [(each.key.vault, each.key.path, each.revision) for each in page.revisions]
        cursor = page.cursor

    assert len(whole) == 7
    assert [(each.key.vault, each.key.path, each.revision) for each in first.revisions] + rest == whole


def test_another_tenants_revisions_are_not_listed(engine: Engine) -> None:
    engine.write(engine.piece("a.md"))

    assert engine.chunks.revisions(new_ref(), cursor=None, limit=10, deadline=now()).revisions == []


def test_one_revision_can_be_removed_between_others(engine: Engine) -> None:
    engine.write(*(engine.piece("a.md", revision=revision) for revision in (1, 2, 3)))

    removed = engine.chunks.remove(engine.ref, engine.key("a.md"), from_revision=2, before_revision=3, deadline=now())
    engine.chunks.refresh([engine.ref], now())

    assert removed == 1
    assert sorted(listed(engine)) == [("team", "a.md", 1), ("team", "a.md", 3)]


def test_verifying_passes_where_there_is_nothing_and_where_all_is_well(engine: Engine) -> None:
    engine.chunks.verify(engine.ref, now())
    engine.write(engine.piece("a.md", "pump"), engine.piece("b.md", "valve"))

    engine.chunks.verify(engine.ref, now())
