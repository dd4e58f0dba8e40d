"""How far the indexing of a large document has come: one checkpoint, moved from part to part by whoever holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ragdrop.errors import DocumentTimeoutError


@dataclass(frozen=True, slots=True)
class HopLimits:
    """How many invocations a document may take, and how many in a row that finish no part of it."""

    hops: int = 500
    idle_hops: int = 3


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where the next worker goes on.

    Args:
        parts: How many parts the text has.
        part: The next one to be written, from 0; equal to *parts* when all are.
        hop: Invocations so far.
        idle_hops: Those in a row, the current one included, in which no part was finished.
        worker: Who holds it: a message and how often it was received.
        chunks: Chunks written so far, by index.
    """

    parts: int
    part: int = 0
    hop: int = 0
    idle_hops: int = 0
    worker: str = ""
    chunks: Mapping[str, int] = field(default_factory=dict)

    @property
    def position(self) -> str:
        """What a move is conditional on: it differs from that of every other worker and part.

        >>> Checkpoint(4, 2, 7, worker="m:1").position
        '2/7/m:1'
        """
        return f"{self.part}/{self.hop}/{self.worker}"

    def taken_by(self, worker: str, limits: HopLimits) -> Checkpoint:
        """The same for the next invocation.

        Raises:
            DocumentTimeoutError: There were too many.

        >>> Checkpoint(4, 2, 7, 0).taken_by("m:2", HopLimits()).idle_hops
        1
        """
        if self.hop >= limits.hops:
            message = f"it is not done after {self.hop} invocations: {self.part} of {self.parts} parts are"
            raise DocumentTimeoutError(message, limit=limits.hops)
        if self.idle_hops >= limits.idle_hops:
            message = f"part {self.part + 1} of {self.parts} was not done in {self.idle_hops} invocations"
            raise DocumentTimeoutError(message, limit=limits.idle_hops)
        return replace(self, hop=self.hop + 1, idle_hops=self.idle_hops + 1, worker=worker)

    def moved(self, written: Mapping[str, int]) -> Checkpoint:
        """One part further; *written* are its chunks by index.

        >>> Checkpoint(4, 2, chunks={"i": 5}).moved({"i": 3}).chunks
        {'i': 8}
        """
        chunks = {name: count + written.get(name, 0) for name, count in self.chunks.items()}
        return replace(self, part=self.part + 1, idle_hops=0, chunks=chunks)

    def not_counted(self) -> Checkpoint:
        """The same where not the document but a service was to blame that no part was finished."""
        return replace(self, idle_hops=max(self.idle_hops - 1, 0))
