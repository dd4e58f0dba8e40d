"""A cache bounded by number, total weight and age of its values."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class HitCounts:
    """Hits and misses of a cache since the start of the environment."""

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
    """Values by key; the least recently used goes first.  Safe to share between threads.

    Args:
        size: Most values; 0 caches nothing.
        ttl_s: Seconds that a value is valid; None is for ever.
        max_weight: Most that the weights of all values add up to, in the unit that `put` is given; None is no bound.

    >>> cache = BoundedCache[str, int](size=2)
    >>> for name in "abc":
    ...     cache.put(name, ord(name), now_s=0.0)
    >>> cache.get("a", now_s=0.0), cache.get("c", now_s=0.0), cache.many("abc", now_s=0.0)
    (None, 99, {'b': 98, 'c': 99})
    """

    def __init__(self, *, size: int, ttl_s: float | None = None, max_weight: int | None = None) -> None:
        self._size = size
        self._ttl_s = ttl_s
        self._max_weight = max_weight
        self._entries: OrderedDict[K, tuple[float, int, V]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def get(self, key: K, *, now_s: float) -> V | None:
        """The value; None if there is none that is young enough at *now_s*."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if self._ttl_s is not None and now_s >= entry[0] + self._ttl_s:
                self._drop(key)
                return None
            self._entries.move_to_end(key)
            return entry[2]

    def many(self, keys: Iterable[K], *, now_s: float) -> dict[K, V]:
        """The values of those of *keys* that `get` would give, by one lock."""
        found: dict[K, V] = {}
        with self._lock:
            for key in keys:
                entry = self._entries.get(key)
                if entry is not None and (self._ttl_s is None or now_s < entry[0] + self._ttl_s):
                    self._entries.move_to_end(key)
                    found[key] = entry[2]
        return found

    def put(self, key: K, value: V, *, now_s: float, weight: int = 0) -> None:
        """Cache *value* from *now_s* on, unless it weighs more than `max_weight`."""
        with self._lock:
            self._drop(key)
            if self._size < 1 or (self._max_weight is not None and weight > self._max_weight):
                return
            self._entries[key] = (now_s, weight, value)
            self._weight += weight
            while len(self._entries) > self._size or (self._max_weight is not None and self._weight > self._max_weight):
                self._drop(next(iter(self._entries)))

    def drop(self, key: K) -> None:
        """Drop a value, if there is one."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: K) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._weight -= entry[1]
