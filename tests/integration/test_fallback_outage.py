"""OpenSearch is killed: the bucket index answers the golden questions, and nothing deleted comes back."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from localstack.opensearch import UnavailableError, start, stop
from localstack.processes import choose_port
from tests.contract.opensearch_node import private_folder, skip_or_fail
from tests.integration.golden_vault import Engine, golden, model_of
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

TOP = 3
STILL_RIGHT = 0.95
DELETED = "runbooks/database-failover.md"


@contextmanager
def own_node() -> Iterator[str]:
    """The URL of an OpenSearch node that runs for the block alone, and is then killed."""
    try:
        node = start(private_folder(), choose_port(), environ=os.environ | {"OPENSEARCH_URL": ""})
    except UnavailableError as exc:
        skip_or_fail(str(exc))
    try:
        yield node.url
    finally:
        stop(node)


def test_at_least_95_percent_of_what_the_index_answered_right_is_still_right_from_the_bucket_index(
    stack: LocalStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tenant = f"outage-{secrets.token_hex(4)}"
    with model_of(stack, tmp_path) as (embedder, environment):
        environment |= {"CACHE_SIZE": "0"}  # or the answers of before would be served again
        with own_node() as url:
            engine = Engine(None, embedder, environment | {"INDEX_URL": url}, tenant, index_folder=tmp_path / "copies")
            right = {
                question: document
                for question, document in golden().items()
                if document in engine.find(question, limit=TOP)
            }
            engine.delete(DELETED)
        answers = {question: engine.search(question, limit=TOP) for question in golden()}

    found = {question: [one.key.path for one in each.documents] for question, each in answers.items()}
    wanted = {question: document for question, document in right.items() if document != DELETED}
    still = [question for question, document in wanted.items() if document in found[question]]
    with capsys.disabled():
        print(f"\nright from the index {len(right)} of {len(found)}; of {len(wanted)} still right: {len(still)}")
    assert {(each.fallback_level, each.served_by) for each in answers.values()} == {(2, "fallback")}
    assert len(still) >= STILL_RIGHT * len(wanted) > 0
    assert not any(DELETED in paths for paths in found.values())
