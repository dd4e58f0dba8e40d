"""A damaged file of the embedded index is a lost index, whatever the damage; it is found, set aside and replaced."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ragdrop.errors import IndexLostError
from ragdrop.stores.sqlite.chunk_index import SqliteChunkIndex
from tests.contract.chunk_index_suite import DIMENSION, Engine, new_ref, now


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine("sqlite", SqliteChunkIndex(tmp_path / "index"), new_ref(tenant="acme"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "index" / "acme" / f"ragdrop-test-{DIMENSION}.db"


@pytest.mark.parametrize("content", [b"", b"garbage " * 1_000], ids=["empty", "garbage"])
def test_a_damaged_file_is_a_lost_index_and_is_set_aside_when_it_is_dropped(
    engine: Engine, file: Path, content: bytes
) -> None:
    engine.write(engine.piece("a.md", "pump"))
    engine.chunks.files.close()  # type: ignore[attr-defined]
    for each in file.parent.iterdir():
        each.unlink()
    file.write_bytes(content)

    with pytest.raises(IndexLostError):
        engine.words("pump")
    with pytest.raises(IndexLostError):
        engine.count()

    assert engine.chunks.drop(engine.ref, now()) == 0
    engine.write(engine.piece("a.md", "pump"))
    assert len(engine.words("pump")) == 1
    assert file.with_suffix(".damaged").read_bytes() == content


@pytest.mark.parametrize(
    ("column", "damage"),
    [
        ("facts", "{garbage"),
        ("facts", b"\xff\xfe"),
        ("facts", '{"garbage": 1}'),
        ("heading_path", "{garbage"),
        ("text", b"\xff\xfe"),
    ],
)
def test_a_damaged_row_is_a_lost_index(engine: Engine, file: Path, column: str, damage: str | bytes) -> None:
    engine.write(engine.piece("a.md", "pump"))
    engine.chunks.files.close()  # type: ignore[attr-defined]
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(f"UPDATE bodies SET {column} = CAST(? AS TEXT)", (damage,))  # noqa: S608 - a constant

    with pytest.raises(IndexLostError):
        engine.words("pump")


def test_damage_that_a_count_does_not_meet_is_found_by_verifying(engine: Engine, file: Path) -> None:
    engine.write(*(engine.piece(f"{number}.md", f"pump {'word ' * 400}") for number in range(50)))
    engine.chunks.files.close()  # type: ignore[attr-defined]
    with closing(apsw.Connection(str(file))) as connection:
        [root] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'bodies'").fetchall()[0]
    with file.open("r+b") as opened:
        opened.seek((root - 1) * 8_192)
        opened.write(b"garbage " * 1_024)

    assert engine.count() == 50
    with pytest.raises(IndexLostError):
        engine.chunks.verify(engine.ref, now())

    engine.chunks.drop(engine.ref, now())
    engine.chunks.verify(engine.ref, now())
    assert file.with_suffix(".damaged").exists()


def test_a_row_that_cannot_be_read_is_found_by_verifying(engine: Engine, file: Path) -> None:
    engine.write(engine.piece("a.md", "pump"))
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("UPDATE bodies SET facts = '{garbage'")

    with pytest.raises(IndexLostError):
        engine.chunks.verify(engine.ref, now())


def test_a_lexical_index_without_its_version_is_a_lost_index(engine: Engine, file: Path) -> None:
    engine.write(engine.piece("a.md", "pump"))
    engine.chunks.files.close()  # type: ignore[attr-defined]
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("UPDATE lexical_config SET v = 0 WHERE k = 'version'")

    with pytest.raises(IndexLostError):
        engine.words("pump")
