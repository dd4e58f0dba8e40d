"""The stacks of the live tests."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tests.contract.opensearch_node import opensearch_url
from tests.integration.stub_embeddings import StubEmbeddings
from tests.stacks import LocalStack, running_stack, shared_stack

collect_ignore = [
    "llama_cpp_server.py",
    "send_spans.py",
]  # programs for environments of their own, no modules of this one


@pytest.fixture(scope="session")
def stack() -> LocalStack:
    """The real template on a private emulator with local models; everything it started ends with the tests."""
    return shared_stack()


@pytest.fixture(scope="session")
def opensearch_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The same on OpenSearch: the node of this run, under a tenant of its own, as other tests use that node too."""
    node = opensearch_url()
    options = ("--index", "opensearch", "--tenant", f"stack-{secrets.token_hex(4)}")
    with running_stack(tmp_path_factory.mktemp("opensearch-stack"), *options, OPENSEARCH_URL=node) as running:
        yield running


@pytest.fixture(scope="session")
def embeddings() -> Iterator[StubEmbeddings]:
    """The embedding service of the stack below: it counts texts and can be stopped."""
    service = StubEmbeddings()
    service.start()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def counted_stack(tmp_path_factory: pytest.TempPathFactory, embeddings: StubEmbeddings) -> Iterator[LocalStack]:
    """A stack whose embedding service belongs to the tests; it answers no questions, only searches."""
    models = {
        "EMBEDDING_URL": embeddings.url,
        "EMBEDDING_MODEL": embeddings.model.name,
        "EMBEDDING_DIMENSION": str(embeddings.model.dimension),
        "CHAT_URL": embeddings.url,
        "CHAT_MODELS": "none",
    }
    with running_stack(tmp_path_factory.mktemp("counted-stack"), **models) as running:
        yield running
