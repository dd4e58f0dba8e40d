"""What only the embedded index promises: its files, many processes and threads at once, and its failures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from ragdrop.domain.chunks import CandidateQuery, Filters
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import ConfigurationError, DatabaseError, DeadlineError
from ragdrop.stores.sqlite.chunk_index import SqliteChunkIndex
from tests.contract import sqlite_writer
from tests.contract.chunk_index_suite import DIMENSION, Engine, new_ref, now, paths

PROCESSES = 4
PROCESS_LIMIT_S = 60


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine("sqlite", SqliteChunkIndex(tmp_path / "index"), new_ref(tenant="acme"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "index" / "acme" / f"ragdrop-test-{DIMENSION}.db"


def test_processes_that_start_at_once_on_no_file_lose_nothing(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "layers/common/python")])}
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", sqlite_writer.__name__, str(tmp_path / "index"), f"writer{number}"],
            cwd=root,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    told = [(writer.communicate(timeout=PROCESS_LIMIT_S)[1], writer.returncode) for writer in writers]

    assert told == [("", 0)] * PROCESSES
    engine = Engine("sqlite", SqliteChunkIndex(tmp_path / "index"), new_ref(tenant=sqlite_writer.TENANT))
    assert engine.count() == PROCESSES * sqlite_writer.DOCUMENTS * sqlite_writer.CHUNKS
    assert {hit.revision for hit in engine.words("pump", limit=200)} == {2}
    assert not list((tmp_path / "index").rglob("*.new"))


def test_a_file_that_another_process_is_just_closing_is_waited_for(engine: Engine, file: Path) -> None:
    other = Engine("sqlite", SqliteChunkIndex(file.parents[1]), engine.ref)
    other.write(other.piece("a.md", "pump"))
    del other  # its connections too
    closing = apsw.Connection(str(file))
    closing.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT").fetchall()
    timer = threading.Timer(0.3, closing.close)
    timer.start()

    found = engine.words("pump")

    timer.join()
    assert len(found) == 1


def test_threads_of_one_process_share_the_index(engine: Engine) -> None:
    def work(number: int) -> int:
        engine.write(engine.piece(f"{number}.md", "pump"))
        return len(engine.words("pump", limit=200))

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(work, range(40)))

    assert min(seen) >= 1
    assert engine.count() == 40


def test_a_reader_of_a_tenant_without_a_file_creates_nothing(engine: Engine, tmp_path: Path) -> None:
    engine.words("pump")
    engine.read("a.md")
    engine.count()
    engine.remove("a.md", before_revision=2)
    engine.chunks.drop(engine.ref, now())
    engine.chunks.check(now())

    assert list(tmp_path.iterdir()) == []


def test_each_tenant_and_index_has_its_own_file(engine: Engine, file: Path) -> None:
    engine.write(engine.piece("a.md"))
    other = replace(engine, ref=new_ref(tenant="umbrella"))
    other.write(other.piece("a.md"))

    assert file.exists()
    assert (file.parents[1] / "umbrella" / file.name).exists()


@pytest.mark.parametrize("name", ["..", "../other", "a/b", "", "a\x00b"])
def test_a_name_that_leaves_the_folder_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(ConfigurationError):
        replace(engine, ref=replace(engine.ref, tenant=name)).count()
    with pytest.raises(ConfigurationError):
        replace(engine, ref=replace(engine.ref, name=name)).count()


def test_a_reader_is_not_blocked_by_a_writer_and_sees_only_what_is_committed(engine: Engine, file: Path) -> None:
    engine.write(engine.piece("a.md", "pump"))
    writer = apsw.Connection(str(file))
    writer.execute("BEGIN IMMEDIATE; DELETE FROM bodies")

    assert paths(engine.words("pump")) == ["a.md"]
    writer.execute("ROLLBACK")
    writer.close()


def test_a_writer_that_waits_longer_than_its_deadline_is_told_that_a_retry_can_help(engine: Engine, file: Path) -> None:
    engine.write(engine.piece("a.md"))
    holder = apsw.Connection(str(file))
    holder.execute("BEGIN IMMEDIATE")

    with pytest.raises(DatabaseError) as caught:
        engine.chunks.upsert(engine.ref, [engine.piece("b.md")], Deadline.after(0.05))

    assert (caught.value.service, caught.value.retryable) == ("index", True)
    assert isinstance(caught.value.__cause__, apsw.BusyError)
    holder.execute("ROLLBACK")
    holder.close()
    engine.write(engine.piece("b.md"))
    assert engine.count() == 2


def test_a_writer_waits_for_another_one_within_its_deadline(engine: Engine, file: Path) -> None:
    engine.write(engine.piece("a.md"))
    holder = apsw.Connection(str(file))
    holder.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, lambda: holder.execute("COMMIT"))
    release.start()

    engine.write(engine.piece("b.md"))

    release.join()
    holder.close()
    assert engine.count() == 2


def test_a_query_stops_at_its_deadline(engine: Engine) -> None:
    for first in range(0, 2_000, 500):
        engine.write(*[engine.piece("a.md", "pump", ordinal=ordinal) for ordinal in range(first, first + 500)])
    query = CandidateQuery(None, engine.piece("x.md", "pump").vector, Filters(tags=("none",)), 200)

    with pytest.raises(DeadlineError):
        engine.chunks.candidates(engine.ref, [query] * 5_000, Deadline.after(0.3))
    assert engine.count() == 2_000


@pytest.mark.parametrize("content", [b"not a database at all" * 500, b""])
def test_a_file_that_is_no_index_is_an_error_and_not_an_empty_answer(
    engine: Engine, file: Path, content: bytes
) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(content)

    with pytest.raises(DatabaseError) as caught:
        engine.words("pump")
    assert caught.value.service == "index"


def test_something_else_in_the_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file")
    engine = Engine("sqlite", SqliteChunkIndex(tmp_path / "index"), new_ref())

    with pytest.raises(DatabaseError):
        engine.chunks.check(now())
    with pytest.raises(DatabaseError):
        engine.write(engine.piece("a.md"))


def test_a_missing_extension_is_a_wrong_deployment(tmp_path: Path) -> None:
    engine = Engine("sqlite", SqliteChunkIndex(tmp_path, extension=str(tmp_path / "absent")), new_ref())

    with pytest.raises(ConfigurationError, match="sqlite-vec"):
        engine.chunks.check(now())
    with pytest.raises(ConfigurationError, match="sqlite-vec"):
        engine.write(engine.piece("a.md"))


def test_a_file_of_another_dimension_is_a_wrong_deployment(engine: Engine) -> None:
    engine.write(engine.piece("a.md"))
    other = replace(engine, ref=replace(engine.ref, dimension=DIMENSION * 2))

    with pytest.raises(ConfigurationError, match=rf"{DIMENSION}.*{DIMENSION * 2}"):
        other.write(other.piece("b.md"))
    with pytest.raises(ConfigurationError, match=rf"{DIMENSION}.*{DIMENSION * 2}"):
        other.near(other.piece("b.md").vector)


def test_a_folder_removed_by_hand_is_made_anew_with_the_next_chunk(engine: Engine, file: Path) -> None:
    engine.write(engine.piece("a.md", "pump"))
    shutil.rmtree(file.parents[1])

    assert engine.words("pump") == []
    engine.write(engine.piece("b.md", "pump"))
    assert paths(engine.words("pump")) == ["b.md"]


def test_dropping_while_another_connection_reads_loses_nothing_that_is_written_later(
    engine: Engine, file: Path
) -> None:
    engine.write(*[engine.piece("a.md", "pump", ordinal=ordinal) for ordinal in range(50)])
    other = replace(engine, chunks=SqliteChunkIndex(file.parents[1]))
    assert other.count() == 50

    assert engine.chunks.drop(engine.ref, now()) == 50
    other.write(other.piece("b.md", "pump"))
    assert (engine.count(), other.count()) == (1, 1)


def test_dropping_gives_the_space_back(engine: Engine, file: Path) -> None:
    engine.write(*[engine.piece("a.md", "pump " * 300, ordinal=ordinal) for ordinal in range(400)])
    before_bytes = file.stat().st_size + file.with_name(f"{file.name}-wal").stat().st_size

    engine.chunks.drop(engine.ref, now())

    assert file.stat().st_size < before_bytes / 4


def test_a_document_of_more_than_ten_thousand_chunks_is_removed_whole(engine: Engine) -> None:
    near = engine.piece("a.md").vector
    engine.write(*[engine.piece("a.md", "pump", ordinal=ordinal, near=near) for ordinal in range(10_500)])

    assert engine.remove("a.md", before_revision=2) == 10_500
    assert engine.words("pump") == []


def test_importing_the_index_brings_no_numpy_and_no_sdk() -> None:
    code = (
        "import sys, ragdrop.stores.sqlite.chunk_index;"
        "print(sorted({'numpy', 'boto3', 'pydantic', 'sqlite_vec', 'sqlite3'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "layers/common/python")}
    told = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True, timeout=30)

    assert told.strip() == "[]"
