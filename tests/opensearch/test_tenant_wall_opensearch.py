"""The wall on OpenSearch: what a tenant sees before and after another one adds 200 documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Tenant
from ragdrop_opensearch.client import QuietConnection
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from testing.memory_registry import MemoryRegistry
from tests.contract.opensearch_node import opensearch_url
from tests.functions.wall import Wall, before_and_after_another_tenant_came
from tests.world import World

CLOSE = 0.08  # BM25 counts words over a whole shard: how far normalised scores of a small index moved, and some more
ROUNDED = 1e-5  # cosines are in single precision (6e-8), and scores magnify that: 1e-6 was seen
FILTER, ANYTHING = b'{"term":{"tenant":"acme"}}', b'{"match_all":{}}'


class Unfiltered(QuietConnection):
    """A connection that takes the tenant filter out of every search."""

    def perform_request(
        self, method: str, url: str, params: Any = None, body: Any = None, *rest: Any, **more: Any
    ) -> Any:
        """One request."""
        searched = body.replace(FILTER, ANYTHING) if isinstance(body, bytes) and "_msearch" in url else body
        return super().perform_request(method, url, params, searched, *rest, **more)


Building = Callable[..., Wall]


@pytest.fixture
def build() -> Iterator[Building]:
    """Makes a wall whose tenant `acme` has a separate index, or shares one with all others; one shard."""
    made: list[tuple[OpenSearchChunkIndex, MemoryRegistry]] = []

    def wall(*, own: bool, connection: type[QuietConnection] = QuietConnection) -> Wall:
        index = OpenSearchChunkIndex.from_url(opensearch_url(), shards=1, connection_class=connection)
        registry, name = MemoryRegistry(), f"ragdrop-test-wall-{uuid4().hex[:12]}"
        seed = World().app.tenants.directory.tenant("acme")
        assert seed is not None
        for tenant, place in (("acme", name), ("other", f"{name}-other" if own else name)):
            registry.create_tenant(Tenant(tenant, replace(seed.active, name=place)))
        made.append((index, registry))
        return Wall(index, registry)

    yield wall
    for index, registry in made:
        for tenant in registry.tenants():
            index.drop(tenant.index, Deadline.after(30))


def test_with_a_separate_index_nothing_that_a_tenant_sees_changes(build: Building) -> None:
    before, after = before_and_after_another_tenant_came(build(own=True))

    assert after == before


def test_in_a_shared_index_order_and_counts_stay_and_normalised_scores_stay_close(build: Building) -> None:
    before, after = before_and_after_another_tenant_came(build(own=False))

    for then, now in zip(before[:-1], after[:-1], strict=True):
        assert [one["path"] for one in now["results"]] == [one["path"] for one in then["results"]]
        for name in ("score", "raw_score"):
            shown = [one[name] for one in now["results"]]
            assert shown == pytest.approx([one[name] for one in then["results"]], rel=ROUNDED)
        assert (now["total_matches"], now["total_indexed"]) == (then["total_matches"], then["total_indexed"])
        assert lexical(now) == pytest.approx(lexical(then), abs=CLOSE)
    assert after[-1] == before[-1]


def test_without_the_tenant_filter_the_wall_test_fails(build: Building) -> None:
    before, after = before_and_after_another_tenant_came(build(own=False, connection=Unfiltered))

    assert after != before


def lexical(found: dict[str, Any]) -> dict[str, float]:
    """The normalised lexical score of every candidate that has one."""
    candidates = found["debug"]["candidates"]
    return {one["chunk_id"]: one["score_lexical"] for one in candidates if one["score_lexical"] is not None}
