"""A client that reads answers plainly gives what the SDK's own reading gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from ragdrop.stores.aws.clients import READS, read_answers_plainly

TABLE = "answers"
ATTRIBUTES = {
    "string": {"S": 'with "B" and \u00e4 \U0001f600'},
    "number": {"N": "1.5"},
    "yes": {"BOOL": True},
    "nothing": {"NULL": True},
    "strings": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2"]},
    "bytes": {"B": b"\x00\xff"},
    "more_bytes": {"BS": [b"\x00", b"\x01"]},
    "list": {"L": [{"S": "a"}, {"B": b"\x02"}]},
    "map": {"M": {"a": {"N": "1"}, "b": {"B": b"\x03"}}},
}
KEY = {"PK": {"S": "p"}, "SK": {"S": "s"}}


@pytest.fixture
def both() -> Iterator[tuple[Any, Any]]:
    """The SDK's own client and one that reads plainly, of the same table."""
    with mock_aws():
        made = [boto3.client("dynamodb", region_name="us-east-1", config=Config(max_pool_connections=1)) for _ in "ab"]
        named = [("PK", "HASH"), ("SK", "RANGE")]
        made[0].create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in named],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name, _ in named],
            BillingMode="PAY_PER_REQUEST",
        )
        read_answers_plainly(made[1])
        yield made[0], made[1]
        for client in made:
            client.close()


def answers(client: Any) -> dict[str, Any]:
    """What each kind of read gives, without what says when and by whom."""
    found = {
        "BatchGetItem": client.batch_get_item(RequestItems={TABLE: {"Keys": [KEY], "ConsistentRead": True}}),
        "GetItem": client.get_item(TableName=TABLE, Key=KEY),
        "Query": client.query(
            TableName=TABLE, KeyConditionExpression="PK = :p", ExpressionAttributeValues={":p": {"S": "p"}}, Limit=1
        ),
    }
    return {
        name: {part: held for part, held in answer.items() if part != "ResponseMetadata"}
        for name, answer in found.items()
    }


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_an_attribute_of_any_kind_is_read_as_the_sdk_reads_it(both: tuple[Any, Any], kind: str) -> None:
    own, plain = both
    own.put_item(TableName=TABLE, Item=KEY | {kind: ATTRIBUTES[kind]})

    read = answers(plain)

    assert read == answers(own)
    assert read["GetItem"]["Item"][kind] == ATTRIBUTES[kind]
    assert read.keys() == set(READS)


def test_an_item_that_is_not_there_is_read_as_the_sdk_reads_it(both: tuple[Any, Any]) -> None:
    own, plain = both

    read = answers(plain)

    assert read == answers(own)
    assert "Item" not in read["GetItem"]


def test_the_status_of_an_answer_is_still_reported(both: tuple[Any, Any]) -> None:
    _, plain = both

    assert plain.get_item(TableName=TABLE, Key=KEY)["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_an_error_is_raised_as_the_sdk_raises_it(both: tuple[Any, Any]) -> None:
    raised = []
    for client in both:
        with pytest.raises(ClientError) as caught:
            client.get_item(TableName="another", Key=KEY)
        raised.append(caught.value.response["Error"]["Code"])

    assert raised == ["ResourceNotFoundException"] * 2
