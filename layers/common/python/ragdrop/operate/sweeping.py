"""Findings of a sweep: differences between bucket and registry, suspicious losses, orphans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import SIDECAR_SUFFIX

MAX_GONE = 20  # documents of a vault that may be gone in a day before their share is asked for
MAX_GONE_SHARE = 0.2
GONE_WINDOW_S = 86_400


class Disagreement(StrEnum):
    """Why a key is to be looked at again."""

    NEW = "new"  # the bucket has it, the registry does not
    CHANGED = "changed"  # the registry knows another version of it
    GONE = "gone"  # the registry has it, the bucket does not
    STUCK = "stuck"  # it was begun, and nobody is at work on it any more


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """One document as bucket and registry see it; `path` is `vault/path`, times are seconds since 1970.

    `version_id` and `sidecar_version_id` are None where there is no such object; `modified_at_s` is of the youngest of
    document, sidecar and delete marker, 0 where there is none of them.
    """

    path: str
    version_id: str | None = None
    sidecar_version_id: str | None = None
    modified_at_s: float = 0.0
    head: Head | None = None


def finding(place: ComparedDocument) -> Disagreement | None:
    """What is wrong with a place; None where bucket and registry agree, a recorded failure included.

    >>> finding(ComparedDocument("a.md", version_id="v1")).value
    'new'
    """
    head = place.head
    buried = head is None or head.status is Status.DELETED
    if place.version_id is None:
        return None if buried else Disagreement.GONE
    if head is None or buried:
        return Disagreement.NEW
    if (head.version_id, head.sidecar_version_id) != (place.version_id, place.sidecar_version_id):
        return Disagreement.CHANGED
    return Disagreement.STUCK if head.status is Status.PENDING else None


def is_recent(place: ComparedDocument, *, now_s: float, min_age_s: float) -> bool:
    """Whether the key changed, or was worked on, so lately that its event may still be on its way.

    >>> is_recent(ComparedDocument("a.md", modified_at_s=100.0), now_s=130.0, min_age_s=60), is_recent(
    ...     ComparedDocument("a.md", modified_at_s=100.0), now_s=130.0, min_age_s=0)
    (True, False)
    """
    head = place.head
    if head is not None and head.lease_until_s > now_s:
        return True  # somebody is at work on it
    return now_s - max(place.modified_at_s, seconds_of(head.updated_at) if head else 0.0) < min_age_s


def is_mass_delete(gone: int, known: int) -> bool:
    """Whether so many of a vault's *known* documents are *gone* that the listing is likelier wrong than they are.

    >>> is_mass_delete(50, 100), is_mass_delete(20, 20), is_mass_delete(50, 1_000)
    (True, False, False)
    """
    return gone > MAX_GONE and gone > MAX_GONE_SHARE * known


def gone_lately(noted: Mapping[str, float], now_s: float) -> dict[str, float]:
    """The paths noted as gone, and when, without those of over 24 hours ago.

    >>> gone_lately({"a": 0.0, "b": 90_000.0}, 100_000.0)
    {'b': 90000.0}
    """
    return {path: at_s for path, at_s in noted.items() if now_s - at_s < GONE_WINDOW_S}


def is_orphan(revision: int, head: Head | None) -> bool:
    """Whether a revision found in the index can never answer: it is neither live nor pending.

    A number is claimed once, so what is an orphan at one consistent read of the head stays one.
    """
    if head is None:
        return True
    pending = head.status in {Status.PENDING, Status.STAGED} and revision == head.revision
    return revision != head.live_revision and not pending


def with_sidecars(objects: Iterable[ComparedDocument]) -> Iterator[ComparedDocument]:
    """Objects in order of their paths, each sidecar taken into its document; one without a document is left out.

    Other paths may stand between both (`a.md-1` sorts before `a.md.metadata.json`), so a document waits for its own.

    >>> versions = [("a.md", "v1"), ("a.md-1", "v2"), ("a.md.metadata.json", "v3")]
    >>> found = with_sidecars([ComparedDocument(*each) for each in versions])
    >>> [(place.path, place.sidecar_version_id) for place in found]
    [('a.md', 'v3'), ('a.md-1', None)]
    """
    waiting: dict[str, ComparedDocument] = {}  # in the order in which they came
    for place in objects:
        path = place.path
        while waiting and (first := next(iter(waiting))) + SIDECAR_SUFFIX < path:
            yield waiting.pop(first)
        if not path.endswith(SIDECAR_SUFFIX):
            waiting[path] = place
        elif (owner := waiting.get(path.removesuffix(SIDECAR_SUFFIX))) is not None:
            youngest_s = max(owner.modified_at_s, place.modified_at_s)
            waiting[owner.path] = replace(owner, sidecar_version_id=place.version_id, modified_at_s=youngest_s)
    yield from waiting.values()


def seconds_of(moment: str) -> float:
    """Seconds since 1970 of an RFC 3339 time; 0 for an empty one.

    >>> seconds_of("1970-01-01T00:01:00Z"), seconds_of("")
    (60.0, 0.0)
    """
    return datetime.fromisoformat(moment).timestamp() if moment else 0.0


def paired(objects: Iterable[ComparedDocument], heads: Iterable[Head]) -> Iterator[ComparedDocument]:
    """Places of the bucket and heads, both in order of vault and path, joined in that order.

    >>> [place.path for place in paired([ComparedDocument("a"), ComparedDocument("c")], [])]
    ['a', 'c']
    """
    left, right = iter(objects), iter(heads)
    place, head = next(left, None), next(right, None)
    while place is not None or head is not None:
        if head is None or (place is not None and place.path < head.key.vault_path):
            assert place is not None  # noqa: S101 - one of both is there
            yield place
            place = next(left, None)
        elif place is None or head.key.vault_path < place.path:
            yield ComparedDocument(head.key.vault_path, head=head)
            head = next(right, None)
        else:
            yield replace(place, head=head)
            place, head = next(left, None), next(right, None)


SHOWN = 20  # names of each finding


@dataclass(frozen=True, slots=True)
class Refusal:
    """A vault of which so much is gone that nobody is told: `known` documents, `gone` of them within 24 hours."""

    vault: str
    gone: int
    known: int


@dataclass(slots=True)
class SweepReport:
    """What a sweep of one tenant found and did; in a dry run what it would have done.

    `objects` counts documents in the bucket, `recent` those left for later, `unusable` keys that name no document, of
    which `unusable_names` shows some;
    `found` counts keys by finding, `names` shows some of each, `asked` are those that ingest is asked to look at, which
    the gone of a refused vault are not; `corrected` is what the counters were off by.
    `expired` revisions, of so many objects of the state bucket, stopped answering 30 days ago.  `index_fault` is what
    the index lacked, `rebuilt` how many documents were written back into it, `index_whole` whether it is whole now.
    `failed` is the code of what failed after the comparison.
    """

    tenant: str
    dry_run: bool
    vaults: int = 0
    objects: int = 0
    recent: int = 0
    unusable: int = 0
    unusable_names: list[str] = field(default_factory=list)
    found: dict[str, int] = field(default_factory=lambda: {each.value: 0 for each in Disagreement})
    names: dict[str, list[str]] = field(default_factory=lambda: {each.value: [] for each in Disagreement})
    asked: int = 0
    refused: list[Refusal] = field(default_factory=list)
    orphans: int = 0
    orphan_chunks: int = 0
    expired: int = 0
    expired_objects: int = 0
    corrected: dict[str, int] = field(default_factory=lambda: {"documents": 0, "chunks": 0})
    finished: bool = True
    index_fault: str = ""
    rebuilt: int = 0
    index_whole: bool = True
    failed: str | None = None

    def note_unusable(self, name: str) -> None:
        """Count a key that names no document."""
        self.unusable += 1
        if len(self.unusable_names) < SHOWN:
            self.unusable_names.append(name)

    def note(self, kind: Disagreement, name: str) -> None:
        """Count a key on which bucket and registry disagree."""
        self.found[kind.value] += 1
        if len(self.names[kind.value]) < SHOWN:
            self.names[kind.value].append(name)


DERIVED_AGE_S = 30 * 86_400


@dataclass(frozen=True, slots=True)
class DerivedRevision:
    """What the state bucket keeps of one revision; `written_at_s` is of its youngest object, in seconds since 1970.

    `whole` says that its chunks are there: only then it can ever have answered.
    """

    revision: int
    written_at_s: float
    whole: bool
    objects: int = 0


def expired(kept: Sequence[DerivedRevision], head: Head | None, *, now_s: float, age_s: float) -> list[DerivedRevision]:
    """The revisions of one document that stopped answering at least *age_s* seconds ago.

    The live and the pending one never are.  One that was replaced stopped when the next whole one was written, the last
    one when the head says that the document was deleted or withdrawn; without a head it is by its own age.

    >>> old, new = DerivedRevision(1, 0.0, True), DerivedRevision(2, 500.0, True)
    >>> [each.revision for each in expired([old, new], None, now_s=1_000.0, age_s=600.0)]
    []
    """
    found = []
    for each in kept:
        if head is not None and each.revision == head.live_revision:
            continue
        if head is not None and each.revision == head.revision and head.status in {Status.PENDING, Status.STAGED}:
            continue
        later = [other.written_at_s for other in kept if other.whole and other.revision > each.revision]
        replaced = later and (head is None or head.live_revision is None or each.revision < head.live_revision)
        changed_at_s = seconds_of(head.updated_at) if head is not None else 0.0
        stopped_at_s = min(later) if replaced else max(each.written_at_s, changed_at_s)
        if now_s - max(stopped_at_s, each.written_at_s) >= age_s:
            found.append(each)
    return found
