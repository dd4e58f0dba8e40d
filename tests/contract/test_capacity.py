"""The units that benchmarks/cost computes are those that AWS's own DynamoDB Local reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.aws_fixtures import table_engine
from tests.functions.request_counter import index_units, read_units, size_of, write_units

SIZES = [0, 900, 1_100, 4_000, 4_200, 9_000]


@pytest.fixture(scope="module")
def table() -> Iterator[tuple[str, Any]]:
    with table_engine("witness", "RegistryTable") as made:
        yield made


def item(sort_key: str, size: int, **more: Any) -> dict[str, Any]:
    """An item with text of *size* bytes and a bit of everything."""
    parts = {"n": {"N": "-12.5"}, "l": {"L": [{"S": "a"}, {"M": {"b": {"BOOL": True}}}]}, "s": {"SS": ["x", "yz"]}}
    return {"PK": {"S": "capacity"}, "SK": {"S": sort_key}, "text": {"S": "a" * size}, **parts, **more}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("consistent", [True, False])
def test_a_read_takes_the_units_of_the_items_size(table: tuple[str, Any], size: int, consistent: bool) -> None:
    name, client = table
    written = item("read", size)
    client.put_item(TableName=name, Item=written)
    key = {each: written[each] for each in ("PK", "SK")}

    told = client.get_item(TableName=name, Key=key, ConsistentRead=consistent, ReturnConsumedCapacity="TOTAL")

    assert told["ConsumedCapacity"]["CapacityUnits"] == read_units(size_of(written), consistent=consistent)


@pytest.mark.parametrize("old", SIZES)
@pytest.mark.parametrize("new", SIZES)
def test_a_write_takes_the_units_of_the_larger_item(table: tuple[str, Any], old: int, new: int) -> None:
    name, client = table
    before, after = item("write", old), item("write", new)
    client.put_item(TableName=name, Item=before)

    told = client.put_item(TableName=name, Item=after, ReturnConsumedCapacity="TOTAL")

    assert told["ConsumedCapacity"]["CapacityUnits"] == write_units(before, after)


@pytest.mark.parametrize(
    ("old", "new"), [(None, "indexed"), ("indexed", "pending"), ("indexed", "indexed"), ("indexed", None), (None, None)]
)
@pytest.mark.parametrize("size", [10, 1_500])
def test_the_listing_takes_units_where_what_it_holds_changes(
    table: tuple[str, Any], old: str | None, new: str | None, size: int
) -> None:
    name, client = table
    before, after = (
        item("listed", size, **({"GPK": {"S": listed}, "GSK": {"S": "a"}} if listed else {})) for listed in (old, new)
    )
    client.put_item(TableName=name, Item=before)

    told = client.put_item(TableName=name, Item=after, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]

    index = told.get("GlobalSecondaryIndexes", {}).get("listing", {}).get("CapacityUnits", 0)
    assert (told["Table"]["CapacityUnits"], index) == (write_units(before, after), index_units(before, after))


def test_a_transaction_takes_twice_the_units_of_table_and_index(table: tuple[str, Any]) -> None:
    name, client = table
    written = item("transaction", 1_500, GPK={"S": "indexed"}, GSK={"S": "b"})
    client.delete_item(TableName=name, Key={each: written[each] for each in ("PK", "SK")})

    [told] = client.transact_write_items(
        TransactItems=[{"Put": {"TableName": name, "Item": written}}], ReturnConsumedCapacity="INDEXES"
    )["ConsumedCapacity"]

    assert told["Table"]["CapacityUnits"] == 2 * write_units(None, written)
    assert told["GlobalSecondaryIndexes"]["listing"]["CapacityUnits"] == 2 * index_units(None, written)
