"""A large text file on the live stack: over several invocations, past a worker that dies, unseen until it is whole.

`make test` takes some megabytes and gives the function less time; `make test-long` (RAGDROP_WHOLE=1) takes 50 MB and
the function's own 60 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from ragdrop.domain.keys import DocumentKey
from ragdrop.ingest.index_revision import MAX_OBJECT_BYTES
from ragdrop.ingest.revision_store import PART_CHARACTERS
from ragdrop.stores.dynamodb.registry_table import DynamoDbRegistry
from tests.integration.commands import WHOLE, Tenant, within
from tests.integration.ingest_workers import PROC, IngestWorkers, limited_ingest
from tests.integration.stub_embeddings import StubEmbeddings
from tests.stacks import LocalStack

SIZE_BYTES = MAX_OBJECT_BYTES if WHOLE else 5 * 1024 * 1024
TIMEOUT_S = 60 if WHOLE else 28  # 5 s are left for the end, and no part is begun with less than 15 s left
DONE_S = 3_600.0 if WHOLE else 500.0
MEMORY_MB = 512
FACT = "The keeper of the lighthouse is Marzipan."

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (PROC / "self/task").is_dir(), reason="processes are watched by /proc"),
]


@pytest.fixture(scope="module")
def tenant(counted_stack: LocalStack) -> Tenant:
    made = Tenant.created(counted_stack, "large")
    made.put("coast/other.txt", "The gate code is Heliotrope.")
    within(DONE_S, lambda: made.listed("coast", "indexed"))
    return made


@pytest.fixture
def workers(counted_stack: LocalStack) -> Iterator[IngestWorkers]:
    with limited_ingest(counted_stack, timeout_s=TIMEOUT_S, memory_mb=MEMORY_MB) as watched:
        yield watched


def logbook(size_bytes: int) -> str:
    """A text of this many bytes, in which no two paragraphs are the same; its fact is in the last one."""
    paragraphs, length, number = [f"# Lighthouse, {time.time_ns()}"], 0, 0
    while length < size_bytes - 1_000:
        number += 1
        entry = f"Entry {number}: wind {number % 13}, tide {number * 7}, lamp {number * 11}. All well at {number}. "
        paragraphs.append((entry * 4).strip())
        length += len(paragraphs[-1]) + 2
    return "\n\n".join([*paragraphs, FACT])


def looked_up(tenant: Tenant) -> str:
    """All that a search finds: of no relevance even, and never an answer of before, as with `debug` none is kept."""
    return tenant.search(FACT, "coast", min_relevance=0, debug=True)


def test_a_large_file_comes_in_past_a_dead_worker_in_little_memory_and_is_unseen_until_it_is_whole(
    tenant: Tenant, workers: IngestWorkers, embeddings: StubEmbeddings, record_property: Callable[[str, object], None]
) -> None:
    registry = DynamoDbRegistry(tenant.stack.environment["REGISTRY_TABLE"], tenant.stack.client("dynamodb"))
    key, text = DocumentKey(tenant.name, "coast", "log.txt"), logbook(SIZE_BYTES)
    embedded, began, hops, done, killed_at = embeddings.texts, time.monotonic(), 0, [0], 0
    tenant.put("coast/log.txt", text)
    within(DONE_S, lambda: tenant.listed("coast", "pending"))

    while (record := tenant.get("/documents/coast/log.txt"))["status"] == "pending":
        assert time.monotonic() - began < DONE_S, f"{done[-1]} chunks in {hops} invocations"
        head = registry.head(key)
        at = registry.checkpoint(key, head.revision) if head else None
        hops = max(hops, at.hop if at else 0)
        done.append(max(done[-1], int(record["chunks_done"] or 0)))
        found = looked_up(tenant)
        if FACT in found:  # it may have become visible between the two requests, but only whole
            assert tenant.get("/documents/coast/log.txt")["status"] == "indexed"
        workers.peak_mb()
        if at is not None and at.part >= 3 and not killed_at:
            killed_at = at.part
            assert workers.kill() > 0
        time.sleep(0.2)

    took_s, peak_mb = time.monotonic() - began, workers.peak_mb()
    chunks, parts = int(record["chunk_count"]), len(text) / PART_CHARACTERS
    for name, value in {"seconds": took_s, "hops": hops, "peak_mb": peak_mb, "chunks": chunks}.items():
        record_property(name, value)
    print(f"{len(text):,} bytes, {chunks:,} chunks: {took_s:.0f} s, {hops} invocations, peak {peak_mb:.0f} MB")
    assert record["status"] == "indexed", record
    assert FACT in looked_up(tenant)
    assert hops >= 3  # before the worker died, after it, and at least one for which the time was over
    assert len(set(done)) > 3  # its progress was seen
    assert killed_at
    # what was done was not done again: at most the part that the worker died in, its next one begun, and some questions
    assert chunks <= embeddings.texts - embedded <= chunks + 3 * chunks / parts
    assert 0 < peak_mb < MEMORY_MB
