"""What every ChunkIndex makes of filters: each alone and all together, by words and by vectors alike."""

import pytest

from ragdrop.domain.chunks import Filters, Folder, HiddenFolder
from tests.contract.chunk_index_suite import Engine


def found(engine: Engine, filters: Filters) -> set[str]:
    """The paths that pass *filters*: the same by vector and by words."""
    near, words = engine.both("pump", filters=filters)
    assert near == words
    return words


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), {"a.md", "b.md", "c.md"}),
        (Filters(vaults=("team",)), {"a.md", "b.md"}),
        (Filters(vaults=("team", "other")), {"a.md", "b.md", "c.md"}),
        (Filters(vaults=("nowhere",)), set()),
        (Filters(doc_types=("problem",)), {"a.md"}),
        (Filters(doc_types=("problem", "insight")), {"a.md", "b.md"}),
        (Filters(doc_types=("Problem",)), set()),
        (Filters(content_types=("code", "chat")), {"b.md"}),
        (Filters(categories=("water",)), {"a.md"}),
        (Filters(session_ids=("s1", "s9")), {"a.md"}),
        (Filters(promotion_levels=("important", "critical")), {"a.md", "b.md"}),
        (Filters(promotion_levels=("standard",)), {"c.md"}),
        (Filters(tags=("red",)), {"a.md", "b.md"}),
        (Filters(tags=("größe", "none")), {"a.md"}),
        (Filters(tags=("re",)), set()),
        (Filters(attributes={"game": "go"}), {"a.md", "b.md"}),
        (Filters(attributes={"game": "go", "turn": "7"}), {"b.md"}),
        (Filters(attributes={"turn": ("7", "8")}), {"b.md"}),
        (Filters(excluded=Filters(tags=("red",))), {"c.md"}),
        (Filters(excluded=Filters(categories=("water",), attributes={"turn": "7"})), {"c.md"}),
        (Filters(excluded=Filters(attributes={"game": ("chess", "go")})), {"c.md"}),
        (Filters(vaults=("team",), excluded=Filters(folders=(Folder("a.md"),), doc_types=("none",))), {"b.md"}),
        (Filters(tags=("red",), excluded=Filters(content_types=("code",), session_ids=("s9",))), {"a.md"}),
        (Filters(attributes={"game": ("go", "chess"), "turn": ("8",)}), set()),
        (Filters(attributes={"game": "GO"}), set()),
        (Filters(attributes={"go": "game"}), set()),
        (Filters(attributes={'odd "name"': "a, b"}), {"a.md"}),
        (Filters(doc_types=("problem", "insight"), tags=("red",), attributes={"turn": "7"}), {"b.md"}),
        (Filters(vaults=("other",), doc_types=("problem",)), set()),
        (Filters(categories=("' OR 1=1 --",)), set()),
        (Filters(tags=("%",)), set()),
        (Filters(tags=("\x00", "\ud800")), set()),
    ],
)
def test_a_filter_lets_through_what_matches_and_nothing_else(
    engine: Engine, filters: Filters, expected: set[str]
) -> None:
    engine.write(
        engine.piece(
            "a.md",
            "pump",
            doc_type="problem",
            category="water",
            session_id="s1",
            promotion_level="critical",
            tags=("red", "größe"),
            attributes={"game": "go", 'odd "name"': "a, b"},
        ),
        engine.piece(
            "b.md",
            "pump",
            doc_type="insight",
            content_type="code",
            promotion_level="important",
            tags=("red",),
            attributes={"game": "go", "turn": "7"},
        ),
        engine.piece("c.md", "pump", vault="other"),
    )

    assert found(engine, filters) == expected


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("2026-01-10", None, {"day.md", "noon.md", "later.md"}),
        (None, "2026-01-10", {"earlier.md", "day.md", "noon.md"}),
        ("2026-01-10", "2026-01-10", {"day.md", "noon.md"}),
        ("2026-01-10T10:00:00Z", "2026-01-10", {"noon.md"}),
        (None, "2026-01-10T11:00:00Z", {"earlier.md", "day.md"}),
        ("2026-01-12", None, set()),
        ("2026-02-01", "2026-01-01", set()),
    ],
)
def test_dates_are_compared_with_both_ends_and_a_day_as_the_end_is_whole(
    engine: Engine, first: str | None, last: str | None, expected: set[str]
) -> None:
    engine.write(
        engine.piece("earlier.md", "pump", date="2026-01-09T23:59:59Z"),
        engine.piece("day.md", "pump", date="2026-01-10"),
        engine.piece("noon.md", "pump", date="2026-01-10T12:00:00Z"),
        engine.piece("later.md", "pump", date="2026-01-11T00:00:00Z"),
        engine.piece("undated.md", "pump"),
    )

    assert found(engine, Filters(date_from=first, date_to=last)) == expected


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        ((Folder("a"),), {"a/x.md", "a/b/y.md", "a/b/c/z.md", "a/bc.md/w.md"}),
        ((Folder("a/b"),), {"a/b/y.md", "a/b/c/z.md"}),
        ((Folder("a", "other"),), {"a/x.md"}),
        ((Folder("a/b", "other"),), set()),
        ((Folder("ab"), Folder("a/b/c")), {"ab/x.md", "a/b/c/z.md"}),
        ((Folder("a/bc"),), set()),
        ((Folder("top.md"),), {"top.md"}),
        ((Folder("A"),), set()),
        ((Folder("*"),), set()),
        ((Folder("a%"),), {"a%/x.md"}),
        ((Folder("a_"),), set()),
        ((Folder("", "other"),), {"a/x.md"}),
        ((Folder("größe 😀"),), {"größe 😀/x.md"}),
        ((Folder("none"),), set()),
    ],
)
def test_a_folder_is_a_prefix_on_segment_boundaries(
    engine: Engine, folders: tuple[Folder, ...], expected: set[str]
) -> None:
    for path in ("a/x.md", "a/b/y.md", "a/b/c/z.md", "ab/x.md", "a/bc.md/w.md", "top.md", "a%/x.md", "größe 😀/x.md"):
        engine.write(engine.piece(path, "pump"))
    engine.write(engine.piece("a/x.md", "pump", vault="other"))

    assert found(engine, Filters(folders=folders)) == expected


def test_an_empty_folder_in_every_vault_is_everything(engine: Engine) -> None:
    engine.write(engine.piece("a/x.md", "pump"), engine.piece("b.md", "pump", vault="other"))

    assert found(engine, Filters(folders=(Folder(""),))) == {"a/x.md", "b.md"}


def test_many_folders_can_be_asked_for_at_once(engine: Engine) -> None:
    engine.write(engine.piece("f7/x.md", "pump"), engine.piece("g/x.md", "pump"))

    assert found(engine, Filters(folders=tuple(Folder(f"f{number}") for number in range(500)))) == {"f7/x.md"}


def test_a_folder_in_a_vault_out_of_scope_matches_nothing(engine: Engine) -> None:
    engine.write(engine.piece("a/x.md", "pump"), engine.piece("a/y.md", "pump", vault="other"))

    assert found(engine, Filters(vaults=("team",), folders=(Folder("a", "other"),))) == set()


def test_a_hidden_folder_is_left_out_but_for_the_open_ones_in_it(engine: Engine) -> None:
    for path in ("hr/pay.md", "hr/open/news.md", "hr/open/deep/x.md", "hrx/a.md", "top.md"):
        engine.write(engine.piece(path, "pump"))
    engine.write(engine.piece("hr/theirs.md", "pump", vault="other"))
    hr, open_, deep = (Folder(path, "team") for path in ("hr", "hr/open", "hr/open/deep"))

    near, words = engine.both("pump", hidden=(HiddenFolder(hr, (open_,)), HiddenFolder(deep)))

    assert near == words == {"hr/open/news.md", "hrx/a.md", "top.md", "hr/theirs.md"}


def test_a_hidden_vault_is_left_out_whole(engine: Engine) -> None:
    engine.write(engine.piece("a.md", "pump"), engine.piece("b.md", "pump", vault="other"))

    assert engine.both("pump", hidden=(HiddenFolder(Folder("", "team")),)) == ({"b.md"}, {"b.md"})
