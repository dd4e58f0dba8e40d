"""The OpenSearch node of a test run: the one of RAGDROP_OPENSEARCH_URL, or one that is started for this run alone."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from opensearchpy.connection import Urllib3HttpConnection

from localstack.opensearch import UnavailableError, start, stop
from ragdrop.adapters.opensearch_client import QuietConnection
from ragdrop.domain.chunks import Chunk, IndexedChunk, Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey

NODE = pytest.StashKey[str]()
MISSING = pytest.StashKey[str]()


def opensearch_url(config: pytest.Config) -> str:
    """The node's URL.  Skips the test where there can be none, or fails it with RAGDROP_REQUIRE_OPENSEARCH=1."""
    if NODE not in config.stash and MISSING not in config.stash:
        try:
            config.stash[NODE] = os.environ.get("RAGDROP_OPENSEARCH_URL") or _start(config)
        except UnavailableError as exc:
            config.stash[MISSING] = str(exc)
    if MISSING in config.stash:
        if os.environ.get("RAGDROP_REQUIRE_OPENSEARCH") == "1":
            pytest.fail(f"RAGDROP_REQUIRE_OPENSEARCH=1 and {config.stash[MISSING]}", pytrace=False)
        pytest.skip(config.stash[MISSING])
    return config.stash[NODE]


def private_folder(config: pytest.Config) -> Path:
    """A folder for a node's data, removed at the end of the run; open to the user that a root user's node runs as."""
    folder = Path(tempfile.mkdtemp(prefix="ragdrop-test-opensearch-"))
    folder.chmod(0o755)
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    return folder


def _start(config: pytest.Config) -> str:
    node = start(private_folder(config), release=os.environ.get("RAGDROP_OPENSEARCH_RELEASE", "3.6.0"))
    config.add_cleanup(lambda: stop(node))
    return node.url


class CountingConnection(QuietConnection):
    """Notes method and path of every HTTP request; each test makes its own subclass, so that notes do not mix."""

    seen: list[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.seen = []

    def perform_request(self, method: str, url: str, *args: object, **kwargs: object) -> object:  # type: ignore[override]
        self.seen.append(f"{method} {url}")
        return super().perform_request(method, url, *args, **kwargs)  # type: ignore[arg-type]


def counting_connection() -> type[CountingConnection]:
    """A connection class of one's own."""

    class Counting(CountingConnection):
        pass

    assert issubclass(Counting, Urllib3HttpConnection)
    return Counting


def soon() -> Deadline:
    """A deadline that no test should reach."""
    return Deadline.after(60)


def piece(
    path: str, text: str, values: list[float] | Vector, *, tenant: str = "acme", revision: int = 1, ordinal: int = 0
) -> IndexedChunk:
    """A chunk with the least that a chunk has."""
    facts = Facts(title=path, version_id="v1", indexed_at="2026-01-01T00:00:00Z")
    made = vector(values) if isinstance(values, list) else values
    return IndexedChunk(DocumentKey(tenant, "team", path), revision, Chunk(ordinal, 0, len(text), text), facts, made)
