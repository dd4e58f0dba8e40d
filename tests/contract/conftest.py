"""What several contract suites share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragdrop.ports.answer_services import Receipts
from ragdrop.ports.registry import Registry
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
