"""Metrics in memory, for tests."""

from __future__ import annotations

from collections.abc import Mapping

from ragdrop.domain.metric_names import UNITS


class MemoryMetrics:
    """Keeps every value by name, with the dependency that it is of; a name that does not exist is an error."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, float, str | None]] = []

    def put(self, values: Mapping[str, float], *, dependency: str | None = None) -> None:
        """Keep *values*."""
        for name, value in values.items():
            assert name in UNITS, f"{name} is no metric"  # noqa: S101 - a fake tells a test what is wrong
            self.seen.append((name, float(value), dependency))

    def total(self, name: str, dependency: str | None = None) -> float:
        """The sum of what was put under *name*."""
        return sum(value for seen, value, of in self.seen if (seen, of) == (name, dependency))
