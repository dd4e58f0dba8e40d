"""What several contract suites share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.answer_services import Receipts
from ragdrop.ports.registry import Registry
from tests.contract import chunk_index_suite
from tests.contract.aws_fixtures import ENGINES, SIMULATED, receipts_engine, registry_engine
from tests.contract.registry_examples import new_tenant_name


@pytest.fixture(params=(*ENGINES, SIMULATED))
def registry(request: pytest.FixtureRequest) -> Iterator[Registry]:
    """Each registry, the fake first."""
    with registry_engine(request.param) as made:
        yield made


@pytest.fixture(params=ENGINES)
def receipts(request: pytest.FixtureRequest) -> Iterator[Receipts]:
    """Each store of receipts and threads, the fake first."""
    with receipts_engine(request.param) as made:
        yield made


@pytest.fixture
def tenant() -> str:
    """The name of a tenant that no other test has."""
    return new_tenant_name()


@pytest.fixture
def key() -> DocumentKey:
    """A document of such a tenant, in letters that every store must bear."""
    return DocumentKey(new_tenant_name(), "team", "notes/größe + 1 😀.md")


@pytest.fixture(params=chunk_index_suite.ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[chunk_index_suite.Engine]:
    """Each chunk index, the fake first, with its own tenant."""
    with chunk_index_suite.chunk_index_engine(request.param, tmp_path) as made:
        yield made
