"""What the DynamoDB registry asks for, told by clients that record or fail: emulators hide mistakes here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Failure, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import ConfigurationError, DatabaseError
from ragdrop.stores.dynamodb.items import detail_item, detail_of, encode_item, head_of
from ragdrop.stores.dynamodb.registry_table import DynamoDbRegistry
from tests.contract import registry_examples as examples
from tests.contract.aws_fixtures import clients, table_definition

KEYS = [DocumentKey("acme", "team", f"{number}.md") for number in range(4)]


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += seconds

    def deadline(self, seconds: float) -> Deadline:
        return Deadline(seconds, clock=lambda: self.now_s)


class Recording:
    """A client that notes every request and hands it on."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(**request: Any) -> Any:
            self.requests.append((name, request))
            return getattr(self._client, name)(**request)

        return call


class Throttled:
    """A client that processes one key of a batch a call, the first one not before *silent* calls."""

    def __init__(self, silent: int = 0) -> None:
        self.silent = silent
        self.batches: list[int] = []

    def batch_get_item(self, RequestItems: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803 - the SDK's name
        asked = RequestItems["registry"]
        self.batches.append(len(asked["Keys"]))
        done = 0 if len(self.batches) <= self.silent else 1
        heads = [item | encode_item({"status": "indexed", "revision": 1}) for item in asked["Keys"][:done]]
        left = {"registry": asked | {"Keys": asked["Keys"][done:]}} if asked["Keys"][done:] else {}
        return {"Responses": {"registry": heads}, "UnprocessedKeys": left}


class Failing:
    """A client whose every call ends in one error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def get_item(self, **_: Any) -> Any:
        raise self.error

    batch_get_item = update_item = put_item = query = get_item


def refusal(code: str, status: int = 400) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "Any")


def test_every_read_of_the_table_is_consistent() -> None:
    with clients("aws") as make:
        client = make("dynamodb")
        client.create_table(TableName="registry", **table_definition("RegistryTable"))
        recording = Recording(client)
        registry = DynamoDbRegistry("registry", recording)
        registry.create_tenant(examples.tenant_of("acme"))
        examples.indexed(registry, KEYS[0])
        recording.requests.clear()

        registry.head(KEYS[0])
        registry.heads(KEYS, Deadline.after(5))
        registry.detail(KEYS[0], 1)
        registry.tenant("acme")
        registry.tenants()
        registry.api_key("ab")
        registry.forget(KEYS[0], 1)

    reads = [request.get("RequestItems", {}).get("registry", request) for _, request in recording.requests]
    assert [name for name, _ in recording.requests] == [
        "get_item",
        "batch_get_item",
        "get_item",
        "query",
        "query",
        "query",
        "get_item",
        "query",
    ]
    assert all(read["ConsistentRead"] is True for read in reads)


def test_heads_are_asked_again_when_unprocessed() -> None:
    clock, client = Clock(), Throttled()

    found = DynamoDbRegistry("registry", client, clock.sleep).heads(KEYS, clock.deadline(60))

    assert set(found.found) == set(KEYS)
    assert client.batches == [4, 3, 2, 1]
    assert len(clock.pauses) == 3
    assert all(0 <= pause <= 0.05 * 2**attempt for attempt, pause in enumerate(clock.pauses))


def test_heads_not_processed_by_the_deadline_are_unread() -> None:
    clock, client = Clock(), Throttled()

    found = DynamoDbRegistry("registry", client, clock.sleep).heads(KEYS, clock.deadline(0))

    assert list(found.found) == KEYS[:1]
    assert found.unread == frozenset(KEYS[1:])


def test_no_head_processed_by_the_deadline_is_a_database_error() -> None:
    clock, client = Clock(), Throttled(silent=10_000)

    with pytest.raises(DatabaseError, match="none of 4 keys") as caught:
        DynamoDbRegistry("registry", client, clock.sleep).heads(KEYS, clock.deadline(2))
    assert caught.value.service == "registry"
    assert clock.now_s <= 2


def test_heads_read_before_a_failure_count() -> None:
    class ThenFailing(Throttled):
        def batch_get_item(self, RequestItems: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803
            if self.batches:
                raise refusal("InternalServerError", 500)
            return super().batch_get_item(RequestItems)

    clock = Clock()
    found = DynamoDbRegistry("registry", ThenFailing(), clock.sleep).heads(KEYS, clock.deadline(60))

    assert (list(found.found), found.unread) == (KEYS[:1], frozenset(KEYS[1:]))


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (refusal("ProvisionedThroughputExceededException"), True),
        (refusal("InternalServerError", 500), True),
        (refusal("AccessDeniedException"), False),
        (refusal("ValidationException"), False),
        (ReadTimeoutError(endpoint_url="http://127.0.0.1:1"), True),
    ],
)
def test_an_error_of_the_sdk_is_a_database_error_with_its_cause(error: Exception, *, retryable: bool) -> None:
    registry = DynamoDbRegistry("registry", Failing(error))

    with pytest.raises(DatabaseError) as caught:
        registry.claim(KEYS[0], None, examples.claim_of())
    assert (caught.value.service, caught.value.retryable, caught.value.__cause__) == ("registry", retryable, error)
    with pytest.raises(DatabaseError):
        registry.heads(KEYS, Deadline.after(5))


def test_a_table_that_does_not_exist_is_a_configuration_error_that_names_it() -> None:
    with clients("aws") as make, pytest.raises(ConfigurationError, match="table nowhere does not exist"):
        DynamoDbRegistry("nowhere", make("dynamodb")).head(KEYS[0])


def test_attributes_of_a_later_version_are_passed_over_and_stay() -> None:
    with clients("aws") as make:
        client = make("dynamodb")
        client.create_table(TableName="registry", **table_definition("RegistryTable"))
        registry = DynamoDbRegistry("registry", client)
        examples.indexed(registry, KEYS[0])
        name = {"PK": {"S": "D#acme/team/0.md"}, "SK": {"S": "H"}}
        client.update_item(
            TableName="registry",
            Key=name,
            UpdateExpression="SET checkpoint = :n, #error = :error",
            ExpressionAttributeNames={"#error": "error"},
            ExpressionAttributeValues=encode_item(
                {":n": 7, ":error": {"code": "TIMEOUT", "message": "m", "attempts": 1, "at": "t", "stage": "parse"}}
            ),
        )

        head = examples.now(registry, KEYS[0])
        assert head.error == Failure("TIMEOUT", "m", 1, "t")
        examples.claimed(registry, KEYS[0])
        item = client.get_item(TableName="registry", Key=name)["Item"]
        assert item["checkpoint"] == {"N": "7"}


def test_a_head_stays_under_one_kilobyte() -> None:
    key = DocumentKey("a-tenant-with-a-name", "a-vault-of-it", "some/folders/deep/" + "n" * 50 + ".md")
    with clients("aws") as make:
        client = make("dynamodb")
        client.create_table(TableName="registry", **table_definition("RegistryTable"))
        registry = DynamoDbRegistry("registry", client)
        claim = replace(
            examples.claim_of("v" * 32, message_id="m" * 36, sequencer="0" * 18), sidecar_version_id="s" * 32
        )
        head = examples.claimed(registry, key, claim)
        registry.activate(examples.detail_of(key, head.revision, title="t" * 999), examples.NOW_S)
        head = examples.claimed(registry, key, claim)
        failure = Failure("EMBEDDING_SERVICE_ERROR", "e" * 999, 5, "2026-01-01T00:00:00Z")
        registry.fail(key, head.revision, failure, keep_live=True)

        item = client.get_item(TableName="registry", Key={"PK": {"S": f"D#{key.s3_key}"}, "SK": {"S": "H"}})["Item"]
    assert 800 < size_bytes(item) < 1_400  # with every field full; an error and a title of 200 characters are rare
    assert size_bytes({name: value for name, value in item.items() if name != "error"}) < 1_024


def size_bytes(value: Any) -> int:
    """About what DynamoDB counts: names and values in UTF-8, a byte for every two digits, 3 bytes a map."""
    if isinstance(value, str):
        return len(value.encode())
    total = 0
    for name, typed in value.items():
        [(kind, inner)] = typed.items()
        numbers = 1 + len(str(inner)) // 2
        total += len(name) + (
            3 + size_bytes(inner) if kind == "M" else numbers if kind == "N" else size_bytes(str(inner))
        )
    return total


def test_links_that_no_item_can_hold_are_cut_with_a_warning() -> None:
    links = tuple("x" * 896 for _ in range(1_000))
    detail = replace(examples.detail_of(KEYS[0], 1), links=links)

    kept = detail_of(detail_item(detail), KEYS[0])

    assert kept is not None
    assert len(kept.links) == 222
    assert kept.warnings == ("late", "only the first 222 of 1000 links were stored")


def test_a_head_with_nothing_but_its_state_can_be_read() -> None:
    head = head_of({"PK": "D#acme/team/a/b.md", "SK": "H", "status": "deleted", "revision": 5})

    assert (head.key.path, head.status, head.revision, head.lease_until_s) == ("a/b.md", Status.DELETED, 5, 0.0)


class Contended:
    """A client that refuses the first *conflicts* transactions, as another write has an item in hand."""

    def __init__(self, client: Any, conflicts: int, code: str = "TransactionConflict") -> None:
        self._client = client
        self.left = conflicts
        self._code = code

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, **request: Any) -> Any:
        if self.left:
            self.left -= 1
            response: Any = {
                "Error": {"Code": "TransactionCanceledException"},
                "ResponseMetadata": {"HTTPStatusCode": 400},
                "CancellationReasons": [{"Code": self._code}, {"Code": "None"}],
            }
            raise ClientError(response, "TransactWriteItems")
        return self._client.transact_write_items(**request)


@pytest.mark.parametrize(("conflicts", "activates"), [(5, True), (6, False)])
def test_a_transaction_that_meets_another_write_is_tried_again_five_times(conflicts: int, *, activates: bool) -> None:
    with clients("aws") as make:
        client = make("dynamodb")
        client.create_table(TableName="registry", **table_definition("RegistryTable"))
        registry = DynamoDbRegistry("registry", Contended(client, conflicts))
        head = examples.claimed(registry, KEYS[0])

        if activates:
            assert registry.activate(examples.detail_of(KEYS[0], head.revision), examples.NOW_S) == head
        else:
            with pytest.raises(DatabaseError) as caught:
                registry.activate(examples.detail_of(KEYS[0], head.revision), examples.NOW_S)
            assert caught.value.retryable


def test_what_is_replaced_expires_and_what_is_live_does_not() -> None:
    with clients("aws") as make:
        client = make("dynamodb")
        client.create_table(TableName="registry", **table_definition("RegistryTable"))
        registry = DynamoDbRegistry("registry", client)
        first = examples.indexed(registry, KEYS[0])
        second = examples.indexed(registry, KEYS[0])
        found = client.scan(TableName="registry")["Items"]

    expiring = {item["SK"]["S"]: int(item["expires_at"]["N"]) for item in found if "expires_at" in item}
    after_s = int(examples.NOW_S) + 31 * 86_400
    assert f"R#{first.revision:016d}" in expiring
    assert f"R#{second.revision:016d}" not in expiring
    assert len([item for item in found if item["PK"]["S"] == "H#acme/team"]) == 2
    assert set(expiring.values()) == {after_s}


class Interrupted:
    """A client that does something once, after the first item that it reads."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.then: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get_item(self, **request: Any) -> Any:
        found = self._client.get_item(**request)
        then, self.then = self.then, None
        if then is not None:
            then()
        return found


def test_a_tag_that_changes_while_its_version_is_activated_is_the_one_that_goes_live() -> None:
    with clients("aws") as make:
        client = make("dynamodb")
        client.create_table(TableName="registry", **table_definition("RegistryTable"))
        interrupted = Interrupted(client)
        registry = DynamoDbRegistry("registry", interrupted)
        head = examples.claimed(registry, KEYS[0], replace(examples.claim_of(), tag="hr"))
        interrupted.then = lambda: registry.retag(head, "v1", "board")

        assert registry.activate(examples.detail_of(KEYS[0], head.revision), examples.NOW_S) is not None

        live = examples.now(registry, KEYS[0])
        assert (live.status, live.tag, live.live_tag) == (Status.INDEXED, "board", "board")
