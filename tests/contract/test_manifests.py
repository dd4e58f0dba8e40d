"""What every ManifestStore does: one text for each tenant and index, and of two writers at once only one wins."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ragdrop.ports.indexes import ManifestStore
from tests.contract.aws_fixtures import ENGINES, manifests_engine

INDEX = "bucket-v1-nomic-768-1"


@pytest.fixture(params=ENGINES)
def manifests(request: pytest.FixtureRequest) -> Iterator[ManifestStore]:
    with manifests_engine(request.param) as made:
        yield made


def test_where_nothing_was_written_there_is_nothing(manifests: ManifestStore, tenant: str) -> None:
    assert manifests.read(tenant, INDEX) is None


def test_what_was_written_first_comes_back_as_it_was(manifests: ManifestStore, tenant: str) -> None:
    body = '{"segments": [], "path": "größe 😀"}'

    assert manifests.write(tenant, INDEX, body, 1, 0)
    assert manifests.read(tenant, INDEX) == body


def test_a_write_onto_the_number_that_is_there_replaces_it(manifests: ManifestStore, tenant: str) -> None:
    manifests.write(tenant, INDEX, "first", 1, 0)

    assert manifests.write(tenant, INDEX, "second", 2, 1)
    assert manifests.write(tenant, INDEX, "third", 7, 2)
    assert manifests.read(tenant, INDEX) == "third"


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_write_onto_another_number_loses_and_changes_nothing(
    manifests: ManifestStore, tenant: str, before: int
) -> None:
    manifests.write(tenant, INDEX, "first", 1, 0)
    manifests.write(tenant, INDEX, "second", 2, 1)

    assert not manifests.write(tenant, INDEX, "late", 4, before)
    assert manifests.read(tenant, INDEX) == "second"


def test_a_write_onto_a_number_where_there_is_nothing_loses(manifests: ManifestStore, tenant: str) -> None:
    assert not manifests.write(tenant, INDEX, "late", 4, 3)
    assert manifests.read(tenant, INDEX) is None


def test_of_many_writers_onto_one_number_exactly_one_wins(manifests: ManifestStore, tenant: str) -> None:
    manifests.write(tenant, INDEX, "first", 1, 0)

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: manifests.write(tenant, INDEX, f"writer {number}", 2, 1), range(8)))

    assert won.count(True) == 1
    assert manifests.read(tenant, INDEX) == f"writer {won.index(True)}"


def test_a_manifest_that_was_deleted_is_gone_and_the_next_write_is_a_first_one(
    manifests: ManifestStore, tenant: str
) -> None:
    manifests.write(tenant, INDEX, "first", 1, 0)
    manifests.delete(tenant, INDEX)
    manifests.delete(tenant, INDEX)

    assert manifests.read(tenant, INDEX) is None
    assert not manifests.write(tenant, INDEX, "late", 2, 1)
    assert manifests.write(tenant, INDEX, "anew", 1, 0)


def test_tenants_and_indexes_have_manifests_of_their_own(manifests: ManifestStore, tenant: str) -> None:
    other = f"{tenant}-b"
    manifests.write(tenant, INDEX, "one", 1, 0)
    manifests.write(other, INDEX, "two", 1, 0)
    manifests.write(tenant, f"{INDEX}0", "three", 1, 0)

    manifests.delete(tenant, INDEX)

    assert (manifests.read(tenant, INDEX), manifests.read(other, INDEX), manifests.read(tenant, f"{INDEX}0")) == (
        None,
        "two",
        "three",
    )


def test_a_manifest_of_the_largest_size_comes_back_whole(manifests: ManifestStore, tenant: str) -> None:
    body = "x" * 100_000  # twelve segments and a few hundred removals

    assert manifests.write(tenant, INDEX, body, 1, 0)
    assert manifests.read(tenant, INDEX) == body
