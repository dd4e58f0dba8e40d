"""What several contract suites share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragdrop.ports.registry import Registry
from tests.contract.aws_fixtures import ENGINES, SIMULATED, registry_engine


@pytest.fixture(params=(*ENGINES, SIMULATED))
def registry(request: pytest.FixtureRequest) -> Iterator[Registry]:
    """Each registry, the fake first."""
    with registry_engine(request.param) as made:
        yield made
