"""What every VisitedCache does: it remembers a tenant's session for an hour, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragdrop.ports.search_services import VisitedCache
from tests.contract.aws_fixtures import ENGINES, visited_engine
from tests.contract.registry_examples import NOW_S, new_tenant_name


@pytest.fixture(params=ENGINES)
def cache(request: pytest.FixtureRequest) -> Iterator[VisitedCache]:
    with visited_engine(request.param) as made:
        yield made


def test_what_was_noted_is_known_for_an_hour_and_not_longer(cache: VisitedCache) -> None:
    tenant = new_tenant_name()
    assert cache.visited(tenant, "s", NOW_S) == frozenset()

    cache.note(tenant, "s", {"a", "b"}, NOW_S)

    assert cache.visited(tenant, "s", NOW_S + 3_598) == {"a", "b"}
    assert cache.visited(tenant, "s", NOW_S + 3_600) == frozenset()


def test_another_session_and_another_tenant_know_nothing_of_it(cache: VisitedCache) -> None:
    tenant = new_tenant_name()
    cache.note(tenant, "s", {"a"}, NOW_S)

    assert cache.visited(tenant, "t", NOW_S) == frozenset()
    assert cache.visited(new_tenant_name(), "s", NOW_S) == frozenset()


def test_a_later_note_replaces_an_earlier_one_and_an_empty_one_changes_nothing(cache: VisitedCache) -> None:
    tenant = new_tenant_name()
    cache.note(tenant, "s", {"a"}, NOW_S)
    cache.note(tenant, "s", {"a", "b"}, NOW_S + 10)
    cache.note(tenant, "s", set(), NOW_S + 20)

    assert cache.visited(tenant, "s", NOW_S + 3_605) == {"a", "b"}


def test_a_session_may_be_called_anything(cache: VisitedCache) -> None:
    tenant = new_tenant_name()
    name = "größe 😀#" * 500
    cache.note(tenant, name, {"a"}, NOW_S)

    assert cache.visited(tenant, name, NOW_S) == {"a"}
