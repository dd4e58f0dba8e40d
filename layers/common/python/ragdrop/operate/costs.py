"""What a tenant's questions and documents cost: counts of the tenant times what one of each asks of AWS.

The prices are USD, on demand, us-east-1, as known in 2025; other regions differ by up to a third. docs/cost.md names
the page to check them on. The page, the scale plan and `ragdrop stats --cost` all use these.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from ragdrop.domain.history import LiveChange, first_id
from ragdrop.domain.tenants import Caller, Engine
from ragdrop.operate.stats import HOURS, TenantStats, TimeRange, first_hour_s
from ragdrop.past.record import change_pages
from ragdrop.ports.registry import Registry
from ragdrop.tenants.directory import TenantDirectory

LAMBDA_GB_S, LAMBDA_CALL = 0.0000166667, 0.20 / 1e6
GATEWAY_CALL = 3.50 / 1e6
DYNAMO_READ, DYNAMO_WRITE, DYNAMO_GB = 0.125 / 1e6, 0.625 / 1e6, 0.25
S3_PUT, S3_GET, S3_GB = 0.005 / 1e3, 0.0004 / 1e3, 0.023
SQS_CALL = 0.40 / 1e6
GP3_GB = 0.122
LOG_GB = 0.50
METRIC, ALARM = 0.30, 0.10  # a month each

# Of a function, GB-seconds: estimates on the high side; a question waits 4 s for its model.
SEARCH_GB_S, ASK_GB_S, INGEST_GB_S = 0.2, 4.0, 6.0
MESSAGE_CALLS = 3  # of SQS: S3 sends a message, Lambda's poller receives and deletes it


def requests_usd(reads: float, writes: float, puts: float, gets: float) -> float:
    """What requests cost: units of DynamoDB, and requests of S3 by their two prices.

    >>> round(requests_usd(8, 15, 6, 6) * 1e6, 1)
    42.8
    """
    return reads * DYNAMO_READ + writes * DYNAMO_WRITE + puts * S3_PUT + gets * S3_GET


# <units> Written by `python -m benchmarks.cost --write`, never by hand.
UNITS: dict[str, dict[str, tuple[float, int, int, int]]] = {
    "bucket": {
        "search": (8.0, 1, 0, 0),
        "search, the same again": (2.0, 1, 0, 0),
        "ask": (41.0, 20, 0, 30),
        "new document, one chunk": (5.0, 17, 6, 7),
        "changed document, one chunk": (7.0, 21, 6, 10),
        "deletion": (4.0, 18, 0, 1),
    },
    "opensearch": {
        "search": (8.0, 1, 0, 0),
        "search, the same again": (2.0, 1, 0, 0),
        "ask": (41.0, 20, 0, 30),
        "new document, one chunk": (5.0, 17, 6, 7),
        "changed document, one chunk": (7.0, 21, 6, 10),
        "deletion": (4.0, 18, 0, 1),
    },
}
# </units>
"""Read units, write units, PUTs and GETs of one operation, by index."""


def unit_usd(engine: Engine, operation: str, gb_s: float, *, messages: bool) -> float:
    """What one operation costs: its counted requests, its time in a function, and the gateway or the queue.

    >>> 5e-6 < unit_usd("bucket", "search", SEARCH_GB_S, messages=False) < 50e-6
    True
    """
    calls = MESSAGE_CALLS * SQS_CALL if messages else GATEWAY_CALL
    return requests_usd(*UNITS[engine][operation]) + gb_s * LAMBDA_GB_S + LAMBDA_CALL + calls


MAX_CHANGES = 20_000  # that are counted: a reader waits for them
STORED_BYTES = 8_000  # of a chunk in S3: object, text, vectors, segments, and versions of all of them
MONTH_H = 730

Basis = Literal["counted", "estimated", "at least"]
"""Whether the number of operations is counted; the price of one has its time in a function as an estimate."""


@dataclass(frozen=True, slots=True)
class CostLine:
    """One thing that is paid: how many, and USD for them; None where nobody knows its price."""

    name: str
    count: int | None
    usd: float | None
    basis: Basis


@dataclass(frozen=True, kw_only=True)
class ReadCosts:
    """Costs of the caller's tenant by line.

    Chat tokens stand there with what CHAT_PRICES make of all tokens of questions, in their currency: those of the
    embedding model too, if it has a price.  What a reader costs depends on where it runs, so its work is counted alone.
    Not there are the embeddings of documents, an OpenSearch domain, and what a deployment costs while nobody asks.
    """

    directory: TenantDirectory
    registry: Registry
    clock: Callable[[], float]

    def __call__(self, caller: Caller, time_range: TimeRange, found: TenantStats) -> list[CostLine]:
        """The lines of *time_range*, whose figures are *found*. Raises DatabaseError: the registry did not answer."""
        tenant = self.directory.tenant(caller.tenant)
        if tenant is None:
            return []
        after = first_id(round(first_hour_s(self.clock(), time_range) * 1_000))
        changes = list(islice(self._changes(tenant.name, tenant.vaults, after), MAX_CHANGES))
        lines = [*_questions(found, tenant.active.engine), *_documents(changes, tenant.active.engine)]
        chunks = found.chunks or 0
        stored = chunks * STORED_BYTES / 1e9 * S3_GB * HOURS[time_range] / MONTH_H
        return [*lines, CostLine("chunks stored", chunks, stored, "estimated")]

    def _changes(self, tenant: str, vaults: tuple[str, ...], after: str) -> Iterator[LiveChange]:
        for vault in vaults:
            for page in change_pages(self.registry, tenant, vault, after=after):
                yield from page


def _questions(found: TenantStats, engine: Engine) -> list[CostLine]:
    queries = found.queries
    answers, cached = queries.answers, round((queries.cache_hit_rate or 0.0) * queries.total_queries)
    counts = {
        ("searches", "search", SEARCH_GB_S): max(queries.total_queries - answers - cached, 0),
        ("searches from the cache", "search, the same again", SEARCH_GB_S): cached,
        ("answers", "ask", ASK_GB_S): answers,
    }
    lines = [
        CostLine(name, count, count * unit_usd(engine, operation, gb_s, messages=False), "counted")
        for (name, operation, gb_s), count in counts.items()
    ]
    tokens = None if queries.prompt_tokens is None else queries.prompt_tokens + (queries.completion_tokens or 0)
    models = [
        CostLine("chat tokens", tokens, queries.cost, "counted"),
        CostLine("embedding tokens", queries.embedding_tokens, None, "counted"),
        CostLine("pairs read", queries.reader_pairs, None, "counted"),
        CostLine("reader milliseconds", queries.reader_ms, None, "counted"),
    ]
    return [*lines, *models]


def _documents(changes: list[LiveChange], engine: Engine) -> list[CostLine]:
    basis: Basis = "at least" if len(changes) == MAX_CHANGES else "counted"
    counts = Counter(_kind(change) for change in changes)
    operations = {
        "new documents": "new document, one chunk",
        "changed documents": "changed document, one chunk",
        "failed documents": "changed document, one chunk",
        "deletions": "deletion",
    }
    return [
        CostLine(name, counts[name], counts[name] * unit_usd(engine, operation, INGEST_GB_S, messages=True), basis)
        for name, operation in operations.items()
    ]


def _kind(change: LiveChange) -> str:
    if change.kind == "activated":
        return "new documents" if change.before is None else "changed documents"
    return "failed documents" if change.kind == "failed" else "deletions"
