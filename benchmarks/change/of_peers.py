"""The change script on the frameworks: a folder on disk, each framework's own sync, and what it then gives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.change.counts import LIMIT, GivenText
from benchmarks.change.script import Step
from benchmarks.embedding_server import MODEL
from benchmarks.local_embeddings import DIMENSION
from benchmarks.peers.process import ENVIRONMENTS, PeerProcess

CONFIGURATIONS = (
    ("langchain", "hybrid"),
    ("llama_index", "hybrid"),
    ("haystack", "hybrid"),
    ("haystack", "hybrid-cleaned"),
    ("txtai", "hybrid"),
)
EVERYTHING = 2_000  # more chunks than the script ever makes
ANY_QUESTION = "pump valve gasket"


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
        """The best chunks for each word."""
        return self._hits(words, LIMIT)

    def whole(self, files: Mapping[str, str]) -> list[GivenText]:  # noqa: ARG002 - one question brings all of it
        """Every chunk that the framework gives when it may give so many."""
        return self._hits([ANY_QUESTION], EVERYTHING)[0]

    def _hits(self, queries: Sequence[str], limit: int) -> list[list[GivenText]]:
        told = self._peer.ask("hits", queries=list(queries), limit=limit)["hits"]
        return [[GivenText(each["id"], each["text"]) for each in hits] for hits in told]


@contextmanager
def peer_life(
    name: str, configuration: str, *, opensearch_url: str, embedding_url: str
) -> Iterator[tuple[PeerLife, Mapping[str, Any]]]:
    """A framework over an empty index, and what it told of itself: versions, and how it keeps up to date."""
    with ExitStack() as held:
        folder = Path(held.enter_context(TemporaryDirectory(prefix="ragdrop-change-")))
        peer = held.enter_context(PeerProcess(name, command=life_command(name)))
        told = peer.open(
            embedding_url=embedding_url,
            embedding_model=MODEL,
            dimension=DIMENSION,
            opensearch_url=opensearch_url,
            index=f"change-{name.replace('_', '-')}-{configuration}",
            configuration=configuration,
            folder=str(folder),
        )
        yield PeerLife(peer, folder / "files"), told
        peer.ask("close")


def life_command(name: str) -> list[str]:
    """How the program is started that keeps a framework up to date."""
    python = Path.cwd() / ENVIRONMENTS / f"peer-{name}/bin/python"
    return [str(python), "-m", f"benchmarks.peers.{name}_life"]
