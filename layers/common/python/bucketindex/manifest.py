"""The manifest of a tenant's index: which segments are live, and what was removed from them since they were written."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import IndexLostError

SEGMENT, RETIRED = ".seg", ".retired"
MAX_SEGMENTS = 12  # that a query may meet; a writer that would make more merges small ones first
MERGE_ABOVE = 7  # segments: from there on a merge is due
FEWER = 4  # segments that a merge leaves, if their sizes let it
MAX_MERGED_CHUNKS = 200_000  # of a segment that a merge may make: up to 600 MB, and 75 s of a core
MANY_REMOVALS = 1_000  # from there on segments are rewritten, so that the removals need not be listed
PACKED_ABOVE = 50_000  # characters of a manifest, whose item may have 400 KB
PACKED = "z:"
LATER = {"etag": "etags", "applied": "applied", "first_bytes": "first"}
"""Fields of segments that are stored apart, as older readers know seven; with their names in the manifest."""


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """A live segment."""

    name: str  # of its object
    tag: int  # its number in the lexical search of a view
    sequence: int  # the manifest's when it was added: of two chunks of one id the later one counts
    chunks: int  # how many it has, removed ones too
    core_bytes: int  # bytes of the file that are fetched when it is opened
    size_bytes: int  # bytes of the file
    header_sha256: str  # of the beginning of the file, which has the checksums of the rest
    etag: str = ""  # of the object as it was written, which changes with every overwrite; empty if unknown
    applied: int = 0  # the manifest's sequence up to which it was written without what was removed
    first_bytes: int = 0  # of the file, what a search fetches first where there is no copy; 0 of older writers

    @property
    def stored(self) -> list[str | int]:
        """The fields in the order of the manifest's format, without those that came later."""
        return [getattr(self, name) for name in SegmentEntry.__slots__ if name not in LATER]

    @property
    def clean_until(self) -> int:
        """The manifest's sequence up to which no removal hides anything of it."""
        return max(self.sequence, self.applied)


@dataclass(frozen=True, slots=True)
class Removal:
    """Revisions of a document that are gone from all segments that were added before."""

    vault: str
    path: str
    from_revision: int
    before_revision: int
    sequence: int

    def hides(self, order: tuple[str, str, int], sequence: int) -> bool:
        """Whether a revision, by vault, path and number, is gone from a segment that was added at *sequence*."""
        vault, path, revision = order
        named = (vault, path) == (self.vault, self.path)
        return named and self.from_revision <= revision < self.before_revision and self.sequence > sequence


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is live of one tenant's index.  `sequence` rises with every change; `segments` are in its order."""

    sequence: int = 0
    segments: tuple[SegmentEntry, ...] = ()
    removals: tuple[Removal, ...] = ()

    @property
    def chunks(self) -> int:
        """Chunks of all segments, removed and superseded ones too."""
        return sum(each.chunks for each in self.segments)

    def with_segment(self, entry: SegmentEntry) -> Manifest:
        """This manifest with one segment more, the latest."""
        sequence = self.sequence + 1
        return replace(self, sequence=sequence, segments=(*self.segments, replace(entry, sequence=sequence)))

    def with_removal(self, removal: Removal) -> Manifest:
        """This manifest without some revisions of a document."""
        sequence = self.sequence + 1
        return replace(self, sequence=sequence, removals=(*self.removals, replace(removal, sequence=sequence)))

    def without_removals(self) -> Manifest:
        """This manifest as if nothing had been removed."""
        return replace(self, removals=())

    def with_etag(self, name: str, etag: str) -> Manifest:
        """This manifest with the ETag of a segment whose object was written again with the same bytes."""
        segments = tuple(replace(each, etag=etag) if each.name == name else each for each in self.segments)
        return self if segments == self.segments else replace(self, sequence=self.sequence + 1, segments=segments)

    @property
    def has_many_removals(self) -> bool:
        """Whether segments should be rewritten so that removals need not be listed."""
        return len(self.removals) > MANY_REMOVALS

    def merged(self, names: Iterable[str], entry: SegmentEntry | None, *, applied: int = 0) -> Manifest | None:
        """This manifest with *entry*, or nothing, in place of segments; None if one of them is no longer live.

        The new one has the sequence of the last that it replaces, so that later additions count. It was written
        without what was removed up to the sequence *applied*; removals that are in force for no segment go.
        """
        replaced = set(names)
        found = [each for each in self.segments if each.name in replaced]
        if len(found) < len(replaced):
            return None
        left = [each for each in self.segments if each.name not in replaced]
        if entry is not None:
            left.append(replace(entry, sequence=max(each.sequence for each in found), applied=applied))
        left.sort(key=lambda each: each.sequence)
        oldest = min((each.clean_until for each in left), default=self.sequence)
        removals = tuple(each for each in self.removals if each.sequence > oldest)
        return Manifest(self.sequence + 1, tuple(left), removals)

    def without(self, names: Iterable[str]) -> Manifest | None:
        """This manifest without the named segments; None if it lists none of them."""
        listed = {each.name for each in self.segments} & set(names)
        return self.merged(listed, None) if listed else None

    def encoded(self) -> str:
        segments = [each.stored for each in self.segments]
        removals = [[getattr(each, name) for name in Removal.__slots__] for each in self.removals]
        fields = {"format": 1, "sequence": self.sequence, "segments": segments, "removals": removals}
        for name, stored in LATER.items():
            fields[stored] = {each.name: getattr(each, name) for each in self.segments if getattr(each, name)}
        text = json.dumps(fields, separators=(",", ":"))
        return text if len(text) <= PACKED_ABOVE else PACKED + base64.b85encode(zlib.compress(text.encode())).decode()


def read_manifest(text: str | None) -> Manifest:
    """Read what `Manifest.encoded` wrote; an empty one for None.

    Raises:
        IndexLostError: It cannot be read.

    >>> one = Manifest().with_segment(SegmentEntry("s", 1, 0, 3, 10, 20, "ab"))
    >>> read_manifest(one.encoded()) == one
    True
    """
    if text is None:
        return Manifest()
    try:
        packed = text.startswith(PACKED)
        fields = json.loads(zlib.decompress(base64.b85decode(text.removeprefix(PACKED))) if packed else text)
        segments = tuple(
            SegmentEntry(
                *each,
                **{name: at[each[0]] for name, stored in LATER.items() if each[0] in (at := fields.get(stored, {}))},
            )
            for each in fields["segments"]
        )
        return Manifest(fields["sequence"], segments, tuple(Removal(*each) for each in fields["removals"]))
    except (ValueError, KeyError, TypeError, zlib.error) as exc:
        raise IndexLostError("the manifest of the index cannot be read") from exc


def growing(segments: Iterable[SegmentEntry]) -> list[SegmentEntry]:
    """The segments that merges make larger: of an index with many full ones, those that are not half full yet.

    >>> def entries(*sizes): return [SegmentEntry(str(n), n, n, size, 0, 0, "") for n, size in enumerate(sizes)]
    >>> len(growing(entries(*[200_000] * 3, 10, 10))), len(growing(entries(*[200_000] * 50, 10, 10)))
    (5, 2)
    """
    found = list(segments)
    small = [each for each in found if 2 * each.chunks <= MAX_MERGED_CHUNKS]
    return found if len(found) - len(small) <= FEWER else small


def to_merge(segments: Iterable[SegmentEntry], *, above: int = MERGE_ABOVE) -> list[SegmentEntry]:
    """The segments to merge: the smallest, as many as leave a few; none if there are few already.

    A larger one joins if it is hardly larger than the smaller ones together, so that sizes stay far apart and each
    chunk is written about once for every doubling.

    >>> sizes = [100_000, 4_000, 40, 30, 30, 20, 20, 10]
    >>> [each.chunks for each in to_merge(SegmentEntry(str(n), n, n, size, 0, 0, "") for n, size in enumerate(sizes))]
    [10, 20, 20, 30, 30, 40]
    """
    by_size = sorted(growing(segments), key=lambda each: each.chunks)
    if len(by_size) <= above:
        return []
    chosen: list[SegmentEntry] = []
    total = 0
    for each in by_size:
        enough = len(by_size) - len(chosen) + 1 <= min(FEWER, above)
        if len(chosen) > 1 and (total + each.chunks > MAX_MERGED_CHUNKS or (enough and each.chunks > 2 * total)):
            break
        if len(chosen) > 1 and each.chunks > 8 * total and len(by_size) - len(chosen) + 1 < above:
            break
        chosen.append(each)
        total += each.chunks
    return chosen if len(chosen) > 1 else []


def fitting_one(segments: Iterable[SegmentEntry]) -> list[SegmentEntry]:
    """As many segments, the smallest first, as fit into one.

    >>> segments = [SegmentEntry(str(size), 1, 1, size, 0, 0, "") for size in (200_000, 60_000, 10)]
    >>> [each.chunks for each in fitting_one(segments)]
    [10, 60000]
    """
    chosen: list[SegmentEntry] = []
    for each in sorted(segments, key=lambda one: one.chunks):
        if sum(one.chunks for one in chosen) + each.chunks > MAX_MERGED_CHUNKS:
            break
        chosen.append(each)
    return chosen


def merge_is_worth_asking(segments: int, above: int = MERGE_ABOVE) -> bool:
    """Whether a writer that left so many segments requests a merge: only some of many writers do.

    >>> [count for count in range(14) if merge_is_worth_asking(count)]
    [8, 10, 12]
    """
    return above < segments <= MAX_SEGMENTS and (segments - above) % 2 == 1


def prefix_of(index: IndexRef) -> str:
    """What the names of all objects of a tenant's index begin with.

    >>> prefix_of(IndexRef("acme", "bucket-v1-m-8-1", 8))
    'index/acme/bucket-v1-m-8-1/'
    """
    return f"index/{index.tenant}/{index.name}/"


def segment_name(index: IndexRef, name: str) -> str:
    """The object of a segment."""
    return f"{prefix_of(index)}{name}{SEGMENT}"


def retired_name(index: IndexRef, name: str) -> str:
    """The empty object whose time says since when a segment is not live."""
    return f"{prefix_of(index)}{name}{RETIRED}"
