"""Local copies of segments: fetched by parallel ranged reads, checked, bounded in bytes.

`{folder}/{tenant}/{index}/{segment}/` holds `core`, the file of the segment up to its lexical part, the files of that
part, and `texts`, of which only what was read is there.  Views stand beside the segments: folders of links to the
lexical files of several.  Names are never used twice, so several processes may share the folder.
"""

import hashlib
import logging
import mmap
import os
import shutil
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bucketindex.lexical import write_list
from bucketindex.manifest import SegmentEntry, segment_name
from bucketindex.ranged import RangedSegment
from bucketindex.ranges import MISSING, DiskRoom, RangeReader, Texts, disk_errors
from bucketindex.segment import BY_RANGE, FIRST, Header, KnownChunks, OpenSegment, header_bytes, read_header
from bucketindex.shared_words import SharedLexicalSearch
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, DeadlineError, DependencyError, IndexLostError
from ragdrop.ports.object_store import ObjectStore

logger = logging.getLogger(__name__)
PIECE_BYTES = 8 << 20  # of one request
PARALLEL = 16  # requests at once
RANGES = 32  # ranges at once, which are small
FAR_BYTES = 16 << 20  # of missing copies: a search does not wait for more, it reads by range
MEANWHILE_BYTES = 2 << 20  # of one request for copies that are made while searches read by range
COPYING_S = 900.0  # to copy the segments of an index meanwhile
VIEW = "view-"
TEXT_SHARE = 4  # blocks of texts take a quarter of what copies may, beside them
KNOWN_CHUNKS, KNOWN_BYTES = 8_192, 16 << 20  # of all segments, cached as they were read
PAGE_BYTES = 4_096  # of the disk: a file takes whole ones
GRACE_S = 60.0  # a copy that was made lately may be one that another process is about to open


class CopyGoneError(DatabaseError):
    """A local copy was removed to make room for another one: fetched again it is there."""


class SegmentFiles:
    """The local copies in *folder*.

    Args:
        state: The state bucket.
        folder: Made at the first use.
        max_bytes: Of all copies together; segments of other tenants that were not used for longest go first.
        piece_bytes: Of one request.  A segment of half of it is fetched with its texts, by one request.
        far_bytes: Of missing copies that a search waits for.
    """

    def __init__(
        self,
        state: ObjectStore,
        folder: Path,
        *,
        max_bytes: int,
        piece_bytes: int = PIECE_BYTES,
        far_bytes: int = FAR_BYTES,
    ) -> None:
        self._state = state
        self._folder = folder
        self._max_bytes = max_bytes
        self._piece_bytes = piece_bytes
        self._text_room = DiskRoom(max_bytes // TEXT_SHARE)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._coming: dict[Path, int] = {}  # bytes of the copies that are being fetched
        self._room_lock = threading.Lock()
        self._far_bytes = far_bytes
        self._copying: set[IndexRef] = set()
        self._pool = ThreadPoolExecutor(PARALLEL, thread_name_prefix="segments")
        self._ranges = ThreadPoolExecutor(RANGES, thread_name_prefix="ranges")
        self._known = KnownChunks(size=KNOWN_CHUNKS, max_weight=KNOWN_BYTES)

    def has(self, index: IndexRef, name: str) -> bool:
        """Whether there is a copy of a segment."""
        return (self._place(index, name) / "core").exists()

    def open(
        self,
        index: IndexRef,
        entry: SegmentEntry,
        in_use: Collection[str],
        deadline: Deadline,
        *,
        meanwhile: bool = False,
    ) -> OpenSegment:
        """Open a segment, which is fetched first where there is no copy; copies of *in_use* are not removed for it.

        It is fetched *meanwhile* by small pieces, one after another, so that searches have most of the line.

        Raises:
            IndexLostError: It is not in the bucket, damaged, or of another index.
            DatabaseError: It could not be fetched, or the disk is full.
            DeadlineError: The time was used up.
        """
        place = self._place(index, entry.name)
        with self._turn(str(place), deadline), disk_errors():
            if not self.has(index, entry.name):
                self._fetch(index, entry, place, in_use, deadline, meanwhile=meanwhile)
            os.utime(place)
            core = _mapped(place / "core")
            try:
                header = self._checked(index, entry, core)
            except IndexLostError:  # the copy, not the segment: that was checked when it was fetched
                shutil.rmtree(place, ignore_errors=True)
                self._fetch(index, entry, place, in_use, deadline)
                core = _mapped(place / "core")
                header = self._checked(index, entry, core)
            name = segment_name(index, entry.name)
            texts = Texts(self._state, name, header, core, place / "texts", pool=self._pool, room=self._text_room)
        return OpenSegment(
            entry.name,
            entry.tag,
            entry.sequence,
            header=header,
            section=partial(section_of, header, core),
            read_texts=texts,
            known=self._known,
        )

    def are_far(self, index: IndexRef, entries: Sequence[SegmentEntry]) -> bool:
        """Whether so much of these segments is not copied that a search reads them by range, which all must allow."""
        missing = sum(each.core_bytes for each in entries if not self.has(index, each.name))
        return missing > self._far_bytes and all(each.first_bytes for each in entries)

    def by_range(
        self, index: IndexRef, entries: Sequence[SegmentEntry], deadline: Deadline
    ) -> tuple[RangeReader, list[RangedSegment | IndexLostError]]:
        """What reads ranges, and the segments without copies, or why one cannot be read."""
        reader = RangeReader(self._state, self._ranges)

        def opened(entry: SegmentEntry) -> RangedSegment | IndexLostError:
            try:
                [body] = reader([(segment_name(index, entry.name), 0, entry.first_bytes)], deadline)
                header = self._checked(index, entry, memoryview(body))
                check_sections(header, memoryview(body), FIRST)
            except IndexLostError as exc:
                return exc
            return RangedSegment(index, entry, header, body, reader=reader, known=self._known)

        return reader, list(self._pool.map(opened, entries))

    def copy_meanwhile(self, index: IndexRef, entries: Sequence[SegmentEntry]) -> None:
        """Copy these segments, one after another, while searches read them by range; the next call tries again.

        An index that does not fit is not copied: each part would be removed for the next one.
        """
        if sum(each.core_bytes for each in entries) > self._max_bytes:
            return
        names = [each.name for each in entries]

        def copy() -> None:
            try:
                for each in entries:
                    self.open(index, each, names, Deadline.after(COPYING_S), meanwhile=True)
            except (DependencyError, DeadlineError) as exc:
                logger.warning("segments could not be copied", extra={"tenant": index.tenant, "code": exc.code})
            finally:
                self._copying.discard(index)

        with self._room_lock:
            if index in self._copying:
                return
            self._copying.add(index)
        threading.Thread(target=copy, name="copies", daemon=True).start()

    def is_whole(self, index: IndexRef, entry: SegmentEntry, deadline: Deadline) -> bool:
        """Whether the object in the bucket is what its checksums say, whatever a local copy holds; reads all of it."""
        place = self._place(index, f".{uuid.uuid4().hex}")
        try:
            with disk_errors():
                place.mkdir(parents=True)
                body = self._brought(segment_name(index, entry.name), entry.size_bytes, place / "object", deadline)
            header = self._checked(index, entry, body)
            check_sections(header, body, header.sections)
        except IndexLostError:
            return False
        finally:
            shutil.rmtree(place, ignore_errors=True)
        return True

    def open_view(self, index: IndexRef, segments: Sequence[OpenSegment]) -> SharedLexicalSearch:
        """The lexical search over several opened segments.

        Raises:
            IndexLostError: A copy is damaged.
            CopyGoneError: A copy was removed meanwhile.
        """
        place = self._place(index, _view_name(segments))
        with disk_errors(missing=CopyGoneError):
            if not place.exists():
                draft = place.with_name(f".{uuid.uuid4().hex}")
                draft.mkdir(parents=True)
                for each in segments:
                    for name, _ in each.header.lexical_files:
                        (draft / name).hardlink_to(self._place(index, each.name) / name)
                write_list(draft, [listed for each in segments for listed in each.header.lexical_segments])
                _put_in_place(draft, place)
            try:
                return SharedLexicalSearch(place)
            except ValueError as exc:  # tantivy's word for a file that it cannot read
                for copy in (place, *(self._place(index, each.name) for each in segments)):  # fetched again next time
                    shutil.rmtree(copy, ignore_errors=True)
                raise IndexLostError("a local copy of the index is damaged: its words cannot be read") from exc

    def install(self, index: IndexRef, entry: SegmentEntry, file: Path) -> None:
        """Put a segment that is in no bucket in its place, whole.

        Raises DatabaseError: it does not fit beside what searches need, or the disk is full.
        """
        place = self._place(index, entry.name)
        with disk_errors(), self._drafted(place, entry.size_bytes, index, ()) as draft:
            shutil.copyfile(file, draft / "core")
            body = _mapped(draft / "core")
            self._spread(draft, self._checked(index, entry, body), body, whole=True)

    def forget(self, index: IndexRef) -> None:
        """Remove all copies of an index."""
        shutil.rmtree(self._place(index, ""), ignore_errors=True)

    def forget_others(self, index: IndexRef, segments: Sequence[OpenSegment]) -> None:
        """Remove the copies of an index that a view of *segments* does not need, and that nobody just made."""
        in_use = {_view_name(segments), *(each.name for each in segments)}
        folder = self._place(index, "")
        before_s = time.time() - GRACE_S
        for each in folder.iterdir() if folder.is_dir() else ():
            if each.name not in in_use and _used_at(each) < before_s:
                shutil.rmtree(each, ignore_errors=True)

    def make_room(self, required_bytes: int, index: IndexRef, in_use: Collection[str]) -> None:
        """Remove copies until *required_bytes* fit: those of other tenants first, the least recently used first.

        Args:
            required_bytes: Of the copy to come.
            index: Whose it is.
            in_use: Segments of this index that the same search needs.

        Raises:
            DatabaseError: They do not fit beside what the search needs already.
        """
        own = self._place(index, "")
        copies = [
            each for each in self._folder.glob("*/*/*") if each.is_dir() and not each.name.startswith((".", VIEW))
        ]
        sizes = {each: _size(each) for each in copies}
        left = self._max_bytes - sum(sizes.values()) - required_bytes
        for each in sorted(copies, key=lambda copy: (copy.parent == own, _used_at(copy))):
            if left >= 0:
                return
            if each.parent == own and each.name in in_use:
                continue
            for place in (each, *each.parent.glob(f"{VIEW}*")):  # views hold its files too
                shutil.rmtree(place, ignore_errors=True)
            left += sizes[each]
        if left < 0:
            message = (
                f"the index needs {self._max_bytes - left} bytes of the disk, {self._max_bytes} may be used for it"
            )
            raise DatabaseError(message, service="index", retryable=False)

    def _place(self, index: IndexRef, name: str) -> Path:
        return self._folder / index.tenant / index.name / name

    def _checked(self, index: IndexRef, entry: SegmentEntry, core: memoryview) -> Header:
        """The header of a copy that is *entry*'s of *index* and of nothing else."""
        beginning = bytes(core[: header_bytes(bytes(core[:64]))])
        if hashlib.sha256(beginning).hexdigest() != entry.header_sha256:
            raise IndexLostError("a segment of the index is damaged: it is not what its checksum says")
        header = read_header(beginning)
        if (header.tenant, header.index, header.dimension) != (index.tenant, index.name, index.dimension):
            raise IndexLostError("a segment of the index is damaged: it belongs to another index")
        return header

    def _fetch(
        self,
        index: IndexRef,
        entry: SegmentEntry,
        place: Path,
        in_use: Collection[str],
        deadline: Deadline,
        *,
        meanwhile: bool = False,
    ) -> None:
        """Bring a copy, check it and put it in place, whole or not at all."""
        whole = 2 * entry.size_bytes <= self._piece_bytes
        size = entry.size_bytes if whole else entry.core_bytes
        with self._drafted(place, size, index, in_use) as draft:
            body = self._brought(segment_name(index, entry.name), size, draft / "core", deadline, meanwhile=meanwhile)
            header = self._checked(index, entry, body)
            check_sections(header, body, header.sections.keys() - (() if whole else {"texts", *BY_RANGE}))
            self._spread(draft, header, body, whole=whole)

    @contextmanager
    def _drafted(self, place: Path, size: int, index: IndexRef, in_use: Collection[str]) -> Iterator[Path]:
        """A folder that becomes the copy at *place* where the block ends well.

        Room for its *size* bytes is made first, beside those of the copies that are being made meanwhile.
        """
        draft = place.with_name(f".{uuid.uuid4().hex}")
        try:
            with self._room_lock:
                self._coming[place] = size
                self.make_room(sum(self._coming.values()), index, in_use)
            draft.mkdir(parents=True)
            yield draft
            _put_in_place(draft, place)
        finally:
            del self._coming[place]
            shutil.rmtree(draft, ignore_errors=True)

    @staticmethod
    def _spread(draft: Path, header: Header, body: memoryview, *, whole: bool) -> None:
        """Make files of what a copy holds behind its core, which is cut there."""
        start = at = header.sections["lexical"].start
        for name, length in header.lexical_files:
            (draft / name).write_bytes(body[at : at + length])
            at += length
        if whole:
            (draft / "texts").write_bytes(section_of(header, body, "texts"))
        os.truncate(draft / "core", start)

    def _brought(
        self, name: str, size: int, target: Path, deadline: Deadline, *, meanwhile: bool = False
    ) -> memoryview:
        """The first *size* bytes of an object, in a file, piece by piece: a segment may be larger than the memory."""
        piece_bytes = min(self._piece_bytes, MEANWHILE_BYTES) if meanwhile else self._piece_bytes
        with target.open("wb") as file:

            def piece(start: int) -> int:
                deadline.timeout_s(1.0, stage="index")
                body = self._state.get(name, start=start, end=min(start + piece_bytes, size))
                if body is None:
                    raise IndexLostError(MISSING)
                return os.pwrite(file.fileno(), body, start)

            starts = range(0, size, piece_bytes)
            brought = sum(map(piece, starts) if meanwhile or len(starts) == 1 else self._pool.map(piece, starts))
        if brought != size:
            raise IndexLostError("a segment of the index is damaged: it is shorter than it was written")
        return _mapped(target)

    @contextmanager
    def _turn(self, name: str, deadline: Deadline) -> Iterator[None]:
        """One thread at a time fetches a segment; the others find its copy."""
        lock = self._locks[name]
        if not lock.acquire(timeout=max(0.0, deadline.remaining_s())):
            raise DeadlineError("the index was being fetched", service="index", stage="index")
        try:
            yield
        finally:
            lock.release()


def section_of(header: Header, body: memoryview, name: str) -> memoryview:
    """A section of a file that begins with *body*."""
    section = header.sections[name]
    return body[section.start : section.start + section.size]


def check_sections(header: Header, body: memoryview, names: Iterable[str]) -> None:
    """Return if these sections of a file are what their checksums say.  Raises IndexLostError: one is not."""
    for name in names:
        if hashlib.sha256(section_of(header, body, name)).hexdigest() != header.sections[name].sha256:
            raise IndexLostError(f"a segment of the index is damaged: its {name} are not what they were")


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _view_name(segments: Sequence[OpenSegment]) -> str:
    names = sorted(each.name for each in segments)
    return f"{VIEW}{hashlib.sha256(' '.join(names).encode()).hexdigest()[:24]}"


def _put_in_place(draft: Path, place: Path) -> None:
    """Rename a finished folder; where another process was first, its own is used."""
    try:
        draft.rename(place)
    except OSError:
        if not place.is_dir():
            raise
        shutil.rmtree(draft, ignore_errors=True)


def _size(folder: Path) -> int:
    try:
        return sum(-(-each.stat().st_size // PAGE_BYTES) * PAGE_BYTES for each in folder.iterdir())
    except OSError:  # another process removed it meanwhile
        return 0


def _used_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
