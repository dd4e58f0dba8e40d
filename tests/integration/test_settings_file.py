"""A settings file dropped into the bucket of the live stack: listed, in force, and the last valid one stays."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import httpx

from tests.stacks import LocalStack

WITHIN_S = 20.0
STEP_S = 0.2


def record(stack: LocalStack, path: str) -> dict[str, Any]:
    """The record of a document; empty while there is none."""
    reply = httpx.get(
        f"{stack.api_url}/documents/{path}", headers={"x-api-key": stack.api_key}, timeout=30, trust_env=False
    )
    return dict(reply.json()) if reply.status_code == 200 else {}


def drop(stack: LocalStack, path: str, **fields: Any) -> dict[str, Any]:
    """Put a settings file with S3 and wait until ingest has converged to that version; its record then."""
    put = stack.client("s3").put_object(
        Bucket=stack.bucket, Key=f"{stack.tenant}/{path}", Body=json.dumps(fields).encode()
    )
    end = time.monotonic() + WITHIN_S
    while time.monotonic() < end:
        found = record(stack, path)
        if found.get("version_id") == put["VersionId"] and found["status"] != "pending":
            return found
        time.sleep(STEP_S)
    raise AssertionError(f"{path} was not looked at within {WITHIN_S} s")


def in_force(stack: LocalStack, vault: str) -> dict[str, Any]:
    """What the registry keeps of the vault's settings."""
    table = stack.environment["REGISTRY_TABLE"]
    key = {"PK": {"S": f"T#{stack.tenant}"}, "SK": {"S": f"S#{vault}"}}
    item = stack.client("dynamodb").get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
    return dict(json.loads(item["settings"]["S"])) if item else {}


def test_a_dropped_settings_file_is_listed_a_bad_one_fails_and_the_last_valid_one_stays(stack: LocalStack) -> None:
    vault = f"settings-{uuid.uuid4().hex[:8]}"
    path = f"{vault}/.ragdrop.json"

    good = drop(stack, path, min_relevance=0.25, chunk_tokens=64)
    assert (good["status"], good["doc_type"], good["chunk_count"]) == ("indexed", "settings", 0)
    assert in_force(stack, vault) == {"min_relevance": 0.25, "chunk_tokens": 64}

    bad = drop(stack, path, min_relevance=4, colour="red", system_prompt="Rhyme.")
    assert (bad["status"], bad["error"]["code"]) == ("failed", "INVALID_SETTINGS")
    assert all(field in bad["error"]["message"] for field in ("min_relevance: 4", "colour", "system_prompt"))
    assert in_force(stack, vault) == {"min_relevance": 0.25, "chunk_tokens": 64}

    stack.client("s3").delete_object(Bucket=stack.bucket, Key=f"{stack.tenant}/{path}")
    end = time.monotonic() + WITHIN_S
    while in_force(stack, vault) and time.monotonic() < end:
        time.sleep(STEP_S)
    assert in_force(stack, vault) == {}
