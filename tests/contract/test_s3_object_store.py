"""What S3 answers that no emulator shows, told by a client that answers so."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from ragdrop.errors import ConfigurationError, ObjectStoreError
from ragdrop.stores.aws.clients import form_config
from ragdrop.stores.s3_objects import S3ObjectStore
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

    get_object = put_object = delete_object = list_object_versions = head_object


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


def test_versions_that_could_not_be_removed_are_reported() -> None:
    store = S3ObjectStore("documents", RefusingToDelete())

    with pytest.raises(
        ObjectStoreError, match=r"1 of 1 versions in documents could not be removed \(AccessDenied\)"
    ) as caught:
        store.delete_prefix("acme/")
    assert caught.value.retryable is False


class Pages:
    """A client that lists two entries at a time, as S3 does with more: markers of key and version, both given back."""

    def __init__(self) -> None:
        names = [("a.md", "v2", True), ("a.md", "v1", False), ("b.md", "v3", True), ("c.md", "v4", True)]
        self.entries = [
            {"Key": f"acme/{key}", "VersionId": version, "IsLatest": latest, "LastModified": datetime.now(UTC)}
            for key, version, latest in names
        ]
        self.markers: list[tuple[str | None, str | None]] = []

    def list_object_versions(self, **request: Any) -> dict[str, Any]:
        marker = request.get("KeyMarker"), request.get("VersionIdMarker")
        self.markers.append(marker)
        places = [(each["Key"], each["VersionId"]) for each in self.entries]
        first = places.index(marker) + 1 if marker in places else 0
        shown = self.entries[first : first + 2]
        last = {"NextKeyMarker": shown[-1]["Key"], "NextVersionIdMarker": shown[-1]["VersionId"]}
        more = first + 2 < len(places)
        return {"Versions": shown, "IsTruncated": more} | (last if more else {})


def test_entries_go_on_where_a_page_ends_within_the_versions_of_a_key() -> None:
    client = Pages()

    found = [(each.key, each.version_id) for each in S3ObjectStore("documents", client).entries("acme/")]

    assert found == [("acme/a.md", "v2"), ("acme/b.md", "v3"), ("acme/c.md", "v4")]
    assert client.markers == [(None, None), ("acme/a.md", "v1")]


def test_a_listing_that_fails_is_an_object_store_error() -> None:
    store = S3ObjectStore("documents", Refusing(refusal(500, "InternalError")))

    with pytest.raises(ObjectStoreError):
        list(store.entries("acme/"))


def test_an_upload_form_is_signed_by_version_4_and_holds_its_limits() -> None:
    with clients("aws") as make:
        store = S3ObjectStore("documents", make("s3"))
        form = store.upload_form(
            "acme/team/a.md", media_type="text/plain", metadata={"ragdrop-by": "sync"}, max_bytes=77, expires_s=900
        )

    conditions = json.loads(base64.b64decode(form.fields["policy"]))["conditions"]
    assert form.fields["x-amz-algorithm"] == "AWS4-HMAC-SHA256"  # buckets made since 2020 refuse the older version
    assert ["content-length-range", 1, 77] in conditions
    assert {"key": "acme/team/a.md"} in conditions


def test_a_key_that_s3_would_complete_gets_no_form() -> None:
    with pytest.raises(ValueError, match="exact"):
        S3ObjectStore("documents", object()).upload_form(
            "a/${filename}", media_type="x/y", metadata={}, max_bytes=1, expires_s=1
        )


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1", "eu-central-1", "ap-southeast-5"])
def test_an_upload_form_is_signed_by_version_4_for_the_regions_own_endpoint(
    monkeypatch: pytest.MonkeyPatch, region: str
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": region}
    store = S3ObjectStore("documents", client=boto3.client("s3", config=form_config(), **keys))

    form = store.upload_form("acme/a.md", media_type="text/plain", metadata={}, max_bytes=9, expires_s=60)

    assert form.url == f"https://documents.s3.{region}.amazonaws.com/"
    assert form.fields["x-amz-algorithm"] == "AWS4-HMAC-SHA256"
    assert f"/{region}/s3/aws4_request" in form.fields["x-amz-credential"]
    assert "AWSAccessKeyId" not in form.fields
