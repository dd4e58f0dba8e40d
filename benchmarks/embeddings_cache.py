"""Vectors kept on disk between runs, by model and text: one SQLite file that many processes may share."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

AT_ONCE = 500  # values of one statement; SQLite takes 999 in any build
LOCK_TIMEOUT_S = 60.0


def cache_folder() -> Path:
    """RAGDROP_BENCH_CACHE, else `.local/bench`; made where it is missing."""
    folder = Path(os.environ.get("RAGDROP_BENCH_CACHE") or ".local/bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class EmbeddingsCache:
    """Unit vectors of one model by text."""

    def __init__(self, model: str, folder: Path | None = None) -> None:
        self._model = model
        self._file = sqlite3.connect(
            (folder or cache_folder()) / "embeddings.db",
            timeout=LOCK_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS embeddings (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def get(self, texts: Sequence[str]) -> dict[str, array[float]]:
        """The vectors that are known, by text."""
        keys = {self._key(text): text for text in texts}
        names = list(keys)
        found: dict[str, array[float]] = {}
        for first in range(0, len(names), AT_ONCE):
            wanted = names[first : first + AT_ONCE]
            marks = ", ".join("?" * len(wanted))
            rows = self._file.execute(f"SELECT key, vector FROM embeddings WHERE key IN ({marks})", wanted)  # noqa: S608
            found.update((keys[key], array("f", vector)) for key, vector in rows)
        return found

    def put(self, vectors: Mapping[str, array[float]]) -> None:
        """Keep the vectors of these texts."""
        rows: Iterable[tuple[bytes, bytes]] = ((self._key(text), held.tobytes()) for text, held in vectors.items())
        self._file.execute("BEGIN IMMEDIATE")
        self._file.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?)", rows)
        self._file.execute("COMMIT")

    def _key(self, text: str) -> bytes:
        model = self._model.encode()
        return hashlib.sha256(len(model).to_bytes(4, "big") + model + text.encode()).digest()
