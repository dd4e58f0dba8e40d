"""A layer: chunks over a bucket index that are in no bucket, searched with it as one."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bucketindex.local_files import SegmentFiles
from bucketindex.manifest import SegmentEntry
from bucketindex.rows import in_order
from bucketindex.segment import OpenSegment
from bucketindex.segment_writer import SegmentWriter
from bucketindex.view import View
from bucketindex.views import Views
from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit, IndexedChunk, Vector, check_dimension
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import ChangeCounts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, IndexLostError, IndexMovedError

LAYER = "layer-"
LATEST = 1 << 62  # above the sequence of any manifest: of two chunks of one id that of the layer counts


class LayeredView:
    """A SearchableIndex: the segments of one index as they are at each call, and a layer over them.

    The layer is a segment like any other, so that a word is as rare as it is in both together.  Its files are among
    the local copies and go as they do; it is written again where a search wants it.
    """

    def __init__(self, views: Views, files: SegmentFiles, index: IndexRef, chunks: Sequence[IndexedChunk]) -> None:
        for chunk in chunks:
            check_dimension(index.dimension, len(chunk.vector))
        self._views = views
        self._files = files
        self._index = index
        self._chunks = tuple(chunks)
        self._entry: SegmentEntry | None = None
        self._held: View | None = None
        self._lock = threading.Lock()

    def ready(
        self,
        index: IndexRef,
        deadline: Deadline,
        counts: ChangeCounts | None = None,  # noqa: ARG002
        queries: Sequence[CandidateQuery] = (),
    ) -> None:
        """Open what is live, with the layer; the manifest is read whatever the *counts*."""
        self._current(index, deadline).look_ahead(queries, deadline)

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of every query, all of one moment."""
        return self._current(index, deadline).candidates(queries, deadline)

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """The chunks of each range in order of their ordinals."""
        return self._current(index, deadline).read(ranges, deadline)

    def nearest_of(
        self, index: IndexRef, wanted: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        """Of each revision the chunk nearest to *wanted*."""
        return self._current(index, deadline).nearest_of(wanted, revisions, deadline)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        """Chunks of both together."""
        return self._current(index, deadline).count()

    def _current(self, index: IndexRef, deadline: Deadline) -> View:
        if index != self._index:
            raise IndexMovedError(f"the tenant moved to {index.name} since the layer was made")
        with self._lock:
            self._held = self._views.layered(index, self._held, lambda: self._opened(deadline), deadline)
            return self._held

    def _opened(self, deadline: Deadline) -> OpenSegment:
        """The layer's segment; written again where its copy is gone."""
        entry = self._entry
        if entry is None or not self._files.has(self._index, entry.name):
            entry = self._entry = self._written()
        try:
            return self._files.open(self._index, entry, [entry.name], deadline)
        except IndexLostError:  # its copy went this moment, and no bucket has it
            self._entry = self._written()
            return self._files.open(self._index, self._entry, [self._entry.name], deadline)

    def _written(self) -> SegmentEntry:
        folder = Path(tempfile.mkdtemp(prefix="ragdrop-layer-"))
        try:
            tag = secrets.randbits(32)
            writer = SegmentWriter(folder, self._index, f"{LAYER}{tag:08x}", tag)
            try:
                for row in in_order(self._chunks):
                    writer.add(row)
                written = writer.finish()
            finally:
                writer.close()
            self._files.install(self._index, written.entry, written.path)
            return replace(written.entry, sequence=LATEST)
        except OSError as exc:
            raise DatabaseError(f"a layer could not be written: {exc.strerror}", service="index") from exc
        finally:
            shutil.rmtree(folder, ignore_errors=True)
