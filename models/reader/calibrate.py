"""Turn logits into probabilities, and find the thresholds of `reader.json` on data that nothing was trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, exp, log
from typing import Any

import numpy as np

Floats = Any  # arrays of numpy, which the project's environment does not have
CONFIDENCE = 0.95


def fit_temperature(loss: Callable[[float], float], *, low: float = 0.2, high: float = 8.0) -> float:
    """The temperature in [*low*, *high*] with the least *loss*, by the golden section of its logarithm.

    Guo et al., "On Calibration of Modern Neural Networks", 2017: one number a head keeps the order of all scores.

    >>> round(fit_temperature(lambda each: (each - 2) ** 2), 2)
    2.0
    """
    share = (5**0.5 - 1) / 2
    left, right = log(low), log(high)
    while right - left > 1e-4:
        one, other = right - share * (right - left), left + share * (right - left)
        if loss(exp(one)) < loss(exp(other)):
            right = other
        else:
            left = one
    return exp((left + right) / 2)


def loss_of_classes(logits: Floats, classes: Floats) -> Callable[[float], float]:
    """The mean cross-entropy of rows of *logits* with the right *classes*, by temperature."""

    def loss(temperature: float) -> float:
        scaled = logits / temperature
        scaled = scaled - scaled.max(axis=1, keepdims=True)
        sums = np.log(np.exp(scaled).sum(axis=1))
        return float(np.mean(sums - scaled[np.arange(len(classes)), classes]))

    return loss


def loss_of_flags(logits: Floats, flags: Floats) -> Callable[[float], float]:
    """The mean cross-entropy of *logits* of yes or no, by temperature."""
    return lambda temperature: float(np.mean(np.logaddexp(0.0, -(2.0 * flags - 1.0) * logits / temperature)))


def upper_bound(wrong: int, count: int, confidence: float = CONFIDENCE) -> float:
    """The highest share of wrong ones that *wrong* of *count* do not rule out (Clopper and Pearson, one side).

    >>> round(upper_bound(0, 149), 4)
    0.0199
    """
    if wrong >= count:
        return 1.0
    low, high = wrong / count, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if wrong < 50:
            below = sum(comb(count, k) * middle**k * (1 - middle) ** (count - k) for k in range(wrong + 1))
        else:  # the normal form is close enough from here on
            spread = (count * middle * (1 - middle)) ** 0.5
            below = 1 - _normal((count * middle - wrong - 0.5) / spread)
        low, high = (middle, high) if below > 1 - confidence else (low, middle)
    return high


def _normal(value: float) -> float:
    from math import erf

    return 0.5 * (1 + erf(value / 2**0.5))


def least_threshold(scores: Sequence[float], right: Sequence[bool], error: float) -> float | None:
    """The least threshold above which at most a share *error* is wrong at CONFIDENCE; None where there is none.

    >>> least_threshold([0.1 * (each % 9) for each in range(900)], [each % 9 > 4 for each in range(900)], 0.02)
    0.5
    """
    order = np.argsort(-np.asarray(scores), kind="stable")
    values, wrong = np.asarray(scores)[order], np.cumsum(~np.asarray(right, dtype=bool)[order])
    best = None
    for number in range(len(values)):
        if number + 1 < len(values) and values[number + 1] == values[number]:
            continue
        if wrong[number] / (number + 1) <= error and upper_bound(int(wrong[number]), number + 1) <= error:
            best = float(values[number])
    return best
