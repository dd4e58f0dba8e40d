"""Purge: remove a document from every store, and count what was removed."""

import json
from collections.abc import Container
from dataclasses import dataclass

from ragdrop.documents.service import DocumentService
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import SIDECAR_SUFFIX, DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DocumentNotFoundError
from ragdrop.ingest.revision_store import RevisionStore, object_name, pages_name, revisions_prefix, twin_name
from ragdrop.ports.answer_services import Receipts
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.registry import Registry
from ragdrop.ports.telemetry import Telemetry
from ragdrop.tenants.admission import AdmissionRecords
from ragdrop.tenants.directory import TenantDirectory


@dataclass(frozen=True, slots=True)
class Purged:
    """How much was removed from each place.

    `versions` counts object versions and delete markers, the sidecar's too; `derived` objects of the state bucket
    (parsed text, chunks, vectors, recognised pages); `chunks` those of all indexes; `registry_items` head and details;
    `receipts` are of answers that it was found for.  `marker` is the version id of the delete marker that came first;
    it went with the versions.
    """

    versions: int
    derived: int
    chunks: int
    registry_items: int
    receipts: int = 0
    marker: str | None = None


@dataclass(frozen=True, kw_only=True)
class PurgeDocuments:
    """Removes documents for good.  Nothing can be restored; to delete is the other thing."""

    keep: DocumentService
    documents: ObjectStore
    state: ObjectStore
    registry: Registry
    index: ChunkIndex
    revisions: RevisionStore
    directory: TenantDirectory
    usage: Telemetry
    receipts: Receipts
    fallback_index: ChunkIndex

    def __call__(self, caller: Caller, key: DocumentKey, deadline: Deadline) -> Purged:
        """Delete, then remove all that is stored; cut off in between, the same call removes the rest.

        The tombstone comes first: from then on nothing answers, and a revision that is still being written cannot be
        activated.  The head goes last, because it says what is left to do.

        Raises:
            DocumentNotFoundError: Nothing is stored of such a document, or the vault is out of the key's scope.
            DependencyError: A service failed; what was removed before is gone.
        """
        marker, missing = self._delete(caller, key)
        head, now_ms = self.registry.head(key), round(self.keep.clock() * 1_000)
        last = head.revision if head is not None else now_ms - 1  # the first revision of what is put now is *now_ms*
        gone = {None, *(each.version_id for each in self.documents.versions(key.s3_key))}  # None is that of a tombstone
        versions = self.documents.purge(key.s3_key) + self.documents.purge(key.s3_key + SIDECAR_SUFFIX)
        if missing is not None and not versions:
            raise missing
        last = self._last(key, last, gone)
        AdmissionRecords(self.documents).forget(key.tenant, key.vault, key.path)
        derived = self._remove_derived(key, last)
        chunks = self._remove_chunks(key, last, deadline)
        self.usage.forget_use(key)
        receipts = self.receipts.forget_receipts(key)
        items = self.registry.forget_document(key, last=last)
        return Purged(versions, derived, chunks, items, receipts, marker)

    def _last(self, key: DocumentKey, deleted: int, gone: Container[str | None]) -> int:
        """The last revision to remove: those of versions that were put since one was *deleted* stay.

        A worker that had read a version that is *gone* may have claimed one more revision of it.
        """
        head = self.registry.head(key)
        return head.revision if head is not None and head.version_id in gone else deleted

    def _delete(self, caller: Caller, key: DocumentKey) -> tuple[str | None, DocumentNotFoundError | None]:
        """Delete the document: its delete marker, or the error where there is none; old versions may still be there."""
        try:
            return self.keep.delete(caller, key), None
        except DocumentNotFoundError as exc:
            if not caller.may_see(key.vault):
                raise
            return None, exc

    def _remove_derived(self, key: DocumentKey, last: int) -> int:
        """Remove what the state bucket holds, and the notes by which other documents would find its vectors."""
        prefix = revisions_prefix(key)
        found = {int(entry.key.removeprefix(prefix).partition("/")[0]) for entry in self.state.entries(prefix)}
        removed = self.state.purge(pages_name(key))
        for revision in sorted(each for each in found if each <= last):
            stored = self.revisions.open(key, revision)
            if stored is not None and stored.text_digest is not None:
                name = twin_name(key.tenant, stored.text_digest)
                place = json.loads(self.state.get(name) or b"{}")
                if (place.get("vault"), place.get("path")) == (key.vault, key.path):
                    removed += self.state.purge(name)
            removed += self.state.delete_prefix(object_name(key, revision, ""))
        return removed

    def _remove_chunks(self, key: DocumentKey, last: int, deadline: Deadline) -> int:
        tenant = self.directory.tenant(key.tenant, fresh=True)
        if tenant is None:
            return 0
        removed = 0
        for part in map(tenant.part_of, tenant.targets):
            removed += self.index.remove(part, key, before_revision=last + 1, deadline=deadline)
            self.fallback_index.remove(part, key, before_revision=last + 1, deadline=deadline)
        return removed
