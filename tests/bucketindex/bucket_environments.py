"""A state bucket with its manifests, and readers and writers that share nothing but these."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from bucketindex.index import BucketChunkIndex
from bucketindex.manifest import prefix_of, read_manifest
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.contract.chunk_index_suite import Engine, new_ref


class Bucket:
    """A state bucket with its manifests, and readers and writers that share nothing but these."""

    def __init__(self, folder: Path) -> None:
        self.state = MemoryObjectStore("state")
        self.manifests = MemoryManifests()
        self.now_s = 0.0
        self._folder = folder
        self._ref = new_ref()
        self._made = 0

    def engine(self, *, folder: Path | None = None, dimension: int | None = None, **options: Any) -> Engine:
        """An index as another execution environment has it."""
        self._made += 1
        options = {"max_bytes": 1 << 30, "clock": lambda: self.now_s, **options}
        index = BucketChunkIndex(self.state, self.manifests, folder or self._folder / str(self._made), **options)
        return Engine("bucket", index, replace(self._ref, dimension=dimension) if dimension else self._ref)

    def index(self, **options: Any) -> tuple[Engine, BucketChunkIndex]:
        """The same, with its own type."""
        engine = self.engine(**options)
        assert isinstance(engine.chunks, BucketChunkIndex)
        return engine, engine.chunks

    @property
    def segments(self) -> list[str]:
        """The objects of live segments."""
        manifest = read_manifest(self.manifests.read(self._ref.tenant, self._ref.name))
        return [f"{prefix_of(self._ref)}{each.name}.seg" for each in manifest.segments]

    @property
    def objects(self) -> dict[str, bytes]:
        """All objects, by name."""
        return {each.key: self.state.get(each.key) or b"" for each in self.state.entries("index/")}

    def damage(self, name: str, at: int) -> None:
        """Flip a byte of an object."""
        body = bytearray(self.state.get(name) or b"")
        body[at] ^= 0xFF
        self.state.put(name, bytes(body), media_type="x")
