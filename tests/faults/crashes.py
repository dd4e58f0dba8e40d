"""Ports that fail on purpose: the world ends at the n-th call, before it or after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Crash(BaseException):
    """The process is gone: nothing catches this, nothing cleans up."""


class Countdown:
    """Counts calls of all ports down; at zero the process crashes, before the call or right after it."""

    def __init__(self) -> None:
        self._left: int | None = None
        self._after = False

    def arm(self, calls: int, *, after: bool) -> None:
        """Crash at the *calls*-th call from now, counted from 0."""
        self._left, self._after = calls, after

    def disarm(self) -> None:
        """No crash any more."""
        self._left = None

    def run(self, call: Callable[[], Any]) -> Any:
        """Make one call of a port."""
        due = self._left == 0
        if self._left is not None:
            self._left -= 1
        if due and not self._after:
            self.disarm()
            raise Crash
        result = call()
        if due:
            self.disarm()
            raise Crash
        return result


class Fragile:
    """A port behind a countdown."""

    def __init__(self, port: Any, countdown: Countdown) -> None:
        self._port = port
        self._countdown = countdown

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found
        return lambda *args, **named: self._countdown.run(lambda: found(*args, **named))
