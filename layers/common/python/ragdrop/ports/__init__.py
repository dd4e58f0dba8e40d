"""What ragdrop needs of the outside world: one Protocol each; the adapters keep them, the contract suites check them.

Every adapter lives as long as its execution environment and is safe to share between threads, unless it says otherwise.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragdrop.ports.indexes import ChunkIndex, LayeredIndex, MergingIndex, SearchableIndex
    from ragdrop.ports.message_queue import MessageQueue
    from ragdrop.ports.model_services import ChatModel, Completion, Embedder, Message, Prompt, Prompter, PromptRequest
    from ragdrop.ports.object_store import ObjectStore, StoredObject
    from ragdrop.ports.reading import Parser, Splitter, TextRecognizer
    from ragdrop.ports.registry import Claim, Registry
    from ragdrop.ports.shared_state import VisitedCache

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
    "Registry",
    "SearchableIndex",
    "Splitter",
    "StoredObject",
    "TextRecognizer",
    "VisitedCache",
]

_NAMES = {
    "indexes": ("ChunkIndex", "LayeredIndex", "MergingIndex", "SearchableIndex"),
    "message_queue": ("MessageQueue",),
    "model_services": ("ChatModel", "Completion", "Embedder", "Message", "Prompt", "PromptRequest", "Prompter"),
    "object_store": ("ObjectStore", "StoredObject"),
    "reading": ("Parser", "Splitter", "TextRecognizer"),
    "registry": ("Claim", "Registry"),
    "shared_state": ("VisitedCache",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import the module of a port when it is first asked for: a function that starts needs few of them."""
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
