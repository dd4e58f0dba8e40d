"""Stacks of the tests' own: brought up once in a process, on free ports, in a folder that goes with it."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from localstack.deploy import Emulated
from tests.endings import AT_THE_END

REPOSITORY = Path(__file__).resolve().parents[1]
UP_TIMEOUT_S = 900
FAST = {"INGEST_RETRY_BASE_S": "1"}  # a failed dependency is tried again after a second, not after 30


@dataclass(frozen=True)
class LocalStack:
    """A running stack: what its stack.json says, and how to reach its parts."""

    home: Path
    fields: Mapping[str, Any]
    _clients: dict[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        """Give it to the `ragdrop` command as RAGDROP_STACK."""
        return self.home / "stack.json"

    @property
    def api_url(self) -> str:
        return str(self.fields["api_url"])

    @property
    def api_key(self) -> str:
        """A key of role admin of the tenant below."""
        return str(self.fields["api_key"])

    @property
    def tenant(self) -> str:
        return str(self.fields["tenant"])

    @property
    def bucket(self) -> str:
        return str(self.fields["bucket"])

    @property
    def environment(self) -> dict[str, str]:
        """What the functions run with, and AWS access to the emulator."""
        return dict(self.fields["environment"])

    def client(self, service: str) -> Any:
        """The boto3 client of *service* that speaks to the stack; one for all tests, closed with the stack."""
        if service not in self._clients:
            emulated = Emulated(self.fields["endpoint_url"], self.environment)
            self._clients[service] = emulated.client(service)
        return self._clients[service]

    def close(self) -> None:
        """Close the clients: a socket that is left to the garbage collector is a warning, and so a failed test."""
        for client in self._clients.values():
            client.close()


def run_launcher(command: str, home: Path, *options: str, **named: str) -> subprocess.CompletedProcess[str]:
    """Run the launcher on *home*, without the models or the index that the caller's environment may name."""
    foreign = ("EMBEDDING_", "CHAT_", "INDEX_", "OPENSEARCH_", "AWS_", "RAGDROP_", "LOCALSTACK_", "EDGE_PORT")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | FAST | named
    return subprocess.run(
        [sys.executable, "-m", "localstack", command, "--home", str(home), *options],
        cwd=REPOSITORY,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=UP_TIMEOUT_S,
        check=False,
    )


@contextmanager
def running_stack(home: Path, *options: str, **named: str) -> Iterator[LocalStack]:
    """A stack in *home*, brought up by the launcher and taken down again."""
    try:
        started = run_launcher("up", home, *options, **named)
        if started.returncode != 0:
            pytest.fail(f"the stack did not come up:\n{started.stdout}\n{started.stderr}", pytrace=False)
        with closing(LocalStack(home, json.loads((home / "stack.json").read_text("utf-8")))) as running:
            yield running
    finally:
        run_launcher("down", home)


@functools.cache
def shared_stack() -> LocalStack:
    """The process's stack: the real template on a private emulator with local models, down when the process ends."""
    home = AT_THE_END.enter_context(tempfile.TemporaryDirectory(prefix="ragdrop-stack-"))
    return AT_THE_END.enter_context(running_stack(Path(home)))
