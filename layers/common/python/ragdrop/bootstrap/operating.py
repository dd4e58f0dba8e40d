"""What operators and schedules do: retry, purge, sweep, tenants."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.bootstrap.writing import WritingParts

if TYPE_CHECKING:
    from ragdrop.documents.purge import PurgeDocuments
    from ragdrop.documents.retry import RetryDocuments
    from ragdrop.operate.calibrate import Calibrate
    from ragdrop.operate.diagnose import Examine
    from ragdrop.operate.rebuild_index import RebuildIndex
    from ragdrop.operate.snapshot_content import ReadContent
    from ragdrop.operate.sweep import Sweep
    from ragdrop.operate.sweep_tenants import SweepTenants
    from ragdrop.operate.write_snapshot import WriteSnapshot
    from ragdrop.ports.wiring import WiringProbe
    from ragdrop.tenants.administer import AdministerTenants
    from ragdrop.tenants.delete import DeleteTenant


class OperatingParts(WritingParts):
    """Use cases that mend and remove."""

    @cached_property
    def operator(self) -> AdministerTenants:
        """What operators do."""
        from ragdrop.tenants.administer import AdministerTenants

        return AdministerTenants(self.registry, self.settings.seed_index(), clock=self.clock)

    @cached_property
    def wiring(self) -> WiringProbe:
        """How bucket and queues are wired."""
        from ragdrop.stores.aws.deployment import AwsWiring

        return AwsWiring(self.settings.document_bucket, self.settings.queue_url)

    @cached_property
    def examine(self) -> Examine:
        """The steps of doctor."""
        from ragdrop.operate.diagnose import Examine

        return Examine(
            registry=self.registry,
            documents=self.documents,
            state=self.state,
            index=self.index,
            index_url=self.settings.index_url,
            embedder=self.embedder,
            space=self.settings.seed_index().space,
            chat_models=self.chat_models,
            models=self.settings.chat_models,
            look_at_wiring=self.wiring.look,
        )

    @cached_property
    def delete_tenant(self) -> DeleteTenant:
        """Removing tenants for good."""
        from ragdrop.tenants.delete import DeleteTenant

        return DeleteTenant(
            documents=self.documents,
            state=self.state,
            registry=self.registry,
            index=self.index,
            receipts=self.receipts,
            telemetry=self.telemetry,
        )

    @cached_property
    def retry_documents(self) -> RetryDocuments:
        """Another try for documents that failed."""
        from ragdrop.documents.retry import RetryDocuments

        return RetryDocuments(documents=self.documents, registry=self.registry, queue=self.queue, clock=self.clock)

    @cached_property
    def purge_documents(self) -> PurgeDocuments:
        """Removing documents for good."""
        from ragdrop.documents.purge import PurgeDocuments

        return PurgeDocuments(
            keep=self.keep_documents,
            documents=self.documents,
            state=self.state,
            registry=self.registry,
            index=self.index,
            revisions=self.revisions,
            directory=self.directory,
            usage=self.telemetry,
            receipts=self.receipts,
            snapshots=self.snapshots,
        )

    @cached_property
    def calibrate(self) -> Calibrate:
        """What scores of a tenant's embedding model are worth."""
        from ragdrop.operate.calibrate import Calibrate, SampleDocuments

        return Calibrate(
            registry=self.registry,
            index=self.index,
            embedder=self.embedder,
            sample=SampleDocuments(registry=self.registry, revisions=self.revisions),
            clock=self.clock,
        )

    @cached_property
    def read_content(self) -> ReadContent:
        """The chunks and vectors of live documents, from the state bucket."""
        from ragdrop.operate.snapshot_content import ReadContent

        return ReadContent(registry=self.registry, revisions=self.revisions)

    @cached_property
    def write_snapshot(self) -> WriteSnapshot:
        """What answers for a tenant while the index is down."""
        from ragdrop.operate.write_snapshot import WriteSnapshot

        return WriteSnapshot(
            registry=self.registry, content=self.read_content, snapshots=self.snapshots, clock=self.clock
        )

    @cached_property
    def rebuild_index(self) -> RebuildIndex:
        """What an index lost, written back."""
        from ragdrop.operate.rebuild_index import RebuildIndex

        return RebuildIndex(registry=self.registry, index=self.index, content=self.read_content, metrics=self.metrics)

    @cached_property
    def sweep(self) -> Sweep:
        """Comparing bucket, registry and index of one tenant."""
        from ragdrop.operate.remove_derived import RemoveDerived
        from ragdrop.operate.remove_orphans import RemoveOrphans
        from ragdrop.operate.sweep import Sweep, SweepNotes
        from ragdrop.operate.sweeping import DERIVED_AGE_S

        return Sweep(
            documents=self.documents,
            registry=self.registry,
            queue=self.queue,
            notes=SweepNotes(self.state),
            remove_orphans=RemoveOrphans(
                registry=self.registry,
                index=self.index,
                min_age_s=self.settings.sweep_orphan_age_s,
                clock=self.clock,
            ),
            remove_derived=RemoveDerived(
                state=self.state,
                registry=self.registry,
                revisions=self.revisions,
                age_s=DERIVED_AGE_S,
                clock=self.clock,
            ),
            min_age_s=self.settings.sweep_min_age_s,
            clock=self.clock,
        )

    @cached_property
    def sweep_tenants(self) -> SweepTenants:
        """The sweep of all tenants."""
        from ragdrop.operate.sweep_tenants import SweepTenants

        return SweepTenants(
            registry=self.registry,
            sweep=self.sweep,
            calibrate=self.calibrate,
            rebuild_index=self.rebuild_index,
            write_snapshot=self.write_snapshot,
            clock=self.clock,
        )
