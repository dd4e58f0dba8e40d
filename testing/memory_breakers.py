"""Shared breakers in memory, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock

from ragdrop.errors import RagdropError
from ragdrop.ports.shared_state import Breaker, Counted, WindowCounts


class MemoryBreakers:
    """A BreakerStore for tests: `fail_with` is raised by every call while it is set; `calls` names the calls.

    Calls that `late` names are carried out before that: their answer is lost.
    """

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.late: frozenset[str] = frozenset()
        self.calls: list[str] = []
        self._stored: dict[str, Breaker] = {}
        self._lock = Lock()

    def add(self, counts: WindowCounts, *, oldest: int) -> dict[str, Breaker]:
        with self._call("add"):
            for dependency, added in counts.items():
                stored = self._of(dependency)
                both = {
                    bucket: stored.counts.get(bucket, Counted()) + added.get(bucket, Counted())
                    for bucket in {*stored.counts, *added}
                }
                self._stored[dependency] = replace(
                    stored, counts={at: each for at, each in both.items() if at >= oldest}
                )
            return dict(self._stored)

    def open(self, dependency: str, at_s: float, *, reopens_before_s: float) -> Breaker:
        with self._call("open"):
            stored = self._of(dependency)
            if stored.opened_at_s is None or stored.opened_at_s < reopens_before_s:
                self._stored[dependency] = replace(stored, opened_at_s=at_s, trial="", trial_until_s=0.0)
            return self._stored[dependency]

    def claim(self, dependency: str, opened_at_s: float, trial: str, *, now_s: float, until_s: float) -> bool:
        with self._call("claim"):
            stored = self._of(dependency)
            if stored.opened_at_s != opened_at_s or stored.trial_until_s > now_s:
                return False
            self._stored[dependency] = replace(stored, trial=trial, trial_until_s=until_s)
            return True

    def settle(self, dependency: str, trial: str, *, closed: bool, at_s: float) -> bool:
        with self._call("settle"):
            stored = self._of(dependency)
            if stored.trial != trial:
                return False
            self._stored[dependency] = Breaker({}, closed_at_s=at_s) if closed else Breaker({}, opened_at_s=at_s)
            return True

    def _of(self, dependency: str) -> Breaker:
        return self._stored.get(dependency, Breaker())

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        with self._lock:
            self.calls.append(name)
            if self.fail_with and name not in self.late:
                raise self.fail_with
            yield
            if self.fail_with:
                raise self.fail_with
