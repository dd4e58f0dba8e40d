"""Where the processor time of a question goes: a profile of search over OpenSearch, in process.

    python -m benchmarks.search_profile [--write]

As in benchmarks/peers_speed.py, configuration `search`, over 2,000 chunks.  A profiler slows calls of Python down more
than others, so only the shares are of use.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.embedding_server import MODEL
from benchmarks.local_embeddings import DIMENSION
from benchmarks.peers.embeddings import embedding_server
from benchmarks.peers.generated import documents, questions
from benchmarks.peers.node import shared_node
from benchmarks.peers.ragdrop_peer import Ragdrop
from benchmarks.peers.serving import ServedDocument
from benchmarks.search_profile_table import profile_table
from ragdrop import __version__

CHUNKS, QUESTIONS, LIMIT, DEAREST = 2_000, 100, 10, 20


def measure(node: str, embeddings: str) -> dict[str, Any]:
    """Milliseconds of processor time a question, and the functions that take most of it themselves."""
    peer = Ragdrop()
    peer.open(ServedDocument(embeddings, MODEL, DIMENSION, node, "unused", "search"))
    peer.add(list(documents(CHUNKS)))
    asked = questions(2 * QUESTIONS)
    for question in asked[:QUESTIONS]:
        peer.search(question, LIMIT)
    before = time.process_time()
    for question in asked[QUESTIONS:]:
        peer.search(question, LIMIT)
    cpu_ms = (time.process_time() - before) * 1_000 / QUESTIONS
    profile = cProfile.Profile(time.process_time)
    with profile:
        for question in asked[QUESTIONS:]:
            peer.search(question, LIMIT)
    peer.close()
    held = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # not in its stubs, and without it there is only text
    whole = sum(own for _, _, own, _, _ in held.values())
    dearest = sorted(held.items(), key=lambda each: -each[1][2])[:DEAREST]
    rows = [
        {"what": named(*place), "calls": calls / QUESTIONS, "own": own / whole, "with_calls": below / whole}
        for place, (_, calls, own, below, _) in dearest
    ]
    return {"chunks": CHUNKS, "cpu_ms": cpu_ms, "dearest": rows}


def named(path: str, line: int, function: str) -> str:
    """A function by its module, without the folders of this machine.

    >>> named("/x/lib/python3.11/site-packages/a/b.py", 3, "f"), named("~", 0, "<method 'recv' of 'socket'>")
    ('a/b.py f', "<method 'recv' of 'socket'>")
    """
    parts = Path(path).parts
    for root in ("site-packages", "python", "python3.11", "python3.12", "python3.13"):
        if root in parts:
            return f"{'/'.join(parts[len(parts) - parts[::-1].index(root) :])} {function}"
    return function if line == 0 else f"{Path(path).name} {function}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the record")
    options = parser.parse_args()
    with shared_node() as node, embedding_server(generated=True) as embeddings:
        results = measure(node, embeddings)
    written = records.keep if options.write else records.made
    print(profile_table(written("search_profile", results, {"ragdrop": __version__})))
    return 0


if __name__ == "__main__":
    sys.exit(main())
