"""txtai under change: rows are upserted and deleted by their ids; which ids a file had is the caller's to know."""

from __future__ import annotations

from pathlib import Path

from benchmarks.peers.serving import ServedDocument, serve
from benchmarks.peers.txtai_peer import Txtai


class TxtaiLife(Txtai):
    """The index with its texts, and the ids of what it holds."""

    keeps_texts = True

    def open(self, place: ServedDocument) -> str:
        """An empty index."""
        super().open(place)
        self._texts: dict[str, str] = {}
        return "upsert and delete by id; ids and texts kept by the caller"

    def sync(self, folder: Path) -> int:
        """Upsert the rows that are new or changed, delete those that are no more; rows upserted."""
        files = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(folder.rglob("*.txt"))}
        changed = [(name, text) for name, text in files.items() if self._texts.get(name) != text]
        gone = [name for name in self._texts if name not in files]
        if gone:
            self.embeddings.delete(gone)
        if changed:
            self.upsert(changed)
        self._texts = files
        return len(changed)

    def hits(self, query: str, limit: int) -> list[dict[str, str]]:
        """The rows of the index's search."""
        found = self.embeddings.search(query, limit)
        return [{"id": each["id"], "text": each["text"]} for each in found]


if __name__ == "__main__":
    serve(TxtaiLife())
