"""What operators look at: stats and health."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.bootstrap.answering import AnsweringParts

if TYPE_CHECKING:
    from ragdrop.operate.health import CheckHealth, Probe
    from ragdrop.operate.stats import ReadStats


class WatchingParts(AnsweringParts):
    """Use cases that tell how the service is."""

    @cached_property
    def read_stats(self) -> ReadStats:
        """Figures of a tenant."""
        from ragdrop.operate.stats import ReadStats

        return ReadStats(directory=self.directory, store=self.telemetry, clock=self.clock)

    @cached_property
    def check_health(self) -> CheckHealth:
        """How the dependencies are."""
        from ragdrop.operate.health import CheckHealth

        return CheckHealth(self.health_probes, self.breakers)

    @cached_property
    def health_probes(self) -> dict[str, Probe]:
        """What each dependency is asked."""
        from ragdrop.operate import probes
        from ragdrop.resilience.guarded import CHAT, EMBEDDING, INDEX, OBJECT_STORE, REGISTRY

        space = self.settings.seed_index().space
        return {
            INDEX: probes.index_probe(self.index, self.registry),
            EMBEDDING: probes.embedding_probe(self.embedding_models, self.embedder, space),
            CHAT: probes.chat_probe(self.chat_models, self.chat, self.settings.chat_models),
            REGISTRY: probes.registry_probe(self.registry),
            OBJECT_STORE: probes.store_probe(self.state),
            "snapshot": probes.snapshot_probe(self.snapshot_index, self.clock),
        }
