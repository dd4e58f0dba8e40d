"""Where the processor time of a question goes: a profile of search over OpenSearch, in process.

    python -m benchmarks.search_profile [--write]

As in benchmarks/peers_speed.py, configuration `search`, over 2,000 chunks.  A profiler slows calls of Python down more
than others, so only the shares are of use.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.embeddings import DIMENSION, MODEL, documents, embedding_server, questions
from benchmarks.peers.process import shared_node
from benchmarks.peers.ragdrop import Ragdrop
from benchmarks.peers.serving import PeerPlace
from benchmarks.records import BenchmarkRecord
from ragdrop import __version__

CHUNKS, QUESTIONS, LIMIT, DEAREST = 2_000, 100, 10, 20


def profile_table(record: BenchmarkRecord) -> str:
    """The functions that take most processor time themselves, as shares of the whole.

    >>> row = {"what": "f", "calls": 2.0, "own": 0.25, "with_calls": 0.5}
    >>> machine = {"cores": 2, "memory_gb": 24, "processor": "X"}
    >>> held = {"chunks": 2000, "cpu_ms": 8.0, "dearest": [row]}
    >>> print(profile_table(BenchmarkRecord("search_profile", "", "", machine, {}, held)).splitlines()[-1])
    | `f` | 2.0 | 25 % | 50 % |
    """
    results = record.results
    lines = [
        f"A question over {results['chunks']:,} chunks takes {results['cpu_ms']:.1f} ms of processor time.",
        "",
        "| function | calls a question | itself | with what it calls |",
        "|---|---|---|---|",
    ]
    for each in results["dearest"]:
        what = each["what"].replace("|", "\\|")
        lines.append(
            f"| `{what}` | {each['calls']:.1f} | {each['own']:.0%} | {each['with_calls']:.0%} |".replace("%", " %")
        )
    return "\n".join(lines)


def measure(node: str, embeddings: str) -> dict[str, Any]:
    """Milliseconds of processor time a question, and the functions that take most of it themselves."""
    peer = Ragdrop()
    peer.open(PeerPlace(embeddings, MODEL, DIMENSION, node, "unused", "search"))
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
    options = records.parser(__doc__).parse_args()
    with shared_node() as node, embedding_server(generated=True) as embeddings:
        results = measure(node, embeddings)
    written = records.keep if options.write else records.made
    print(profile_table(written("search_profile", results, {"ragdrop": __version__})))
    return 0


if __name__ == "__main__":
    sys.exit(main())
