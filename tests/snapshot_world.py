"""A world whose index can be cut off, and which writes snapshots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import CircuitOpenError, DatabaseError
from ragdrop.operate.snapshot_content import ReadContent
from ragdrop.operate.write_snapshot import WriteSnapshot, WrittenSnapshot
from ragdrop.ports.snapshots import Bounds
from testing.memory_chunk_index import MemoryChunkIndex
from tests.world import World


class DeadIndex(MemoryChunkIndex):
    """An index whose searches and reads fail once it is told so."""

    error: DatabaseError | CircuitOpenError | None = None

    def candidates(self, *args: Any, **named: Any) -> Any:
        if self.error:
            raise self.error
        return super().candidates(*args, **named)

    def read(self, *args: Any, **named: Any) -> Any:
        if self.error:
            raise self.error
        return super().read(*args, **named)


class Snapshots(World):
    """A world whose index can be cut off."""

    def __init__(self, folder: Path, **parts: Any) -> None:
        self.cut_off = DeadIndex()
        super().__init__(index=self.cut_off, snapshot_folder=folder / "held", **parts)

    def write(self, *, anew: bool = False, left_s: float = 600.0) -> WrittenSnapshot:
        return self.app.operate.write_snapshot(self.tenant, Deadline.after(left_s), anew=anew)

    def cut(self) -> None:
        self.cut_off.error = DatabaseError("the index did not answer", service="index")

    def paths(self, text: str, **fields: Any) -> list[str]:
        return [document.key.path for document in self.search(text, **fields).documents]

    def bounded(self, **bounds: int) -> WriteSnapshot:
        """The writer with other bounds."""
        return WriteSnapshot(
            registry=self.registry,
            content=ReadContent(registry=self.registry, revisions=self.app.ports.revisions),
            snapshots=self.app.ports.snapshots,
            clock=lambda: self.now_s,
            bounds=replace(Bounds(), **bounds),
        )
