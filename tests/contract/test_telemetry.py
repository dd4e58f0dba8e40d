"""What every Telemetry does: vectors of questions for a while, counts of documents for good."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragdrop.domain.chunks import vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.telemetry import DocumentUsage, Telemetry
from tests.contract.aws_fixtures import ENGINES, telemetry_engine
from tests.contract.registry_examples import NOW_S, new_tenant_name

AT = "2026-01-02T03:04:05Z"


@pytest.fixture(params=ENGINES)
def telemetry(request: pytest.FixtureRequest) -> Iterator[Telemetry]:
    with telemetry_engine(request.param) as made:
        yield made


def test_a_vector_comes_back_as_it_was_until_its_time_has_passed(telemetry: Telemetry, tenant: str) -> None:
    found = vector([0.25, -3.0, 1e-3])
    telemetry.put_query_vectors(tenant, {"name": found}, NOW_S + 10)

    assert telemetry.query_vector(tenant, "name", NOW_S) == found
    assert telemetry.query_vector(tenant, "name", NOW_S + 10) is None
    assert telemetry.query_vector(tenant, "other", NOW_S) is None


def test_a_tenant_does_not_see_the_vectors_of_another(telemetry: Telemetry, tenant: str) -> None:
    telemetry.put_query_vectors(tenant, {"name": vector([1.0])}, NOW_S + 10)

    assert telemetry.query_vector(new_tenant_name(), "name", NOW_S) is None


def test_twenty_five_vectors_go_in_at_once(telemetry: Telemetry, tenant: str) -> None:
    telemetry.put_query_vectors(tenant, {str(n): vector([1.0, float(n)]) for n in range(25)}, NOW_S + 10)

    assert telemetry.query_vector(tenant, "24", NOW_S) == vector([1.0, 24.0])


def test_uses_add_up_and_the_last_one_is_reported(telemetry: Telemetry, tenant: str) -> None:
    used, unused = (DocumentKey(tenant, "team", name) for name in ("notes/größe.md", "b.md"))
    telemetry.add_use(used, 2, "2026-01-01T00:00:00Z")
    telemetry.add_use(used, 3, AT)

    assert telemetry.usage([used, unused]) == {used: DocumentUsage(5, AT)}
    assert telemetry.usage([]) == {}


def test_the_uses_of_a_document_can_be_forgotten(telemetry: Telemetry, tenant: str) -> None:
    key = DocumentKey(tenant, "team", "a.md")
    telemetry.add_use(key, 1, AT)
    telemetry.forget_use(key)
    telemetry.forget_use(key)

    assert telemetry.usage([key]) == {}


def test_counts_of_an_hour_add_up_whatever_their_names_hold(telemetry: Telemetry, tenant: str) -> None:
    telemetry.add_counts(tenant, "2026-01-02T03", {"queries": 2, "agent:größe #1|a.b": 1})
    telemetry.add_counts(tenant, "2026-01-02T03", {"queries": 3, "error:index|search|DATABASE_ERROR|retrieve": 1})

    assert telemetry.counts(tenant, "2026-01-02T03", "2026-01-02T03") == {
        "2026-01-02T03": {"queries": 5, "agent:größe #1|a.b": 1, "error:index|search|DATABASE_ERROR|retrieve": 1}
    }


def test_counts_come_of_the_hours_asked_for_and_of_no_other_tenant(telemetry: Telemetry, tenant: str) -> None:
    for hour in ("2026-01-01T23", "2026-01-02T00", "2026-01-02T01"):
        telemetry.add_counts(tenant, hour, {"queries": 1})
    telemetry.add_counts(new_tenant_name(), "2026-01-02T00", {"queries": 1})
    telemetry.hash_key(tenant, b"secret")

    found = telemetry.counts(tenant, "2026-01-02T00", "2026-01-02T23")

    assert sorted(found) == ["2026-01-02T00", "2026-01-02T01"]
    assert telemetry.counts(tenant, "2025-01-01T00", "2025-01-01T23") == {}


def test_the_key_of_digests_is_the_first_that_was_offered(telemetry: Telemetry, tenant: str) -> None:
    assert telemetry.hash_key(tenant, b"first") == b"first"
    assert telemetry.hash_key(tenant, b"second") == b"first"
    assert telemetry.hash_key(new_tenant_name(), b"third") == b"third"


def test_a_forgotten_tenant_has_neither_vectors_uses_nor_counts_and_its_neighbour_has(
    telemetry: Telemetry, tenant: str
) -> None:
    other = f"{tenant}-b"
    for name in (tenant, other):
        telemetry.put_query_vectors(name, {"q": vector([0.5])}, 2_000_000_000)
        telemetry.add_use(DocumentKey(name, "team", "a.md"), 1, "2026-01-01T00:00:00Z")
        telemetry.add_counts(name, "2026-01-01T00", {"queries": 1})
        telemetry.hash_key(name, b"first")

    assert telemetry.forget_tenant(tenant) == 4

    assert telemetry.query_vector(tenant, "q", 0) is None
    assert telemetry.usage([DocumentKey(tenant, "team", "a.md")]) == {}
    assert telemetry.counts(tenant, "2026-01-01T00", "2026-01-01T23") == {}
    assert telemetry.hash_key(tenant, b"second") == b"second"
    assert telemetry.query_vector(other, "q", 0) is not None
    assert telemetry.counts(other, "2026-01-01T00", "2026-01-01T23") == {"2026-01-01T00": {"queries": 1}}
