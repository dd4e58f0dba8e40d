"""The ports behind their breakers: what questions go through."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.bootstrap.adapters import Adapters

if TYPE_CHECKING:
    from ragdrop.ports import ChatModel, ChunkIndex, Embedder, ObjectStore, Registry
    from ragdrop.ports.breakers import BreakerStore
    from ragdrop.ports.models import Reranker
    from ragdrop.resilience.breakers import Breakers
    from ragdrop.stores.sqlite.snapshot_index import SnapshotIndex


class GuardedParts(Adapters):
    """Each port that questions need, behind the breaker of its dependency."""

    @cached_property
    def breaker_store(self) -> BreakerStore:
        """The breakers' one item, in the telemetry table."""
        from ragdrop.stores.dynamodb.breakers import DynamoDbBreakers

        return DynamoDbBreakers(self.settings.telemetry_table)

    @cached_property
    def breakers(self) -> Breakers:
        """All breakers, as this environment knows them."""
        from ragdrop.ports.breakers import BreakerRules
        from ragdrop.resilience.breakers import Breakers

        rules = BreakerRules(
            self.settings.breaker_threshold, self.settings.breaker_window_s, self.settings.breaker_open_s
        )
        return Breakers(self.breaker_store, rules, metrics=self.metrics, clock=self.clock)

    @cached_property
    def guarded_index(self) -> ChunkIndex:
        """The chunk index, for questions."""
        from ragdrop.resilience.guarded import INDEX, guarded

        return guarded(self.index, INDEX, self.breakers)

    @cached_property
    def guarded_embedder(self) -> Embedder:
        """The embedding service, for questions."""
        from ragdrop.resilience.guarded import EMBEDDING, guarded

        return guarded(self.embedder, EMBEDDING, self.breakers)

    @cached_property
    def guarded_registry(self) -> Registry:
        """The registry, for questions."""
        from ragdrop.resilience.guarded import REGISTRY, guarded

        return guarded(self.registry, REGISTRY, self.breakers)

    @cached_property
    def guarded_state(self) -> ObjectStore:
        """The state bucket, for questions: snapshots."""
        from ragdrop.resilience.guarded import OBJECT_STORE, guarded

        return guarded(self.state, OBJECT_STORE, self.breakers)

    @cached_property
    def snapshot_index(self) -> SnapshotIndex:
        """Tenants' snapshots, as questions search them."""
        from ragdrop.stores.sqlite.snapshot_index import SnapshotIndex

        return SnapshotIndex(self.guarded_state, self.snapshot_folder, clock=self.clock)

    @cached_property
    def guarded_reranker(self) -> Reranker | None:
        """The reranker, if there is one."""
        from ragdrop.resilience.guarded import RERANK, guarded

        return guarded(self.reranker, RERANK, self.breakers) if self.reranker else None

    @cached_property
    def guarded_chat(self) -> ChatModel:
        """The chat service."""
        from ragdrop.resilience.guarded import GuardedChatModel

        return GuardedChatModel(self.chat, self.breakers)
