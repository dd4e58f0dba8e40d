"""Check health: probe every dependency in parallel, behind its breaker, within two or five seconds."""

from __future__ import annotations

import contextvars
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import ConfigurationError, DependencyError, GenerationError
from ragdrop.ports.indexes import ChunkIndex, IndexFaults
from ragdrop.ports.model_services import ChatModel, Embedder, Message, ModelList
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.registry import Registry
from ragdrop.resilience.breakers import Breakers

SHALLOW_S = 2.0
DEEP_S = 5.0
CACHED_S = 2.0  # a shallow look is shown to others for so long: whoever has no key must not be able to make load


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a probe says of a dependency that answered."""

    status: DependencyStatus = "healthy"
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """How a dependency is to be looked at: by when, whether by real work, and for which tenant, if for one."""

    deadline: Deadline
    deep: bool = False
    tenant: str | None = None


Probe = Callable[[Look], ProbeResult]
"""Asks a dependency; raises what its port raises."""


class CheckHealth:
    """Looks at all dependencies at once.

    A dependency whose breaker is open is not touched: that it is open is the finding.

    A dependency without a probe is `unknown`.
    """

    def __init__(
        self, probes: Mapping[str, Probe], breakers: Breakers, *, stopwatch: Callable[[], float] = time.monotonic
    ) -> None:
        self._probes = probes
        self._breakers = breakers
        self._stopwatch = stopwatch
        self._pool = ThreadPoolExecutor(2 * len(DEPENDENCIES), thread_name_prefix="health")
        self._locks: defaultdict[str | None, Lock] = defaultdict(Lock)
        self._cached: dict[str | None, tuple[float, Health]] = {}

    def __call__(self, *, tenant: str | None = None, deep: bool = False) -> Health:
        """How all dependencies are, for *tenant* if there is one; a shallow look may be two seconds old."""
        if deep:
            return self._look(tenant, deep=True, limit_s=DEEP_S)
        with self._locks[tenant]:  # who comes while another looks sees what that one found
            looked_at_s, found = self._cached.get(tenant, (float("-inf"), None))
            if found is None or self._stopwatch() >= looked_at_s + CACHED_S:
                found = self._look(tenant, deep=False, limit_s=SHALLOW_S)
                self._cached[tenant] = (self._stopwatch(), found)
            return found

    def _look(self, tenant: str | None, *, deep: bool, limit_s: float) -> Health:
        start_s = self._stopwatch()
        look = Look(Deadline.after(limit_s), deep, tenant)
        asked = {
            name: self._pool.submit(contextvars.copy_context().run, self._ask, name, look)
            for name in DEPENDENCIES
            if name in self._probes
        }
        wait(asked.values(), timeout=limit_s)
        late = DependencyHealth("unavailable", None, detail=f"it did not answer within {limit_s:.0f} s")
        found = {name: each.result() if each.done() else late for name, each in asked.items()}
        unknown = DependencyHealth("unknown", detail="nothing is known of it")
        return Health(
            {name: found.get(name, unknown) for name in DEPENDENCIES}, round((self._stopwatch() - start_s) * 1_000, 3)
        )

    def _ask(self, name: str, look: Look) -> DependencyHealth:
        if self._breakers.is_open(name):
            return DependencyHealth("unavailable", circuit_breaker_open=True, detail="its breaker is open")
        start_s = self._stopwatch()
        try:
            found = self._probes[name](look)
        except (DependencyError, ConfigurationError) as exc:
            message = exc.message if isinstance(exc, DependencyError) else "it is not set up right"
            return DependencyHealth("unavailable", self._since_ms(start_s), detail=message)
        return DependencyHealth(found.status, self._since_ms(start_s), detail=found.detail)

    def _since_ms(self, start_s: float) -> float:
        return round((self._stopwatch() - start_s) * 1_000, 3)


DEPENDENCIES = ("index", "embedding", "chat", "registry", "object_store")

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

        Without the registry no hit can be verified; without an OpenSearch the bucket index answers, while S3 does.

        >>> fine, down = DependencyHealth("healthy"), DependencyHealth("unavailable")
        >>> Health({"registry": fine, "index": fine, "chat": down}, 1.0).status
        'degraded'
        >>> Health({"registry": fine, "index": down, "object_store": down}, 1.0).status
        'unavailable'
        """
        statuses = {name: each.status for name, each in self.dependencies.items()}
        if statuses.get("registry") == "unavailable":
            return "unavailable"
        if statuses.get("index") == statuses.get("object_store") == "unavailable":
            return "unavailable"
        return "healthy" if set(statuses.values()) <= {"healthy", "unknown"} else "degraded"


NO_SUCH_KEY = "health"  # no SHA-256, so never anybody's
NO_SUCH_OBJECT = "health/none"
PING = "ping"
SEVERITY = ("unknown", "healthy", "degraded", "unavailable")
SHOWN = 3  # faults of an index that a detail names


MAX_TENANTS = 20  # whose indexes a look without a key compares
REPAIR = "it is rebuilt from stored texts within ten minutes, or at once by `ragdrop sweep`"


def faults_of(index: ChunkIndex, registry: Registry, tenant: Tenant, deadline: Deadline) -> IndexFaults:
    """What the durable copies of a tenant's index lack, too few chunks for the registry's counters included."""
    faults = index.faults(tenant.index, deadline)
    if faults.found or faults.chunks is None or faults.chunks >= tenant.chunks:
        return faults
    later = registry.tenant(tenant.name)  # documents may have been removed meanwhile
    if later is None or faults.chunks >= later.chunks:
        return IndexFaults()
    return replace(faults, found=(f"its manifest lists {faults.chunks} of at least {later.chunks} chunks",))


def index_probe(index: ChunkIndex, registry: Registry) -> Probe:
    """Whether it can be searched, its durable copies are there, and it holds the chunks that the registry counts."""

    def probe(look: Look) -> ProbeResult:
        index.check(look.deadline)
        if look.tenant is None:
            enabled = [each for each in registry.tenants() if each.enabled and each.documents]
            results = [durable(each, look) for each in enabled[:MAX_TENANTS]]
            return max(results, key=lambda each: SEVERITY.index(each.status), default=ProbeResult())
        tenant = registry.tenant(look.tenant)
        if tenant is None or not tenant.documents:
            return ProbeResult()
        found = durable(tenant, look)
        return found if found.status != "healthy" else searchable(tenant, look)

    def durable(tenant: Tenant, look: Look) -> ProbeResult:
        faults = faults_of(index, registry, tenant, look.deadline)
        if not faults.found:
            return ProbeResult()
        more = f" and {len(faults.found) - SHOWN} more faults" if len(faults.found) > SHOWN else ""
        detail = f"{'; '.join(faults.found[:SHOWN])}{more}; {REPAIR}"
        return ProbeResult("degraded" if faults.chunks else "unavailable", detail)

    def searchable(tenant: Tenant, look: Look) -> ProbeResult:
        if damaged := index.damaged(tenant.index):
            index.count(tenant.index, look.deadline)  # raises where no part of it can be read
            detail = f"segments {', '.join(damaged)} could not be read; the sweep writes again what they contained"
            return ProbeResult("degraded", detail)
        if index.drops_superseded(tenant.index) and not look.deep:
            return ProbeResult()  # a count would have to fetch what no question needs yet
        chunks = index.count(tenant.index, look.deadline)
        if chunks == 0:
            return ProbeResult(
                "unavailable", f"it holds none of the {tenant.documents} documents; the sweep rebuilds it"
            )
        if chunks < tenant.chunks:  # superseded chunks come on top
            lost = f"it holds {chunks} of at least {tenant.chunks} chunks; the sweep rebuilds it"
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
            try:
                chat.complete([Message("user", PING)], max_tokens=1, deadline=look.deadline)
            except GenerationError as exc:
                if exc.details.get("reason") != "empty":  # a model that reasons is not done thinking
                    raise
            return ProbeResult()
        return _listed(models.models(look.deadline), names)

    return probe


def _listed(listed: frozenset[str] | None, names: Sequence[str]) -> ProbeResult:
    """Ollama lists `mistral:latest` for what is asked for as `mistral`."""
    if listed is None:
        return ProbeResult(detail="it answers, and does not say which models it has")
    have = listed | {name.removesuffix(":latest") for name in listed}
    missing = [name for name in names if name not in have]
    if not missing:
        return ProbeResult()
    return ProbeResult(
        "unavailable" if len(missing) == len(names) else "degraded",
        f"it answers, and does not list {', '.join(missing)}",
    )
