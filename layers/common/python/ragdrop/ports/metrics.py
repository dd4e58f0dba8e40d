"""Metrics: what dashboards and alarms look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Metrics(Protocol):
    """Takes metrics; never raises, never waits."""

    def put(self, values: Mapping[str, float], *, dependency: str | None = None) -> None:
        """Emit *values* by the names of `domain.metric_names.UNITS`, of *dependency* if they are of one."""
