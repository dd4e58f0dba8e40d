"""The wiring from bucket to ingest, and verdicts on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Literal, Protocol


class WiringProbe(Protocol):
    """Looks at bucket and queues; changes nothing."""

    def look(self) -> Wiring:
        """How they are wired.

        Raises:
            DependencyError: S3 or SQS did not answer, or does not let one look.
            ConfigurationError: The bucket or the queue does not exist.
        """
        ...


Grade = Literal["ok", "warning", "failed", "skipped"]
SLOW_EMBEDDING_MS = 100.0
SLOW_SEARCH_MS = 500.0
FEW_AT_ONCE = 50  # a new account has 10: five ingests leave five for questions
SUBSCRIBED = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one step went: `detail` says what was seen, `fix` what to do where it is not ok."""

    grade: Grade
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Wiring:
    """How changes come to ingest: what the bucket tells which queues, and how many messages wait.

    `events` are those that the bucket sends to the queue; `dead_letters` is None without a dead-letter queue;
    `concurrency` is how many functions the account runs at once, None where nobody says.
    """

    versioned: bool
    events: frozenset[str]
    waiting: int
    dead_letters: int | None
    concurrency: int | None = None


def wiring_verdict(wiring: Wiring) -> Verdict:
    """Whether every event that can mean a change arrives, and nothing was given up on.

    >>> wiring_verdict(Wiring(True, frozenset(SUBSCRIBED), 2, 0)).grade
    'ok'
    >>> wiring_verdict(Wiring(True, frozenset({"s3:ObjectCreated:*"}), 0, 0)).detail
    'the queue does not hear of s3:LifecycleExpiration:*, s3:ObjectRemoved:*'
    >>> wiring_verdict(Wiring(True, frozenset(SUBSCRIBED), 2, 0, concurrency=10)).grade
    'warning'
    """
    missing = sorted(set(SUBSCRIBED) - wiring.events)
    if missing:
        return Verdict(
            "failed", f"the queue does not hear of {', '.join(missing)}", "deploy template.yaml again: sam deploy"
        )
    if not wiring.versioned:
        return Verdict("failed", "the document bucket keeps no versions", "turn versioning on, or deploy again")
    if wiring.dead_letters is None:
        return Verdict("failed", "the queue has no dead-letter queue", "deploy template.yaml again: sam deploy")
    if wiring.dead_letters:
        detail = f"{wiring.dead_letters} changes were given up on"
        return Verdict("warning", detail, "ragdrop ls --failed, fix the cause, then ragdrop retry --dead-letter")
    if wiring.concurrency is not None and wiring.concurrency < FEW_AT_ONCE:
        detail = f"the account runs {wiring.concurrency} functions at once, ingest and questions together"
        fix = "ask AWS for more (Service Quotas, Lambda, Concurrent executions); until then set IngestConcurrency=2"
        return Verdict("warning", detail, f"{fix} and leave ChatConcurrency empty")
    return Verdict("ok", f"all events arrive; {wiring.waiting} messages wait, none was given up on")


def embedding_verdict(dimension: int, norms: Sequence[float], latencies_ms: Sequence[float], wanted: int) -> Verdict:
    """Whether sample vectors are as long as the index wants them, unit vectors, and quick.

    >>> embedding_verdict(384, [1.0, 1.0], [5.0, 7.0], 384).detail
    '2 vectors of 384 dimensions, norm 1.000, 6 ms on average, 7 ms at most'
    >>> embedding_verdict(768, [1.0], [5.0], 384).grade
    'failed'
    """
    if dimension != wanted:
        return Verdict(
            "failed",
            f"the model gives {dimension} dimensions, {wanted} are set",
            "set EMBEDDING_DIMENSION to what the model gives, then ragdrop reindex",
        )
    norm, most = max(norms, key=lambda each: abs(each - 1.0)), max(latencies_ms)
    detail = (
        f"{len(norms)} vectors of {dimension} dimensions, norm {norm:.3f}, {mean(latencies_ms):.0f} ms on average, "
        f"{most:.0f} ms at most"
    )
    if abs(norm - 1.0) > 0.01:
        return Verdict("failed", detail, "a vector that cannot be normalised is all zeros: look at the model")
    if mean(latencies_ms) > SLOW_EMBEDDING_MS:
        return Verdict("warning", detail, "over 100 ms: a nearer service, a smaller model, or more processor time")
    return Verdict("ok", detail)


def latency_verdict(latencies_ms: Sequence[float]) -> Verdict:
    """How long searches took: average, p95 and p99 (nearest rank).

    >>> latency_verdict([10.0] * 99 + [600.0]).detail
    '100 searches: 16 ms on average, p95 10 ms, p99 10 ms'
    """
    ranked = sorted(latencies_ms)
    p95, p99 = (ranked[max(0, -(-len(ranked) * share // 100) - 1)] for share in (95, 99))
    detail = f"{len(ranked)} searches: {mean(ranked):.0f} ms on average, p95 {p95:.0f} ms, p99 {p99:.0f} ms"
    if p99 > SLOW_SEARCH_MS:
        return Verdict("warning", detail, "over 500 ms: timings_ms of a search tell the slow stage; docs/operations.md")
    return Verdict("ok", detail)


def prefix_verdict(unknown: Sequence[str]) -> Verdict:
    """Whether everything in the bucket belongs to a tenant.

    >>> prefix_verdict(["tmp"]).grade
    'warning'
    """
    if not unknown:
        return Verdict("ok", "every prefix of the bucket is an active tenant")
    shown = ", ".join(unknown[:5]) + (f" and {len(unknown) - 5} more" if len(unknown) > 5 else "")
    return Verdict("warning", f"not indexed, no active tenant: {shown}", "ragdrop tenant create NAME, or remove it")


@dataclass(frozen=True, slots=True)
class DeployedStack:
    """Where its API and its documents are, and the environment that its functions run with (references, no secrets)."""

    name: str
    api_url: str
    bucket: str
    environment: Mapping[str, str] = field(repr=False)
