"""The OpenSearch node that ragdrop and the frameworks share: with the plugin of the hybrid query, which these need."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opensearchpy import OpenSearch

from localstack.opensearch import start, stop
from localstack.opensearch.assembly import HYBRID_RELEASE
from localstack.processes import choose_port

GIVEN = "RAGDROP_BENCH_NODE"  # set by benchmarks/__main__.py for quick runs: a start takes as long as a small benchmark


def _ended(number: int, _frame: object) -> None:
    """Without this the node would outlive a benchmark that ran out of its time."""
    sys.exit(128 + number)


@contextmanager
def shared_node() -> Iterator[str]:
    """The URL of a node for this block: the one that the run of several benchmarks has started, else one of its own.

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
