"""How a cost grows with a size: the exponent of a power law, by least squares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log


@dataclass(frozen=True)
class PowerLaw:
    """cost = factor x size ** exponent; exponent 0 does not grow, 1 grows as the size does."""

    factor: float
    exponent: float

    def at(self, size: float) -> float:
        """The cost at *size*.

        >>> PowerLaw(2.0, 0.5).at(9)
        6.0
        """
        return self.factor * float(size**self.exponent)


def power_law(costs: Mapping[int, float]) -> PowerLaw:
    """The straight line through log(size) and log(cost) with the least sum of squares.

    Args:
        costs: Costs above 0 by size, at least two sizes.

    >>> power_law({10: 3.0, 100: 30.0, 1000: 300.0})
    PowerLaw(factor=0.3, exponent=1.0)
    """
    points = [(log(size), log(cost)) for size, cost in costs.items()]
    middle = sum(x for x, _ in points) / len(points)
    height = sum(y for _, y in points) / len(points)
    exponent = sum((x - middle) * (y - height) for x, y in points) / sum((x - middle) ** 2 for x, _ in points)
    return PowerLaw(round(exp(height - exponent * middle), 12), round(exponent, 12))
