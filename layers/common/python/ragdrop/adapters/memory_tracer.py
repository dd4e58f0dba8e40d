"""A tracer in memory, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class MemoryTracer:
    """Keeps the name of every stage that ended, with the type of the error that ended it."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, str | None]] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Keep *name* when the block ends."""
        error: str | None = None
        try:
            yield
        except BaseException as exc:
            error = type(exc).__name__
            raise
        finally:
            self.ended.append((name, error))
