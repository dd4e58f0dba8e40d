"""The two indexes whose growth is measured, with their processor time, memory and bytes on disk."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opensearchpy import OpenSearch

from benchmarks.generated_chunks import DIMENSION, questions, soon
from benchmarks.live_stack import cpu_s_of
from benchmarks.peers.process import pid_of
from benchmarks.pipeline import MAX_COPIES_BYTES
from bucketindex.index import BucketChunkIndex
from bucketindex.manifest import read_manifest
from localstack.opensearch import start, stop
from ragdrop.domain.tenants import IndexRef
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.resilience.retrying import Retries
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from testing.folder_object_store import FolderManifests, FolderObjectStore

MERGE_S = 900


class BucketEngine:
    """A state bucket in a folder; an index is a tenant's segments."""

    name = "bucket"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state, self._index = _opened(folder)
        self.index: ChunkIndex = self._index

    def ref(self, name: str, tenant: str) -> IndexRef:
        return IndexRef(tenant, f"bucket-growth-{name}", DIMENSION)

    def settle(self, ref: IndexRef) -> None:
        while self._index.merge(ref, soon()):
            pass

    def cpu_s(self) -> float:
        return 0.0

    def size_bytes(self, ref: IndexRef) -> int:
        present = read_manifest(FolderManifests(self._state.folder).read(ref.tenant, ref.name))
        return sum(each.size_bytes for each in present.segments)

    def memory_mb(self, ref: IndexRef) -> dict[str, float]:
        """The peak of a new process that asks 20 questions, mapped pages of the segments included."""
        command = [sys.executable, "-m", "benchmarks.growth_engines", str(self._folder), ref.tenant, ref.name]
        return {"process": float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)}  # noqa: S603


class NodeEngine:
    """An OpenSearch node on this machine."""

    name = "opensearch"

    def __init__(self, url: str) -> None:
        self.index: ChunkIndex = OpenSearchChunkIndex.from_url(url, retries=Retries())
        self._client = OpenSearch(url, timeout=MERGE_S)
        self._pid = pid_of(url) or 0

    @property
    def version(self) -> str:
        return str(self._client.info()["version"]["number"])

    def ref(self, name: str, tenant: str) -> IndexRef:
        return IndexRef(tenant, f"ragdrop-v1-growth-{name}-1", DIMENSION)

    def settle(self, ref: IndexRef) -> None:
        self._client.indices.forcemerge(index=ref.name, max_num_segments=1)
        self._client.indices.refresh(index=ref.name)

    def cpu_s(self) -> float:
        """Of the node's process; the node's own statistics of it are up to a second old."""
        return cpu_s_of(self._pid)

    def size_bytes(self, ref: IndexRef) -> int:
        reported = self._client.indices.stats(index=ref.name)["_all"]["primaries"]
        return int(reported["store"]["size_in_bytes"])

    def memory_mb(self, ref: IndexRef) -> dict[str, float]:
        """Heap in use; the index itself is in the file system's cache."""
        del ref
        memory = self._node()["jvm"]["mem"]
        return {"heap": memory["heap_used_in_bytes"] / 1e6}

    def _node(self) -> Any:
        return next(iter(self._client.nodes.stats(metric="jvm")["nodes"].values()))


Engine = BucketEngine | NodeEngine


@contextmanager
def bucket() -> Iterator[BucketEngine]:
    """A state bucket in a folder that is removed in the end."""
    with tempfile.TemporaryDirectory(prefix="ragdrop-growth-") as folder:
        yield BucketEngine(Path(folder))


@contextmanager
def opensearch() -> Iterator[NodeEngine]:
    """A separate node, with the half gigabyte of heap that the laptop's has, removed in the end."""
    with tempfile.TemporaryDirectory(prefix="ragdrop-growth-") as folder:
        Path(folder).chmod(0o755)  # the node of a root user runs as another one
        node = start(Path(folder))
        try:
            yield NodeEngine(node.url)
        finally:
            stop(node)


def _opened(folder: Path) -> tuple[FolderObjectStore, BucketChunkIndex]:
    state = FolderObjectStore(folder / "state")
    return state, BucketChunkIndex(state, FolderManifests(state.folder), folder / "copies", max_bytes=MAX_COPIES_BYTES)


def _peak_mb(folder: Path, ref: IndexRef) -> float:
    _, index = _opened(folder)
    for question in questions(20, random.Random(11)):
        index.candidates(ref, [question], soon())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024


if __name__ == "__main__":
    print(_peak_mb(Path(sys.argv[1]), IndexRef(sys.argv[2], sys.argv[3], DIMENSION)))
