"""A node that dies while chunks are written: the writer is told, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from localstack.opensearch import UnavailableError, start, stop
from localstack.processes import choose_port
from ragdrop.domain.chunks import IndexedChunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from tests.contract.opensearch_node import private_folder, skip_or_fail, soon
from tests.world import World

pytestmark = pytest.mark.long


@pytest.fixture
def home() -> Path:
    return private_folder()


def test_a_document_whose_write_was_cut_off_is_not_seen_by_halves_and_arrives_after_the_restart(home: Path) -> None:
    try:
        node = start(home, choose_port(), environ=os.environ | {"OPENSEARCH_URL": ""})
    except UnavailableError as exc:
        skip_or_fail(str(exc))
    try:
        index = OpenSearchChunkIndex.from_url(node.url, shards=1)
        world = World("acme", index=CutOff(index, lambda: os.kill(node.pid or 0, signal.SIGKILL)))
        world.put("team/first.md", "A lighthouse before the storm.")
        text = "\n\n".join(f"# Mark {n}\n\n" + f"lighthouse tide {n} " * 120 for n in range(300))
        world.put("team/long.md", text, ingest=False)
        message = world.message(world.change("team/long.md"))

        assert world.deliver(message) == [message]  # the record goes back to the queue
    finally:
        stop(node)
    again = start(home, choose_port(), environ=os.environ | {"OPENSEARCH_URL": ""})
    try:
        index = OpenSearchChunkIndex.from_url(again.url)
        after = World("acme", index=index, registry=world.registry, documents=world.documents, state=world.state)
        written = index.count(tenant_part(after), soon())
        assert written > 1  # some of it was written
        assert after.texts("lighthouse", limit=20) == ["A lighthouse before the storm."]

        assert after.deliver(message) == []  # and succeeds when it comes back

        assert "long.md" in {found.key.path for found in after.search("lighthouse", limit=20).documents}
        assert index.count(tenant_part(after), soon()) == 1 + after.head("team/long.md").chunk_count
    finally:
        stop(again)


class CutOff:
    """An index that loses its node half-way through the first long write."""

    def __init__(self, index: OpenSearchChunkIndex, kill: Callable[[], None]) -> None:
        self._index = index
        self._kill = kill

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def upsert(self, ref: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        half = len(chunks) // 2 if len(chunks) > 100 else 0
        if half:
            self._index.upsert(ref, chunks[:half], deadline)
            self._kill()
        self._index.upsert(ref, chunks[half:], deadline)


def tenant_part(world: World) -> IndexRef:
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    return tenant.index
