"""What every counter of requests does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragdrop.ports.registry import RequestCounts
from tests.contract.aws_fixtures import ENGINES, request_counts_engine
from tests.contract.registry_examples import new_tenant_name


@pytest.fixture(params=ENGINES)
def counts(request: pytest.FixtureRequest) -> Iterator[RequestCounts]:
    with request_counts_engine(request.param) as made:
        yield made


def test_counts_of_a_minute_add_up_and_are_reported(counts: RequestCounts) -> None:
    tenant = new_tenant_name()

    assert counts.add_requests(tenant, 7, {"a": 2, "b": 1}) == {"a": 2, "b": 1}
    assert counts.add_requests(tenant, 7, {"b": 3, "PK": 1}) == {"a": 2, "b": 4, "PK": 1}


def test_another_minute_and_another_tenant_begin_at_nothing(counts: RequestCounts) -> None:
    tenant = new_tenant_name()
    counts.add_requests(tenant, 7, {"a": 2})

    assert counts.add_requests(tenant, 8, {"a": 1}) == {"a": 1}
    assert counts.add_requests(new_tenant_name(), 7, {"a": 1}) == {"a": 1}
