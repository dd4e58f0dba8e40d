"""What ragdrop needs of the outside world: one Protocol each; the adapters keep them, the contract suites check them.

Every adapter lives as long as its execution environment and is safe to share between threads, unless it says otherwise.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragdrop.ports.chunk_index import ChunkIndex, LayeredIndex, MergingIndex, SearchableIndex
    from ragdrop.ports.message_queue import MessageQueue
    from ragdrop.ports.models import ChatModel, Completion, Embedder, Message, Prompt, Prompter, PromptRequest
    from ragdrop.ports.object_store import ObjectStore, StoredObject
    from ragdrop.ports.reading import Parser, RecognizedPages, RecognizedText, Scan, Splitter, TextRecognizer
    from ragdrop.ports.registry import Claim, Registry
    from ragdrop.ports.visited import VisitedCache

__all__ = [
    "ChatModel",
    "ChunkIndex",
    "Claim",
    "Completion",
    "Embedder",
    "LayeredIndex",
    "MergingIndex",
    "Message",
    "MessageQueue",
    "ObjectStore",
    "Parser",
    "Prompt",
    "PromptRequest",
    "Prompter",
    "RecognizedPages",
    "RecognizedText",
    "Registry",
    "Scan",
    "SearchableIndex",
    "Splitter",
    "StoredObject",
    "TextRecognizer",
    "VisitedCache",
]

_MODULES = ("chunk_index", "message_queue", "models", "object_store", "reading", "registry", "visited")


def __getattr__(name: str) -> object:
    """Import the module of a port when it is first asked for: a function that starts needs few of them."""
    if name in __all__:
        for module in _MODULES:
            found = getattr(import_module(f"{__name__}.{module}"), name, None)
            if found is not None:
                return found
    raise AttributeError(name)
