"""Probes: the cheapest question that each dependency can be asked, and the smallest piece of real work."""

from __future__ import annotations

from collections.abc import Sequence

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import EmbeddingSpace
from ragdrop.ports import ChatModel, ChunkIndex, Embedder, Message, ObjectStore, Registry
from ragdrop.ports.model_list import ModelList
from ragdrop.usecases.check_health import Finding, Probe

NO_SUCH_KEY = "health"  # no SHA-256, so never anybody's
NO_SUCH_OBJECT = "health/none"
PING = "ping"


def index_probe(index: ChunkIndex) -> Probe:
    """Whether it can be searched."""

    def probe(deadline: Deadline, _deep: bool) -> Finding:  # noqa: FBT001 - the shape of a probe
        index.check(deadline)
        return Finding()

    return probe


def registry_probe(registry: Registry) -> Probe:
    """One read of an item that is not there."""

    def probe(_deadline: Deadline, _deep: bool) -> Finding:  # noqa: FBT001
        registry.api_key(NO_SUCH_KEY)
        return Finding()

    return probe


def store_probe(store: ObjectStore) -> Probe:
    """One look at an object that is not there."""

    def probe(_deadline: Deadline, _deep: bool) -> Finding:  # noqa: FBT001
        store.head(NO_SUCH_OBJECT)
        return Finding()

    return probe


def embedding_probe(models: ModelList, embedder: Embedder, space: EmbeddingSpace) -> Probe:
    """Its list of models; deep: one embedding, of the right dimension."""

    def probe(deadline: Deadline, deep: bool) -> Finding:  # noqa: FBT001
        if deep:
            embedder.query(PING, space, deadline)
            return Finding()
        return _listed(models.models(deadline), (space.model,))

    return probe


def chat_probe(models: ModelList, chat: ChatModel, names: Sequence[str]) -> Probe:
    """Its list of models; deep: one completion of one token."""

    def probe(deadline: Deadline, deep: bool) -> Finding:  # noqa: FBT001
        if deep:
            chat.complete([Message("user", PING)], max_tokens=1, deadline=deadline)
            return Finding()
        return _listed(models.models(deadline), names)

    return probe


def _listed(held: frozenset[str] | None, wanted: Sequence[str]) -> Finding:
    """Ollama lists `mistral:latest` for what is asked for as `mistral`."""
    if held is None:
        return Finding(detail="it answers, and does not say which models it has")
    have = held | {name.removesuffix(":latest") for name in held}
    missing = [name for name in wanted if name not in have]
    if not missing:
        return Finding()
    status = "unavailable" if len(missing) == len(wanted) else "degraded"
    return Finding(status, f"it answers, and does not list {', '.join(missing)}")
