"""How the service is, from how each dependency is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

DEPENDENCIES = ("index", "embedding", "chat", "registry", "object_store", "snapshot")

Status = Literal["healthy", "degraded", "unavailable"]
DependencyStatus = Literal["healthy", "degraded", "unavailable", "unknown"]


@dataclass(frozen=True, slots=True)
class DependencyHealth:
    """One dependency; `latency_ms` is None where it was not asked, `detail` says what is wrong, or worth knowing.

    `unknown` is what nothing can be said of: it counts neither way.
    """

    status: DependencyStatus
    latency_ms: float | None = None
    circuit_breaker_open: bool = False
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """All dependencies by their names, and how long looking at them took, in milliseconds."""

    dependencies: Mapping[str, DependencyHealth]
    latency_ms: float

    @property
    def healthy(self) -> bool:
        """Whether nothing is known to be wrong."""
        return self.status == "healthy"

    @property
    def status(self) -> Status:
        """`unavailable` where no level of the fallback chain can answer, `degraded` where anything is wrong.

        Without the registry no hit can be verified; without the index the snapshot answers, if there is one.

        >>> fine, down = DependencyHealth("healthy"), DependencyHealth("unavailable")
        >>> Health({"registry": fine, "index": fine, "chat": down}, 1.0).status
        'degraded'
        >>> Health({"registry": fine, "index": down, "snapshot": DependencyHealth("unknown")}, 1.0).status
        'unavailable'
        """
        statuses = {name: each.status for name, each in self.dependencies.items()}
        searchable = statuses.get("index") != "unavailable" or statuses.get("snapshot") in {"healthy", "degraded"}
        if statuses.get("registry") == "unavailable" or not searchable:
            return "unavailable"
        return "healthy" if set(statuses.values()) <= {"healthy", "unknown"} else "degraded"
