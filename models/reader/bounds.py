"""How wrong what was counted may be."""

from __future__ import annotations

from math import exp, lgamma, log


def upper_bound(wrong: int, count: int, confidence: float = 0.95) -> float:
    """The highest share of wrong ones that *wrong* of *count* do not rule out (Clopper and Pearson, one side).

    >>> round(upper_bound(0, 149), 4), upper_bound(0, 0), upper_bound(3, 3)
    (0.0199, 1.0, 1.0)
    """
    if wrong >= count:
        return 1.0
    ways = [lgamma(count + 1) - lgamma(k + 1) - lgamma(count - k + 1) for k in range(wrong + 1)]
    low, high = wrong / count, 1.0
    while high - low > 1e-6:
        share = (low + high) / 2
        seen = sum(exp(way + k * log(share) + (count - k) * log(1 - share)) for k, way in enumerate(ways))
        low, high = (share, high) if seen > 1 - confidence else (low, share)
    return high
