"""A peer's program as a process of this one: asked in lines of JSON, ended with the block."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import IO, Any

ENVIRONMENTS = Path(".local/env")
PEERS = ("langchain", "llama_index", "haystack", "txtai")
OPEN_TIMEOUT_S, ASK_TIMEOUT_S, END_TIMEOUT_S = 120.0, 600.0, 20.0
LINES_OF_LOG = 12


class PeerError(Exception):
    """A peer did not answer, or answered with an error; the message has the end of its log."""


class PeerProcess:
    """The program `benchmarks/peers/NAME_peer.py` in its own environment, which `make bench-env` makes.

    Args:
        name: One of PEERS.
        root: The repository's root.
        command: In place of the program, for tests.
    """

    def __init__(self, name: str, *, root: Path | None = None, command: list[str] | None = None) -> None:
        self.name = name
        self._root = root or Path.cwd()
        python = self._root / ENVIRONMENTS / f"peer-{name}" / "bin" / "python"
        self._command = command or [str(python), "-m", f"benchmarks.peers.{name}_peer"]

    def __enter__(self) -> PeerProcess:
        """Start it.

        Raises:
            PeerError: Its environment is missing.
        """
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
        """Set it up; the fields are those of `serving.Place`."""
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
            raise PeerError(f"{self.name} ended\n{self._end_of_log()}") from exc
        except queue.Empty as exc:
            raise PeerError(f"{self.name} did not answer {op} in {timeout_s:.0f} s\n{self._end_of_log()}") from exc
        if not line:
            raise PeerError(f"{self.name} ended at {op}\n{self._end_of_log()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{self.name}, {op}: {answer['error']}\n{self._end_of_log()}")
        return answer

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._answers.put(line)
        self._answers.put("")

    def _end_of_log(self) -> str:
        self._log.seek(0)
        return "\n".join(self._log.read().decode("utf-8", "replace").splitlines()[-LINES_OF_LOG:])


def _environment() -> dict[str, str]:
    """The environment without what would lead elsewhere: no proxies, no telemetry, no downloads."""
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    quiet = {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false", "HF_HUB_OFFLINE": "1"}
    return kept | quiet | {"NO_PROXY": "*", "PYTHONUNBUFFERED": "1"}
