"""What ragdrop keeps things in where only its index or its answers are measured: all of it in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bucketindex.index import BucketChunkIndex
from testing.memory_breakers import MemoryBreakers
from testing.memory_manifests import MemoryManifests
from testing.memory_message_queue import MemoryMessageQueue
from testing.memory_object_store import MemoryObjectStore
from testing.memory_registry import MemoryRegistry
from testing.memory_telemetry import (
    MemoryReceipts,
    MemoryRequestCounts,
    MemoryStoredReplies,
    MemoryTelemetry,
    MemoryVisitedCache,
)

MAX_COPIES_BYTES = 8 << 30


def stores_in_memory(index_folder: Path) -> dict[str, Any]:
    """Ports, empty: all that AWS holds but the documents, which a benchmark puts itself."""
    return {
        "state": MemoryObjectStore("state"),
        "manifests": MemoryManifests(),
        "index_folder": index_folder,
        "registry": MemoryRegistry(),
        "receipts": MemoryReceipts(),
        "kept_replies": MemoryStoredReplies(),
        "request_counts": MemoryRequestCounts(),
        "queue": MemoryMessageQueue(),
        "visited": MemoryVisitedCache(),
        "telemetry": MemoryTelemetry(),
        "breaker_store": MemoryBreakers(),
    }


def bucket_index(folder: Path) -> BucketChunkIndex:
    """An empty bucket index without anything around it; its local copies go into *folder*."""
    return BucketChunkIndex(MemoryObjectStore("state"), MemoryManifests(), folder, max_bytes=MAX_COPIES_BYTES)
