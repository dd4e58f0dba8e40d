"""Tracer: where the stages of a request can be seen one below the other."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class Tracer(Protocol):
    """Tells of stages to whoever collects traces; never fails a request."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """A span of the request's trace for as long as the block runs; one that ends by an error says its type."""
        ...
