"""A purge over the deployed handlers: no byte of the document is left in any bucket, table or queue."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

import boto3

from ragdrop.domain.history import STAGE
from tests.functions.conftest import EXAMPLE_BUCKET, REGION, Deployment

KEY = "demo/handbook/zqsecretive.md"
SECRETS = ("zqvermilion", "zqcobalt", "zqstaged")
NAME = "zqsecretive"  # stays in the manifest's list of removals until the segments that it is about are merged
KEPT = "zqcommon"


def stored(deployment: Deployment) -> str:
    """All that the stores hold, in lower case: names, metadata, bodies of every version, items, messages."""
    return "\n".join([*_objects(deployment), *_items(), *_messages(deployment)]).lower()


def _objects(deployment: Deployment) -> Iterator[str]:
    for bucket in (EXAMPLE_BUCKET, "state"):
        listed = deployment.s3.list_object_versions(Bucket=bucket)
        yield repr(listed.get("DeleteMarkers"))
        for version in listed.get("Versions", []):
            found = deployment.s3.get_object(Bucket=bucket, Key=version["Key"], VersionId=version["VersionId"])
            yield f"{version['Key']} {found['Metadata']}"
            yield unpacked(found["Body"].read())


def _items() -> Iterator[str]:
    client = boto3.client("dynamodb", region_name=REGION)
    for table in ("registry", "visited", "telemetry"):
        for page in client.get_paginator("scan").paginate(TableName=table):
            for item in page["Items"]:
                yield repr(item)
                yield from (unpacked(value["B"]) for value in item.values() if "B" in value)


def _messages(deployment: Deployment) -> Iterator[str]:
    queue_url = deployment.handlers["query"].app.ports.settings.queue_url
    found = deployment.sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10, VisibilityTimeout=0)
    yield from (message["Body"] for message in found.get("Messages", []))


def unpacked(body: bytes) -> str:
    """A body, and what zlib makes of it; the random bytes of a key may begin as a packed body does."""
    text = body.decode("utf-8", "replace")
    try:
        return text + zlib.decompress(body).decode("utf-8", "replace") if body[:1] == b"\x78" else text
    except zlib.error:
        return text


def test_a_purge_leaves_no_byte_of_any_past_or_stage_in_any_store(deployment: Deployment) -> None:
    def search(**fields: Any) -> set[str]:
        status, found = deployment.post("query", {"query": "code of the pump", "min_relevance": 0, **fields})
        assert status == 200, found
        return {one["path"] for one in found["results"]}

    deployment.put_object("demo/handbook/keep.md", f"The {KEPT} tap is old.")
    deployment.put_object(KEY, "The code of the pump is zqvermilion.")
    then = deployment.send("GET", "/documents/handbook/zqsecretive.md/history")[1]["versions"][0]["modified_at"]
    deployment.put_object(KEY, "The code of the pump is zqcobalt.")
    staged = b"The code of the pump is zqstaged."
    deployment.s3.put_object(Bucket=EXAMPLE_BUCKET, Key=KEY, Body=staged, Metadata={STAGE: "spring"})
    deployment.reconcile(KEY)
    for fields in ({}, {"as_of": then}, {"stage": "spring"}):
        assert "zqsecretive.md" in search(**fields)
    assert deployment.post("generate", {"query": "code of the pump", "min_relevance": 0})[0] == 200
    assert [secret for secret in (*SECRETS, NAME, KEPT) if secret not in stored(deployment)] == []

    status, receipt = deployment.send("DELETE", "/documents/handbook/zqsecretive.md", purge="1")

    assert status == 200, receipt
    left = stored(deployment)
    assert [secret for secret in SECRETS if secret in left] == [], json.dumps(receipt)
    assert KEPT in left
    assert all('"removals"' in line for line in left.splitlines() if NAME in line)
    for fields in ({}, {"as_of": then}, {"stage": "spring"}):
        assert search(**fields) == {"keep.md"}
