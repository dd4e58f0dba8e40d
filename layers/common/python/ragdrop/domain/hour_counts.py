"""Counts of one tenant's queries in one hour, as flat names and whole numbers, so that they can be added anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ragdrop.domain.latency_buckets import bucket_of
from ragdrop.domain.query_reports import LABEL_CHARACTERS, QueryReport
from ragdrop.domain.times import rfc3339

HOUR_S = 3_600
KEPT_S = 35 * 86_400  # of an hour's counts: the longest time range and some days
MAX_AGENTS = 20  # named in one environment and hour; the rest is counted together
OTHER_AGENTS = "other"
COST_UNIT = 1_000_000  # cost is counted in millionths, as sums of whole numbers stay exact

Counts = Mapping[str, int]
AGENT, ERROR, BUCKET = "agent:", "error:", "at:"
SEPARATOR = "|"


def hour_of(now_s: float) -> str:
    """The name of the hour that holds *now_s* (seconds since 1970); text order is time order.

    >>> hour_of(0), hour_of(3_600)
    ('1970-01-01T00', '1970-01-01T01')
    """
    return rfc3339(now_s)[:13]


def counts_of(report: QueryReport) -> Counter[str]:
    """What one query adds to its hour.

    >>> counts_of(QueryReport("search", "acme", 12.0, agent="bot"))["agent:bot"]
    1
    """
    failure = report.failure
    found: Counter[str] = Counter(
        {
            "queries": 1,
            "latency_us": round(report.latency_ms * 1_000),
            f"{BUCKET}{bucket_of(report.latency_ms)}": 1,
            "cached": int(report.cached),
            "fallback": int(report.fallback),
            "abstained": int(report.abstain_reason is not None),
            "failed": int(report.failed),
            "answers": int(report.answered),
            "counted": int(report.prompt_tokens is not None and report.completion_tokens is not None),
            "prompt_tokens": report.prompt_tokens or 0,
            "completion_tokens": report.completion_tokens or 0,
            "priced": int(report.cost is not None),
            "cost_millionths": round((report.cost or 0) * COST_UNIT),
        }
    )
    if report.agent:
        found[AGENT + report.agent[:LABEL_CHARACTERS]] = 1
    if failure is not None:
        found[ERROR + SEPARATOR.join((failure.component, failure.operation, failure.code, failure.stage))] = 1
    return +found


def with_few_agents(counts: Counts, named: set[str]) -> Counter[str]:
    """*counts* with agents beyond the twenty of *named* counted together; *named* takes new ones until it is full.

    >>> crowd = {f"agent:{n}" for n in range(20)}
    >>> sorted(with_few_agents({"agent:new": 2, "agent:7": 1}, crowd).items())
    [('agent:7', 1), ('agent:other', 2)]
    """
    found: Counter[str] = Counter()
    for name, count in counts.items():
        if name.startswith(AGENT) and len(named) < MAX_AGENTS:
            named.add(name)
        found[name if not name.startswith(AGENT) or name in named else AGENT + OTHER_AGENTS] += count
    return found


def summed(hours: Iterable[Counts]) -> Counter[str]:
    """The counts of all *hours* together.

    >>> summed([{"queries": 1}, {"queries": 2}])["queries"]
    3
    """
    total: Counter[str] = Counter()
    for counts in hours:
        total.update(counts)
    return total
