"""Ingest dies again and again during a push: in the end registry, manifest and bucket agree, and nothing is doubled."""

from __future__ import annotations

import random
import time

import pytest

from bucketindex.manifest import MAX_SEGMENTS, read_manifest
from tests.integration.commands import Tenant, within
from tests.integration.ingest_workers import limited_ingest
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

FILES = 300
KILLS = 10
SETTLED_S = 900.0


def test_three_hundred_files_survive_ten_kills(counted_stack: LocalStack) -> None:
    tenant = Tenant.created(counted_stack, "kills")
    names = [f"file-{number:03}" for number in range(FILES)]
    source = random.Random(7)
    with limited_ingest(counted_stack, timeout_s=60) as workers:
        for name in names:
            tenant.put(f"kept/{name}.md", f"# {name}\n\nThe word of this file is marzipan-{name}.")
        killed = 0
        while killed < KILLS:
            time.sleep(source.uniform(0.2, 1.5))
            killed += int(workers.kill() > 0)
        within(SETTLED_S, lambda: len(tenant.listed("kept", "indexed")) == FILES, every_s=1)

    records = tenant.listed("kept")
    assert {record["status"] for record in records} == {"indexed"}
    chunks = sum(record["chunk_count"] for record in records)
    found = counted_stack.client("dynamodb").query(
        TableName=counted_stack.environment["REGISTRY_TABLE"],
        KeyConditionExpression="PK = :tenant AND begins_with(SK, :index)",
        ExpressionAttributeValues={":tenant": {"S": f"T#{tenant.name}"}, ":index": {"S": "I#"}},
    )
    [index] = found["Items"]
    manifest = read_manifest(index["body"]["S"])
    listed = counted_stack.client("s3").list_objects_v2(
        Bucket=counted_stack.environment["STATE_BUCKET"], Prefix=f"index/{tenant.name}/"
    )["Contents"]
    objects = {entry["Key"].rpartition("/")[2]: entry["Size"] for entry in listed}
    assert len(manifest.segments) <= MAX_SEGMENTS
    assert {f"{each.name}.seg": each.size_bytes for each in manifest.segments}.items() <= objects.items()
    assert manifest.chunks >= chunks  # what was written twice counts until a merge

    for name in source.sample(names, 40):
        texts = tenant.search(f"marzipan-{name}", "kept")
        assert texts.count(f"marzipan-{name}.") == 1
