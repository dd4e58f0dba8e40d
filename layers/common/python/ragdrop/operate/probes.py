"""Probes: the cheapest request to each dependency, and the smallest piece of real work."""

from __future__ import annotations

from collections.abc import Sequence

from ragdrop.domain.models import EmbeddingSpace
from ragdrop.operate.health import Look, Probe, ProbeResult
from ragdrop.ports import ChatModel, ChunkIndex, Embedder, Message, ObjectStore, Registry
from ragdrop.ports.models import ModelList

NO_SUCH_KEY = "health"  # no SHA-256, so never anybody's
NO_SUCH_OBJECT = "health/none"
PING = "ping"


def index_probe(index: ChunkIndex, registry: Registry) -> Probe:
    """Whether it can be searched, and holds the chunks that the registry counts."""

    def probe(look: Look) -> ProbeResult:
        index.check(look.deadline)
        tenant = registry.tenant(look.tenant) if look.tenant else None
        if tenant is None or not tenant.documents:
            return ProbeResult()
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
