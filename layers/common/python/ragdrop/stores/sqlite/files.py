"""Files of the embedded index: created once, opened on demand, shared by threads and processes."""

from __future__ import annotations

import os
import re
import threading
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import apsw

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import ConfigurationError, DatabaseError, DeadlineError, IndexLostError
from ragdrop.stores.sqlite.schema import SCHEMA

MAX_WAIT_S = 30.0  # for another process's write transaction; each is a fraction of a second
MAX_IDLE = 8  # open connections kept for the next call, over all tenants
MMAP_BYTES = 512 * 1024 * 1024  # a scan of vectors under a filter takes half the time of reads through the page cache
STEPS_BETWEEN_LOOKS = 100_000  # of SQLite's virtual machine, some milliseconds: how often a query looks at its deadline
DAMAGE = ("no such table", "invalid fts5 file format")  # an empty file is a database without tables

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class _Open:
    path: Path
    identity: tuple[int, int]
    connection: apsw.Connection


class SqliteFiles:
    """Connections to `{folder}/{tenant}/{index name}.db`, one transaction at a time each."""

    def __init__(self, folder: Path, *, extension: str | None = None, further_schema: str = "") -> None:
        self.folder = folder
        self._schema = SCHEMA + further_schema
        self._extension = extension
        self._idle: deque[_Open] = deque()
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._inherited: list[deque[_Open]] = []

    @contextmanager
    def reading(self, index: IndexRef, deadline: Deadline) -> Iterator[apsw.Connection | None]:
        """One read transaction: everything read in it is of one moment.  None where the tenant has no file.

        Raises:
            DatabaseError: SQLite failed.
            DeadlineError: The time was used up.
        """
        path = self.path(index)
        with _translated(deadline):
            if not path.exists():
                yield None
            else:
                with self._transaction(path, "BEGIN", deadline) as connection:
                    yield connection

    @contextmanager
    def writing(self, index: IndexRef, deadline: Deadline) -> Iterator[apsw.Connection]:
        """One write transaction, committed at its end; the file is made where there is none.  Raises as `reading`."""
        path = self.path(index)
        with _translated(deadline):
            if not path.exists():
                self._create(path)
            with self._transaction(path, "BEGIN IMMEDIATE", deadline) as connection:
                yield connection

    def exists(self, index: IndexRef) -> bool:
        """Whether the tenant has a file for this index."""
        return self.path(index).exists()

    def close(self, index: IndexRef | None = None) -> None:
        """Close the connections that nobody uses: those to one index's file, or all."""
        with self._lock:
            closed = [each for each in self._idle if index is None or each.path == self.path(index)]
            for each in closed:
                self._idle.remove(each)
        for each in closed:
            each.connection.close(force=True)

    def compact(self, index: IndexRef, deadline: Deadline) -> None:
        """Give the space of removed rows back; nothing happens while somebody else uses the file."""
        with _translated(deadline), self._connection(self.path(index), deadline) as connection:
            connection.set_busy_timeout(0)
            try:
                connection.execute("VACUUM").fetchall()
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except apsw.BusyError:
                return

    def set_aside(self, index: IndexRef) -> None:
        """Move a damaged file out of the way, for whoever wants to look at it; the last one set aside is kept."""
        self.close(index)
        path = self.path(index)
        for companion in ("-wal", "-shm"):
            path.with_name(path.name + companion).unlink(missing_ok=True)
        path.replace(path.with_suffix(".damaged"))

    def connect(self, path: Path | str, *, create: bool = False) -> apsw.Connection:
        """A connection with sqlite-vec loaded.

        Raises:
            ConfigurationError: sqlite-vec is missing or does not fit this machine.
            apsw.Error: The file cannot be opened.
        """
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
        connection = apsw.Connection(str(path), flags=flags)
        connection.set_busy_timeout(int(MAX_WAIT_S * 1000))  # the last one to close a file locks it for a moment
        connection.enable_load_extension(enable=True)
        try:
            connection.load_extension(self._extension or _vector_extension())
        except apsw.ExtensionLoadingError as exc:
            connection.close(force=True)
            raise ConfigurationError(f"the SQLite extension sqlite-vec cannot be loaded: {exc}") from exc
        connection.enable_load_extension(enable=False)
        connection.execute(
            f"PRAGMA mmap_size = {MMAP_BYTES}; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY"
        ).fetchall()
        return connection

    def _create(self, path: Path) -> None:
        """Make an empty index at *path*, whole or not at all; whoever is first wins and the others use that one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.stem}.{uuid.uuid4().hex}.new")
        try:
            connection = self.connect(draft, create=True)
            try:
                connection.execute(self._schema).fetchall()
            finally:
                connection.close(force=True)
            path.hardlink_to(draft)
        except FileExistsError:
            pass
        finally:
            draft.unlink(missing_ok=True)

    def path(self, index: IndexRef) -> Path:
        """Where the tenant's file for this index is, or would be."""
        for name in (index.tenant, index.name):
            if not _NAME.fullmatch(name):
                raise ConfigurationError(f"{name[:80]!r} cannot name a tenant or an index", value=name[:80])
        return self.folder / index.tenant / f"{index.name}.db"

    @contextmanager
    def _transaction(self, path: Path, begin: str, deadline: Deadline) -> Iterator[apsw.Connection]:
        with self._connection(path, deadline) as connection:
            connection.execute(begin)
            try:
                yield connection
            except BaseException:  # whatever it was, nothing half-written stays; it goes on
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def _connection(self, path: Path, deadline: Deadline) -> Iterator[apsw.Connection]:
        """A connection that is this thread's alone until the end; after an error of SQLite it is not used again."""
        wait_s = deadline.timeout_s(MAX_WAIT_S, stage="index")
        opened = self._take(path) or _Open(path, _identity(path), self.connect(path))
        connection = opened.connection
        connection.set_busy_timeout(max(1, int(wait_s * 1000)))
        connection.set_progress_handler(lambda: deadline.remaining_s() <= 0, STEPS_BETWEEN_LOOKS)
        try:
            yield connection
        except apsw.Error:
            connection.close(force=True)
            raise
        finally:
            self._give_back(opened)

    def _take(self, path: Path) -> _Open | None:
        with self._lock:
            if self._process != os.getpid():  # a forked child must not touch its parent's connections, nor close them
                self._inherited.append(self._idle)
                self._idle, self._process = deque(), os.getpid()
            found = next((opened for opened in self._idle if opened.path == path), None)
            if found is None:
                return None
            self._idle.remove(found)
        if found.identity == _identity(path):
            return found
        found.connection.close(force=True)  # the file was removed or replaced by hand
        return None

    def _give_back(self, opened: _Open) -> None:
        if not _is_open(opened.connection):
            return
        opened.connection.set_progress_handler(None)
        with self._lock:
            self._idle.appendleft(opened)
            surplus = self._idle.pop() if len(self._idle) > MAX_IDLE else None
        if surplus is not None:
            surplus.connection.close(force=True)


def _vector_extension() -> str:
    spec = find_spec("sqlite_vec")  # not imported: its module imports numpy where there is one
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError("the package sqlite-vec is not installed: the embedded index needs it")
    return str(Path(spec.submodule_search_locations[0]) / "vec0")


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _is_open(connection: apsw.Connection) -> bool:
    try:
        return bool(connection.filename is not None)
    except apsw.ConnectionClosedError:
        return False


@contextmanager
def _translated(deadline: Deadline) -> Iterator[None]:
    try:
        yield
    except apsw.InterruptError as exc:
        raise DeadlineError("the index used up the time", service="index", stage="index") from exc
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as exc:
        raise IndexLostError("an index file is damaged") from exc
    except apsw.SQLError as exc:
        if any(sign in str(exc) for sign in DAMAGE):
            raise IndexLostError("an index file has lost its tables") from exc
        raise DatabaseError("the index failed: SQLError", service="index") from exc
    except apsw.BusyError as exc:
        left_s = round(deadline.remaining_s(), 3)
        raise DatabaseError("the index file is locked by another writer", service="index", left_s=left_s) from exc
    except apsw.Error as exc:  # only its name: SQLite's messages may quote a query
        raise DatabaseError(f"the index failed: {type(exc).__name__}", service="index") from exc
    except OSError as exc:
        raise DatabaseError(f"the index folder cannot be used: {exc.strerror}", service="index") from exc
