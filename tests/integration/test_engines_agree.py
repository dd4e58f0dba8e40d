"""The two engines behind one port: the same questions find the same documents, whichever holds the chunks."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from bucketindex.index import BucketChunkIndex
from ragdrop.domain.deadlines import Deadline
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.contract.opensearch_node import opensearch_url
from tests.integration.golden_vault import Engine, golden, model_of
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

TOP = 5
SAME_FIRST = 0.95
SAME_TOP = 0.9


@pytest.fixture
def engines(stack: LocalStack, tmp_path: Path) -> Iterator[tuple[Engine, Engine]]:
    """The same vault on both engines; what is put on the shared node goes again."""
    tenant = f"agree-{secrets.token_hex(4)}"
    node = OpenSearchChunkIndex.from_url(opensearch_url())
    bucket = BucketChunkIndex(MemoryObjectStore("state"), MemoryManifests(), tmp_path / "copies", max_bytes=2**30)
    with model_of(stack, tmp_path) as (embedder, environment):
        other = Engine(node, embedder, environment, tenant)
        yield Engine(bucket, embedder, environment, tenant), other
    held = other.app.ports.registry.tenant(tenant)
    assert held is not None
    node.drop(held.index, Deadline.after(60))


def test_both_engines_find_the_same_documents_for_fifty_questions(
    engines: tuple[Engine, Engine], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = list(golden())
    pairs = [(engines[0].find(question, limit=TOP), engines[1].find(question, limit=TOP)) for question in asked]
    same_first = sum(one[:1] == other[:1] for one, other in pairs) / len(pairs)
    shared = sum(len({*one} & {*other}) for one, other in pairs)
    same_top = shared / sum(max(len(one), len(other)) for one, other in pairs)
    differing = [question for question, (one, other) in zip(asked, pairs, strict=True) if one[:1] != other[:1]]
    with capsys.disabled():
        print(f"\n{len(asked)} questions: same first document {same_first:.0%}, same top {TOP} {same_top:.1%}")
        for question in differing:
            print(f"  another first document: {question}")

    assert len(asked) == 50
    assert same_first >= SAME_FIRST
    assert same_top >= SAME_TOP
