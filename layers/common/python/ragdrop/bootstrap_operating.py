"""The operator's half of the composition root: retry, purge and sweep over the parts that `App` has."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.config import Settings

if TYPE_CHECKING:
    from ragdrop.ports import ChunkIndex, MessageQueue, ObjectStore, Registry
    from ragdrop.usecases.keep_documents import KeepDocuments
    from ragdrop.usecases.purge_documents import PurgeDocuments
    from ragdrop.usecases.retry_documents import RetryDocuments
    from ragdrop.usecases.revision_store import RevisionStore
    from ragdrop.usecases.sweep import Sweep
    from ragdrop.usecases.sweep_tenants import SweepTenants
    from ragdrop.usecases.tenants import Directory


class OperatingParts:
    """Use cases that mend and remove; a base of App."""

    settings: Settings
    clock: Callable[[], float]

    if TYPE_CHECKING:  # App makes these

        @cached_property
        def documents(self) -> ObjectStore:
            """The document bucket."""

        @cached_property
        def state(self) -> ObjectStore:
            """The state bucket."""

        @cached_property
        def registry(self) -> Registry:
            """The registry table."""

        @cached_property
        def queue(self) -> MessageQueue:
            """The queue that feeds ingest."""

        @cached_property
        def index(self) -> ChunkIndex:
            """The chunk index."""

        @cached_property
        def revisions(self) -> RevisionStore:
            """What is derived of revisions."""

        @cached_property
        def directory(self) -> Directory:
            """Callers and tenants."""

        @cached_property
        def keep_documents(self) -> KeepDocuments:
            """Documents over HTTP."""

    @cached_property
    def retry_documents(self) -> RetryDocuments:
        """Another try for documents that failed."""
        from ragdrop.usecases.retry_documents import RetryDocuments

        return RetryDocuments(documents=self.documents, registry=self.registry, queue=self.queue, clock=self.clock)

    @cached_property
    def purge_documents(self) -> PurgeDocuments:
        """Removing documents for good."""
        from ragdrop.usecases.purge_documents import PurgeDocuments

        return PurgeDocuments(
            keep=self.keep_documents,
            documents=self.documents,
            state=self.state,
            registry=self.registry,
            index=self.index,
            revisions=self.revisions,
            directory=self.directory,
        )

    @cached_property
    def sweep(self) -> Sweep:
        """Comparing bucket, registry and index of one tenant."""
        from ragdrop.usecases.remove_orphans import RemoveOrphans
        from ragdrop.usecases.sweep import Sweep
        from ragdrop.usecases.sweep_notes import SweepNotes

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
            min_age_s=self.settings.sweep_min_age_s,
            clock=self.clock,
        )

    @cached_property
    def sweep_tenants(self) -> SweepTenants:
        """The sweep of all tenants."""
        from ragdrop.usecases.sweep_tenants import SweepTenants

        return SweepTenants(registry=self.registry, sweep=self.sweep, clock=self.clock)
