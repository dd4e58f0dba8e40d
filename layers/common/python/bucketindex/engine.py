"""The bucket ChunkIndex: segments in the state bucket, a manifest in the registry, searches over local copies."""

from __future__ import annotations

import logging
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from bucketindex.durable_copies import DurableCopies
from bucketindex.layer import LayeredView
from bucketindex.local_files import PIECE_BYTES, SegmentFiles
from bucketindex.manifest import (
    MAX_SEGMENTS,
    MERGE_ABOVE,
    RETIRED,
    SEGMENT,
    Removal,
    SegmentEntry,
    all_that_fit,
    merge_is_worth_asking,
    prefix_of,
    retired_name,
    segment_name,
    to_merge,
)
from bucketindex.merging import MergedRows
from bucketindex.rows import StoredChunk, in_order
from bucketindex.segment_writer import SegmentWriter
from bucketindex.views import Views
from ragdrop.domain.chunks import (
    CandidateQuery,
    Candidates,
    ChunkRange,
    Hit,
    IndexedChunk,
    RevisionPage,
    Vector,
    check_dimension,
)
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import ChangeCounts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, DeadlineError, DependencyError, IndexLostError
from ragdrop.ports import ObjectStore
from ragdrop.ports.chunk_index import SOME_BYTES, FindDead, IndexFaults, Reading, SearchableIndex
from ragdrop.ports.manifests import ManifestStore

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/vnd.ragdrop.segment"
REWRITTEN_CHUNKS = 20_000  # segments of so many chunks are written again at once where something is removed from them
RETIRED_S = 3_600.0  # how long a segment that is not live stays for readers of an older manifest


class BucketChunkIndex:
    """A ChunkIndex without a server.

    Args:
        state: The state bucket.
        manifests: Where the manifest of each index is.
        folder: Where local copies are; several processes may share it.
        max_bytes: Of all local copies together.
        merge_above: Segments from which on a merge is due.
        piece_bytes: Of one request to the bucket.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        state: ObjectStore,
        manifests: ManifestStore,
        folder: Path,
        *,
        max_bytes: int,
        clock: Callable[[], float] = time.time,
        merge_above: int = MERGE_ABOVE,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self._state = state
        self._clock = clock
        self._files = SegmentFiles(state, folder, max_bytes=max_bytes, piece_bytes=piece_bytes)
        self._views = Views(manifests, self._files, clock=clock)
        self._durable = DurableCopies(state, self._views, self._files, clock=clock)
        self._due: dict[IndexRef, bool] = {}
        self._merge_above = merge_above

    def drops_superseded(self, index: IndexRef) -> bool:  # noqa: ARG002 - the port names it
        """Yes: the registry hides them at once, and merges drop them."""
        return True

    def ready(
        self,
        index: IndexRef,
        deadline: Deadline,
        counts: ChangeCounts | None = None,
        queries: Sequence[CandidateQuery] = (),
    ) -> None:
        """Read the manifest unless nothing changed since, fetch what is new and look for the words of *queries*."""
        self._views.current(index, deadline, counts=counts).look_ahead(queries, deadline)

    def upsert(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        """Write a segment and add it to the manifest; it is visible at once.

        Raises:
            ConfigurationError: A vector is not of the index's dimension; nothing was written.
        """
        for chunk in chunks:
            check_dimension(index.dimension, len(chunk.vector))
        if not chunks:
            return
        entry = self._written(index, in_order(chunks))
        manifest = self._views.change(index, lambda before: before.with_segment(entry), deadline)
        self._due[index] = merge_is_worth_asking(len(manifest.segments), self._merge_above)
        if len(manifest.segments) > MAX_SEGMENTS:
            self._merge_meanwhile(index, deadline)

    def refresh(self, indexes: Iterable[IndexRef], deadline: Deadline) -> None:
        """Nothing to do: what the manifest lists is visible."""

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of every query, all of one moment."""
        deadline.timeout_s(1.0, stage="index")
        for query in queries:
            if query.vector is not None:
                check_dimension(index.dimension, len(query.vector))
        view, found = self._views.ask(index, lambda view: view.candidates(queries, deadline), deadline)
        if not view.lost.segments:
            return found
        told = f"{len(view.lost.segments)} of {view.lost.of} segments of the index could not be read"
        return [Candidates(each.vector, each.lexical, warning=told) for each in found]

    def overlaid(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> SearchableIndex:
        """What the index holds, and *chunks* beside it in a segment of this environment alone."""
        layered = LayeredView(self._views, self._files, index, chunks)
        layered.ready(index, deadline)
        return layered

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """The chunks of each range in order of their ordinals, all of one moment."""
        return self._views.ask(index, lambda view: view.read(ranges, deadline), deadline)[1]

    def nearest_of(
        self,
        index: IndexRef,
        wanted: Vector | None,
        revisions: Sequence[tuple[DocumentKey, int]],
        deadline: Deadline,
    ) -> list[Hit]:
        """Of each revision the chunk nearest to *wanted*, all of one moment."""
        return self._views.ask(index, lambda view: view.nearest_of(wanted, revisions, deadline), deadline)[1]

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        """Remove the document's chunks of some revisions; how many.

        They are hidden at once.  Small segments are written again without them, and the old ones removed from the
        bucket, with those that were merged lately; from large ones the next merge drops them.
        """
        if key.tenant != index.tenant:
            return 0
        view = self._views.current(index, deadline)
        removed = view.chunks_in(key, from_revision, before_revision)
        if removed:
            removal = Removal(key.vault, key.path, from_revision, before_revision, 0)
            self._views.change(index, lambda manifest: manifest.with_removal(removal), deadline)
            touched = [each for each in view.manifest.segments if each.name in removed]
            if sum(each.chunks for each in touched) <= REWRITTEN_CHUNKS:
                self._merge(index, touched, lambda _: set(), deadline, purge=True)
        live = {segment_name(index, each.name) for each in self._views.manifest(index).segments}
        self._remove_others(index, live, 0.0, deadline)
        return sum(map(len, removed.values()))

    def revisions(self, index: IndexRef, *, cursor: str | None, limit: int, deadline: Deadline) -> RevisionPage:
        """Some of the tenant's revisions, by vault, path and revision."""
        return self._views.current(index, deadline).revisions(cursor, limit)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        """Chunks that are neither removed nor replaced; those of superseded revisions count until a merge."""
        manifest = self._views.manifest(index)
        return manifest.chunks and self._views.current(index, deadline).count()

    def faults(self, index: IndexRef, deadline: Deadline) -> IndexFaults:
        """Segments that are missing, have another size or another ETag; or the manifest, where it cannot be read."""
        return self._durable.faults(index, deadline)

    def verify(self, index: IndexRef, deadline: Deadline, reading: Reading = SOME_BYTES) -> int | None:
        """Return if every segment is there as it was written and, of those that are read, as its checksums say.

        Raises:
            IndexLostError: One is not.
        """
        return self._durable.verify(index, deadline, reading)

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        """Remove all of the tenant's chunks from this index, segments and local copies too; how many."""
        manifest = self._views.manifest(index)
        if not manifest.sequence:
            return 0
        count = self._counted(index, deadline)
        self._views.delete(index)
        self._state.delete_prefix(prefix_of(index))
        self._files.forget(index)
        return count

    def check(self, deadline: Deadline) -> None:
        """Return if the bucket answers.

        Raises:
            ObjectStoreError: It does not.
        """
        deadline.timeout_s(1.0, stage="index")
        self._state.head(f"{prefix_of(IndexRef('none', 'none', 0))}none")

    def merge_is_due(self, index: IndexRef) -> bool:
        """Whether what was written last made so many segments that some should become one; said once."""
        return self._due.pop(index, False)

    def merge(
        self,
        index: IndexRef,
        deadline: Deadline,
        dead: FindDead = lambda _: set(),
        *,
        everything: bool = False,
    ) -> int:
        """Make one segment of some, without what was removed, replaced, or is *dead*; how many there were.

        With *everything* all segments but those that together are too large for one, a single one too.

        Two merges at once are harmless: the one that ends last finds its segments gone, and leaves all as it is.
        """
        manifest = self._views.manifest(index)
        chosen = all_that_fit(manifest.segments) if everything else to_merge(manifest.segments, above=self._merge_above)
        if not chosen and manifest.removals:
            last = manifest.removals[-1].sequence
            chosen = [min((s for s in manifest.segments if s.sequence < last), key=lambda each: each.sequence)]
        if not chosen:
            return 0
        return len(chosen) if self._merge(index, chosen, dead, deadline) else 0

    def tidy(self, index: IndexRef, deadline: Deadline) -> int:
        """Remove segments that are not live for an hour from the bucket, and what writers that died left; how many."""
        live = {segment_name(index, each.name) for each in self._views.manifest(index).segments}
        return self._remove_others(index, live, RETIRED_S, deadline)

    def _remove_others(self, index: IndexRef, live: Collection[str], age_s: float, deadline: Deadline) -> int:
        """Remove segments retired more than *age_s* ago, or written an hour ago and never listed; how many."""
        listed = {
            each.key: self._clock() - _seconds(each.modified_at) for each in self._state.entries(prefix_of(index))
        }
        gone = 0
        for key, written_s in listed.items():
            deadline.timeout_s(1.0, stage="index")
            marker = key.removesuffix(SEGMENT) + RETIRED
            due = listed[marker] >= age_s if marker in listed else written_s > RETIRED_S
            if key.endswith(SEGMENT) and key not in live and due:
                gone += int(self._state.purge(key) > 0)
                self._state.purge(marker)
        return gone

    def discard_damaged(self, index: IndexRef, deadline: Deadline) -> None:
        """Take segments that are missing or damaged out of the manifest."""
        self._files.forget(index)  # a copy may be whole where the object is not
        self._views.forget(index)
        try:
            self._views.manifest(index)
        except IndexLostError:  # all is written again, then; what it listed is removed in an hour
            self._views.delete(index)
        lost = self._durable.lost(index, deadline)
        if lost:
            self._views.change(index, lambda before: before.without(lost), deadline)

    def damaged(self, index: IndexRef) -> tuple[str, ...]:
        """Segments of the last view that could not be opened."""
        held = self._views.held(index)
        return () if held is None else held.lost.segments

    def _counted(self, index: IndexRef, deadline: Deadline) -> int:
        try:
            return self._views.current(index, deadline).count()
        except IndexLostError:
            return 0

    def _written(self, index: IndexRef, rows: Iterable[StoredChunk]) -> SegmentEntry:
        """Write a segment of *rows* into the bucket."""
        folder = Path(tempfile.mkdtemp(prefix="ragdrop-segment-"))
        try:
            tag = secrets.randbits(32)
            name = f"{int(self._clock() * 1_000):014d}-{tag:08x}"
            writer = SegmentWriter(folder, index, name, tag)
            try:
                for row in rows:
                    writer.add(row)
                written = writer.finish()
            finally:
                writer.close()
            with written.path.open("rb") as body:
                stored = self._state.put(segment_name(index, name), body, media_type=MEDIA_TYPE)
            return replace(written.entry, etag=stored.etag)
        except OSError as exc:
            message = f"a segment of the index could not be written: {exc.strerror}"
            raise DatabaseError(message, service="index") from exc
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _merge_meanwhile(self, index: IndexRef, deadline: Deadline) -> None:
        """Merge the smallest segments where merges that were asked for do not keep up; a failure is theirs."""
        try:
            self.merge(index, deadline)
        except (DependencyError, DeadlineError) as exc:
            logger.warning("segments could not be merged", extra={"tenant": index.tenant, "code": exc.code})

    def _merge(
        self, index: IndexRef, those: Sequence[SegmentEntry], dead: FindDead, deadline: Deadline, *, purge: bool = False
    ) -> bool:
        view = self._views.current(index, deadline)
        names = {each.name for each in those}
        segments = [each for each in view.segments if each.name in names]
        if len(segments) < len(names):
            return False
        merged = MergedRows(view, segments, dead, deadline)
        entry = None if merged.is_empty else self._written(index, merged)
        after = self._views.change(index, lambda before: before.merged(names, entry), deadline)
        done = not names & {each.name for each in after.segments} and (
            entry is None or any(each.name == entry.name for each in after.segments)
        )
        if not done and entry is not None:
            self._state.purge(segment_name(index, entry.name))
        for name in names if done else ():
            if purge:
                self._state.purge(segment_name(index, name))
            else:
                self._state.put(retired_name(index, name), b"", media_type=MEDIA_TYPE)
        return done


def _seconds(rfc3339: str) -> float:
    return datetime.fromisoformat(rfc3339).timestamp()
