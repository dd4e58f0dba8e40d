"""Metrics where nobody reads them: commands of the operator's and benchmarks, whose output is their own."""

from __future__ import annotations

from collections.abc import Mapping

from ragdrop.domain.metric_names import UNITS


class NoMetrics:
    """Takes metrics and keeps none."""

    def put(self, values: Mapping[str, float], *, dependency: str | None = None) -> None:  # noqa: ARG002 - the port's
        """Only make sure that every name exists."""
        for name in values:
            UNITS[name]
