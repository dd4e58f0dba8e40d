"""Which configuration of which framework takes part in the comparisons, and how it is opened."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.embedding_server import MODEL
from benchmarks.local_embeddings import DIMENSION
from benchmarks.peers.process import PeerProcess

NAMES = {"langchain": "LangChain", "llama_index": "LlamaIndex", "haystack": "Haystack", "txtai": "txtai"}
CONFIGURATIONS: dict[str, tuple[str, ...]] = {
    "langchain": ("hybrid", "hybrid-60", "vector"),
    "llama_index": ("hybrid", "hybrid-60", "vector"),
    "haystack": ("hybrid", "hybrid-dbsf", "vector"),
    "txtai": ("hybrid", "vector"),
}
"""The first is the framework's recommended one, with the values of its documentation; the others are for fairness."""


def title(name: str, configuration: str) -> str:
    """What a contender is called in a table.

    >>> title("llama_index", "hybrid")
    'LlamaIndex, hybrid'
    """
    return f"{NAMES[name]}, {configuration}"


@dataclass(frozen=True, slots=True)
class Contender:
    """A framework that runs, and how it was set up."""

    peer: PeerProcess
    place: Mapping[str, Any]

    def switch(self, configuration: str) -> dict[str, Any]:
        """What it tells of itself in another configuration."""
        return self.peer.open(**self.place, configuration=configuration)


@contextmanager
def running(
    name: str, *, opensearch_url: str, embedding_url: str, label: str, command: list[str] | None = None, **more: Any
) -> Iterator[Contender]:
    """A framework that `switch` sets up; its index, which *label* tells apart, goes in the end."""
    index = "peer-" + hashlib.sha256(f"{name} {label}".encode()).hexdigest()[:12]
    place = {"embedding_url": embedding_url, "embedding_model": MODEL, "dimension": DIMENSION}
    with PeerProcess(name, command=command) as peer:
        yield Contender(peer, place | {"opensearch_url": opensearch_url, "index": index} | more)
        peer.ask("close")
