"""The mean of several networks that began alike (Wortsman et al., "Model soups", 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def mean_of(networks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of each weight of *networks*; weights are whatever can be added and divided, such as tensors.

    Raises ValueError where one has a weight that another lacks, or in another shape.

    >>> mean_of([{"bias": 1.0}, {"bias": 4.0}])
    {'bias': 2.5}
    """
    first, *others = networks
    for number, other in enumerate(others, start=2):
        names = first.keys() ^ other.keys()
        names |= {name for name in first.keys() & other.keys() if _shape(first[name]) != _shape(other[name])}
        if names:
            raise ValueError(f"network {number} has other weights than network 1: {', '.join(sorted(names)[:3])}")
    return {name: sum((other[name] for other in others), start=value) / len(networks) for name, value in first.items()}


def _shape(weight: Any) -> object:
    return getattr(weight, "shape", None)
