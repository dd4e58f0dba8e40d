"""Views of indexes: the manifest as it is now, its segments opened, what changes it, and a layer over them."""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bucketindex.local_files import CopyGoneError, SegmentFiles
from bucketindex.manifest import Manifest, SegmentEntry, read_manifest
from bucketindex.ranged import RangedSegment, RangedView
from bucketindex.ranges import MISSING, RangeReader
from bucketindex.rows import rows_in_order
from bucketindex.segment import OpenSegment
from bucketindex.segment_view import Lost, SegmentView
from bucketindex.segment_writer import written_segment
from bucketindex.shards import FAN_OUT_CHUNKS, MAX_SHARDS_AT_ONCE, AskShard, ShardedView, answer_of, shards_of
from bucketindex.shared_words import SharedLexicalSearch
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit, IndexedChunk, Vector, check_dimension
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import ChangeCounts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, IndexLostError, IndexMovedError
from ragdrop.ports.indexes import ManifestStore

MAX_VIEWS = 64  # open at once
AT_ONCE = 4  # segments that are opened at once
ATTEMPTS = 4  # to open a view, while its segments are merged or its copies removed
MAX_AGE_S = 300.0  # a manifest is read again after this, whatever the counts; merged segments stay an hour
FRESH_S = 1.0  # how old a view may be that one search shares between its calls, since `ready` made it
WAIT_S = 0.02  # before a change that another writer overtook is tried again; up to 32 times as long

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class OpenView:
    """An open view of the manifest at one moment."""

    view: SegmentView
    read_at_s: float  # when the manifest was read, in seconds since 1970
    fresh_at_s: float  # when it was last confirmed to be current, on a monotonic clock
    counts: ChangeCounts | None  # change counts that were read before the manifest was, if any

    def answers_at(self, counts: ChangeCounts | None, now_s: float) -> bool:
        """Whether all that answers at *counts* is in the view: a segment is listed before its change is counted."""
        return (
            counts is not None
            and self.counts == counts
            and now_s < self.read_at_s + MAX_AGE_S
            and not self.view.lost.segments
        )


class Views:
    """The views that this environment has open; the least recently used goes first."""

    def __init__(
        self,
        manifests: ManifestStore,
        files: SegmentFiles,
        *,
        clock: Callable[[], float] = time.time,
        shard_chunks: int = FAN_OUT_CHUNKS,
        shard_bytes: int | None = None,
        ask_shard: AskShard | None = None,
    ) -> None:
        self._clock = clock
        self._ask_shard = ask_shard or self.answer_shard
        self._shard_sizes = shard_chunks, shard_bytes
        self._manifests = manifests
        self._files = files
        self._views: OrderedDict[IndexRef, OpenView] = OrderedDict()
        self._parts: BoundedCache[tuple[IndexRef, Manifest], SegmentView] = BoundedCache(size=MAX_VIEWS)
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="views")  # checks one while others are fetched
        self._shard_pool = ThreadPoolExecutor(MAX_SHARDS_AT_ONCE, thread_name_prefix="shards")

    def open_view(self, index: IndexRef) -> SegmentView | None:
        """The open view, if any; its manifest may be older."""
        with self._lock:
            found = self._views.get(index)
        return None if found is None else found.view

    def forget(self, index: IndexRef) -> None:
        """Open it again at the next call."""
        with self._lock:
            self._views.pop(index, None)

    def delete(self, index: IndexRef) -> None:
        """Remove the manifest: the index is empty."""
        self._manifests.delete(index.tenant, index.name)
        self.forget(index)

    def manifest(self, index: IndexRef) -> Manifest:
        """The manifest as it is now; IndexLostError where it cannot be read."""
        return read_manifest(self._manifests.read(index.tenant, index.name))

    def current(
        self,
        index: IndexRef,
        deadline: Deadline,
        *,
        fresh_s: float = 0.0,
        may_be_lost: bool = False,
        counts: ChangeCounts | None = None,
        may_range: bool = False,
    ) -> SegmentView:
        """The view of the manifest as it is now, or was less than *fresh_s* ago, or at the same *counts* of changes.

        One that *may_range* reads by range where much is to be copied first.

        Raises IndexLostError: none of its segments can be read, unless the view *may_be_lost*.
        """
        deadline.timeout_s(1.0, stage="index")
        begun_s = time.monotonic()
        with self._lock:
            earlier = self._views.get(index)
            if earlier is not None and earlier.view.ranged and not (may_range and self._is_far(earlier.view)):
                earlier = None  # it is copied by now, or has to be
            if earlier is not None and earlier.answers_at(counts, self._clock()):
                earlier = self._views[index] = replace(earlier, fresh_at_s=begun_s)
                self._views.move_to_end(index)
                return earlier.view
        if earlier is not None and begun_s - earlier.fresh_at_s < fresh_s:
            view = earlier.view
        else:
            view = self._read(index, earlier, begun_s, counts, deadline, may_range=may_range)
        if view.lost.why is not None and not view.segments and not may_be_lost:
            raise view.lost.why
        return view

    def ask(
        self, index: IndexRef, question: Callable[[SegmentView], Found], deadline: Deadline, *, may_range: bool = True
    ) -> tuple[SegmentView, Found]:
        """The view of one search and its answer; again by a new view if a segment has left the bucket.

        Where it read by range, its segments are copied from now on.

        Raises IndexLostError: a segment that is live cannot be read.
        """
        view = self.current(index, deadline, fresh_s=FRESH_S, may_range=may_range)
        try:
            found = question(view)
            if view.ranged:
                self._files.copy_meanwhile(index, view.manifest.segments)
            return view, found
        except IndexLostError as exc:
            if exc.message != MISSING:
                raise
        self.forget(index)
        view = self.current(index, deadline)
        return view, question(view)

    def part(self, index: IndexRef, shard: Manifest, deadline: Deadline) -> SegmentView:
        """The view of some segments of *index*; cached, and opened again where some could not be read."""
        view = self._parts.get((index, shard), now_s=0.0)
        if view is None or view.lost.segments:
            view = self._opened(index, shard, () if view is None else view.segments, deadline, others=True)
            self._parts.put((index, shard), view, now_s=0.0)
        return view

    def answer_shard(self, request: Mapping[str, Any], deadline: Deadline) -> Mapping[str, Any]:
        """Answer for some segments of an index; `missing` if one of them has left the bucket."""
        index = IndexRef(**request["index"])
        try:
            return answer_of(self.part(index, read_manifest(request["segments"]), deadline), request, deadline)
        except IndexLostError as exc:
            if exc.message != MISSING:
                raise
            return {"missing": True}

    def layered(
        self, index: IndexRef, earlier: SegmentView | None, open_layer: Callable[[], OpenSegment], deadline: Deadline
    ) -> SegmentView:
        """The current view with one more segment, the latest; *earlier*, the last such view, if nothing has changed.

        Raises:
            DatabaseError: The index changes faster than it can be opened.
            IndexLostError: None of its segments can be read.
        """
        for _ in range(ATTEMPTS):
            below = self.current(index, deadline)
            if earlier is not None and earlier.manifest == below.manifest and not below.lost.segments:
                return earlier
            layer = open_layer()
            try:
                if isinstance(below, ShardedView):
                    return below.over(_of_layer(index, layer, self._files.open_view(index, [layer])))
                segments = [*below.segments, layer]
                return SegmentView(
                    index, below.manifest, segments, lexical=self._files.open_view(index, segments), lost=below.lost
                )
            except CopyGoneError:
                self.forget(index)
        raise DatabaseError("the index changes faster than it can be opened", service="index")

    def change(self, index: IndexRef, change: Callable[[Manifest], Manifest | None], deadline: Deadline) -> Manifest:
        """Change the manifest by conditional writes until one wins; the manifest after it."""
        wait_s = WAIT_S
        while True:
            before = self.manifest(index)
            after = change(before)
            if after is None or after == before or self._wrote(index, before, after):
                with self._lock:  # the open view may be of the manifest before
                    if index in self._views:
                        self._views[index] = replace(self._views[index], fresh_at_s=float("-inf"), counts=None)
                return before if after is None else after
            time.sleep(deadline.timeout_s(random.uniform(0, wait_s), stage="index"))  # noqa: S311 - no secret
            wait_s = min(2 * wait_s, 32 * WAIT_S)

    def _read(
        self,
        index: IndexRef,
        earlier: OpenView | None,
        begun_s: float,
        counts: ChangeCounts | None,
        deadline: Deadline,
        *,
        may_range: bool,
    ) -> SegmentView:
        """The view of the current manifest: the one that is open, if nothing has changed."""
        read_at_s, manifest = self._clock(), self.manifest(index)
        view = earlier.view if earlier is not None and earlier.view.manifest == manifest else None
        if view is None or view.lost.segments:
            segments = earlier.view.segments if earlier is not None and not earlier.view.ranged else ()
            view = self._made(index, manifest, segments, deadline, may_range=may_range)
        if counts is None and earlier is not None:
            counts = earlier.counts  # read before this manifest, too
        with self._lock:
            self._views[index] = OpenView(view, read_at_s, begun_s, counts)
            self._views.move_to_end(index)
            if len(self._views) > MAX_VIEWS:
                self._views.popitem(last=False)
        return view

    def _made(
        self,
        index: IndexRef,
        manifest: Manifest,
        earlier: Sequence[OpenSegment],
        deadline: Deadline,
        *,
        may_range: bool,
    ) -> SegmentView:
        shards = shards_of(manifest, *self._shard_sizes)
        if len(shards) < 2:
            return self._opened(index, manifest, earlier, deadline, may_range=may_range)
        return ShardedView(index, manifest, shards, self._ask_shard, self._shard_pool)

    def _opened(
        self,
        index: IndexRef,
        manifest: Manifest,
        earlier: Sequence[OpenSegment],
        deadline: Deadline,
        *,
        may_range: bool = False,
        others: bool = False,
    ) -> SegmentView:
        """Open what *manifest* lists; again if it has changed meanwhile, or local copies were removed.

        With *others* it is a part of the index: copies of the rest stay, and a manifest that has changed is an error.
        """
        for _ in range(ATTEMPTS):
            reader: RangeReader | None = None
            opened: Sequence[OpenSegment | IndexLostError]
            if may_range and self._files.are_far(index, manifest.segments):
                reader, opened = self._files.by_range(index, manifest.segments, deadline)
            else:
                opened = self._segments(index, manifest, earlier, deadline)
            segments = [each for each in opened if isinstance(each, OpenSegment)]
            names = [each.name for each in manifest.segments]
            lost = [name for name, each in zip(names, opened, strict=True) if isinstance(each, IndexLostError)]
            why = next((each for each in reversed(opened) if isinstance(each, IndexLostError)), None)
            if others and why is not None and why.message == MISSING:
                raise why
            if why is not None and why.message == MISSING and (later := self.manifest(index)) != manifest:
                manifest = later
                continue
            unread = Lost(tuple(lost), len(manifest.segments), why)
            if reader is not None:
                ranged = [each for each in segments if isinstance(each, RangedSegment)]
                return RangedView(index, manifest, ranged, reader=reader, lost=unread)
            try:
                lexical = self._files.open_view(index, segments) if segments else None
            except CopyGoneError:
                earlier = ()
                continue
            if not others:
                self._files.forget_others(index, segments)
            return SegmentView(index, manifest, segments, lexical=lexical, lost=unread)
        raise DatabaseError("the index changes faster than it can be opened", service="index")

    def _segments(
        self, index: IndexRef, manifest: Manifest, earlier: Sequence[OpenSegment], deadline: Deadline
    ) -> list[OpenSegment | IndexLostError]:
        """The segments, or why one could not be opened."""
        by_name = {each.name: each for each in earlier if self._files.has(index, each.name)}
        names = [each.name for each in manifest.segments]

        def opened(entry: SegmentEntry) -> OpenSegment | IndexLostError:
            try:
                return by_name.get(entry.name) or self._files.open(index, entry, names, deadline)
            except IndexLostError as exc:
                return exc

        missing = sum(entry.name not in by_name for entry in manifest.segments)
        if missing > 1:
            opening = [self._pool.submit(opened, entry) for entry in manifest.segments]
            wait(opening)  # one that fails does not leave others behind, which hold room of the disk
            return [each.result() for each in opening]
        return [opened(entry) for entry in manifest.segments]

    def _is_far(self, view: SegmentView) -> bool:
        return self._files.are_far(view.index, view.manifest.segments)

    def _wrote(self, index: IndexRef, before: Manifest, after: Manifest) -> bool:
        return self._manifests.write(index.tenant, index.name, after.encoded(), after.sequence, before.sequence)


def _of_layer(index: IndexRef, layer: OpenSegment, lexical: SharedLexicalSearch) -> SegmentView:
    return SegmentView(index, Manifest(), [layer], lexical=lexical, lost=Lost((), 1, None))


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
        self._view: SegmentView | None = None
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
        return self._current(index, deadline).candidates(queries, deadline)

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        return self._current(index, deadline).read(ranges, deadline)

    def nearest_of(
        self, index: IndexRef, vector: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        return self._current(index, deadline).nearest_of(vector, revisions, deadline)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        return self._current(index, deadline).count()

    def _current(self, index: IndexRef, deadline: Deadline) -> SegmentView:
        if index != self._index:
            raise IndexMovedError(f"the tenant moved to {index.name} since the layer was made")
        with self._lock:
            self._view = self._views.layered(index, self._view, lambda: self._opened(deadline), deadline)
            return self._view

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
        tag = secrets.randbits(32)
        rows = rows_in_order(self._chunks)
        with written_segment(self._index, f"{LAYER}{tag:08x}", tag, rows, what="a layer") as (path, entry):
            self._files.install(self._index, entry, path)
        return replace(entry, sequence=LATEST)
