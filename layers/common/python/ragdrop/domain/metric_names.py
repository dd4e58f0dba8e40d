"""The metrics that ragdrop emits, and their units: what dashboards and alarms of template.yaml are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ragdrop.domain.query_reports import QueryReport

NAMESPACE = "ragdrop"
Unit = Literal["Count", "Milliseconds", "None"]

UNITS: dict[str, Unit] = {
    "Requests": "Count",
    "RequestLatency": "Milliseconds",
    "Errors": "Count",
    "Fallbacks": "Count",
    "Abstentions": "Count",
    "CacheHits": "Count",
    "Tokens": "Count",
    "Cost": "None",  # in the currency of the price table
    "DependencyErrors": "Count",
    "Throttles": "Count",
    "BreakersOpened": "Count",
    "IndexLosses": "Count",  # searches and sweeps that met an index without the documents that the registry knows
    "IndexedDocuments": "Count",
    "FailedDocuments": "Count",
}
"""Every metric by its name.  `DependencyErrors`, `Throttles` and `BreakersOpened` are of one dependency."""


def metrics_of(report: QueryReport) -> Mapping[str, float]:
    """What a query adds to the metrics.  Zeros are told too: a rate needs its quiet times.

    >>> metrics_of(QueryReport("search", "acme", 12.0))["Errors"]
    0.0
    """
    found = {
        "Requests": 1.0,
        "RequestLatency": report.latency_ms,
        "Errors": float(report.failed),
        "Fallbacks": float(report.fallback),
        "Abstentions": float(report.abstain_reason is not None),
        "CacheHits": float(report.cached),
    }
    tokens = (report.prompt_tokens or 0) + (report.completion_tokens or 0)
    if tokens:
        found["Tokens"] = float(tokens)
    if report.cost is not None:
        found["Cost"] = report.cost
    return found
