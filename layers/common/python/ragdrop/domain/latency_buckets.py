"""Fixed latency buckets: counts of them add up over hours and environments, and percentiles are read from the sums."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

# ISO 3's R10 series: ten steps a decade of at most 28 %, so a percentile is off by less than that.
_STEPS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
BOUNDS_MS: tuple[float, ...] = (*(step * 10**power for power in range(5) for step in _STEPS), 100_000.0)
"""Upper bounds of the buckets in milliseconds, 1 to 100,000; one more bucket holds what took longer."""


def bucket_of(latency_ms: float) -> int:
    """The number of the bucket that holds *latency_ms*, from 0.

    >>> bucket_of(0.2), bucket_of(1.0), bucket_of(1.1), bucket_of(1e9) == len(BOUNDS_MS)
    (0, 0, 1, True)
    """
    return bisect_left(BOUNDS_MS, latency_ms)


def percentile_ms(counts: Mapping[int, int], share: float) -> float | None:
    """The latency that *share* of what was counted did not exceed, in milliseconds; None where nothing was counted.

    Within its bucket latencies count as spread evenly; the last bucket, which has no end, is taken for its lower bound.

    Args:
        counts: How many there were, by bucket.
        share: In (0, 1], such as 0.95.

    References:
        The interpolation of `histogram_quantile`, Prometheus documentation, "Histograms and summaries".

    >>> percentile_ms({bucket_of(100): 10}, 0.5)
    90.0
    >>> percentile_ms({}, 0.5) is None
    True
    """
    total = sum(counts.values())
    if total == 0:
        return None
    wanted, before = share * total, 0
    for bucket in sorted(counts):
        if before + counts[bucket] >= wanted:
            low = BOUNDS_MS[bucket - 1] if bucket else 0.0
            high = BOUNDS_MS[bucket] if bucket < len(BOUNDS_MS) else low
            return round(low + (high - low) * (wanted - before) / counts[bucket], 3)
        before += counts[bucket]
    return BOUNDS_MS[-1]
