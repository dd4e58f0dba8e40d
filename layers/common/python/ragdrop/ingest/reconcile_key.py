"""Reconcile one key: read the bucket, claim a revision, parse the document, or write a tombstone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Status
from ragdrop.domain.history import STAGE
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey, is_folder
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import DatabaseError, DocumentError, InvalidKeyError
from ragdrop.ingest.activate import ActivateRevisions
from ragdrop.ingest.index_revision import CurrentVersions, IndexRevision, ParsedRevision
from ragdrop.ingest.reconcile_rules import LEASE_S, SETTLE_S, is_older, is_settled, stage_of
from ragdrop.ingest.write_chunks import Unfinished, WriteParts
from ragdrop.ports import Claim, ObjectStore, Registry, StoredObject
from ragdrop.ports.message_queue import Change, Delivery
from ragdrop.tenants.admission import AdmissionRecords
from ragdrop.tenants.settings_files import ApplySettings

MAX_STARTS = 5  # how often one delivery begins again because the key changed under it
MAX_REFUSED = 3  # versions that one delivery finds unreadable, before it records so

Work = ParsedRevision | Unfinished
"""What is left to do for a key: a parsed revision to write whole, or a large one to continue part by part."""


class ReconcileKey:
    """Finds out what a change means for its key, and does all but the writing of chunks."""

    def __init__(
        self,
        *,
        documents: ObjectStore,
        registry: Registry,
        index_revision: IndexRevision,
        write_parts: WriteParts,
        live: ActivateRevisions,
        apply_settings: ApplySettings,
        clock: Callable[[], float],
    ) -> None:
        self._documents = documents
        self._due = DueVersions(documents)
        self._registry = registry
        self._index_revision = index_revision
        self._write_parts = write_parts
        self._live = live
        self._apply_settings = apply_settings
        self._clock = clock

    def __call__(  # noqa: C901
        self, key: DocumentKey, change: Change, delivery: Delivery, tenant: Tenant, deadline: Deadline
    ) -> Work | None:
        """The work that is left; None where the registry agrees with the bucket.

        Raises:
            DependencyError: A dependency did not answer, or the key changed all the time.
        """
        refused: list[CurrentVersions] = []
        for _ in range(MAX_STARTS):
            current = self._look(key)
            head = self._registry.head(key)
            if head is not None and is_older(change.sequencer, than=head.sequencer):
                return None
            if current is None:
                if self._removed(key, head, change, tenant, deadline):
                    return None
                continue
            if head is not None and head.status is Status.STAGED and _is_promoted(head, tenant):
                self._go_live(head, tenant, deadline)  # first, as a claim would take it back to what was live before
                if _claimed_for(head, current):
                    return None
                continue
            found, stage = self._first_due(key, current, head, tenant, refused)
            claim = self._claim_for(found, change, delivery, stage)
            settled = is_settled(
                head,
                version_id=claim.version_id,
                sidecar_version_id=claim.sidecar_version_id,
                message_id=claim.message_id,
                now_s=claim.now_s,
            )
            if head is not None and head.status is Status.PENDING and _claimed_for(head, found):
                begun = self._write_parts.find(head, tenant, delivery, change.handed_over, running=settled)
                if begun is not None:
                    return begun
            if settled:
                if head is not None and head.live_revision == head.revision and head.message_id == delivery.message_id:
                    self._live.clean(key, tenant, deadline)  # it was activated, and cut off before its own clean-up
                if found is not current:
                    raise DatabaseError("a version below one that waits is being indexed", service="registry")
                return None
            claimed = self._registry.claim(key, head, claim)
            if claimed is None:
                continue
            now = self._look(key)
            if now is None or now.versions != current.versions:
                continue  # it changed between the look and the claim: another claim would not see that
            try:
                if key.problem is not None:
                    raise InvalidKeyError(f"{key.problem}: copy the object to another key and delete this one")
                if key.is_settings:
                    if self._apply_settings(claimed, found.document, tenant):
                        return None
                    continue
                work = self._index_revision.prepare(claimed, found, tenant, deadline, first=head is None)
            except DocumentError as exc:
                if is_unknown(head) and self._live.keeps_last_good(key, tenant) and len(refused) < MAX_REFUSED:
                    refused.append(found)
                    if self._due.below(key, found, tenant) is not None:
                        continue
                self._live.refuse(key, claimed.revision, exc, delivery.receives, tenant, deadline)
                return None
            if work is not None:
                return work
        raise DatabaseError("the key kept changing while it was read", service="registry")

    def _look(self, key: DocumentKey) -> CurrentVersions | None:
        """What the bucket holds now of *key*; a sidecar without its document is nothing, and so is an empty folder."""
        document = self._documents.head(key.s3_key)
        if document is None or is_folder(key.path, document.size_bytes):
            return None
        # a key that is too long may leave no room for the suffix
        sidecar = self._documents.head(key.s3_key + SIDECAR_SUFFIX) if key.problem is None else None
        return CurrentVersions(document, sidecar)

    def _first_due(
        self,
        key: DocumentKey,
        current: CurrentVersions,
        head: Head | None,
        tenant: Tenant,
        refused: Sequence[CurrentVersions],
    ) -> tuple[CurrentVersions, str | None]:
        """What to index now, and the stage that it waits in.

        Where the registry lost the document, what answered below a version that waits, or cannot be read, comes first.
        The key then differs from the bucket still, and the next message brings the current version.
        """
        stage = self._due.stage(key, current.document, head, tenant)
        waits = stage is not None and is_unknown(head)
        below = self._due.below(key, refused[-1] if refused else current, tenant) if refused or waits else None
        return (current, stage) if below is None else (below, None)

    def _go_live(self, head: Head, tenant: Tenant, deadline: Deadline) -> None:
        """Activate what waits in a stage that was promoted, once every search counts it anyway.

        Raises:
            DatabaseError: It was promoted this minute: the message comes again.
        """
        if self._clock() < tenant.promoted[f"{head.key.vault}/{head.stage}"] + SETTLE_S:
            raise DatabaseError("the stage was promoted this minute: its documents wait", service="registry")
        self._live.go_live(head, tenant, deadline)

    def _claim_for(self, found: CurrentVersions, change: Change, delivery: Delivery, stage: str | None) -> Claim:
        now_s = self._clock()
        etags = found.document.etag, found.sidecar.etag if found.sidecar else None
        return Claim(
            *found.versions, delivery.message_id, now_s + LEASE_S, change.sequencer, now_s, *etags, stage=stage
        )

    def _removed(self, key: DocumentKey, head: Head | None, change: Change, tenant: Tenant, deadline: Deadline) -> bool:
        """Write a tombstone for *key*; False where another worker was faster and the key must be looked at again."""
        tombstone = head
        if head is not None and head.status is not Status.DELETED:
            tombstone = self._registry.tombstone(key, head, change.sequencer, self._clock())
            if tombstone is None:
                return False
            self._live.count(tenant, key, head)
        if key.is_settings:
            self._apply_settings.remove(key, tombstone.revision if tombstone else None)
        if tombstone is not None:
            self._live.clean(key, tenant, deadline)
        return True


def _is_promoted(head: Head, tenant: Tenant) -> bool:
    return f"{head.key.vault}/{head.stage}" in tenant.promoted


def _claimed_for(head: Head, found: CurrentVersions) -> bool:
    return (head.version_id, head.sidecar_version_id) == found.versions


MAX_BELOW = 100  # older versions of one document that are looked at


class DueVersions:
    """Finds what waits and what answers below it.  Every method raises ObjectStoreError when S3 does not answer."""

    def __init__(self, documents: ObjectStore) -> None:
        self._documents = documents
        self._records = AdmissionRecords(documents)

    def stage(self, key: DocumentKey, document: StoredObject, head: Head | None, tenant: Tenant) -> str | None:
        """The stage that a version waits in; None where it goes live as soon as it is indexed.

        Where the registry knows no live version, the record says whether this one was let in before.
        """
        if key.is_settings:
            return None
        admission = bool(tenant.settings_of(key.vault).get("golden_questions"))
        stage = stage_of(document, head, admission=admission)
        if stage is None or (head is not None and head.live_revision is not None):
            return stage
        admitted = self._records.read(key.tenant, key.vault)
        return None if admitted.holds(key.path, document, named=STAGE in document.metadata) else stage

    def below(self, key: DocumentKey, found: CurrentVersions, tenant: Tenant) -> CurrentVersions | None:
        """The newest version under *found* that does not wait; None where there is none, or it was deleted since."""
        above = found.document
        for document in self._older(key, found.document.version_id):
            if self.stage(key, document, None, tenant) is None:
                return CurrentVersions(document, self._sidecar(key, above.modified_at))
            above = document
        return None

    def _older(self, key: DocumentKey, version_id: str) -> Iterator[StoredObject]:
        """The versions under one, down to a delete marker."""
        listed = self._documents.versions(key.s3_key)
        place = next((place for place, each in enumerate(listed) if each.version_id == version_id), len(listed))
        for each in listed[place + 1 :][:MAX_BELOW]:
            stored = None if each.deleted else self._documents.head(key.s3_key, version_id=each.version_id)
            if stored is None:
                return
            yield stored

    def _sidecar(self, key: DocumentKey, until: str) -> StoredObject | None:
        """The sidecar as it was at *until*, the time of the version that came next."""
        name = key.s3_key + SIDECAR_SUFFIX
        listed = next((each for each in self._documents.versions(name) if each.modified_at <= until), None)
        if listed is None or listed.deleted:
            return None
        return self._documents.head(name, version_id=listed.version_id)


def is_unknown(head: Head | None) -> bool:
    """Whether what answered before the registry was lost is still to be found.

    A claim for a stage comes after that.
    """
    return head is None or (head.status is Status.PENDING and head.live_revision is None and head.stage is None)
