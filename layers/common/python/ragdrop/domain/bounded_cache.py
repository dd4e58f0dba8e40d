"""A cache bounded by number, total weight and age of its values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class HitCounts:
    """How often a cache had the value and how often it had not; counted from the start of the environment."""

    hits: int = 0
    misses: int = 0

    @property
    def rate(self) -> float | None:
        """Hits a look-up, in [0, 1]; None before the first.

        >>> HitCounts(3, 1).rate, HitCounts().rate
        (0.75, None)
        """
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


class BoundedCache(Generic[K, V]):
    """Values by key; the one that was not used for longest goes first.  Safe to share between threads.

    Args:
        size: Most values; 0 keeps nothing.
        ttl_s: Seconds that a value is kept; None keeps it until it is pushed out.
        max_weight: Most that the weights of all values add up to, in the unit that `put` is given; None is no bound.

    >>> cache = BoundedCache[str, int](size=2)
    >>> for name in "abc":
    ...     cache.put(name, ord(name), now_s=0.0)
    >>> cache.get("a", now_s=0.0), cache.get("c", now_s=0.0)
    (None, 99)
    """

    def __init__(self, *, size: int, ttl_s: float | None = None, max_weight: int | None = None) -> None:
        self._size = size
        self._ttl_s = ttl_s
        self._max_weight = max_weight
        self._held: OrderedDict[K, tuple[float, int, V]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def get(self, key: K, *, now_s: float) -> V | None:
        """The value; None where there is none that is young enough at *now_s*."""
        with self._lock:
            held = self._held.get(key)
            if held is None:
                return None
            if self._ttl_s is not None and now_s >= held[0] + self._ttl_s:
                self._drop(key)
                return None
            self._held.move_to_end(key)
            return held[2]

    def put(self, key: K, value: V, *, now_s: float, weight: int = 0) -> None:
        """Keep *value* from *now_s* on; one that weighs more than all may is not kept."""
        with self._lock:
            self._drop(key)
            if self._size < 1 or (self._max_weight is not None and weight > self._max_weight):
                return
            self._held[key] = (now_s, weight, value)
            self._weight += weight
            while len(self._held) > self._size or (self._max_weight is not None and self._weight > self._max_weight):
                self._drop(next(iter(self._held)))

    def drop(self, key: K) -> None:
        """Forget a value; nothing happens where there is none."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: K) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self._weight -= held[1]
