"""Build what schedules, monitoring and operators' commands call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.app.document_parts import PastParts
from ragdrop.app.ingest import IngestParts
from ragdrop.app.ports import Ports
from ragdrop.app.tenant_parts import TenantParts
from ragdrop.calibration.calibrate import Calibrate
from ragdrop.config import bedrock_region
from ragdrop.operate import health
from ragdrop.operate.costs import ReadCosts
from ragdrop.operate.diagnose import Diagnose
from ragdrop.operate.golden_questions import GoldenRuns
from ragdrop.operate.leftovers import DERIVED_AGE_S, RemoveDerived, RemoveOrphans
from ragdrop.operate.planned_reindex import PlannedReindex
from ragdrop.operate.rebuild_index import ReadContent, RebuildIndex
from ragdrop.operate.reindex import Reindex
from ragdrop.operate.restore import Restore
from ragdrop.operate.stats import ReadStats, ReadVaults
from ragdrop.operate.sweep import Sweep, SweepNotes
from ragdrop.operate.sweep_tenants import SweepTenants
from ragdrop.resilience.breakers import CHAT, EMBEDDING, INDEX, OBJECT_STORE, REGISTRY
from ragdrop.tenants.administer import AdministerTenants, DeleteTenant

if TYPE_CHECKING:
    from ragdrop.config import Settings
    from ragdrop.ports.indexes import ChunkIndex
    from ragdrop.ports.message_queue import MessageQueue
    from ragdrop.ports.model_services import TriedModels
    from ragdrop.ports.registry import Registry


@dataclass
class OperateParts:
    """Sweep, health and figures, and what commands of operators do."""

    ports: Ports
    tenants: TenantParts
    ingest: IngestParts
    past: PastParts

    @property
    def settings(self) -> Settings:
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
    def tried_models(self) -> TriedModels:
        """Chat models of the machine that the stack's own stand-ins run on."""
        from ragdrop.models.chat import LocalModels

        return LocalModels(self.settings.embedding_url)

    # Figures and health

    @cached_property
    def golden_runs(self) -> GoldenRuns:
        ports = self.ports
        return GoldenRuns(
            registry=ports.registry,
            directory=self.tenants.directory,
            ask=self.past.ask_golden,
            permissions=self.tenants.permissions,
            metrics=ports.metrics,
            release=ports.settings.release,
            clock=ports.clock,
        )

    @cached_property
    def read_stats(self) -> ReadStats:
        ports, directory = self.ports, self.tenants.directory
        return ReadStats(directory=directory, store=ports.telemetry, golden_runs=self.golden_runs, clock=ports.clock)

    @cached_property
    def read_vaults(self) -> ReadVaults:
        tenants = self.tenants
        return ReadVaults(
            directory=tenants.directory, registry=self.ports.guarded_registry, permissions=tenants.permissions
        )

    @cached_property
    def read_costs(self) -> ReadCosts:
        ports, directory = self.ports, self.tenants.directory
        return ReadCosts(directory=directory, registry=ports.guarded_registry, clock=ports.clock)

    @cached_property
    def check_health(self) -> health.CheckHealth:
        return health.CheckHealth(self.health_probes, self.ports.breakers)

    @cached_property
    def health_probes(self) -> dict[str, health.Probe]:
        ports, space = self.ports, self.settings.seed_index().space
        return {
            INDEX: health.index_probe(ports.index, ports.registry),
            EMBEDDING: health.embedding_probe(ports.embedding_models, ports.embedder, space),
            CHAT: health.chat_probe(ports.chat_models, ports.chat, ports.settings.chat_models),
            REGISTRY: health.registry_probe(ports.registry),
            OBJECT_STORE: health.store_probe(ports.state),
        }

    # The sweep

    @cached_property
    def sweep_tenants(self) -> SweepTenants:
        ports = self.ports
        return SweepTenants(
            registry=ports.registry,
            sweep=self.sweep,
            calibrate=self.calibrate,
            rebuild_index=self.rebuild_index,
            rebuild_fallback=self._rebuild(ports.bucket_index),
            merge_segments=self.ingest.merge_segments,
            golden_runs=self.golden_runs,
            clock=ports.clock,
        )

    @cached_property
    def sweep(self) -> Sweep:
        """The comparison of bucket, registry and index of one tenant."""
        ports, settings = self.ports, self.settings
        remove_orphans = RemoveOrphans(
            registry=ports.registry, index=ports.index, min_age_s=settings.sweep_orphan_age_s, clock=ports.clock
        )
        remove_derived = RemoveDerived(
            state=ports.state,
            documents=ports.documents,
            registry=ports.registry,
            revisions=ports.revisions,
            age_s=DERIVED_AGE_S,
            clock=ports.clock,
        )
        return Sweep(
            documents=ports.documents,
            registry=ports.registry,
            queue=ports.queue,
            notes=SweepNotes(ports.state),
            remove_orphans=remove_orphans,
            remove_derived=remove_derived,
            min_age_s=settings.sweep_min_age_s,
            clock=ports.clock,
        )

    @property
    def calibrate(self) -> Calibrate:
        return self.ingest.calibrate

    @cached_property
    def rebuild_index(self) -> RebuildIndex:
        return self._rebuild(self.ports.index)

    def _rebuild(self, index: ChunkIndex) -> RebuildIndex:
        ports = self.ports
        content = ReadContent(registry=ports.registry, revisions=ports.revisions)
        return RebuildIndex(registry=ports.registry, index=index, content=content, metrics=ports.metrics)

    # Commands

    @cached_property
    def operator(self) -> AdministerTenants:
        return AdministerTenants(self.registry, self.settings.seed_index(), clock=self.ports.clock)

    @cached_property
    def delete_tenant(self) -> DeleteTenant:
        ports = self.ports
        return DeleteTenant(
            documents=ports.documents,
            state=ports.state,
            registry=ports.registry,
            index=ports.index,
            receipts=ports.receipts,
            telemetry=ports.telemetry,
        )

    @property
    def reindex(self) -> Reindex:
        return self.ingest.reindex

    @property
    def planned_reindex(self) -> PlannedReindex:
        return self.ingest.planned_reindex

    @cached_property
    def restore(self) -> Restore:
        ports = self.ports
        return Restore(
            documents=ports.documents,
            state=ports.state,
            seed=self.settings.seed_index(),
            registry=ports.registry,
            operator=self.operator,
            reconcile_key=self.ingest.reconcile_key,
            sweep=self.sweep,
            calibrate=self.calibrate,
        )

    @cached_property
    def examine(self) -> Diagnose:
        """The steps of doctor."""
        ports = self.ports
        return Diagnose(
            registry=ports.registry,
            documents=ports.documents,
            state=ports.state,
            index=ports.index,
            index_url=self.settings.index_url,
            embedder=ports.embedder,
            space=self.settings.seed_index().space,
            chat_models=ports.chat_models,
            models=self.settings.chat_models,
            look_at_wiring=ports.wiring.look,
            catalogue=ports.catalogue,
            bedrock_chat=None if bedrock_region(self.settings.chat_url) is None else ports.chat,
        )
