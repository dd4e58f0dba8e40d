"""Local copies of segments: fetched by parallel ranged reads, checked, bounded in bytes.

`{folder}/{tenant}/{index}/{segment}/` holds `core`, the file of the segment up to its lexical part, the files of that
part, and `texts`, of which only what was read is there.  Views stand beside the segments: folders of links to the
lexical files of several.  Names are never used twice, so several processes may share the folder.
"""

import hashlib
import mmap
import os
import shutil
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from bucketindex.lexical import write_list
from bucketindex.manifest import SegmentEntry, segment_name
from bucketindex.segment import TEXT_BLOCK_BYTES, Header, KnownChunks, OpenSegment, block_sum, header_bytes, read_header
from bucketindex.shared_words import SharedLexicalSearch
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, DeadlineError, IndexLostError
from ragdrop.ports.object_store import ObjectStore

MISSING = "a segment of the index is not in the bucket"
PIECE_BYTES = 8 << 20  # of one request
PARALLEL = 16  # requests at once
VIEW = "view-"
TEXT_SHARE = 4  # blocks of texts take a quarter of what copies may, beside them
KNOWN_CHUNKS, KNOWN_BYTES = 8_192, 16 << 20  # of all segments, cached as they were read
PAGE_BYTES = 4_096  # of the disk: a file takes whole ones
GRACE_S = 60.0  # a copy that was made lately may be one that another process is about to open


class CopyGoneError(DatabaseError):
    """A local copy was removed to make room for another one: fetched again it is there."""


class DiskRoom:
    """Bytes of the disk that blocks of texts may take, over all segments."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Take *size* bytes, or give them back where it is negative; False where they are not there."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True


class Texts:
    """Reads ranges of a segment's `texts`, from its copy or from the bucket; what was read is cached on disk."""

    def __init__(
        self,
        state: ObjectStore,
        name: str,
        header: Header,
        core: memoryview,
        path: Path,
        *,
        pool: ThreadPoolExecutor,
        room: DiskRoom,
    ) -> None:
        self._state = state
        self._name = name
        self._section = header.sections["texts"]
        sums = header.sections["text_sums"]
        self._sums = core[sums.start : sums.start + sums.size]
        self._pool = pool
        self._room = room
        self._taken = 0
        self._file = -1
        whole = path.exists() and path.stat().st_size == self._section.size
        own = path if whole else path.with_name(f"texts-{os.getpid()}-{id(self)}")
        self._file = os.open(own, os.O_RDWR | os.O_CREAT, 0o600)
        if not whole:
            own.unlink()  # it lives as long as this process has it open
        self._present = bytearray([int(whole)]) * -(-self._section.size // TEXT_BLOCK_BYTES)

    def __call__(self, ranges: Sequence[tuple[int, int]], deadline: Deadline) -> list[bytes]:
        """The bytes of each range.  Raises IndexLostError: a block is missing or damaged."""
        with disk_errors():
            needed = set[int]().union(*(_blocks(start, end) for start, end in ranges))
            missing = [number for number in sorted(needed) if not self._present[number]]
            brought = dict(zip(missing, self._pool.map(lambda n: self._block(n, deadline), missing), strict=True))
            for number, block in brought.items():
                if self._room.take(len(block)):
                    self._taken += len(block)
                    os.pwrite(self._file, block, number * TEXT_BLOCK_BYTES)
                    self._present[number] = 1
            return [self._range(start, end, brought) for start, end in ranges]

    def _range(self, start: int, end: int, brought: Mapping[int, bytes]) -> bytes:
        numbers = _blocks(start, end)
        if all(self._present[number] for number in numbers):
            return os.pread(self._file, end - start, start)
        at = numbers.start * TEXT_BLOCK_BYTES
        read = (os.pread(self._file, TEXT_BLOCK_BYTES, number * TEXT_BLOCK_BYTES) for number in numbers)
        blocks = (brought.get(number, block) for number, block in zip(numbers, read, strict=True))
        return b"".join(blocks)[start - at : end - at]

    def _block(self, number: int, deadline: Deadline) -> bytes:
        deadline.timeout_s(1.0, stage="index")
        start = self._section.start + number * TEXT_BLOCK_BYTES
        end = min(start + TEXT_BLOCK_BYTES, self._section.start + self._section.size)
        block = self._state.get(self._name, start=start, end=end)
        if block is None:
            raise IndexLostError(MISSING)
        if block_sum(block) != int.from_bytes(self._sums[4 * number : 4 * number + 4], "little"):
            raise IndexLostError("a segment of the index is damaged: a text is not what its checksum says")
        return block

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._room.take(-self._taken)


def _blocks(start: int, end: int) -> range:
    """The numbers of the blocks that hold a range.

    >>> _blocks(0, 65_536), _blocks(65_535, 65_537)
    (range(0, 1), range(0, 2))
    """
    return range(start // TEXT_BLOCK_BYTES, -(-end // TEXT_BLOCK_BYTES))


@contextmanager
def disk_errors(*, missing: type[DatabaseError] = DatabaseError) -> Iterator[None]:
    """Raise what a disk raises as DatabaseError, a file that is not there as *missing*."""
    try:
        yield
    except FileNotFoundError as exc:
        raise missing("a local copy of the index was removed", service="index") from exc
    except OSError as exc:
        raise DatabaseError(f"the folder of the index cannot be used: {exc.strerror}", service="index") from exc


class SegmentFiles:
    """The local copies in *folder*.

    Args:
        state: The state bucket.
        folder: Made at the first use.
        max_bytes: Of all copies together; segments of other tenants that were not used for longest go first.
        piece_bytes: Of one request.  A segment of half of it is fetched with its texts, by one request.
    """

    def __init__(self, state: ObjectStore, folder: Path, *, max_bytes: int, piece_bytes: int = PIECE_BYTES) -> None:
        self._state = state
        self._folder = folder
        self._max_bytes = max_bytes
        self._piece_bytes = piece_bytes
        self._text_room = DiskRoom(max_bytes // TEXT_SHARE)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._coming: dict[Path, int] = {}  # bytes of the copies that are being fetched
        self._room_lock = threading.Lock()
        self._pool = ThreadPoolExecutor(PARALLEL, thread_name_prefix="segments")
        self._known = KnownChunks(size=KNOWN_CHUNKS, max_weight=KNOWN_BYTES)

    def has(self, index: IndexRef, name: str) -> bool:
        """Whether there is a copy of a segment."""
        return (self._place(index, name) / "core").exists()

    def open(self, index: IndexRef, entry: SegmentEntry, in_use: Collection[str], deadline: Deadline) -> OpenSegment:
        """Open a segment, which is fetched first where there is no copy; copies of *in_use* are not removed for it.

        Raises:
            IndexLostError: It is not in the bucket, damaged, or of another index.
            DatabaseError: It could not be fetched, or the disk is full.
            DeadlineError: The time was used up.
        """
        place = self._place(index, entry.name)
        with self._turn(str(place), deadline), disk_errors():
            if not self.has(index, entry.name):
                self._fetch(index, entry, place, in_use, deadline)
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
            entry.name, entry.tag, entry.sequence, header=header, core=core, read_texts=texts, known=self._known
        )

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
        self, index: IndexRef, entry: SegmentEntry, place: Path, in_use: Collection[str], deadline: Deadline
    ) -> None:
        """Bring a copy, check it and put it in place, whole or not at all."""
        whole = 2 * entry.size_bytes <= self._piece_bytes
        size = entry.size_bytes if whole else entry.core_bytes
        with self._drafted(place, size, index, in_use) as draft:
            body = self._brought(segment_name(index, entry.name), size, draft / "core", deadline)
            header = self._checked(index, entry, body)
            check_sections(header, body, header.sections if whole else header.sections.keys() - {"texts"})
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
            (draft / "texts").write_bytes(body[header.sections["texts"].start :])
        os.truncate(draft / "core", start)

    def _brought(self, name: str, size: int, target: Path, deadline: Deadline) -> memoryview:
        """The first *size* bytes of an object, in a file, piece by piece: a segment may be larger than the memory."""
        with target.open("wb") as file:

            def piece(start: int) -> int:
                deadline.timeout_s(1.0, stage="index")
                body = self._state.get(name, start=start, end=min(start + self._piece_bytes, size))
                if body is None:
                    raise IndexLostError(MISSING)
                return os.pwrite(file.fileno(), body, start)

            starts = range(0, size, self._piece_bytes)
            brought = piece(0) if len(starts) == 1 else sum(self._pool.map(piece, starts))
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


def check_sections(header: Header, body: memoryview, names: Iterable[str]) -> None:
    """Return if these sections of a file are what their checksums say.  Raises IndexLostError: one is not."""
    for name in names:
        section = header.sections[name]
        if hashlib.sha256(body[section.start : section.start + section.size]).hexdigest() != section.sha256:
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
