"""Delete a tenant from every store, and count what was removed."""

from collections.abc import Callable
from dataclasses import dataclass

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Status
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import InvalidParamsError
from ragdrop.ports.answer_services import Receipts
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.registry import Registry, head_pages
from ragdrop.ports.telemetry import Telemetry
from ragdrop.tenants.admission import AdmissionRecords

SETTLE_S = 65.0  # the longest that ingest works on a message that came before, and caches of the tenant's item
PAGE = 100
STATE_PREFIXES = ("revisions", "texts", "pages", "index")  # each with the tenant's name behind it


@dataclass(frozen=True, slots=True)
class TenantReceipt:
    """How much was removed from each place.

    `versions` counts object versions and delete markers of the document bucket, `derived` objects of the state bucket,
    `chunks` those of all its indexes, `documents` heads, `registry_items` all items of the registry with the keys,
    `receipts` those of answers, `telemetry` counts of hours, uses and requests, and vectors of questions.
    """

    tenant: str
    versions: int
    derived: int
    chunks: int
    documents: int
    registry_items: int
    receipts: int
    telemetry: int


class DeleteTenant:
    """Removes tenants for good."""

    def __init__(
        self,
        *,
        documents: ObjectStore,
        state: ObjectStore,
        registry: Registry,
        index: ChunkIndex,
        receipts: Receipts,
        telemetry: Telemetry,
    ) -> None:
        self._documents = documents
        self._state = state
        self._registry = registry
        self._index = index
        self._receipts = receipts
        self._telemetry = telemetry

    def __call__(self, name: str, deadline: Deadline, *, wait: Callable[[float], None]) -> TenantReceipt:
        """Disable the tenant, wait for running work, then remove everything; after a failure the same call continues.

        Args:
            name: The tenant.
            deadline: For the index.
            wait: Waits so many seconds; called only if the tenant was enabled.

        Raises:
            InvalidParamsError: There is no such tenant.
            DependencyError: A service failed; what was removed before stays removed.
        """
        tenant = self._registry.tenant(name)
        if tenant is None:
            raise InvalidParamsError(f"there is no tenant named {name!r}", field="tenant", value=name)
        if tenant.enabled:
            self._registry.set_enabled(name, enabled=False)
            wait(SETTLE_S)
        versions = self._documents.delete_prefix(f"{name}/")  # first: nothing can be indexed from there again
        versions += AdmissionRecords(self._documents).forget_tenant(name)
        chunks = self._drop(tenant, deadline)
        derived = sum(self._state.delete_prefix(f"{prefix}/{name}/") for prefix in STATE_PREFIXES)
        derived += self._state.purge(f"sweeps/{name}.json")
        documents, items = self._forget_documents(name)
        receipts = self._receipts.forget_all_receipts(name)
        telemetry = self._telemetry.forget_tenant(name)
        items += self._registry.forget_tenant(name)  # last, as it says what is left to do
        return TenantReceipt(name, versions, derived, chunks, documents, items, receipts, telemetry)

    def _drop(self, tenant: Tenant, deadline: Deadline) -> int:
        """Remove the tenant's chunks from all its indexes, also from one that a reindex has just made active."""
        now = self._registry.tenant(tenant.name) or tenant
        return sum(self._index.drop(now.part_of(target), deadline) for target in now.targets)

    def _forget_documents(self, name: str) -> tuple[int, int]:
        """Forget every document, also deleted ones; return how many, and how many items they had."""
        documents = items = 0
        for status in (None, Status.DELETED):
            for heads in head_pages(self._registry, name, status=status, size=PAGE):
                documents += len(heads)
                items += sum(self._registry.forget_document(head.key) for head in heads)
        return documents, items
