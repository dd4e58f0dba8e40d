"""What S3 answers that no emulator shows, told by a client that answers so."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from ragdrop.adapters.s3_object_store import S3ObjectStore
from ragdrop.errors import ConfigurationError, ObjectStoreError
from tests.contract.aws_fixtures import clients


def refusal(status: int, code: str) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "Any")


class Refusing:
    """A client whose every call ends in one error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def head_object(self, **_: Any) -> Any:
        raise self.error

    get_object = put_object = delete_object = head_object


class Versions:
    """A client with many versions; as S3 it lists and removes 1,000 at a time."""

    def __init__(self, count: int) -> None:
        self.left = [{"Key": f"acme/{number}.md", "VersionId": "v1"} for number in range(count)]
        self.requests: list[int] = []

    def list_object_versions(self, MaxKeys: int, **_: Any) -> dict[str, Any]:  # noqa: N803 - the SDK's name
        return {"Versions": self.left[: min(MaxKeys, 1_000)]}

    def delete_objects(self, Delete: Any, **_: Any) -> dict[str, Any]:  # noqa: N803
        self.requests.append(len(Delete["Objects"]))
        self.left = self.left[len(Delete["Objects"]) :]
        return {"Deleted": Delete["Objects"]}


class RefusingToDelete:
    """A client that lists one version and will not remove it."""

    def list_object_versions(self, **_: Any) -> dict[str, Any]:
        return {"Versions": [{"Key": "acme/a.md", "VersionId": "v1"}]}

    def delete_objects(self, **_: Any) -> dict[str, Any]:
        return {"Errors": [{"Key": "acme/a.md", "Code": "AccessDenied"}]}


def test_a_403_names_the_permission_that_is_probably_missing() -> None:
    store = S3ObjectStore("documents", Refusing(refusal(403, "403")))

    with pytest.raises(ObjectStoreError, match="s3:ListBucket") as caught:
        store.head("acme/team/a.md")
    assert caught.value.retryable is False


def test_a_slow_down_can_be_tried_again() -> None:
    store = S3ObjectStore("documents", Refusing(refusal(503, "SlowDown")))

    with pytest.raises(ObjectStoreError, match="SlowDown") as caught:
        store.get("acme/team/a.md")
    assert (caught.value.service, caught.value.retryable) == ("object_store", True)


def test_an_endpoint_that_does_not_answer_is_an_object_store_error_with_its_cause() -> None:
    cause = EndpointConnectionError(endpoint_url="http://127.0.0.1:1")
    store = S3ObjectStore("documents", Refusing(cause))

    with pytest.raises(ObjectStoreError) as caught:
        store.put("acme/team/a.md", b"", media_type="text/plain")
    assert caught.value.__cause__ is cause


def test_a_bucket_that_does_not_exist_is_never_taken_for_a_missing_key() -> None:
    with clients("aws") as make:
        store = S3ObjectStore("nowhere", make("s3"))

        for _ in range(2):
            with pytest.raises(ConfigurationError, match="bucket nowhere does not exist"):
                store.head("acme/team/a.md")
        with pytest.raises(ConfigurationError, match="nowhere"):
            store.get("acme/team/a.md")


def test_a_prefix_of_more_versions_than_a_request_takes_is_removed_whole() -> None:
    client = Versions(2_005)

    assert S3ObjectStore("documents", client).delete_prefix("acme/") == 2_005
    assert client.requests == [1_000, 1_000, 5]


def test_versions_that_could_not_be_removed_are_told() -> None:
    store = S3ObjectStore("documents", RefusingToDelete())

    with pytest.raises(
        ObjectStoreError, match=r"1 of 1 versions in documents could not be removed \(AccessDenied\)"
    ) as caught:
        store.delete_prefix("acme/")
    assert caught.value.retryable is False
