"""WorkLedger in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from threading import RLock

from ragdrop.ports.work_ledger import WorkCounts, WorkRange, WorkSummary


class MemoryWorkLedger:
    """A WorkLedger for tests; `ever_finished` counts how often each item was marked as done, of forgotten plans too."""

    def __init__(self) -> None:
        self._plans: dict[tuple[str, str], WorkSummary] = {}
        self._items: dict[tuple[str, str], dict[int, WorkRange]] = {}
        self._taken: dict[tuple[str, str, int], tuple[str, float]] = {}
        self.finished: dict[tuple[str, str, int], int] = {}
        self.ever_finished: dict[tuple[str, str, int], int] = {}
        self._lock = RLock()

    def begin(self, tenant: str, index: str, now_s: float) -> None:
        with self._lock:
            self._plans.setdefault((tenant, index), WorkSummary(begun_at_s=now_s))
            self._items.setdefault((tenant, index), {})

    def summary(self, tenant: str, index: str) -> WorkSummary | None:
        return self._plans.get((tenant, index))

    def add(self, tenant: str, index: str, before: WorkSummary, items: Sequence[WorkRange], after: str | None) -> bool:
        with self._lock:
            now = self._plans[tenant, index]
            if (now.after, now.planned) != (before.after, before.planned):
                return False
            listed = now.listed + sum(each.listed for each in items)
            self._plans[tenant, index] = replace(now, planned=now.planned + len(items), listed=listed, after=after)
            self._items[tenant, index] |= {each.number: each for each in items}
            return True

    def claim(
        self, tenant: str, index: str, number: int, worker: str, *, now_s: float, until_s: float
    ) -> WorkRange | None:
        with self._lock:
            item, key = self._items.get((tenant, index), {}).get(number), (tenant, index, number)
            holder, until = self._taken.get(key, ("", 0.0))
            if item is None or key in self.finished or (until > now_s and holder != worker):
                return None
            self._taken[key] = (worker, until_s)
            return item

    def is_done(self, tenant: str, index: str, number: int) -> bool:
        with self._lock:
            return (tenant, index, number) in self.finished or number not in self._items.get((tenant, index), {})

    def finish(self, tenant: str, index: str, number: int, worker: str, counts: WorkCounts, now_s: float) -> bool:
        with self._lock:
            key = (tenant, index, number)
            if key in self.finished or self._taken.get(key, ("", 0.0))[0] != worker:
                return False
            self.finished[key] = 1
            self.ever_finished[key] = self.ever_finished.get(key, 0) + 1
            now = self._plans[tenant, index]
            total = {name: value + getattr(now.counts, name) for name, value in asdict(counts).items()}
            self._plans[tenant, index] = replace(now, done=now.done + 1, counts=WorkCounts(**total), ended_at_s=now_s)
            return True

    def left(self, tenant: str, index: str) -> Iterator[int]:
        with self._lock:
            open_ones = [n for n in self._items.get((tenant, index), {}) if (tenant, index, n) not in self.finished]
        yield from sorted(open_ones)

    def forget(self, tenant: str, index: str) -> None:
        with self._lock:
            self._plans.pop((tenant, index), None)
            self._items.pop((tenant, index), None)
            self.finished = {key: count for key, count in self.finished.items() if key[:2] != (tenant, index)}
