"""Build what operators, schedules and monitoring call.

Each part is built, and its module imported, when it is first used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.bootstrap.answering import TenantParts
from ragdrop.bootstrap.past import HistoryParts
from ragdrop.bootstrap.ports import Ports
from ragdrop.bootstrap.writing import IngestParts

if TYPE_CHECKING:
    from ragdrop.config import Settings
    from ragdrop.operate.calibrate import Calibrate
    from ragdrop.operate.canaries import Canaries
    from ragdrop.operate.costs import ReadCosts
    from ragdrop.operate.diagnose import Diagnose
    from ragdrop.operate.health import CheckHealth, Probe
    from ragdrop.operate.rebuild_index import RebuildIndex
    from ragdrop.operate.reindex import Reindex
    from ragdrop.operate.restore import Restore
    from ragdrop.operate.stats import ReadStats, ReadVaults
    from ragdrop.operate.sweep import Sweep
    from ragdrop.operate.sweep_tenants import SweepTenants
    from ragdrop.ports import ChunkIndex, MessageQueue, Registry
    from ragdrop.tenants.administer import AdministerTenants
    from ragdrop.tenants.delete import DeleteTenant


@dataclass
class OperateParts:
    """What operators, schedules and monitoring call."""

    ports: Ports
    tenants: TenantParts
    ingest: IngestParts
    history: HistoryParts

    @property
    def settings(self) -> Settings:
        """The settings of the deployment."""
        return self.ports.settings

    @property
    def registry(self) -> Registry:
        """The registry, without its breaker."""
        return self.ports.registry

    @property
    def queue(self) -> MessageQueue:
        """The queue that feeds ingest."""
        return self.ports.queue

    @cached_property
    def operator(self) -> AdministerTenants:
        """What operators do."""
        from ragdrop.tenants.administer import AdministerTenants

        return AdministerTenants(self.ports.registry, self.ports.settings.seed_index(), clock=self.ports.clock)

    @cached_property
    def delete_tenant(self) -> DeleteTenant:
        """Removing tenants for good."""
        from ragdrop.tenants.delete import DeleteTenant

        return DeleteTenant(
            documents=self.ports.documents,
            state=self.ports.state,
            registry=self.ports.registry,
            index=self.ports.index,
            receipts=self.ports.receipts,
            telemetry=self.ports.telemetry,
        )

    @cached_property
    def reindex(self) -> Reindex:
        """Moving tenants from one index to another."""
        from ragdrop.operate.reindex import Reindex

        return Reindex(
            registry=self.ports.registry,
            revisions=self.ports.revisions,
            index=self.ports.index,
            copy_revision=self.ingest.copy_revision,
        )

    @cached_property
    def canaries(self) -> Canaries:
        """Golden questions of vaults."""
        from ragdrop.operate.canaries import Canaries

        return Canaries(
            registry=self.ports.registry,
            directory=self.tenants.directory,
            ask=self.history.ask_golden,
            metrics=self.ports.metrics,
            release=self.ports.settings.release,
            clock=self.ports.clock,
        )

    @cached_property
    def read_stats(self) -> ReadStats:
        """Figures of a tenant."""
        from ragdrop.operate.stats import ReadStats

        return ReadStats(
            directory=self.tenants.directory,
            store=self.ports.telemetry,
            canaries=self.canaries,
            clock=self.ports.clock,
        )

    @cached_property
    def read_vaults(self) -> ReadVaults:
        """Vaults and what they hold."""
        from ragdrop.operate.stats import ReadVaults

        return ReadVaults(directory=self.tenants.directory, registry=self.ports.guarded_registry)

    @cached_property
    def read_costs(self) -> ReadCosts:
        """What a tenant's questions and documents cost."""
        from ragdrop.operate.costs import ReadCosts

        return ReadCosts(directory=self.tenants.directory, registry=self.ports.guarded_registry, clock=self.ports.clock)

    @cached_property
    def check_health(self) -> CheckHealth:
        """How the dependencies are."""
        from ragdrop.operate.health import CheckHealth

        return CheckHealth(self.health_probes, self.ports.breakers)

    @cached_property
    def health_probes(self) -> dict[str, Probe]:
        """What each dependency is asked."""
        from ragdrop.operate import health
        from ragdrop.resilience.guarded import CHAT, EMBEDDING, INDEX, OBJECT_STORE, REGISTRY

        space = self.ports.settings.seed_index().space
        return {
            INDEX: health.index_probe(self.ports.index, self.ports.registry),
            EMBEDDING: health.embedding_probe(self.ports.embedding_models, self.ports.embedder, space),
            CHAT: health.chat_probe(self.ports.chat_models, self.ports.chat, self.ports.settings.chat_models),
            REGISTRY: health.registry_probe(self.ports.registry),
            OBJECT_STORE: health.store_probe(self.ports.state),
        }

    @cached_property
    def examine(self) -> Diagnose:
        """The steps of doctor."""
        from ragdrop.operate.diagnose import Diagnose

        return Diagnose(
            registry=self.ports.registry,
            documents=self.ports.documents,
            state=self.ports.state,
            index=self.ports.index,
            index_url=self.ports.settings.index_url,
            embedder=self.ports.embedder,
            space=self.ports.settings.seed_index().space,
            chat_models=self.ports.chat_models,
            models=self.ports.settings.chat_models,
            look_at_wiring=self.ports.wiring.look,
        )

    @property
    def calibrate(self) -> Calibrate:
        """What scores of a tenant's embedding model are worth."""
        return self.ingest.calibrate

    @cached_property
    def rebuild_index(self) -> RebuildIndex:
        """What an index lost, written back."""
        return self._rebuild(self.ports.index)

    def _rebuild(self, index: ChunkIndex) -> RebuildIndex:
        from ragdrop.operate.rebuild_index import ReadContent, RebuildIndex

        content = ReadContent(registry=self.ports.registry, revisions=self.ports.revisions)
        return RebuildIndex(registry=self.ports.registry, index=index, content=content, metrics=self.ports.metrics)

    @cached_property
    def sweep(self) -> Sweep:
        """Comparing bucket, registry and index of one tenant."""
        from ragdrop.operate.leftovers import RemoveDerived, RemoveOrphans
        from ragdrop.operate.sweep import Sweep, SweepNotes
        from ragdrop.operate.sweeping import DERIVED_AGE_S

        return Sweep(
            documents=self.ports.documents,
            registry=self.ports.registry,
            queue=self.ports.queue,
            notes=SweepNotes(self.ports.state),
            remove_orphans=RemoveOrphans(
                registry=self.ports.registry,
                index=self.ports.index,
                min_age_s=self.ports.settings.sweep_orphan_age_s,
                clock=self.ports.clock,
            ),
            remove_derived=RemoveDerived(
                state=self.ports.state,
                documents=self.ports.documents,
                registry=self.ports.registry,
                revisions=self.ports.revisions,
                age_s=DERIVED_AGE_S,
                clock=self.ports.clock,
            ),
            min_age_s=self.ports.settings.sweep_min_age_s,
            clock=self.ports.clock,
        )

    @cached_property
    def restore(self) -> Restore:
        """Making tenants again from the document bucket alone."""
        from ragdrop.operate.restore import Restore

        return Restore(
            documents=self.ports.documents,
            state=self.ports.state,
            seed=self.ports.settings.seed_index(),
            registry=self.ports.registry,
            operator=self.operator,
            reconcile_key=self.ingest.reconcile_key,
            sweep=self.sweep,
            calibrate=self.calibrate,
        )

    @cached_property
    def sweep_tenants(self) -> SweepTenants:
        """The sweep of all tenants."""
        from ragdrop.operate.sweep_tenants import SweepTenants

        return SweepTenants(
            registry=self.ports.registry,
            sweep=self.sweep,
            calibrate=self.calibrate,
            rebuild_index=self.rebuild_index,
            rebuild_fallback=self._rebuild(self.ports.bucket_index),
            merge_segments=self.ingest.merge_segments,
            canaries=self.canaries,
            clock=self.ports.clock,
        )


def build_operate(ports: Ports, tenants: TenantParts, ingest: IngestParts, history: HistoryParts) -> OperateParts:
    """Build sweep, reindex, calibration, canaries, health and stats."""
    return OperateParts(ports, tenants, ingest, history)
