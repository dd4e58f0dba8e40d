"""The bucket ChunkIndex: segments in the state bucket, a manifest in the registry, searches over local copies."""

from __future__ import annotations

import heapq
import logging
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from bucketindex.durable_copies import DurableCopies
from bucketindex.local_files import FAR_BYTES, PIECE_BYTES, SegmentFiles
from bucketindex.manifest import (
    MAX_SEGMENTS,
    MERGE_ABOVE,
    RETIRED,
    SEGMENT,
    Removal,
    SegmentEntry,
    fitting_one,
    growing,
    merge_is_worth_asking,
    prefix_of,
    retired_name,
    segment_name,
    to_merge,
)
from bucketindex.rows import RevisionKey, StoredChunk, rows_in_order
from bucketindex.segment import OpenSegment
from bucketindex.segment_view import Place, SegmentView
from bucketindex.segment_writer import written_segment
from bucketindex.shards import FAN_OUT_CHUNKS, AskShard, ShardedView, one_shard
from bucketindex.vectors import sign_bytes
from bucketindex.views import LayeredView, Views
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
from ragdrop.errors import DeadlineError, DependencyError, IndexLostError
from ragdrop.ports.indexes import SOME_BYTES, BytesToRead, FindDead, IndexFaults, ManifestStore
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.search_services import SearchableIndex

logger = logging.getLogger(__name__)
ASKED = 100  # revisions at once: what one batch read of heads takes
MEDIA_TYPE = "application/vnd.ragdrop.segment"
REWRITTEN_CHUNKS = 20_000  # of segments that are rewritten at once when something is removed from them
RETIRED_S = 3_600.0  # a retired segment stays so long for readers of an older manifest


class BucketChunkIndex:
    """A ChunkIndex without a server.

    Args:
        state: The bucket of segments.
        manifests: Where the manifest of each index is.
        folder: Where local copies are; several processes may share it.
        max_bytes: Of all local copies together.
        merge_above: Segments above which a merge is due.
        piece_bytes: Of one request to the bucket.
        far_bytes: Of missing copies that a search waits for; where more are missing it reads by range.
        clock: Seconds since 1970.
        shard_chunks: An index of more is searched by shards of so many.
        ask_shard: Asks one shard; this process answers where it is None.
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
        far_bytes: int = FAR_BYTES,
        shard_chunks: int = FAN_OUT_CHUNKS,
        ask_shard: AskShard | None = None,
    ) -> None:
        self._state = state
        self._clock = clock
        self._files = SegmentFiles(state, folder, max_bytes=max_bytes, piece_bytes=piece_bytes, far_bytes=far_bytes)
        shard_bytes = None if ask_shard is None else max_bytes // 2  # an environment comes to have several shards
        self._views = Views(
            manifests, self._files, clock=clock, shard_chunks=shard_chunks, shard_bytes=shard_bytes, ask_shard=ask_shard
        )
        self._durable = DurableCopies(state, self._views, self._files, clock=clock)
        self._due: dict[IndexRef, bool] = {}
        self._merge_above = merge_above

    def drops_superseded(self, index: IndexRef) -> bool:  # noqa: ARG002 - the port names it
        return True

    def ready(
        self,
        index: IndexRef,
        deadline: Deadline,
        counts: ChangeCounts | None = None,
        queries: Sequence[CandidateQuery] = (),
    ) -> None:
        """Read the manifest unless nothing changed since, fetch new segments and search the words of *queries*."""
        may_range = _by_range(queries)
        self._views.current(index, deadline, counts=counts, may_range=may_range).look_ahead(queries, deadline)

    def upsert(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        for chunk in chunks:
            check_dimension(index.dimension, len(chunk.vector))
        if not chunks:
            return
        entry = self._written(index, rows_in_order(chunks))
        manifest = self._views.change(index, lambda before: before.with_segment(entry), deadline)
        count = len(growing(manifest.segments))
        self._due[index] = merge_is_worth_asking(count, self._merge_above) or manifest.has_many_removals
        if count > MAX_SEGMENTS:  # requested merges do not keep up
            try:
                self.merge(index, deadline)
            except (DependencyError, DeadlineError) as exc:
                logger.warning("segments could not be merged", extra={"tenant": index.tenant, "code": exc.code})

    def refresh(self, indexes: Iterable[IndexRef], deadline: Deadline) -> None:
        """Nothing to do: what the manifest lists is visible."""

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        deadline.timeout_s(1.0, stage="index")
        for query in queries:
            if query.vector is not None:
                check_dimension(index.dimension, len(query.vector))
        view, found = self._views.ask(
            index, lambda view: view.candidates(queries, deadline), deadline, may_range=_by_range(queries)
        )
        if not view.lost.segments:
            return found
        warning = f"{len(view.lost.segments)} of {view.lost.of} segments of the index could not be read"
        return [Candidates(each.vector, each.lexical, warning=warning) for each in found]

    def answer_shard(self, request: Mapping[str, Any], deadline: Deadline) -> Mapping[str, Any]:
        """Answer for one shard of an index, as `ask_shard` of another environment asks."""
        return self._views.answer_shard(request, deadline)

    def overlaid(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> SearchableIndex:
        """The index with *chunks* in one more segment, which only this environment has."""
        layered = LayeredView(self._views, self._files, index, chunks)
        layered.ready(index, deadline)
        return layered

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        return self._views.ask(index, lambda view: view.read(ranges, deadline), deadline)[1]

    def nearest_of(
        self, index: IndexRef, vector: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        return self._views.ask(index, lambda view: view.nearest_of(vector, revisions, deadline), deadline)[1]

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        """Hide the chunks at once.

        Small segments are rewritten without them, and the old objects removed from the bucket, with those that were
        merged lately; from large segments the next merge drops the chunks.
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
        return self._views.current(index, deadline).revisions(cursor, limit)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        manifest = self._views.manifest(index)
        return manifest.chunks and self._views.current(index, deadline).count()

    def faults(self, index: IndexRef, deadline: Deadline) -> IndexFaults:
        return self._durable.faults(index, deadline)

    def verify(self, index: IndexRef, deadline: Deadline, reading: BytesToRead = SOME_BYTES) -> int | None:
        return self._durable.verify(index, deadline, reading)

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        manifest = self._views.manifest(index)
        if not manifest.sequence:
            return 0
        try:
            count = self._views.current(index, deadline).count()
        except IndexLostError:
            count = 0
        self._views.delete(index)
        self._state.delete_prefix(prefix_of(index))
        self._files.forget(index)
        return count

    def check(self, deadline: Deadline) -> None:
        deadline.timeout_s(1.0, stage="index")
        self._state.head(f"{prefix_of(IndexRef('none', 'none', 0))}none")

    def merge_is_due(self, index: IndexRef) -> bool:
        return self._due.pop(index, False)

    def merge(
        self, index: IndexRef, deadline: Deadline, dead: FindDead = lambda _: set(), *, everything: bool = False
    ) -> int:
        manifest = self._views.manifest(index)
        chosen = fitting_one(manifest.segments) if everything else to_merge(manifest.segments, above=self._merge_above)
        few = len(growing(manifest.segments)) <= MAX_SEGMENTS
        if manifest.removals and (not chosen or manifest.has_many_removals) and few:
            last = manifest.removals[-1].sequence
            before = [each for each in manifest.segments if each.clean_until < last]
            chosen = sorted(before, key=lambda each: each.clean_until)[:1]
        if not chosen or not self._merge(index, chosen, dead, deadline):
            return 0
        self._due[index] = self._views.manifest(index).has_many_removals
        return len(chosen)

    def tidy(self, index: IndexRef, deadline: Deadline) -> int:
        manifest = self._views.manifest(index)
        self._due[index] = manifest.has_many_removals
        live = {segment_name(index, each.name) for each in manifest.segments}
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
        self._files.forget(index)  # a copy may be whole where the object is not
        self._views.forget(index)
        try:
            self._views.manifest(index)
        except IndexLostError:  # all is written again; segments that it listed are removed in an hour
            self._views.delete(index)
        lost = self._durable.lost(index, deadline)
        if lost:
            self._views.change(index, lambda before: before.without(lost), deadline)

    def damaged(self, index: IndexRef) -> tuple[str, ...]:
        view = self._views.open_view(index)
        return () if view is None else view.lost.segments

    def _written(self, index: IndexRef, rows: Iterable[StoredChunk]) -> SegmentEntry:
        """Write a segment of *rows* into the bucket."""
        tag = secrets.randbits(32)
        name = f"{tag:08x}-{int(self._clock() * 1_000):014d}"  # S3 spreads keys by how they begin
        with (
            written_segment(index, name, tag, rows, what="a segment of the index") as (path, entry),
            path.open("rb") as body,
        ):
            stored = self._state.put(segment_name(index, name), body, media_type=MEDIA_TYPE)
        return replace(entry, etag=stored.etag)

    def _merge(
        self, index: IndexRef, those: Sequence[SegmentEntry], dead: FindDead, deadline: Deadline, *, purge: bool = False
    ) -> bool:
        view = self._views.current(index, deadline)
        names = {each.name for each in those}
        applied = view.manifest.sequence
        if isinstance(view, ShardedView):
            view = self._views.part(index, one_shard(view.manifest, names), deadline)
        segments = [each for each in view.segments if each.name in names]
        if len(segments) < len(names):
            return False
        merged = MergedRows(view, segments, dead, deadline)
        entry = self._written(index, merged) if merged else None
        after = self._views.change(index, lambda before: before.merged(names, entry, applied=applied), deadline)
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


class MergedRows:
    """The rows of *segments* as one, in order, without what was removed, replaced, or can never answer again.

    Which documents are left is found when it is made.  Raises DeadlineError when the time is used up.
    """

    def __init__(self, view: SegmentView, segments: Sequence[OpenSegment], dead: FindDead, deadline: Deadline) -> None:
        self._view = view
        self._deadline = deadline
        places = heapq.merge(*map(_places, segments), key=lambda place: place[0])
        batches = iter(lambda: list(islice(places, ASKED)), [])
        self._left = [each for batch in batches for each in self._alive(batch, dead)]

    def __bool__(self) -> bool:
        return bool(self._left)

    def __iter__(self) -> Iterator[StoredChunk]:
        for order, places in groupby(self._left, key=lambda each: each[0]):
            self._deadline.timeout_s(1.0, stage="index")
            rows = [row for _, segment, number in places for row in self._rows(order, segment, number)]
            yield from sorted(rows, key=lambda row: row.ordinal)

    def _alive(self, batch: list[Place], dead: FindDead) -> list[Place]:
        self._deadline.timeout_s(1.0, stage="index")
        tenant = self._view.index.tenant
        with_chunks = [each for each in batch if self._chunks(each[1], each[2])]
        found = {(DocumentKey(tenant, order[0], order[1]), order[2]) for order, _, _ in with_chunks}
        gone = dead(sorted(found, key=lambda each: (each[0].s3_key, each[1]))) if found else set()
        return [each for each in with_chunks if (DocumentKey(tenant, each[0][0], each[0][1]), each[0][2]) not in gone]

    def _chunks(self, segment: OpenSegment, document: int) -> list[int]:
        gone = self._view.gone(segment)
        return [number for number in range(*segment.chunk_range(document)) if number not in gone]

    def _rows(self, order: RevisionKey, segment: OpenSegment, document: int) -> Iterator[StoredChunk]:
        numbers = self._chunks(segment, document)
        encoded = segment.document_bytes(document)
        size = segment.header.dimension
        signs = sign_bytes(size)
        for number, body in zip(numbers, segment.bodies(numbers, self._deadline), strict=True):
            vector = bytes(segment.vectors[number * size : (number + 1) * size])
            own_signs = bytes(segment.signs[number * signs : (number + 1) * signs])
            ordinal = segment.ordinals(number, number + 1)[0]
            yield StoredChunk(order, ordinal, encoded, body, vector, own_signs, segment.norms[number])


def _by_range(queries: Sequence[CandidateQuery]) -> bool:
    """Whether they can be answered without copies: names and beginnings of words are found in these alone."""
    return all(each.match == "any" for each in queries)


def _places(segment: OpenSegment) -> Iterator[Place]:
    for order, number in segment.documents_from(("", "", -1)):
        yield order, segment, number


def _seconds(rfc3339: str) -> float:
    return datetime.fromisoformat(rfc3339).timestamp()
