"""What ragdrop keeps things in where only its index is measured: all of it in memory."""

from __future__ import annotations

from typing import Any

from ragdrop.adapters.memory_breakers import MemoryBreakers
from ragdrop.adapters.memory_kept_replies import MemoryKeptReplies
from ragdrop.adapters.memory_message_queue import MemoryMessageQueue
from ragdrop.adapters.memory_object_store import MemoryObjectStore
from ragdrop.adapters.memory_receipts import MemoryReceipts
from ragdrop.adapters.memory_registry import MemoryRegistry
from ragdrop.adapters.memory_request_counts import MemoryRequestCounts
from ragdrop.adapters.memory_telemetry import MemoryTelemetry
from ragdrop.adapters.memory_visited import MemoryVisitedCache


def stores_in_memory() -> dict[str, Any]:
    """Parts of an App, empty: all that AWS holds but the documents, which a benchmark puts itself."""
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
