"""A local stack of a benchmark's own, in a folder that goes with it; the caller's models and index stay out of it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localstack import opensearch
from localstack.home import Home, Progress
from localstack.launcher import down, read_processes, up
from localstack.seed import push

VAULT = "handbook"
FOREIGN = ("EMBEDDING_", "CHAT_", "INDEX_", "OPENSEARCH_", "AWS_", "RAGDROP_", "LOCALSTACK_", "EDGE_PORT")


@dataclass(frozen=True)
class LiveStack:
    """A running stack: its home, what its stack.json says, and the pids of its servers by role."""

    home: Home
    fields: Mapping[str, Any]
    pids: Mapping[str, int]

    @property
    def api_url(self) -> str:
        """Where the API answers, through the emulator's gateway."""
        return str(self.fields["api_url"])

    @property
    def key(self) -> str:
        """A key of role admin of the stack's tenant."""
        return str(self.fields["api_key"])

    def push(self, folder: Path) -> None:
        """Push *folder* as the vault, and wait until it is indexed."""
        push(self.home, folder, vault=VAULT)


@contextmanager
def live_stack(*, index: str = "opensearch", tenant: str = "bench") -> Iterator[LiveStack]:
    """The real template on a private emulator, with local models and an index of its own; stopped at the end.

    Raises:
        LaunchError: A part did not come up.
    """
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        if name not in {"RAGDROP_EVAL_DATA", "OPENSEARCH_JAVA_HOME"}:
            del os.environ[name]
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as folder:
        Path(folder).chmod(0o755)  # a root user's node runs as another one
        home = Home(Path(folder), index)
        try:
            fields = up(home, os.environ, index=index, tenant=tenant, progress=progress)
            pids = {name: process.pid for name, process in read_processes(home).items()}
            node = opensearch.find(home.root)
            if node is not None and node.pid is not None:
                pids["index"] = node.pid
            yield LiveStack(home, fields, pids | {"load": os.getpid()})
        finally:
            down(home, progress)
            sys.stdout.flush()
