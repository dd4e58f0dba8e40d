"""Durable copies of the bucket index: compare the bucket with the manifest by names, sizes, ETags, and by content."""

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bucketindex.local_files import SegmentFiles
from bucketindex.manifest import Manifest, SegmentEntry, prefix_of, segment_name
from bucketindex.views import Views
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import IndexLostError
from ragdrop.ports.indexes import SMALL_BYTES, BytesToRead, IndexFaults
from ragdrop.ports.object_store import ListedObject, ObjectStore

logger = logging.getLogger(__name__)

PERIOD_S = 2_400.0  # in which all bytes of an index are read: with ten minutes between runs, damage shows in 50 minutes
RESERVE_S = 20.0  # with less time left no further segment is read; the next run continues
ATTEMPTS = 3  # to list segments while merges replace them


@dataclass(frozen=True, slots=True)
class Compared:
    """A manifest and what the bucket has of it.

    `faults` has a sentence for each segment that is missing or not as it was written; `overwritten` are those whose
    size is right and whose ETag is not.
    """

    manifest: Manifest
    listed: Mapping[str, ListedObject]
    faults: Mapping[str, str]
    overwritten: frozenset[str]


@dataclass(slots=True)
class ReadingNotes:
    """When the last reading began, and when each segment was last read whole; seconds since 1970."""

    at_s: float = 0.0
    read: dict[str, float] = field(default_factory=dict)


class DurableCopies:
    """Finds segments that are missing, cut short, overwritten or decayed.

    Args:
        state: The state bucket.
        views: Reads and changes manifests.
        files: Reads whole segments.
        clock: Seconds since 1970.
        small_bytes: Of an index whose reading is not spread over the hour.
    """

    def __init__(
        self,
        state: ObjectStore,
        views: Views,
        files: SegmentFiles,
        *,
        clock: Callable[[], float] = time.time,
        small_bytes: int = SMALL_BYTES,
    ) -> None:
        self._state = state
        self._views = views
        self._files = files
        self._clock = clock
        self._small_bytes = small_bytes
        self._found: dict[IndexRef, set[str]] = {}

    def faults(self, index: IndexRef, deadline: Deadline) -> IndexFaults:
        """Compare by the manifest and one listing."""
        try:
            compared = self._compared(index, deadline)
        except IndexLostError as exc:
            return IndexFaults((exc.message,), chunks=0)
        sound = sum(each.chunks for each in compared.manifest.segments if each.name not in compared.faults)
        return IndexFaults(tuple(compared.faults.values()), chunks=sound)

    def verify(self, index: IndexRef, deadline: Deadline, reading: BytesToRead) -> int:
        """Compare by one listing, read what was overwritten or is suspect, and those not read for longest.

        How much: at least what *reading* asks, and of an index over 64 MB as large a share as the time since the last
        reading is of PERIOD_S.  A segment that was written again with the same bytes is sound.

        Returns:
            Chunks of all segments, removed and superseded ones too.

        Raises:
            IndexLostError: A segment is missing or damaged, or the manifest cannot be read.
        """
        self._found.pop(index, None)
        compared = self._compared(index, deadline)
        lost = {name: why for name, why in compared.faults.items() if name not in compared.overwritten}
        entries = [each for each in compared.manifest.segments if each.name not in lost]
        total = sum(each.size_bytes for each in entries)
        notes, at_s = self._notes(index) if total > self._small_bytes else ReadingNotes(), self._clock()
        share = min(1.0, (at_s - notes.at_s) / PERIOD_S) if total > self._small_bytes else 0.0
        due = max(min(reading.least_bytes, total), share * total)
        must = compared.overwritten | reading.suspects
        entries.sort(key=lambda each: (each.name not in must, notes.read.get(each.name, _written_s(each))))
        done = 0
        for entry in entries:
            if entry.name not in must and (done >= due or deadline.remaining_s() < RESERVE_S):
                break
            if not self._files.is_whole(index, entry, deadline):
                lost[entry.name] = f"segment {entry.name} is damaged: its bytes are not what its checksums say"
            elif entry.name in compared.overwritten or not entry.etag:
                self._adopt(index, entry.name, compared.listed[entry.name].etag, deadline)
            notes.read[entry.name] = at_s
            done += entry.size_bytes
            reading.progress(done, total)
        if done and total > self._small_bytes:
            self._write(index, ReadingNotes(at_s, notes.read), entries)
        if lost:  # not what a merge replaced and removed while it was read
            listed = {each.name for each in self._views.manifest(index).segments}
            lost = {name: why for name, why in lost.items() if name in listed}
        if lost:
            self._found[index] = set(lost)
            raise IndexLostError("; ".join(lost.values()))
        return compared.manifest.chunks

    def lost(self, index: IndexRef, deadline: Deadline) -> set[str]:
        """Names of the segments that are missing or damaged: by a listing, and by the last `verify`."""
        compared = self._compared(index, deadline)
        overwritten = [each for each in compared.manifest.segments if each.name in compared.overwritten]
        sound = {each.name for each in overwritten if self._files.is_whole(index, each, deadline)}
        return (set(compared.faults) - sound) | self._found.pop(index, set())

    def _compared(self, index: IndexRef, deadline: Deadline) -> Compared:
        """The manifest and the listing; again where a merge came between both."""
        manifest = self._views.manifest(index)
        for _ in range(ATTEMPTS):
            deadline.timeout_s(1.0, stage="index")
            objects = {each.key: each for each in self._state.entries(prefix_of(index)) if not each.deleted}
            listed = {
                each.name: objects[key]
                for each in manifest.segments
                if (key := segment_name(index, each.name)) in objects
            }
            faults = {each.name: why for each in manifest.segments if (why := _fault(each, listed.get(each.name)))}
            later = self._views.manifest(index) if faults else manifest
            if later == manifest:
                break
            manifest = later
        sizes = {each.name: each.size_bytes for each in manifest.segments}
        overwritten = {name for name in faults if name in listed and listed[name].size_bytes == sizes.get(name)}
        return Compared(manifest, listed, faults, frozenset(overwritten))

    def _adopt(self, index: IndexRef, name: str, etag: str, deadline: Deadline) -> None:
        """Note the ETag of an object whose bytes are as they were written."""
        logger.info("noted the ETag of a sound segment", extra={"tenant": index.tenant, "segment": name})
        self._views.change(index, lambda before: before.with_etag(name, etag), deadline)

    def _notes(self, index: IndexRef) -> ReadingNotes:
        try:
            stored = json.loads(self._state.get(_notes_name(index)) or b"{}")
            return ReadingNotes(float(stored.get("at_s", 0.0)), dict(stored.get("read", {})))
        except (ValueError, AttributeError, TypeError):  # then all is due
            return ReadingNotes()

    def _write(self, index: IndexRef, notes: ReadingNotes, entries: Sequence[SegmentEntry]) -> None:
        read = {each.name: notes.read[each.name] for each in entries if each.name in notes.read}
        body = json.dumps({"at_s": notes.at_s, "read": read}).encode()
        self._state.put(_notes_name(index), body, media_type="application/json")


def _fault(entry: SegmentEntry, listed: ListedObject | None) -> str | None:
    if listed is None:
        return f"segment {entry.name} is missing"
    if listed.size_bytes != entry.size_bytes:
        return f"segment {entry.name} has {listed.size_bytes} of {entry.size_bytes} bytes"
    if entry.etag and listed.etag != entry.etag:
        return f"segment {entry.name} was overwritten"
    return None


def _written_s(entry: SegmentEntry) -> float:
    """When a segment was written, by its name; 0 for one whose ETag is not known, which is read first."""
    milliseconds = max(entry.name.split("-"), key=len)  # older writers put it first
    return int(milliseconds) / 1_000 if entry.etag and milliseconds.isdecimal() else 0.0


def _notes_name(index: IndexRef) -> str:
    return f"{prefix_of(index)}reading.json"
