"""Build what knows the past: versions, changes, and answers as of a moment.

Each part is built, and its module imported, when it is first used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.bootstrap.ports import Ports

if TYPE_CHECKING:
    from ragdrop.bootstrap.answering import QueryParts, TenantParts
    from ragdrop.bootstrap.writing import DocumentParts
    from ragdrop.past.golden import AskGolden
    from ragdrop.past.record import DocumentHistory
    from ragdrop.past.rollback import RollBack
    from ragdrop.past.stages import Stages


@dataclass
class HistoryParts:
    """The record of the past, and what reads it."""

    ports: Ports
    tenants: TenantParts
    documents: DocumentParts
    query: QueryParts

    @cached_property
    def ask_golden(self) -> AskGolden:
        """Golden questions, asked by the whole search."""
        from ragdrop.past.golden import AskGolden

        return AskGolden(self.query.uncached_search)

    @cached_property
    def record(self) -> DocumentHistory:
        """Versions of documents, and changes of vaults."""
        from ragdrop.past.record import DocumentHistory

        return DocumentHistory(
            registry=self.ports.guarded_registry, revisions=self.ports.revisions, clock=self.ports.clock
        )

    @cached_property
    def stages(self) -> Stages:
        """Documents that wait, to be promoted or discarded."""
        from ragdrop.past.stages import Stages

        return Stages(
            registry=self.ports.registry,
            documents=self.ports.documents,
            queue=self.ports.queue,
            directory=self.tenants.directory,
            ask=self.ask_golden,
            clock=self.ports.clock,
        )

    @cached_property
    def roll_back(self) -> RollBack:
        """Taking documents back to what they were."""
        from ragdrop.past.rollback import RollBack

        return RollBack(
            registry=self.ports.registry,
            documents=self.ports.documents,
            delete=self.documents.document_service.delete,
            clock=self.ports.clock,
        )


def build_history(
    ports: Ports,
    tenants: TenantParts,
    documents: DocumentParts,
    query: QueryParts,
) -> HistoryParts:
    """Build the record of the past, the ways back, stages, and golden questions, which the search answers."""
    return HistoryParts(ports, tenants, documents, query)
