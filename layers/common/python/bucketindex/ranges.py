"""Ranges of the objects of an index: blocks of texts, cached on the disk, and what a search without copies reads."""

import os
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from bucketindex.segment import TEXT_BLOCK_BYTES, Header, block_sum
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DatabaseError, IndexLostError, ObjectStoreError
from ragdrop.ports.object_store import ObjectStore

MISSING = "a segment of the index is not in the bucket"
WAITS_S = (0.2, 0.8, 1.6, 1.6)  # at most, before S3 is asked again, which answers 503 while it divides a busy prefix
GAP_BYTES = 24 << 10  # that are read along rather than asked around: a request costs as much as so many bytes
PIECE_BYTES = 2 << 20  # of one request at most, so that several share the line
CACHED_BYTES = 16 << 20  # of what one view read by range
ObjectRange = tuple[str, int, int]
"""An object, and a range of its bytes."""


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


class RangeReader:
    """Reads ranges of objects, neighbours by one request, all at once; what was read stays for the view's next search.

    Raises IndexLostError: an object is not there, or shorter than it was written.
    """

    def __init__(self, state: ObjectStore, pool: ThreadPoolExecutor) -> None:
        self._state, self._pool = state, pool
        self._cached: BoundedCache[ObjectRange, bytes] = BoundedCache(size=1 << 16, max_weight=CACHED_BYTES)

    def __call__(self, asked: Sequence[ObjectRange], deadline: Deadline) -> list[bytes]:
        found = {each: self._cached.get(each, now_s=0.0) for each in asked}
        missing = sorted(each for each, body in found.items() if body is None and each[1] < each[2])
        runs: list[list[ObjectRange]] = []
        behind = 0
        for each in missing:
            name, start, end = each
            near = runs and runs[-1][0][0] == name and start <= behind + GAP_BYTES
            if near and end - runs[-1][0][1] <= PIECE_BYTES:
                runs[-1].append(each)
                behind = max(behind, end)
            else:
                runs.append([each])
                behind = end
        for run, body in zip(runs, self._pool.map(lambda run: self._read(run, deadline), runs), strict=True):
            first = run[0][1]
            for each in run:
                part = found[each] = body[each[1] - first : each[2] - first]
                self._cached.put(each, part, now_s=0.0, weight=len(part))
        return [found[each] or b"" for each in asked]

    def _read(self, run: Sequence[ObjectRange], deadline: Deadline) -> bytes:
        name, start, end = run[0][0], run[0][1], max(each[2] for each in run)
        for wait_s in (*WAITS_S, None):
            deadline.timeout_s(1.0, stage="index")
            try:
                body = self._state.get(name, start=start, end=end)
                break
            except ObjectStoreError as exc:
                if wait_s is None or not exc.retryable:
                    raise
                time.sleep(random.uniform(0.0, wait_s))  # noqa: S311 - no secret
        if body is None:
            raise IndexLostError(MISSING)
        if len(body) != end - start:
            raise IndexLostError("a segment of the index is damaged: it is shorter than it was written")
        return body
