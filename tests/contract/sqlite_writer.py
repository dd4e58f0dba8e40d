"""One process of many that write to one embedded index at once: `python -m tests.contract.sqlite_writer FOLDER WHO`."""

from __future__ import annotations

import sys
from pathlib import Path

from ragdrop.stores.sqlite.chunk_index import SqliteChunkIndex
from tests.contract.chunk_index_suite import Engine, new_ref

TENANT = "shared"
DOCUMENTS, CHUNKS = 12, 5


def main(folder: Path, who: str) -> None:
    engine = Engine("sqlite", SqliteChunkIndex(folder), new_ref(tenant=TENANT))
    for document in range(DOCUMENTS):
        path = f"{who}/{document}.md"
        for revision in (1, 2):
            pieces = [
                engine.piece(path, f"pump {who}", revision=revision, ordinal=ordinal) for ordinal in range(CHUNKS)
            ]
            engine.write(*pieces)
        found = {hit.key.path for hit in engine.words(who, limit=200)}
        if path not in found or engine.remove(path, before_revision=2) != CHUNKS:
            sys.exit(f"{path} was written, but not found or not removed whole")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
