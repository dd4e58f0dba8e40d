"""Build ingest: from a changed object to its live chunks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from ragdrop.app.ports import Ports
from ragdrop.calibration.calibrate import Calibrate, SampleDocuments
from ragdrop.ingest.activate import ActivateRevisions
from ragdrop.ingest.index_revision import IndexRevision
from ragdrop.ingest.reconcile import BulkLane, MergeSegments, ReconcileBatch, Redelivery
from ragdrop.ingest.reconcile_key import ReconcileKey
from ragdrop.ingest.revision_store import KnownVectors
from ragdrop.ingest.write_chunks import CopyRevision, WriteChunks, WriteParts
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.settings_files import ApplySettings

if TYPE_CHECKING:
    from ragdrop.domain.deadlines import Deadline
    from ragdrop.operate.planned_reindex import PlannedReindex
    from ragdrop.operate.reindex import Reindex
    from ragdrop.ports.message_queue import WorkRequest
    from ragdrop.ports.model_services import Embedder

MIN_TIME_FOR_A_FIT_S = 30.0  # with less left the next batch, or the sweep, calibrates


@dataclass
class IngestParts:
    """Reconciliation, and those steps of it that the sweep and commands use alone: they carry no parsers."""

    ports: Ports
    directory: TenantDirectory

    @cached_property
    def reconcile(self) -> ReconcileBatch:
        return self._built[1]

    @cached_property
    def reconcile_key(self) -> ReconcileKey:
        return self._built[0]

    @cached_property
    def _built(self) -> tuple[ReconcileKey, ReconcileBatch]:
        ports, directory, environment = self.ports, self.directory, self.ports.settings.tunables()
        known_vectors = KnownVectors(ports.state, ports.revisions)
        write_parts = WriteParts(
            registry=ports.registry,
            queue=ports.queue,
            revisions=ports.revisions,
            write_chunks=self.write_chunks,
            known_vectors=known_vectors,
            limits=ports.hop_limits,
            clock=ports.clock,
        )
        index_revision = IndexRevision(
            documents=ports.documents,
            revisions=ports.revisions,
            parser=ports.parser,
            registry=ports.registry,
            write_chunks=self.write_chunks,
            known_vectors=known_vectors,
            clock=ports.clock,
        )
        live = ActivateRevisions(
            registry=ports.registry,
            index=ports.index,
            directory=directory,
            index_revision=index_revision,
            metrics=ports.metrics,
            environment=environment,
            clock=ports.clock,
        )
        apply_settings = ApplySettings(
            documents=ports.documents,
            registry=ports.registry,
            directory=directory,
            template_problem=lambda template: ports.prompter.problem(template),  # noqa: PLW0108 - imports Jinja late
            environment=environment,
            clock=ports.clock,
        )
        reconcile_key = ReconcileKey(
            documents=ports.documents,
            registry=ports.registry,
            index_revision=index_revision,
            write_parts=write_parts,
            live=live,
            apply_settings=apply_settings,
            clock=ports.clock,
        )
        redelivery = Redelivery(
            queue=ports.queue, registry=ports.registry, live=live, retry_base_s=ports.settings.ingest_retry_base_s
        )
        return reconcile_key, ReconcileBatch(
            directory=directory,
            reconcile_key=reconcile_key,
            index_revision=index_revision,
            write_parts=write_parts,
            live=live,
            redelivery=redelivery,
            bulk_lane=BulkLane(ports.queue, clock=ports.clock),
            merge_segments=self.merge_segments,
            work=self._work,
            calibrate=partial(self.calibrate.if_due, least_s=MIN_TIME_FOR_A_FIT_S),
        )

    def _work(self, request: WorkRequest, worker: str, deadline: Deadline) -> bool:
        return self.planned_reindex(request, worker, deadline)

    @cached_property
    def planned_reindex(self) -> PlannedReindex:
        from ragdrop.operate.planned_reindex import PlannedReindex  # few batches have an item of a plan

        ports = self.ports
        return PlannedReindex(
            reindex=self.reindex,
            ledger=ports.work_ledger,
            queue=ports.queue,
            state=ports.state,
            embedder=ports.embedder,
            copying=self._copying,
            clock=ports.clock,
            wait=ports.sleep,
        )

    @cached_property
    def reindex(self) -> Reindex:
        from ragdrop.operate.reindex import Reindex

        ports = self.ports
        copy = self._copying(ports.embedder)
        return Reindex(
            registry=ports.registry,
            revisions=ports.revisions,
            index=ports.index,
            copy_revision=copy,
            wait=ports.sleep,
            route_chunks=ports.settings.index_route_chunks,
        )

    def _copying(self, embedder: Embedder) -> CopyRevision:
        return CopyRevision(revisions=self.ports.revisions, write_chunks=self._writing(embedder))

    @cached_property
    def write_chunks(self) -> WriteChunks:
        return self._writing(self.ports.embedder)

    def _writing(self, embedder: Embedder) -> WriteChunks:
        ports = self.ports
        return WriteChunks(revisions=ports.revisions, index=ports.index, embedder=embedder, splitter=ports.splitter)

    @cached_property
    def calibrate(self) -> Calibrate:
        ports = self.ports
        return Calibrate(
            registry=ports.registry,
            directory=self.directory,
            index=ports.index,
            embedder=ports.embedder,
            sample=SampleDocuments(registry=ports.registry, revisions=ports.revisions),
            clock=ports.clock,
        )

    @cached_property
    def merge_segments(self) -> MergeSegments:
        return MergeSegments(registry=self.ports.registry, index=self.ports.bucket_index, queue=self.ports.queue)
