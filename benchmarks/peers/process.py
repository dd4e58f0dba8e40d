"""Run the frameworks: each program in its own environment, and the OpenSearch node that all share."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import IO, Any

from opensearchpy import OpenSearch

from benchmarks.embeddings import DIMENSION, MODEL
from localstack.opensearch import start, stop
from localstack.opensearch.assembly import HYBRID_RELEASE
from localstack.processes import choose_port

ENVIRONMENTS = Path(".local/env")
OPEN_TIMEOUT_S, ASK_TIMEOUT_S, END_TIMEOUT_S = 120.0, 600.0, 20.0
LINES_OF_LOG = 12
GIVEN = "RAGDROP_BENCH_NODE"  # set by benchmarks/__main__.py for quick runs: a start takes as long as a small benchmark
NAMES = {"langchain": "LangChain", "llama_index": "LlamaIndex", "haystack": "Haystack", "txtai": "txtai"}
CONFIGURATIONS: dict[str, tuple[str, ...]] = {
    "langchain": ("hybrid", "hybrid-60", "vector"),
    "llama_index": ("hybrid", "hybrid-60", "vector"),
    "haystack": ("hybrid", "hybrid-dbsf", "vector"),
    "txtai": ("hybrid", "vector"),
}
"""The first is the framework's recommended one, with the values of its documentation; the others are for fairness."""


class PeerError(Exception):
    """A peer did not answer, or answered with an error; the message has the end of its log."""


class PeerProcess:
    """The program `benchmarks/peers/NAME.py` in its own environment, which `make bench-env` makes."""

    def __init__(self, name: str, *, root: Path | None = None, command: list[str] | None = None) -> None:
        self.name = name
        self._root = root or Path.cwd()
        python = self._root / ENVIRONMENTS / f"peer-{name}" / "bin" / "python"
        self._command = command or [str(python if name in NAMES else sys.executable), "-m", f"benchmarks.peers.{name}"]

    def __enter__(self) -> PeerProcess:
        if not Path(self._command[0]).exists():
            raise PeerError(f"{self.name} is not installed: run `make bench-env`")
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            self._command,
            cwd=self._root,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests: IO[str] = self._process.stdin
        self._answers: queue.Queue[str] = queue.Queue()
        self._reader = Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it: by the end of its input, else by force."""
        with suppress(BrokenPipeError):  # it is gone already
            self._requests.close()
        try:
            self._process.wait(timeout=END_TIMEOUT_S if error is None else 1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=END_TIMEOUT_S)
        self._reader.join(timeout=END_TIMEOUT_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()

    def open(self, **place: Any) -> dict[str, Any]:
        return self.ask("open", timeout_s=OPEN_TIMEOUT_S, **place)

    def ask(self, op: str, *, timeout_s: float = ASK_TIMEOUT_S, **fields: Any) -> dict[str, Any]:
        """The answer to one request.

        Raises:
            PeerError: It answered with an error, ended, or did not answer in *timeout_s*.
        """
        try:
            self._requests.write(json.dumps({"op": op, **fields}) + "\n")
            self._requests.flush()
            line = self._answers.get(timeout=timeout_s)
        except BrokenPipeError as exc:
            raise PeerError(f"{self.name} ended\n{self._last_words()}") from exc
        except queue.Empty as exc:
            raise PeerError(f"{self.name} did not answer {op} in {timeout_s:.0f} s\n{self._end_of_log()}") from exc
        if not line:
            raise PeerError(f"{self.name} ended at {op}\n{self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{self.name}, {op}: {answer['error']}\n{self._end_of_log()}")
        return answer

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._answers.put(line)
        self._answers.put("")

    def _last_words(self) -> str:
        """The end of the log of a program that closed its answers: it may still have to write it."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=END_TIMEOUT_S)
        return self._end_of_log()

    def _end_of_log(self) -> str:
        self._log.seek(0)
        return "\n".join(self._log.read().decode("utf-8", "replace").splitlines()[-LINES_OF_LOG:])


def _environment() -> dict[str, str]:
    """The environment without what would lead elsewhere: no proxies, no telemetry, no downloads."""
    stored = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    quiet = {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false", "HF_HUB_OFFLINE": "1"}
    return stored | quiet | {"NO_PROXY": "*", "PYTHONUNBUFFERED": "1"}


def _ended(number: int, _frame: object) -> None:
    """Without this the node would outlive a benchmark that ran out of its time."""
    sys.exit(128 + number)


@contextmanager
def shared_node() -> Iterator[str]:
    """The URL of a node for this block: the one that the run of several benchmarks has started, else a separate one.

    A SIGTERM ends the block like an exception.
    """
    if GIVEN in os.environ:
        yield os.environ[GIVEN]
        return
    signal.signal(signal.SIGTERM, _ended)
    with tempfile.TemporaryDirectory(prefix="ragdrop-peers-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # the node of a root user runs as another one
        alone = {name: value for name, value in os.environ.items() if name != "OPENSEARCH_URL"}
        node = start(Path(folder), choose_port(), release=HYBRID_RELEASE, environ=alone)
        try:
            yield node.url
        finally:
            stop(node)


def pid_of(url: str) -> int | None:
    """The process of the node at *url*; None where it is not one of this machine, or in a container."""
    with OpenSearch(url) as client:
        [node] = client.nodes.info(metric="process")["nodes"].values()
    pid = int(node["process"]["id"])
    command = Path(f"/proc/{pid}/cmdline")
    return pid if command.exists() and b"opensearch" in command.read_bytes() else None


def title(name: str, configuration: str) -> str:
    return f"{NAMES[name]}, {configuration}"


@dataclass(frozen=True, slots=True)
class Contender:
    """A framework that runs, and how it was set up."""

    peer: PeerProcess
    place: Mapping[str, Any]

    def switch(self, configuration: str) -> dict[str, Any]:
        return self.peer.open(**self.place, configuration=configuration)


@contextmanager
def running(
    name: str, *, opensearch_url: str, embedding_url: str, label: str, command: list[str] | None = None, **more: Any
) -> Iterator[Contender]:
    """A framework that `switch` sets up; its index, which *label* distinguishes, goes in the end."""
    index = "peer-" + hashlib.sha256(f"{name} {label}".encode()).hexdigest()[:12]
    place = {"embedding_url": embedding_url, "embedding_model": MODEL, "dimension": DIMENSION}
    with PeerProcess(name, command=command) as peer:
        yield Contender(peer, place | {"opensearch_url": opensearch_url, "index": index} | more)
        peer.ask("close")
