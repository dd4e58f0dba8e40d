"""What ragdrop keeps things in where only its index is measured: all of it in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testing.memory_breakers import MemoryBreakers
from testing.memory_message_queue import MemoryMessageQueue
from testing.memory_object_store import MemoryObjectStore
from testing.memory_registry import MemoryRegistry
from testing.memory_telemetry import (
    MemoryKeptReplies,
    MemoryReceipts,
    MemoryRequestCounts,
    MemoryTelemetry,
    MemoryVisitedCache,
)

if TYPE_CHECKING:
    from ragdrop.bootstrap.given import GivenPorts


def stores_in_memory() -> GivenPorts:
    """Ports, empty: all that AWS holds but the documents, which a benchmark puts itself."""
    return {
        "state": MemoryObjectStore("state"),
        "registry": MemoryRegistry(),
        "receipts": MemoryReceipts(),
        "kept_replies": MemoryKeptReplies(),
        "request_counts": MemoryRequestCounts(),
        "queue": MemoryMessageQueue(),
        "visited": MemoryVisitedCache(),
        "telemetry": MemoryTelemetry(),
        "breaker_store": MemoryBreakers(),
    }
