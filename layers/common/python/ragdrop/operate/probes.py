"""Probes: the cheapest request to each dependency, and the smallest piece of real work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.tenants import Tenant
from ragdrop.operate.health import Look, Probe, ProbeResult
from ragdrop.ports import ChatModel, ChunkIndex, Embedder, Message, ObjectStore, Registry
from ragdrop.ports.chunk_index import IndexFaults
from ragdrop.ports.models import ModelList

NO_SUCH_KEY = "health"  # no SHA-256, so never anybody's
NO_SUCH_OBJECT = "health/none"
PING = "ping"
SEVERITY = ("unknown", "healthy", "degraded", "unavailable")
SHOWN = 3  # faults of an index that a detail names


MAX_TENANTS = 20  # whose indexes a look without a key compares
REPAIR = "it is rebuilt from stored texts within ten minutes, or at once by `ragdrop sweep`"


def faults_of(index: ChunkIndex, registry: Registry, tenant: Tenant, deadline: Deadline) -> IndexFaults:
    """What the durable copies of a tenant's index lack, too few chunks for the registry's counters included."""
    faults = index.faults(tenant.index, deadline)
    if faults.found or faults.chunks is None or faults.chunks >= tenant.chunks:
        return faults
    later = registry.tenant(tenant.name)  # documents may have been removed meanwhile
    if later is None or faults.chunks >= later.chunks:
        return IndexFaults()
    return replace(faults, found=(f"its manifest lists {faults.chunks} of at least {later.chunks} chunks",))


def index_probe(index: ChunkIndex, registry: Registry) -> Probe:
    """Whether it can be searched, its durable copies are there, and it holds the chunks that the registry counts."""

    def probe(look: Look) -> ProbeResult:
        index.check(look.deadline)
        if look.tenant is None:
            enabled = [each for each in registry.tenants() if each.enabled and each.documents]
            results = [durable(each, look) for each in enabled[:MAX_TENANTS]]
            return max(results, key=lambda each: SEVERITY.index(each.status), default=ProbeResult())
        tenant = registry.tenant(look.tenant)
        if tenant is None or not tenant.documents:
            return ProbeResult()
        found = durable(tenant, look)
        return found if found.status != "healthy" else searchable(tenant, look)

    def durable(tenant: Tenant, look: Look) -> ProbeResult:
        faults = faults_of(index, registry, tenant, look.deadline)
        if not faults.found:
            return ProbeResult()
        more = f" and {len(faults.found) - SHOWN} more faults" if len(faults.found) > SHOWN else ""
        detail = f"{'; '.join(faults.found[:SHOWN])}{more}; {REPAIR}"
        return ProbeResult("degraded" if faults.chunks else "unavailable", detail)

    def searchable(tenant: Tenant, look: Look) -> ProbeResult:
        if damaged := index.damaged(tenant.index):
            index.count(tenant.index, look.deadline)  # raises where no part of it can be read
            told = f"segments {', '.join(damaged)} could not be read; the sweep writes again what they held"
            return ProbeResult("degraded", told)
        if index.drops_superseded(tenant.index) and not look.deep:
            return ProbeResult()  # a count would have to fetch what no question needs yet
        held = index.count(tenant.index, look.deadline)
        if held == 0:
            return ProbeResult(
                "unavailable", f"it holds none of the {tenant.documents} documents; the sweep rebuilds it"
            )
        if held < tenant.chunks:  # superseded chunks come on top
            lost = f"it holds {held} of at least {tenant.chunks} chunks; the sweep rebuilds it"
            return ProbeResult("degraded", lost)
        return ProbeResult()

    return probe


def registry_probe(registry: Registry) -> Probe:
    """One read of an item that is not there."""

    def probe(_look: Look) -> ProbeResult:
        registry.api_key(NO_SUCH_KEY)
        return ProbeResult()

    return probe


def store_probe(store: ObjectStore) -> Probe:
    """One look at an object that is not there."""

    def probe(_look: Look) -> ProbeResult:
        store.head(NO_SUCH_OBJECT)
        return ProbeResult()

    return probe


def embedding_probe(models: ModelList, embedder: Embedder, space: EmbeddingSpace) -> Probe:
    """Its list of models; deep: one embedding, of the right dimension."""

    def probe(look: Look) -> ProbeResult:
        if look.deep:
            embedder.query(PING, space, look.deadline)
            return ProbeResult()
        return _listed(models.models(look.deadline), (space.model,))

    return probe


def chat_probe(models: ModelList, chat: ChatModel, names: Sequence[str]) -> Probe:
    """Its list of models; deep: one completion of one token."""

    def probe(look: Look) -> ProbeResult:
        if look.deep:
            chat.complete([Message("user", PING)], max_tokens=1, deadline=look.deadline)
            return ProbeResult()
        return _listed(models.models(look.deadline), names)

    return probe


def _listed(held: frozenset[str] | None, wanted: Sequence[str]) -> ProbeResult:
    """Ollama lists `mistral:latest` for what is asked for as `mistral`."""
    if held is None:
        return ProbeResult(detail="it answers, and does not say which models it has")
    have = held | {name.removesuffix(":latest") for name in held}
    missing = [name for name in wanted if name not in have]
    if not missing:
        return ProbeResult()
    return ProbeResult(
        "unavailable" if len(missing) == len(wanted) else "degraded",
        f"it answers, and does not list {', '.join(missing)}",
    )
