"""The OpenSearch node of a test run: the one of RAGDROP_OPENSEARCH_URL, or one that is started for this run alone."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest
from opensearchpy.connection import Urllib3HttpConnection

from localstack.opensearch import UnavailableError, start, stop
from localstack.opensearch.assembly import DEFAULT_RELEASE
from localstack.processes import choose_port
from ragdrop.domain.chunks import Chunk, IndexedChunk, Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop_opensearch.client import QuietConnection
from tests.endings import AT_THE_END


@functools.cache
def _node() -> tuple[str | None, str]:
    """URL and what is missing: one of both, found out once a run."""
    given = os.environ.get("RAGDROP_OPENSEARCH_URL")
    if given:
        return given, ""
    try:
        release = os.environ.get("RAGDROP_OPENSEARCH_RELEASE", DEFAULT_RELEASE)
        node = start(private_folder(), choose_port(), release=release)  # never the usual port: other runs may want it
    except UnavailableError as exc:
        return None, str(exc)
    AT_THE_END.callback(stop, node)
    return node.url, ""


def opensearch_url() -> str:
    """The node's URL.  Skips the test where there can be none, or fails it with RAGDROP_REQUIRE_OPENSEARCH=1."""
    url, missing = _node()
    if url is None:
        skip_or_fail(missing)
    return str(url)


def skip_or_fail(missing: str) -> NoReturn:
    """Skip with the reason, or fail where this run has to have OpenSearch."""
    if os.environ.get("RAGDROP_REQUIRE_OPENSEARCH") == "1":
        pytest.fail(f"RAGDROP_REQUIRE_OPENSEARCH=1 and {missing}", pytrace=False)
    pytest.skip(missing)


def private_folder() -> Path:
    """A folder for a node's data, removed at the end of the run; open to the user that a root user's node runs as."""
    folder = Path(tempfile.mkdtemp(prefix="ragdrop-test-opensearch-"))
    folder.chmod(0o755)
    AT_THE_END.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


class CountingConnection(QuietConnection):
    """Notes method and path of every HTTP request; each test makes its own subclass, so that notes do not mix."""

    seen: list[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.seen = []

    def perform_request(self, method: str, url: str, *args: object, **kwargs: object) -> object:
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
