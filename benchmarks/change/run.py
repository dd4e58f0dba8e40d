"""Correctness under change: a folder lives through a script, and whoever answers from it is asked after each step.

    python -m benchmarks.change [--write] [--quick]

ragdrop is told by events, some of them twice, late and out of order; its use cases and the bucket index are real, S3,
DynamoDB and SQS in memory.  Each framework gets the whole folder after each step and brings its index up to date the
way its documentation recommends.  Asked is for words that only one paragraph ever held.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from platform import python_version
from typing import Any, Protocol

from benchmarks import records
from benchmarks.change.counts import Counts, GivenText, counted, questions
from benchmarks.change.of_peers import CONFIGURATIONS, peer_life
from benchmarks.change.of_ragdrop import GeneratedEmbedder, RagdropLife
from benchmarks.change.script import FILES, SEED, Step, steps
from benchmarks.change.table import change_table
from benchmarks.peers.contenders import title
from benchmarks.peers.embeddings import embedding_server
from benchmarks.peers.node import shared_node
from benchmarks.quality_pipeline import SETTINGS, TENANT
from benchmarks.stores_in_memory import stores_in_memory
from ragdrop.bootstrap import Ports, compose
from ragdrop.config import Settings
from ragdrop.models.splitter import SemanticSplitter
from testing.memory_object_store import MemoryObjectStore

NAME = "change"
QUICK_FILES = 10
OURS = "ragdrop"


class Life(Protocol):
    """Whoever answers from a folder that changes."""

    def sync(self, step: Step) -> None:
        """Take the step in."""

    def answers(self, words: Sequence[str]) -> list[list[GivenText]]:
        """What is given for each word."""

    def whole(self, files: Mapping[str, str]) -> list[GivenText]:
        """Everything that is given where everything is wanted."""


@contextmanager
def ragdrop() -> Iterator[RagdropLife]:
    """An empty tenant over the bucket index."""
    with tempfile.TemporaryDirectory(prefix="ragdrop-change-") as folder:
        documents = MemoryObjectStore("documents")
        ports = (
            Ports.from_settings(Settings.from_environment(SETTINGS))
            .replace(**stores_in_memory(Path(folder)))
            .replace(
                documents=documents,
                embedder=GeneratedEmbedder(),
                splitter=SemanticSplitter(lambda: None),
            )
        )
        app = compose(ports)
        app.operate.operator.create_tenant(TENANT)
        yield RagdropLife(app, documents, SEED)


def lived(life: Life, script: Sequence[Step]) -> list[Counts]:
    """What was wrong after each step."""
    found = []
    for at, step in enumerate(script):
        life.sync(step)
        answers = life.answers(questions(script, at, SEED))
        found.append(counted(step.files, answers, life.whole(step.files)))
    return found


def main() -> int:
    """Run the script, print, write where asked to; 1 where ragdrop is not at zero."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.change", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the counts")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_FILES} files instead of {FILES}")
    parser.add_argument("--ours", dest="peers", action="store_false", help="leave the frameworks out")
    options = parser.parse_args()
    script = steps(QUICK_FILES if options.quick else FILES)
    systems: dict[str, Any] = {}
    with ragdrop() as life:
        systems[OURS] = _system(lived(life, script), "events: each key converges to what the bucket holds")
    versions: dict[str, str] = {}
    if options.peers:
        versions = _peers(script, systems)
    found = {"systems": systems, "steps": [step.name for step in script], "files": len(script[0].files)}
    if options.write:
        records.keep(NAME, found, {"python": python_version(), **versions}, quick=options.quick)
    print(change_table(found))
    return int(any(any(cell.values()) for cell in systems[OURS]["counts"]))


def _peers(script: Sequence[Step], systems: dict[str, Any]) -> dict[str, str]:
    """Add the frameworks, one after another, over one OpenSearch node and one embedding server; their versions."""
    versions: dict[str, str] = {}
    with shared_node() as opensearch_url, embedding_server(generated=True) as embedding_url:
        for name, configuration in CONFIGURATIONS:
            place = {"opensearch_url": opensearch_url, "embedding_url": embedding_url}
            with peer_life(name, configuration, **place) as (life, opened):
                systems[title(name, configuration)] = _system(lived(life, script), opened["settings"])
                versions |= opened["versions"]
    return versions


def _system(counts: Sequence[Counts], settings: str) -> dict[str, Any]:
    cells = [{"stale": each.stale, "double": each.double, "missing": each.missing} for each in counts]
    return {"counts": cells, "settings": settings}


if __name__ == "__main__":
    sys.exit(main())
