"""What a result shows is the parsed text between its offsets, exactly: for any text, however it is expanded."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragdrop.domain.deadlines import Deadline
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from tests.contract.chunk_index_suite import bucket_index
from tests.contract.opensearch_node import opensearch_url
from tests.world import World

BLOCKS = st.sampled_from(
    [
        "## Größe 😀\n",
        "alpha beta. " * 40 + "\n",
        "alpha " + "wort, " * 200,
        "\n\n\n",
        "  \t\n",
        "| alpha | b |\n|---|---|\n" + "| alpha 1 | two words |\n" * 60,
        "```\nalpha = 1\n\n\n    beta\n```\n",
        "- alpha\n  - beta\r\n",
        "e\u0301 alpha \u200b\n",
    ]
)
TEXTS = st.lists(BLOCKS, min_size=1, max_size=12).map("".join).filter(lambda text: "alpha" in text)


@pytest.fixture(scope="module", params=["bucket", "opensearch"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A tenant on each real index."""
    if request.param == "bucket":
        with tempfile.TemporaryDirectory() as folder:
            yield World(index=bucket_index(Path(folder)))
        return
    index = OpenSearchChunkIndex.from_url(opensearch_url(), shards=1)
    held = World(f"t-{uuid4().hex[:12]}", index=index)
    yield held
    tenant = held.registry.tenant(held.tenant)
    assert tenant is not None
    index.drop(tenant.index, Deadline.after(30))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=TEXTS)
def test_whatever_the_text_and_the_expansion_what_is_shown_is_the_text_between_its_offsets(
    world: World, text: str
) -> None:
    world.put("team/any.md", text)
    parsed = world.app.documents.document_service.text(world.caller, world.key("team/any.md"))

    for expand in ("auto", "neighbours", "document"):
        [document] = world.search("alpha", expand=expand).documents
        assert document.text == parsed[document.text_start : document.text_end]
        assert all(found.hit.chunk.text in parsed for found in document.chunks)
        assert document.chunks[0].hit.chunk.text in document.text
