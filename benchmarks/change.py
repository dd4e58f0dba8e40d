"""Correctness under change: a folder lives through a script, and whoever answers from it is asked after each step.

    python -m benchmarks.change [--write] [--quick]

ragdrop gets events, some of them twice, late and out of order; its use cases and the bucket index are real, S3,
DynamoDB and SQS in memory.  Each framework gets the whole folder after each step and updates its index the way its
documentation recommends.  The questions are words that only one paragraph ever had.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from platform import python_version
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import records
from benchmarks.change_script import FILES, LIMIT, SEED, Counts, GivenText, Step, counted, markers, questions, steps
from benchmarks.embeddings import GeneratedModel, MadeEmbedder, embedding_server
from benchmarks.peers.process import PeerProcess, running, shared_node, title
from benchmarks.pipeline import SETTINGS, TENANT, delivery, soon, stores_in_memory
from ragdrop.app import App, Ports, compose
from ragdrop.config import Settings
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import FoundDocument, Query
from ragdrop.domain.tenants import Caller
from ragdrop.models.splitter import SemanticSplitter
from ragdrop.ports.message_queue import Change
from testing.memory_object_store import MemoryObjectStore

VAULT = "changing"
DOUBLED = 0.2  # share of the events that come twice; SQS promises only at least once
LATE = 5  # events of earlier steps that come once more in each step
BATCH = 5  # messages of one invocation, as in the template
CONFIGURATIONS = (
    ("langchain", "hybrid"),
    ("llama_index", "hybrid"),
    ("haystack", "hybrid"),
    ("haystack", "hybrid-cleaned"),
    ("txtai", "hybrid"),
)
EVERYTHING = 2_000  # more chunks than the script ever makes
ANY_QUESTION = "pump valve gasket"
NAME = "change"
QUICK_FILES = 10
OURS = "ragdrop"


class RagdropLife:
    """One tenant whose bucket changes; *documents* is the bucket of *app*."""

    def __init__(self, app: App, documents: MemoryObjectStore, seed: int) -> None:
        self._app, self._documents = app, documents
        self._caller = Caller(TENANT, "admin")
        self._chance = random.Random(seed)
        self._sent: list[Change] = []

    def sync(self, step: Step) -> None:
        """Change the bucket, then let the events arrive as unkindly as S3 and SQS may bring them."""
        happened: list[Change] = []
        for path, text in step.changes:
            key = DocumentKey(TENANT, VAULT, path).s3_key
            if text is None:
                self._documents.delete(key)
            else:
                self._documents.put(key, text.encode(), media_type="text/plain", metadata={})
            happened.append(Change(key, f"{len(self._sent) + len(happened):018X}"))
        twice = [change for change in happened if self._chance.random() < DOUBLED]
        late = self._chance.sample(self._sent, min(LATE, len(self._sent)))
        self._sent += happened
        arriving = [*happened, *twice, *late]
        self._chance.shuffle(arriving)
        for at in range(0, len(arriving), BATCH):
            messages = [delivery(change) for change in arriving[at : at + BATCH]]
            if self._app.ingest.reconcile(messages, soon()):
                sys.exit(f"ragdrop: a message failed at {step.name!r}")

    def answers(self, words: Sequence[str]) -> list[list[GivenText]]:
        return [
            [
                GivenText(document.key.path, chunk.hit.chunk.text)
                for document in self._search(word)
                for chunk in document.chunks
            ]
            for word in words
        ]

    def whole(self, files: Mapping[str, str]) -> list[GivenText]:
        """The whole texts of the documents that search gives for the first word of each file."""
        asked = [markers(text)[0] for text in files.values()]
        return [GivenText(document.key.path, document.text) for word in asked for document in self._search(word)]

    def _search(self, word: str) -> tuple[FoundDocument, ...]:
        query = Query(word, limit=LIMIT, min_relevance=0.0, vaults=(VAULT,))
        return tuple(self._app.query.uncached_search(query, self._caller, soon()).documents)


class PeerLife:
    """One framework and the folder that it follows."""

    def __init__(self, peer: PeerProcess, folder: Path) -> None:
        self._peer, self._folder = peer, folder

    def sync(self, step: Step) -> None:
        """Write the folder as it is now and let the framework follow."""
        shutil.rmtree(self._folder, ignore_errors=True)
        for path, text in step.files.items():
            place = self._folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        self._peer.ask("sync", folder=str(self._folder))

    def answers(self, words: Sequence[str]) -> list[list[GivenText]]:
        return self._hits(words, LIMIT)

    def whole(self, files: Mapping[str, str]) -> list[GivenText]:
        """Every chunk that the framework gives when it may give so many."""
        return self._hits([ANY_QUESTION], EVERYTHING)[0]

    def _hits(self, queries: Sequence[str], limit: int) -> list[list[GivenText]]:
        reported = self._peer.ask("hits", queries=list(queries), limit=limit)["hits"]
        return [[GivenText(each["id"], each["text"]) for each in hits] for hits in reported]


@contextmanager
def peer_life(
    name: str, configuration: str, *, opensearch_url: str, embedding_url: str
) -> Iterator[tuple[PeerLife, Mapping[str, Any]]]:
    """A framework over an empty index, and what it reported of itself: versions, and how it keeps up to date."""
    with TemporaryDirectory(prefix="ragdrop-change-") as folder:
        place: dict[str, Any] = {"opensearch_url": opensearch_url, "embedding_url": embedding_url, "folder": folder}
        with running(name, label=f"change {configuration}", **place) as contender:
            yield PeerLife(contender.peer, Path(folder) / "files"), contender.switch(configuration)


def change_table(found: Mapping[str, Any]) -> str:
    """A line a system, then a line a step with what went wrong there."""
    systems = found["systems"]
    lines = ["| after all steps | stale hits | duplicates | missing | how it is updated |", "|---|---|---|---|---|"]
    for name, each in systems.items():
        total = sum((Counts(**counts) for counts in each["counts"]), Counts())
        lines.append(f"| {name} | {total.stale} | {total.double} | {total.missing} | {each['settings']} |")
    lines += ["", f"| stale · duplicates · missing | {' | '.join(systems)} |", f"|---|{'---|' * len(systems)}"]
    for at, step in enumerate(found["steps"]):
        cells = (each["counts"][at] for each in systems.values())
        shown = (f"{cell['stale']} · {cell['double']} · {cell['missing']}" for cell in cells)
        lines.append(f"| {step} | {' | '.join(shown)} |")
    return "\n".join(lines)


@contextmanager
def ragdrop() -> Iterator[RagdropLife]:
    with tempfile.TemporaryDirectory(prefix="ragdrop-change-") as folder:
        documents, model = MemoryObjectStore("documents"), GeneratedModel()
        embedder = MadeEmbedder(lambda texts: [array("f", each) for each in model.embed(texts).vectors])
        ports = (
            Ports(Settings.from_environment(SETTINGS))
            .replace(**stores_in_memory(Path(folder)))
            .replace(documents=documents, embedder=embedder, splitter=SemanticSplitter(lambda: None))
        )
        app = compose(ports)
        app.operate.operator.create_tenant(TENANT)
        yield RagdropLife(app, documents, SEED)


def lived(life: RagdropLife | PeerLife, script: Sequence[Step]) -> list[Counts]:
    found = []
    for at, step in enumerate(script):
        life.sync(step)
        answers = life.answers(questions(script, at, SEED))
        found.append(counted(step.files, answers, life.whole(step.files)))
    return found


def main() -> int:
    """Run the script, print, write where asked to; 1 where ragdrop is not at zero."""
    parser = records.parser(__doc__, quick=f"{QUICK_FILES} files instead of {FILES}")
    parser.add_argument("--ours", dest="peers", action="store_false", help="leave the frameworks out")
    options = parser.parse_args()
    script = steps(QUICK_FILES if options.quick else FILES)
    systems: dict[str, Any] = {}
    with ragdrop() as life:
        systems[OURS] = _system(lived(life, script), "events: each key is reconciled with what the bucket holds")
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
