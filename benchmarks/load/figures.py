"""What the samples of a load come to: pure, so that budgets and tables can be read without a load."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

P95_MS, P99_MS, ERRORS, FALLBACKS = 300.0, 500.0, 0.01, 0.05  # of 20 users with a pause of 1 s, and of their spike
OK = 200
Sample = dict[str, Any]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least *share* (0 to 1) of *values* do not exceed; nan of none.

    >>> [percentile([10.0, 20.0, 30.0, 40.0], share) for share in (0.5, 0.95)]
    [20.0, 40.0]
    """
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)] if ordered else float("nan")


def figures(samples: Sequence[Sample]) -> dict[str, Any]:
    """Counts, shares and percentiles (milliseconds) of one phase.

    `gateway` is the same request without a key: the emulator, its gateway and the start of a function alone.

    >>> figures([{"kind": "search", "at_s": 0.0, "ms": 50.0, "status": 200, "latency_ms": 20.0}])["p95_ms"]
    50.0
    """
    asked = [each for each in samples if each["kind"] == "search"]
    good = [each for each in asked if each["status"] == OK]
    refused = [each["ms"] for each in samples if each["kind"] == "refused"]
    span_s = max((each["at_s"] for each in asked), default=0.0) - min((each["at_s"] for each in asked), default=0.0)
    failed = [each for each in asked if each["status"] != OK]
    return {
        "requests": len(asked),
        "a_second": len(asked) / span_s if span_s else 0.0,
        "errors": len(failed) / len(asked) if asked else 1.0,
        "codes": sorted({f"{each['status']} {each.get('code', '')}".strip() for each in failed}),
        "fallbacks": _share(good, "fallback", is_in=(True,)),
        "cached": _share(good, "served_by", is_in=("cache",)),
        **_percentiles("", [each["ms"] for each in asked]),
        **_percentiles("function_", [each["latency_ms"] for each in good if "latency_ms" in each]),
        **_percentiles("gateway_", refused),
    }


def missed(found: dict[str, Any]) -> list[str]:
    """Which lines of the budget are not met, those of the spike too.

    >>> missed({"p95_ms": 301.0, "p99_ms": 400.0, "errors": 0.0, "fallbacks": 0.0})
    ['p95 301 ms']
    """
    lines = [
        (found["p95_ms"] < P95_MS, f"p95 {found['p95_ms']:.0f} ms"),
        (found["p99_ms"] < P99_MS, f"p99 {found['p99_ms']:.0f} ms"),
        (found["errors"] < ERRORS, f"errors {found['errors']:.1%} ({', '.join(found.get('codes', []))})"),
        (found["fallbacks"] < FALLBACKS, f"fallback {found['fallbacks']:.1%}"),
    ]
    spike = [f"spike {said}" for said in missed(found["spike"])] if "spike" in found else []
    return [said for met, said in lines if not met] + spike


def growth(memory: Sequence[tuple[float, float]]) -> float:
    """Megabytes a thousand requests, by least squares over (requests so far, megabytes).

    >>> growth([(0, 100.0), (1000, 101.0), (2000, 102.0)])
    1.0
    """
    if len({at for at, _ in memory}) < 2:
        return float("nan")
    slope, _ = statistics.linear_regression([at for at, _ in memory], [mb for _, mb in memory])
    return slope * 1000


def _share(samples: Sequence[Sample], name: str, *, is_in: tuple[object, ...]) -> float:
    return sum(each.get(name) in is_in for each in samples) / len(samples) if samples else 0.0


def _percentiles(prefix: str, values: Sequence[float]) -> dict[str, float]:
    return {f"{prefix}p{share}_ms": percentile(values, share / 100) for share in (50, 95, 99)}
