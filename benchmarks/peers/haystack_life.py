"""Haystack under change: its indexing pipeline over the folder, written with DuplicatePolicy.OVERWRITE.

A document's id is a digest of its content and meta, so what a writer overwrites are equal chunks alone; the
documentation has no step that removes what a changed or deleted file leaves behind.  The configuration `hybrid` runs
just that; with `hybrid-cleaned` everything of files that changed or went is removed first by `delete_by_filter`.
"""

from __future__ import annotations

from pathlib import Path

from haystack.components.converters import TextFileToDocument

from benchmarks.peers.haystack_peer import Haystack
from benchmarks.peers.serving import ServedDocument, serve


class HaystackLife(Haystack):
    """The document store behind the pipeline that reads files."""

    def open(self, place: ServedDocument) -> str:
        """The same store."""
        plain, _, cleaned = place.configuration.partition("-cleaned")
        del cleaned
        self._cleans = plain != place.configuration
        super().open(ServedDocument(**{**place.__dict__, "configuration": plain}))
        self._texts: dict[str, bytes] = {}
        if self._cleans:
            return "the same, behind delete_by_filter of each changed or missing path, by our own bookkeeping"
        return "DocumentWriter, DuplicatePolicy.OVERWRITE"

    def sync(self, folder: Path) -> int:
        """Convert every file and run the pipeline; chunks written."""
        paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.txt"))}
        if self._cleans:
            now = {name: path.read_bytes() for name, path in paths.items()}
            gone = [name for name, text in self._texts.items() if now.get(name) != text]
            paths = {name: path for name, path in paths.items() if self._texts.get(name) != now[name]}
            for name in gone:
                self.store.delete_by_filter({"field": "meta.path", "operator": "==", "value": name}, refresh=True)
            self._texts = now
        if not paths:
            return 0
        meta = [{"id": name, "title": name, "path": name} for name in paths]
        read = TextFileToDocument().run(sources=list(paths.values()), meta=meta)["documents"]
        return self.write(read)

    def hits(self, query: str, limit: int) -> list[dict[str, str]]:
        """The documents of the retriever."""
        return [{"id": each.meta["id"], "text": each.content or ""} for each in self.retrieve(query, limit)[:limit]]


if __name__ == "__main__":
    serve(HaystackLife())
