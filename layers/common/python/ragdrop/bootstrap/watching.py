"""What operators look at: stats and health."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.bootstrap.answering import AnsweringParts

if TYPE_CHECKING:
    from ragdrop.usecases.read_stats import ReadStats


class WatchingParts(AnsweringParts):
    """Use cases that tell how the service is."""

    @cached_property
    def read_stats(self) -> ReadStats:
        """Figures of a tenant."""
        from ragdrop.usecases.read_stats import ReadStats

        return ReadStats(directory=self.directory, store=self.telemetry, clock=self.clock)
