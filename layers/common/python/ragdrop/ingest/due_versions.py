"""Which versions of a document are to be indexed, and in which stage they wait; the bucket alone tells."""

from __future__ import annotations

from collections.abc import Iterator

from ragdrop.domain.documents import Head, Status
from ragdrop.domain.history import STAGE
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.tenants import Tenant
from ragdrop.ingest.index_revision import CurrentVersions
from ragdrop.ingest.reconcile_rules import stage_of
from ragdrop.ports import ObjectStore, StoredObject
from ragdrop.tenants.admission import AdmissionRecords

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
