"""Build what writes: ingest, and documents over HTTP.

Each part is built, and its module imported, when it is first used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.bootstrap.answering import TenantParts
from ragdrop.bootstrap.ports import Ports

if TYPE_CHECKING:
    from ragdrop.documents.purge import PurgeDocuments
    from ragdrop.documents.service import DocumentService, RetryDocuments, WriteOnce
    from ragdrop.ingest.activate import ActivateRevisions
    from ragdrop.ingest.index_revision import IndexRevision
    from ragdrop.ingest.reconcile import MergeSegments, ReconcileBatch
    from ragdrop.ingest.reconcile_key import ReconcileKey
    from ragdrop.ingest.revision_store import KnownVectors
    from ragdrop.ingest.write_chunks import CopyRevision, WriteChunks, WriteParts
    from ragdrop.operate.calibrate import Calibrate


@dataclass
class IngestParts:
    """From a changed object to its live chunks."""

    ports: Ports
    tenants: TenantParts

    @cached_property
    def write_chunks(self) -> WriteChunks:
        """One revision into one index."""
        from ragdrop.ingest.write_chunks import WriteChunks

        return WriteChunks(
            revisions=self.ports.revisions,
            index=self.ports.index,
            embedder=self.ports.embedder,
            splitter=self.ports.splitter,
        )

    @cached_property
    def copy_revision(self) -> CopyRevision:
        """One revision into one more index."""
        from ragdrop.ingest.write_chunks import CopyRevision

        return CopyRevision(revisions=self.ports.revisions, write_chunks=self.write_chunks)

    @cached_property
    def known_vectors(self) -> KnownVectors:
        """Vectors by text, of revisions that were embedded before."""
        from ragdrop.ingest.revision_store import KnownVectors

        return KnownVectors(self.ports.state, self.ports.revisions)

    @cached_property
    def write_parts(self) -> WriteParts:
        """Large documents."""
        from ragdrop.ingest.write_chunks import WriteParts

        return WriteParts(
            registry=self.ports.registry,
            queue=self.ports.queue,
            revisions=self.ports.revisions,
            write_chunks=self.write_chunks,
            known_vectors=self.known_vectors,
            limits=self.ports.hop_limits,
            clock=self.ports.clock,
        )

    @cached_property
    def index_revision(self) -> IndexRevision:
        """A document into chunks, and chunks into the index."""
        from ragdrop.ingest.index_revision import IndexRevision

        return IndexRevision(
            documents=self.ports.documents,
            revisions=self.ports.revisions,
            parser=self.ports.parser,
            registry=self.ports.registry,
            write_chunks=self.write_chunks,
            known_vectors=self.known_vectors,
            clock=self.ports.clock,
        )

    @cached_property
    def live(self) -> ActivateRevisions:
        """Which revisions answer."""
        from ragdrop.ingest.activate import ActivateRevisions

        return ActivateRevisions(
            registry=self.ports.registry,
            index=self.ports.index,
            directory=self.tenants.writers_directory,
            index_revision=self.index_revision,
            metrics=self.ports.metrics,
            environment=self.ports.settings.tunables(),
            clock=self.ports.clock,
        )

    @cached_property
    def calibrate(self) -> Calibrate:
        """What scores of a tenant's embedding model are worth."""
        from ragdrop.operate.calibrate import Calibrate, SampleDocuments

        return Calibrate(
            registry=self.ports.registry,
            directory=self.tenants.writers_directory,
            index=self.ports.index,
            embedder=self.ports.embedder,
            sample=SampleDocuments(registry=self.ports.registry, revisions=self.ports.revisions),
            clock=self.ports.clock,
        )

    @cached_property
    def merge_segments(self) -> MergeSegments:
        """Making fewer segments of many."""
        from ragdrop.ingest.reconcile import MergeSegments

        return MergeSegments(registry=self.ports.registry, index=self.ports.bucket_index, queue=self.ports.queue)

    @cached_property
    def reconcile_key(self) -> ReconcileKey:
        """What a change of a key means."""
        from ragdrop.ingest.reconcile_key import ReconcileKey
        from ragdrop.tenants.settings_files import ApplySettings

        apply_settings = ApplySettings(
            documents=self.ports.documents,
            registry=self.ports.registry,
            directory=self.tenants.writers_directory,
            prompter=lambda: self.ports.prompter,
            environment=self.ports.settings.tunables(),
            clock=self.ports.clock,
        )
        return ReconcileKey(
            documents=self.ports.documents,
            registry=self.ports.registry,
            index_revision=self.index_revision,
            write_parts=self.write_parts,
            live=self.live,
            apply_settings=apply_settings,
            clock=self.ports.clock,
        )

    @cached_property
    def reconcile(self) -> ReconcileBatch:
        """Ingest."""
        from ragdrop.ingest.reconcile import BulkLane, ReconcileBatch, Redelivery, Upkeep

        redelivery = Redelivery(
            queue=self.ports.queue,
            registry=self.ports.registry,
            live=self.live,
            retry_base_s=self.ports.settings.ingest_retry_base_s,
        )
        return ReconcileBatch(
            directory=self.tenants.writers_directory,
            reconcile_key=self.reconcile_key,
            index_revision=self.index_revision,
            write_parts=self.write_parts,
            live=self.live,
            redelivery=redelivery,
            upkeep=Upkeep(
                self.calibrate.if_due, self.merge_segments, BulkLane(self.ports.queue, clock=self.ports.clock)
            ),
        )


@dataclass
class DocumentParts:
    """Documents over HTTP."""

    ports: Ports
    tenants: TenantParts

    @cached_property
    def write_once(self) -> WriteOnce:
        """Writes that carry a key."""
        from ragdrop.documents.service import WriteOnce

        return WriteOnce(self.ports.kept_replies, clock=self.ports.clock)

    @cached_property
    def document_service(self) -> DocumentService:
        """Documents over HTTP."""
        from ragdrop.documents.service import CheckLinks, DocumentService

        return DocumentService(
            documents=self.ports.documents,
            registry=self.ports.registry,
            revisions=self.ports.revisions,
            usage=self.ports.telemetry,
            check_links=CheckLinks(registry=self.ports.registry, environment=self.ports.settings.tunables()),
            budget=self.tenants.daily_budget,
            clock=self.ports.clock,
        )

    @cached_property
    def retry_documents(self) -> RetryDocuments:
        """Another try for documents that failed."""
        from ragdrop.documents.service import RetryDocuments

        return RetryDocuments(
            documents=self.ports.documents, registry=self.ports.registry, queue=self.ports.queue, clock=self.ports.clock
        )

    @cached_property
    def purge_documents(self) -> PurgeDocuments:
        """Removing documents for good."""
        from ragdrop.documents.purge import PurgeDocuments

        return PurgeDocuments(
            keep=self.document_service,
            documents=self.ports.documents,
            state=self.ports.state,
            registry=self.ports.registry,
            index=self.ports.index,
            revisions=self.ports.revisions,
            directory=self.tenants.directory,
            usage=self.ports.telemetry,
            receipts=self.ports.receipts,
            fallback_index=self.ports.bucket_index,
        )


def build_ingest(ports: Ports, tenants: TenantParts) -> IngestParts:
    """Build ingest."""
    return IngestParts(ports, tenants)


def build_documents(ports: Ports, tenants: TenantParts) -> DocumentParts:
    """Build what the document routes call."""
    return DocumentParts(ports, tenants)
