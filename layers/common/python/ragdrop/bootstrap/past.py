"""Build what knows the past: versions, changes, and answers as of a moment.

Each part is built, and its module imported, when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from ragdrop.bootstrap.ports import Ports

if TYPE_CHECKING:
    from ragdrop.bootstrap.answering import TenantParts
    from ragdrop.bootstrap.writing import DocumentParts
    from ragdrop.history.as_of import PastViews
    from ragdrop.history.golden import AskGolden
    from ragdrop.history.record import DocumentHistory
    from ragdrop.history.rollback import RollBack
    from ragdrop.history.search import CountedViews
    from ragdrop.history.stages import Stages
    from ragdrop.ports import LayeredIndex
    from ragdrop.query.cache import Searching
    from ragdrop.resilience.known_heads import KnownHeads


@dataclass
class HistoryParts:
    """The record of the past, and what reads it."""

    ports: Ports
    tenants: TenantParts
    documents: DocumentParts
    search: Callable[[], Searching]
    known_heads: Callable[[], KnownHeads]

    @cached_property
    def ask_golden(self) -> AskGolden:
        """Golden questions, asked by the whole search."""
        from ragdrop.history.golden import AskGolden

        return AskGolden(self.search)

    @cached_property
    def record(self) -> DocumentHistory:
        """Versions of documents, and changes of vaults."""
        from ragdrop.history.record import DocumentHistory

        return DocumentHistory(
            registry=self.ports.guarded_registry, revisions=self.ports.revisions, clock=self.ports.clock
        )

    @cached_property
    def stages(self) -> Stages:
        """Documents that wait, to be promoted or discarded."""
        from ragdrop.history.stages import Stages

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
        from ragdrop.history.rollback import RollBack

        return RollBack(
            registry=self.ports.registry,
            documents=self.ports.documents,
            delete=self.documents.document_service.delete,
            clock=self.ports.clock,
        )

    @cached_property
    def views(self) -> CountedViews:
        """What registry and index a query counts."""
        from ragdrop.history.search import CountedViews

        return CountedViews(
            known=self.known_heads,
            directory=self.tenants.directory,
            past=lambda: self.past,
        )

    @cached_property
    def past(self) -> PastViews:
        """Views of moments of the past."""
        from ragdrop.history.as_of import PastViews

        return PastViews(
            registry=self.ports.guarded_registry,
            index=cast("LayeredIndex", self.ports.guarded_index),
            revisions=self.ports.revisions,
            directory=self.tenants.directory,
            clock=self.ports.clock,
        )


def build_history(
    ports: Ports,
    tenants: TenantParts,
    documents: DocumentParts,
    search: Callable[[], Searching],
    known_heads: Callable[[], KnownHeads],
) -> HistoryParts:
    """Build the record of the past, the ways back, stages, and golden questions, which *search* answers."""
    return HistoryParts(ports, tenants, documents, search, known_heads)
