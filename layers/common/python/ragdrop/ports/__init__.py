"""What ragdrop needs of the outside world: one Protocol each; the adapters keep them, the contract suites check them.

Every adapter lives as long as its execution environment and is safe to share between threads, unless it says otherwise.
"""

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
