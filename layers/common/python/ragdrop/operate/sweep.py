"""Sweep: compare what the bucket holds with what the registry says, vault by vault, and ask ingest to look again.

Nothing is repaired here: every difference becomes a message, and ingest asks S3 for the truth.  Only chunks that can
never answer are removed, and counters corrected.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import groupby

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import DocumentKey, is_folder
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import InvalidParamsError
from ragdrop.operate.leftovers import RemoveDerived, RemoveOrphans
from ragdrop.operate.sweeping import (
    ComparedDocument,
    Disagreement,
    Refusal,
    SweepReport,
    finding,
    gone_lately,
    is_mass_delete,
    is_recent,
    paired,
    seconds_of,
    with_sidecars,
)
from ragdrop.ports import MessageQueue, ObjectStore, Registry
from ragdrop.ports.object_store import ListedObject

logger = logging.getLogger(__name__)

STOP_S = 30.0  # with less time left the sweep ends, and the next one goes on
PAGE = 1_000
COUNT_PAUSE_S = 60.0  # counters are left alone while documents changed so lately: their own counting may be under way


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Sweeps one tenant; what was cut off goes on behind the last vault that was done."""

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
            DependencyError: A service failed; the next sweep goes on where this one was.
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

        Raises:
            DependencyError: A service failed.
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
        wanted: list[str] = []
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
            (gone if kind is Disagreement.GONE else wanted).append(place.path)
            report.note(kind, place.path)
            if len(wanted) >= PAGE:
                self._send(wanted, report)
        self._send(wanted, report)
        self._tell_gone(vault, gone, known, notes, report, allow_mass_delete=allow_mass_delete)
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

    def _tell_gone(
        self, vault: str, gone: list[str], known: int, notes: Notes, report: SweepReport, *, allow_mass_delete: bool
    ) -> None:
        """Send what is gone, unless it is so much that a wrong listing is likelier."""
        now_s = self.clock()
        noted = gone_lately(notes.gone.get(vault, {}), now_s)
        lately = noted | dict.fromkeys(gone, now_s)
        known += len(noted.keys() - set(gone))  # those noted before are no longer known, or are in `gone` still
        if is_mass_delete(len(lately), known) and gone and not allow_mass_delete:
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
            notes.cursor = cursor  # a sweep that goes on reads this page again
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
    up to there, `cursor` the registry's page that goes on behind it.  `documents`, `chunks`, `vaults` and
    `changed_at_s` were counted so far in this round, `generation` is the tenant's at its start.  `gone` names the
    documents found gone in the last 24 hours: by vault, when (seconds since 1970) by path.  `derived_after` is
    where the next round goes on with what is derived.
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
            kept = json.loads(body or b"{}")
        except ValueError:
            return Notes()
        known = {each.name for each in fields(Notes)}
        return Notes(**{name: value for name, value in kept.items() if name in known})

    def write(self, tenant: str, notes: Notes) -> None:
        """Keep the notes of a tenant."""
        body = json.dumps(asdict(notes), ensure_ascii=False).encode()
        self._state.put(_name(tenant), body, media_type="application/json")


def _name(tenant: str) -> str:
    return f"sweeps/{tenant}.json"
