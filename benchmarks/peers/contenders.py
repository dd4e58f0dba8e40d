"""Which configuration of which framework takes part in the comparisons, and how it is opened."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from benchmarks.embedding_server import MODEL
from benchmarks.local_embeddings import DIMENSION
from benchmarks.peers.process import PeerProcess

NAMES = {"langchain": "LangChain", "llama_index": "LlamaIndex", "haystack": "Haystack", "txtai": "txtai"}
CONFIGURATIONS: dict[str, tuple[str, ...]] = {
    "langchain": ("hybrid", "hybrid-60", "vector"),
    "llama_index": ("hybrid", "hybrid-60", "vector"),
    "haystack": ("hybrid", "hybrid-dbsf", "vector"),
    "txtai": ("hybrid", "hybrid-150", "vector"),
}
"""The first is the framework's recommended one, with the values of its documentation; the others are for fairness."""


def title(name: str, configuration: str) -> str:
    """What a contender is called in a table.

    >>> title("llama_index", "hybrid")
    'LlamaIndex, hybrid'
    """
    return f"{NAMES[name]}, {configuration}"


@contextmanager
def opened(
    name: str, configuration: str, *, opensearch_url: str, embedding_url: str, label: str, **more: Any
) -> Iterator[tuple[PeerProcess, Mapping[str, Any]]]:
    """A framework, set up, and what it told of itself; its index, which *label* tells apart, goes in the end."""
    index = "peer-" + hashlib.sha256(f"{name} {configuration} {label}".encode()).hexdigest()[:12]
    with PeerProcess(name) as peer:
        told = peer.open(
            embedding_url=embedding_url,
            embedding_model=MODEL,
            dimension=DIMENSION,
            opensearch_url=opensearch_url,
            index=index,
            configuration=configuration,
            **more,
        )
        yield peer, told
        peer.ask("close")
