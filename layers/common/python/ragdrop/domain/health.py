"""How the service is, from how each dependency is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

DEPENDENCIES = ("index", "embedding", "chat", "registry", "object_store", "snapshot")

Status = Literal["healthy", "degraded", "unavailable"]
DependencyStatus = Literal["healthy", "degraded", "unavailable", "absent", "unknown"]
COUNT_NEITHER_WAY = frozenset({"absent", "unknown"})


@dataclass(frozen=True, slots=True)
class DependencyHealth:
    """One dependency; `latency_ms` is None where it was not asked, `detail` says what is wrong, or worth knowing.

    `absent` is what was not made yet (a snapshot), `unknown` what nothing can be said of: they count neither way.
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

        Without the registry no hit can be verified; without the index the snapshot answers, if there may be one.

        >>> fine, down = DependencyHealth("healthy"), DependencyHealth("unavailable")
        >>> Health({"registry": fine, "index": fine, "chat": down}, 1.0).status
        'degraded'
        >>> Health({"registry": fine, "index": down, "snapshot": DependencyHealth("absent")}, 1.0).status
        'unavailable'
        """
        statuses = {name: each.status for name, each in self.dependencies.items()}
        snapshot = statuses.get("snapshot", "unknown")
        answers_from_it = snapshot not in {"unavailable", "absent"} and statuses.get("object_store") != "unavailable"
        if statuses.get("registry") == "unavailable":
            return "unavailable"
        if statuses.get("index") == "unavailable" and not answers_from_it:
            return "unavailable"
        return "healthy" if set(statuses.values()) <= COUNT_NEITHER_WAY | {"healthy"} else "degraded"
