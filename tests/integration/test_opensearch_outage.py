"""A node that dies while chunks are written: the writer is told, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from localstack.opensearch import UnavailableError, start, stop
from ragdrop.adapters.opensearch_chunk_index import OpenSearchChunkIndex
from ragdrop.domain.chunks import IndexedChunk
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError
from tests.contract.opensearch_node import piece, private_folder, skip_or_fail, soon

REF = IndexRef("acme", "ragdrop-v1-outage-8-1", 8)


@pytest.fixture
def home() -> Path:
    return private_folder()


def test_killing_the_node_during_a_bulk_is_a_database_error_and_the_write_succeeds_after_a_restart(home: Path) -> None:
    try:
        node = start(home, environ=os.environ | {"OPENSEARCH_URL": ""})
    except UnavailableError as exc:
        skip_or_fail(str(exc))
    assert node.pid is not None
    index = OpenSearchChunkIndex.from_url(node.url, shards=1)
    index.upsert(REF, [batch(0)[0]], soon())
    killer = threading.Timer(1.0, os.kill, (node.pid, signal.SIGKILL))
    killer.start()
    acknowledged, failure = write_until_it_fails(index)
    killer.join()
    stop(node)

    assert failure.retryable is True
    again = start(home, environ=os.environ | {"OPENSEARCH_URL": ""})
    try:
        index = OpenSearchChunkIndex.from_url(again.url)
        index.upsert(REF, batch(acknowledged), soon())  # as the next delivery of the same message does
        index.refresh([REF], soon())
        assert index.count(REF, soon()) == (acknowledged + 1) * 100
        key = DocumentKey("acme", "team", f"{acknowledged}.md")
        assert index.remove(REF, key, before_revision=2, deadline=soon()) == 100
    finally:
        stop(again)


def batch(number: int) -> list[IndexedChunk]:
    return [piece(f"{number}.md", "x" * 2_000, [1.0] + [0.0] * 7, ordinal=i) for i in range(100)]


def write_until_it_fails(index: OpenSearchChunkIndex) -> tuple[int, DatabaseError]:
    for number in range(10_000):
        try:
            index.upsert(REF, batch(number), soon())
        except DatabaseError as exc:
            return number, exc
    raise AssertionError("the node was never killed")
