"""Build what the routes of documents and of their past call."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ragdrop.app.ports import Ports
from ragdrop.app.tenant_parts import TenantParts
from ragdrop.documents.check_links import CheckLinks
from ragdrop.documents.originals import ReadOriginals
from ragdrop.documents.purge import PurgeDocuments
from ragdrop.documents.service import DocumentService, RetryDocuments, WriteOnce
from ragdrop.past.record import DocumentHistory, RollBack
from ragdrop.past.stages import AskGolden, Stages
from ragdrop.ports.reading import PageDrawer
from ragdrop.query.cache import Searching


@dataclass
class DocumentParts:
    """Documents over HTTP."""

    ports: Ports
    tenants: TenantParts

    @cached_property
    def document_service(self) -> DocumentService:
        ports = self.ports
        return DocumentService(
            documents=ports.documents,
            registry=ports.registry,
            queue=ports.queue,
            revisions=ports.revisions,
            usage=ports.telemetry,
            check_links=CheckLinks(
                registry=ports.registry, permissions=self.tenants.permissions, environment=ports.settings.tunables()
            ),
            permissions=self.tenants.permissions,
            budget=self.tenants.daily_budget,
            clock=ports.clock,
        )

    @cached_property
    def page_drawer(self) -> PageDrawer:
        """Draws in a child process, where ingest and query carry PDFium; imported at the first page."""
        from readers.isolated_reader import DRAW_TIMEOUT_S, IsolatedReader

        return IsolatedReader(timeout_s=DRAW_TIMEOUT_S)

    @cached_property
    def originals(self) -> ReadOriginals:
        keep, documents = self.document_service, self.ports.documents
        return ReadOriginals(keep=keep, documents=documents, drawer=lambda: self.page_drawer)

    @cached_property
    def write_once(self) -> WriteOnce:
        return WriteOnce(self.ports.stored_replies, clock=self.ports.clock)

    @cached_property
    def retry_documents(self) -> RetryDocuments:
        ports = self.ports
        return RetryDocuments(
            documents=ports.documents,
            registry=ports.registry,
            queue=ports.queue,
            permissions=self.tenants.permissions,
            clock=ports.clock,
        )

    @cached_property
    def purge_documents(self) -> PurgeDocuments:
        ports = self.ports
        return PurgeDocuments(
            keep=self.document_service,
            documents=ports.documents,
            state=ports.state,
            registry=ports.registry,
            index=ports.index,
            revisions=ports.revisions,
            directory=self.tenants.directory,
            usage=ports.telemetry,
            receipts=ports.receipts,
            fallback_index=ports.bucket_index,
        )


@dataclass
class PastParts:
    """Versions and changes, rollbacks, staged changes and golden questions."""

    ports: Ports
    tenants: TenantParts
    documents: DocumentParts
    search: Callable[[], Searching]

    @cached_property
    def record(self) -> DocumentHistory:
        ports = self.ports
        return DocumentHistory(
            registry=ports.guarded_registry,
            revisions=ports.revisions,
            permissions=self.tenants.permissions,
            clock=ports.clock,
        )

    @cached_property
    def roll_back(self) -> RollBack:
        ports, delete = self.ports, self.documents.document_service.delete
        return RollBack(
            registry=ports.registry,
            documents=ports.documents,
            delete=delete,
            permissions=self.tenants.permissions,
            clock=ports.clock,
        )

    @cached_property
    def stages(self) -> Stages:
        ports = self.ports
        return Stages(
            registry=ports.registry,
            documents=ports.documents,
            queue=ports.queue,
            directory=self.tenants.directory,
            permissions=self.tenants.permissions,
            ask=self.ask_golden,
            clock=ports.clock,
        )

    @cached_property
    def ask_golden(self) -> AskGolden:
        return AskGolden(self.search())
