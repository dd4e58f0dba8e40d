"""Activate revisions by a conditional write in the registry, and remove superseded ones."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ragdrop.domain.access import NOBODY
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.documents import Detail, Failure, Head, Status
from ragdrop.domain.history import was_promoted
from ragdrop.domain.keys import DocumentKey, folder_of
from ragdrop.domain.settings import Tunables
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import DocumentError
from ragdrop.ingest.index_revision import IndexRevision
from ragdrop.ingest.reconcile_rules import SETTLE_S, obsolete_before
from ragdrop.ingest.write_chunks import WrittenRevision
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.registry import Registry, head_pages
from ragdrop.ports.search_services import Metrics
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.settings_in_force import in_force

logger = logging.getLogger(__name__)

PAGE = 1_000  # documents of one listing


@dataclass(frozen=True, kw_only=True)
class ActivateRevisions:
    """Activations, failures and what follows: counters and clean-up.  All methods raise DependencyError."""

    registry: Registry
    index: ChunkIndex
    directory: TenantDirectory
    index_revision: IndexRevision
    metrics: Metrics
    environment: Tunables
    clock: Callable[[], float]
    _folders: BoundedCache[tuple[str, str], str] = field(
        init=False, default_factory=lambda: BoundedCache(size=10_000, ttl_s=3_600.0)
    )

    def refresh(self, written: Iterable[WrittenRevision], deadline: Deadline) -> None:
        """Make the chunks of several revisions visible to searches, by one request an index."""
        refs = {each.tenant.part_of(target) for each in written for target in each.targets}
        if refs:
            self.index.refresh(refs, deadline)

    def activate(self, written: WrittenRevision, deadline: Deadline) -> None:
        """Let a refreshed revision answer, unless it was superseded; then remove what it replaces.

        One that was made for a stage waits there.
        """
        self.registry.point(written.detail, known=not written.first)
        tenant = self.directory.tenant(written.key.tenant) or written.tenant
        if tenant.targets != written.targets:  # before it answers or waits: this worker may be cut off behind that
            self.index_revision.catch_up(written.detail, tenant, deadline)
        vault = written.key.vault
        if vault not in tenant.vaults and not written.key.is_settings:  # before as well: past and stages are read by it
            self.registry.add_to_tenant(tenant.name, vault=vault, documents=0, chunks=0)
        if written.detail.stage is not None:
            self._let_wait(written, deadline)
            return
        before = self.registry.activate(written.detail, self.clock())
        if before is not None:
            self.metrics.put({"IndexedDocuments": 1})
            self.count(written.tenant, written.key, before, detail=written.detail)
            self._note_folder(written.key)
        tenant = self.directory.tenant(written.key.tenant, fresh=True) or written.tenant
        if before is not None and tenant.targets != written.targets:
            self.index_revision.catch_up(written.detail, tenant, deadline)
        if before is not None and written.first:  # older chunks are there where the registry was lost
            self._remove_chunks(written.key, tenant, written.detail.revision, deadline)
            return
        # only a document that was promoted can be in the list: the common one saves a write
        self.clean(written.key, tenant, deadline, pointers=before is None or before.promotion_level != "standard")

    def finish(self, head: Head, tenant: Tenant, deadline: Deadline) -> None:
        """Do again what comes once *head* is live, or waits: the worker that wrote that was cut off."""
        detail = self.registry.detail(head.key, head.revision)
        if detail is not None:
            self.index_revision.catch_up(detail, tenant, deadline)
        self.clean(head.key, tenant, deadline)

    def _let_wait(self, written: WrittenRevision, deadline: Deadline) -> None:
        """Put a revision into its stage; the tenant then knows of its vault and its type."""
        key, detail = written.key, written.detail
        if f"{key.vault}/{detail.stage}" in written.tenant.promoted:
            now = self.directory.tenant(key.tenant, fresh=True)  # another promotion may have begun by now
            self._end_if_done(key, detail.stage or "", now or written.tenant)
        before = self.registry.put_in_stage(detail, self.clock())
        staged = before is not None
        if before is not None:
            kind = detail.facts.doc_type
            ruled = detail.facts.access is not None or bool(before.tag)
            self.registry.add_to_tenant(
                key.tenant, vault=key.vault, documents=0, chunks=0, doc_type=kind, restricted=ruled
            )
        tenant = self.directory.tenant(key.tenant, fresh=True) or written.tenant
        if staged and tenant.targets != written.targets:
            self.index_revision.catch_up(written.detail, tenant, deadline)
        self.clean(key, tenant, deadline)

    def go_live(self, head: Head, tenant: Tenant, deadline: Deadline) -> None:
        """Let the revision answer that waits in a promoted stage; the last one ends the stage.

        A reindex may have found it neither waiting nor live, so that it is written here, before it answers too.
        """
        detail = self.registry.detail(head.key, head.revision)
        if detail is not None and len(tenant.targets) > 1:
            self.index_revision.catch_up(detail, tenant, deadline)
        before = self.registry.activate(detail, self.clock()) if detail is not None else None
        now = self.directory.tenant(head.key.tenant, fresh=True) or tenant
        if detail is not None and now.targets != tenant.targets:
            self.index_revision.catch_up(detail, now, deadline)
        if before is not None:
            self.metrics.put({"IndexedDocuments": 1})
            self.count(tenant, head.key, before, detail=detail)
            self._note_folder(head.key)
        self.clean(head.key, now, deadline)
        self._end_if_done(head.key, head.stage or "", now)

    def _end_if_done(self, key: DocumentKey, stage: str, tenant: Tenant) -> None:
        """Forget that a stage was promoted where no other document than *key* waits that it was promoted with.

        What joined it later waits for the next promotion, which there is none of until this one has ended.  None ends
        in its first minute: the list may be behind, and nothing has gone live by then.
        """
        if self.clock() < tenant.promoted.get(f"{key.vault}/{stage}", 0.0) + SETTLE_S:
            return
        for heads in head_pages(self.registry, key.tenant, vault=key.vault, status=Status.STAGED, size=PAGE):
            if any(each.stage == stage and each.key != key and was_promoted(each, tenant.promoted) for each in heads):
                return
        self.registry.end_stage(key.tenant, f"{key.vault}/{stage}")

    def fail(self, key: DocumentKey, revision: int, failure: Failure, *, keep_live: bool) -> None:
        """Record why a revision is not indexed; the live one is withdrawn unless *keep_live*."""
        before = self.registry.fail(key, revision, failure, keep_live=keep_live)
        if before is not None:
            self.metrics.put({"FailedDocuments": 1})
        tenant = self.directory.tenant(key.tenant)
        if before is not None and tenant is not None and not keep_live:
            self.count(tenant, key, before)

    def refuse(
        self, key: DocumentKey, revision: int, exc: DocumentError, receives: int, tenant: Tenant, deadline: Deadline
    ) -> None:
        """Record that a document can never be indexed as it is; by `keep_last_good` the last revision stays live."""
        keep_live = self.keeps_last_good(key, tenant)
        self.fail(key, revision, self.failure(exc.code, exc.message, receives), keep_live=keep_live)
        self.clean(key, tenant, deadline)

    def keeps_last_good(self, key: DocumentKey, tenant: Tenant) -> bool:
        """Whether the last revision stays live where a newer version cannot be indexed."""
        return key.is_settings or in_force(self.environment, tenant, vaults=[key.vault]).values.keep_last_good

    def failure(self, code: str, message: str, attempts: int) -> Failure:
        """A failure that happened now."""
        return Failure(code, message, attempts, rfc3339(self.clock()))

    def count(self, tenant: Tenant, key: DocumentKey, before: Head, *, detail: Detail | None = None) -> None:
        """Move the tenant's counters from what was live *before* to what is now: *detail*, or nothing."""
        if key.is_settings:
            return
        was_live = before.live_revision is not None
        self.registry.add_to_tenant(
            tenant.name,
            vault=key.vault,
            documents=int(detail is not None) - int(was_live),
            chunks=(detail.chunk_count if detail else 0) - (before.chunk_count if was_live else 0),
            doc_type=detail.facts.doc_type if detail else None,
            restricted=detail is not None and (detail.facts.access is not None or bool(before.tag)),
        )
        if detail is not None and was_live and before.access != detail.facts.access:
            note_access(key, "file", problem=detail.facts.access == ())

    def note_tag(self, key: DocumentKey, tag: str) -> None:
        """Log a tag that changed, and let the tenant know that a document of the vault says who may read it."""
        note_access(key, "tag", problem=tag.startswith(NOBODY))
        if tag:
            self.registry.add_to_tenant(key.tenant, vault=key.vault, documents=0, chunks=0, restricted=True)

    def _note_folder(self, key: DocumentKey) -> None:
        """Let the folder of a live document be known, once an environment."""
        folder = folder_of(key)
        if folder is None or self._folders.get((key.tenant, folder), now_s=self.clock()):
            return
        self.registry.note_folder(key.tenant, folder)
        self._folders.put((key.tenant, folder), folder, now_s=self.clock())

    def clean(self, key: DocumentKey, tenant: Tenant, deadline: Deadline, *, pointers: bool = True) -> None:
        """Remove what can never answer again, by what the registry says now (a consistent read)."""
        head = self.registry.head(key)
        if head is not None and pointers:
            self.registry.unpoint(head)
        before = obsolete_before(head)
        if before:
            self._remove_chunks(key, tenant, before, deadline)
            self.registry.forget(key, before)

    def _remove_chunks(self, key: DocumentKey, tenant: Tenant, before: int, deadline: Deadline) -> None:
        for part in map(tenant.part_of, tenant.targets):
            if not self.index.drops_superseded(part):
                self.index.remove(part, key, before_revision=before, deadline=deadline)


def note_access(key: DocumentKey, by: str, *, problem: bool) -> None:
    """Log that a file or its tag changed who may read it, without its path and the groups."""
    extra = {"tenant": key.tenant, "vault": key.vault, "document": key.digest, "by": by, "problem": problem}
    logger.warning("who may read a document changed", extra=extra)
