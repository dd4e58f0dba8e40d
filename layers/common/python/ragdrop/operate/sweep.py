"""Sweep: compare what the bucket holds with what the registry says, vault by vault, and let ingest recheck the keys.

Nothing is repaired here: every difference becomes a message, and ingest asks S3 for the truth.  Only chunks that can
never answer are removed, and counters corrected.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from itertools import groupby

from ragdrop.domain.deadlines import Deadline, seconds_of
from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey, is_folder
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import InvalidParamsError
from ragdrop.operate.leftovers import RemoveDerived, RemoveOrphans
from ragdrop.ports.message_queue import MessageQueue
from ragdrop.ports.object_store import ListedObject, ObjectStore
from ragdrop.ports.registry import Registry

MAX_GONE = 20  # documents of a vault that may be gone in a day before their share is asked for
MAX_GONE_SHARE = 0.2
GONE_WINDOW_S = 86_400


class Disagreement(StrEnum):
    """Why a key is to be rechecked."""

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
    is_deleted = head is None or head.status is Status.DELETED
    if place.version_id is None:
        return None if is_deleted else Disagreement.GONE
    if head is None or is_deleted:
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


def too_many_gone(gone: int, known: int) -> bool:
    """Whether so many of a vault's *known* documents are *gone* that the listing is likelier wrong than they are.

    >>> too_many_gone(50, 100), too_many_gone(20, 20), too_many_gone(50, 1_000)
    (True, False, False)
    """
    return gone > MAX_GONE and gone > MAX_GONE_SHARE * known


def gone_lately(noted: Mapping[str, float], now_s: float) -> dict[str, float]:
    """The paths noted as gone, and when, without those of over 24 hours ago.

    >>> gone_lately({"a": 0.0, "b": 90_000.0}, 100_000.0)
    {'b': 90000.0}
    """
    return {path: at_s for path, at_s in noted.items() if now_s - at_s < GONE_WINDOW_S}


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
    """A vault of which too much is gone to act on it: `known` documents, `gone` of them within 24 hours."""

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


logger = logging.getLogger(__name__)

STOP_S = 30.0  # with less time left the sweep ends, and the next one continues
PAGE = 1_000
COUNT_PAUSE_S = 60.0  # counters are left alone while documents changed so lately: their own counting may be under way


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Sweeps one tenant; what was cut off continues behind the last vault that was done."""

    documents: ObjectStore
    registry: Registry
    queue: MessageQueue
    notes: SweepNotes
    remove_orphans: RemoveOrphans
    remove_derived: RemoveDerived
    min_age_s: float
    clock: Callable[[], float]

    def __call__(
        self,
        name: str,
        deadline: Deadline,
        *,
        dry_run: bool = False,
        allow_mass_delete: bool = False,
        index: bool = True,
    ) -> SweepReport:
        """Compare bucket, registry and index of one tenant.

        Args:
            name: The tenant.
            deadline: Some seconds before it the sweep ends; its report then says that it is not finished.
            dry_run: Find everything, change and send nothing.
            allow_mass_delete: Tell of the documents that are gone however many they are.
            index: Whether the index can be read, so that orphans are looked for in it.

        Raises:
            InvalidParamsError: There is no such tenant.
            DependencyError: A service failed; the next sweep continues where this one was.
        """
        tenant = self.registry.tenant(name)
        if tenant is None:
            raise InvalidParamsError(f"there is no tenant named {name!r}", field="tenant", value=name)
        notes = self.notes.read(name)
        if dry_run:
            notes = Notes(gone=notes.gone, derived_after=notes.derived_after)
        if notes.after is None:
            notes.generation = tenant.generation
        report = SweepReport(name, dry_run)
        for vault, places in groupby(self._places(name, notes), key=_vault_of):
            if not self._vault(vault, places, notes, report, deadline, allow_mass_delete=allow_mass_delete):
                report.finished = False
                return report
            if vault and not dry_run:
                notes.after = vault
                self.notes.write(name, notes)
        if not report.refused and index:
            self._end(tenant, notes, report, deadline)
        if not dry_run:
            self.notes.write(name, Notes(gone=notes.gone, derived_after=notes.derived_after))
        return report

    def differences(self, name: str) -> SweepReport:
        """What bucket and registry of a tenant differ in now; nothing is sent, removed or noted.

        Raises DependencyError: a service failed.
        """
        report = SweepReport(name, dry_run=True)
        now_s = self.clock()
        for place in self._places(name, Notes()):
            kind = self._judge(place, now_s, report)
            if kind is not None:
                report.note(kind, place.path)
        return report

    def _vault(
        self,
        vault: str,
        places: Iterator[ComparedDocument],
        notes: Notes,
        report: SweepReport,
        deadline: Deadline,
        *,
        allow_mass_delete: bool,
    ) -> bool:
        """Sweep one vault; False where the time was over before its end."""
        now_s = self.clock()
        changed: list[str] = []
        gone: list[str] = []
        known = documents = chunks = 0
        last = notes.last
        for place in places:
            if deadline.remaining_s() < STOP_S:
                return False
            last = place.path if place.modified_at_s else last
            head = place.head
            if head is not None and not head.key.is_settings:
                known += int(head.status is not Status.DELETED)
                documents += int(head.live_revision is not None)
                chunks += head.chunk_count if head.live_revision is not None else 0
                notes.changed_at_s = max(notes.changed_at_s, seconds_of(head.updated_at))
            kind = self._judge(place, now_s, report)
            if kind is None:
                continue
            (gone if kind is Disagreement.GONE else changed).append(place.path)
            report.note(kind, place.path)
            if len(changed) >= PAGE:
                self._send(changed, report)
        self._send(changed, report)
        self._send_gone(vault, gone, known, notes, report, allow_mass_delete=allow_mass_delete)
        notes.last = last
        notes.documents += documents
        notes.chunks += chunks
        if documents and vault not in notes.vaults:
            notes.vaults.append(vault)
        report.vaults += int(bool(vault))
        return True

    def _judge(self, place: ComparedDocument, now_s: float, report: SweepReport) -> Disagreement | None:
        key = _key_of(report.tenant, place)
        if place.version_id is not None and (key is None or key.problem is not None):
            report.note_unusable(place.path)
        if key is None:
            return None
        if key.problem is None:
            report.objects += int(place.version_id is not None and not key.is_settings)
        else:
            place = replace(place, sidecar_version_id=None)  # what is never indexed has no sidecar
        kind = finding(place)
        if kind is not None and self._is_recent(place, now_s):
            report.recent += 1
            return None
        return kind

    def _is_recent(self, place: ComparedDocument, now_s: float) -> bool:
        return is_recent(place, now_s=now_s, min_age_s=self.min_age_s)

    def _send_gone(
        self, vault: str, gone: list[str], known: int, notes: Notes, report: SweepReport, *, allow_mass_delete: bool
    ) -> None:
        """Send what is gone, unless a wrong listing is likelier."""
        now_s = self.clock()
        noted = gone_lately(notes.gone.get(vault, {}), now_s)
        lately = noted | dict.fromkeys(gone, now_s)
        known += len(noted.keys() - set(gone))  # those noted before are no longer known, or are in `gone` still
        if too_many_gone(len(lately), known) and gone and not allow_mass_delete:
            report.refused.append(Refusal(vault, len(lately), known))
            extra = {"tenant": report.tenant, "gone": len(lately), "known": known}
            logger.error("the sweep refused: too many documents of a vault are gone at once", extra=extra)
            return
        self._send(list(gone), report)
        notes.gone[vault] = noted if allow_mass_delete else lately
        if not notes.gone[vault]:
            del notes.gone[vault]

    def _send(self, names: list[str], report: SweepReport) -> None:
        report.asked += len(names)
        if names and not report.dry_run:
            self.queue.send_all([f"{report.tenant}/{name}" for name in names])
        names.clear()

    def _end(self, tenant: Tenant, notes: Notes, report: SweepReport, deadline: Deadline) -> None:
        """Remove orphans and the state of revisions long gone, correct the counters: all vaults were seen."""
        removed = self.remove_orphans(tenant, deadline, dry_run=report.dry_run)
        report.orphans, report.orphan_chunks = removed.revisions, removed.chunks
        expired = self.remove_derived(tenant.name, deadline, after=notes.derived_after, dry_run=report.dry_run)
        report.expired, report.expired_objects = expired.revisions, expired.objects
        notes.derived_after = expired.after
        now = self.registry.tenant(tenant.name)
        quiet_s = min(self.min_age_s, COUNT_PAUSE_S)
        if now is None or now.generation != notes.generation or self.clock() - notes.changed_at_s < quiet_s:
            return  # documents changed meanwhile: the next sweep counts again
        wrong = {"documents": notes.documents - now.documents, "chunks": notes.chunks - now.chunks}
        report.corrected = wrong
        missing = [vault for vault in notes.vaults if vault not in now.vaults]
        if report.dry_run or not (any(wrong.values()) or missing):
            return
        for vault in missing:
            self.registry.add_to_tenant(tenant.name, vault=vault, documents=0, chunks=0)
        for vault in [*notes.vaults, *now.vaults][:1]:  # the counters are the tenant's; a write of them names a vault
            self.registry.add_to_tenant(tenant.name, vault=vault, documents=wrong["documents"], chunks=wrong["chunks"])

    def _places(self, tenant: str, notes: Notes) -> Iterator[ComparedDocument]:
        prefix = f"{tenant}/"
        start = prefix + notes.last if notes.last else ""
        entries = self.documents.entries(prefix, start_after=start)
        first = f"{notes.after}0" if notes.after else ""  # behind the vault that was done: "0" follows "/"
        objects = (
            _place_of(entry, path)
            for entry in entries
            if (path := entry.key.removeprefix(prefix)) >= first and not is_folder(path, entry.size_bytes)
        )
        return paired(with_sidecars(objects), self._heads(tenant, notes, first))

    def _heads(self, tenant: str, notes: Notes, first: str) -> Iterator[Head]:
        """The tenant's heads behind the last vault that was done; the deleted are in no list and do not matter."""
        cursor = notes.cursor
        while True:
            notes.cursor = cursor  # a sweep that continues reads this page again
            page = self.registry.page(tenant, vault=None, prefix="", status=None, cursor=cursor, limit=PAGE)
            yield from (head for head in page.heads if head.key.vault_path >= first)
            cursor = page.cursor
            if cursor is None:
                return


def _place_of(entry: ListedObject, path: str) -> ComparedDocument:
    version_id = None if entry.deleted else entry.version_id
    return ComparedDocument(path, version_id, modified_at_s=seconds_of(entry.modified_at))


def _vault_of(place: ComparedDocument) -> str:
    vault, slash, _ = place.path.partition("/")
    return vault if slash else ""


def _key_of(tenant: str, place: ComparedDocument) -> DocumentKey | None:
    """The key of a place; None where it leaves no record, as it lies in no vault."""
    if place.head is not None:
        return place.head.key
    try:
        return DocumentKey.of_object(f"{tenant}/{place.path}")
    except InvalidParamsError:
        return None


@dataclass(slots=True)
class Notes:
    """How far the sweep of one tenant is.

    `after` is the last vault that was done, None at the start of a round; `last` the last path that the bucket listed
    up to there, `cursor` the registry's page that continues behind it.  `documents`, `chunks`, `vaults` and
    `changed_at_s` were counted so far in this round, `generation` is the tenant's at its start.  `gone` names the
    documents found gone in the last 24 hours: by vault, when (seconds since 1970) by path.  `derived_after` is
    where the next round continues with what is derived.
    """

    after: str | None = None
    last: str = ""
    cursor: str | None = None
    documents: int = 0
    chunks: int = 0
    vaults: list[str] = field(default_factory=list)
    changed_at_s: float = 0.0
    generation: int = 0
    gone: dict[str, dict[str, float]] = field(default_factory=dict)
    derived_after: str = ""


class SweepNotes:
    """Reads and writes notes.  Raises ObjectStoreError when S3 does not answer."""

    def __init__(self, state: ObjectStore) -> None:
        self._state = state

    def read(self, tenant: str) -> Notes:
        """The notes of a tenant; empty ones where there are none, or none that can be read."""
        body = self._state.get(_name(tenant))
        try:
            stored = json.loads(body or b"{}")
        except ValueError:
            return Notes()
        known = {each.name for each in fields(Notes)}
        return Notes(**{name: value for name, value in stored.items() if name in known})

    def write(self, tenant: str, notes: Notes) -> None:
        """Keep the notes of a tenant."""
        body = json.dumps(asdict(notes), ensure_ascii=False).encode()
        self._state.put(_name(tenant), body, media_type="application/json")


def _name(tenant: str) -> str:
    return f"sweeps/{tenant}.json"
