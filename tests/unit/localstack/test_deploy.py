"""The events that `make up` writes: those of the repository, with what the stack really has."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from localstack.deploy import destroy, local_event, retained_names
from localstack.home import REPOSITORY
from localstack.processes import LaunchError
from tests.architecture.cloudformation import read_template

EVENTS = sorted((REPOSITORY / "events").glob("*.json"))
STACK = {"api_key": "rd_the_stacks_own", "bucket": "documents-of-the-stack", "tenant": "acme"}


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
def test_no_example_stays_in_an_event_and_nothing_else_changes(path: Path) -> None:
    filled = json.dumps(local_event(path.read_text("utf-8"), STACK))

    assert "rd_local_example_key" not in filled
    assert "ragdrop-documents-example" not in filled
    assert "demo/handbook" not in filled
    assert ("rd_the_stacks_own" in filled) == ("rd_local_example_key" in path.read_text("utf-8"))


@pytest.mark.parametrize(
    "path", [path for path in EVENTS if path.stem.startswith("ingest-")], ids=lambda path: path.stem
)
def test_a_changed_message_keeps_a_digest_that_is_right(path: Path) -> None:
    for record in local_event(path.read_text("utf-8"), STACK)["Records"]:
        assert record["md5OfBody"] == hashlib.md5(record["body"].encode(), usedforsecurity=False).hexdigest()


class Stacks:
    """CloudFormation with one stack that leaves a bucket and a table."""

    def __init__(self) -> None:
        self.deleted, self.waited = "", False

    def get_paginator(self, _operation: str) -> Stacks:
        return self

    def get_waiter(self, _name: str) -> Stacks:
        return self

    def paginate(self, **_: str) -> list[dict[str, Any]]:
        kinds = {"AWS::S3::Bucket": "documents", "AWS::SQS::Queue": "queue", "AWS::DynamoDB::Table": "registry"}
        found = [{"ResourceType": kind, "PhysicalResourceId": name} for kind, name in kinds.items()]
        return [{"StackResourceSummaries": found}]

    def delete_stack(self, *, StackName: str) -> None:  # noqa: N803 - the SDK's name
        self.deleted = StackName

    def wait(self, **_: str) -> None:
        self.waited = self.deleted != ""


def test_a_deleted_stack_leaves_buckets_and_tables_and_names_them() -> None:
    stacks = Stacks()

    assert destroy("ragdrop-dev", stacks) == ["bucket documents", "table registry"]
    assert (stacks.deleted, stacks.waited) == ("ragdrop-dev", True)


BUCKETS = ["ragdrop-dev-documents-1-eu-west-1", "ragdrop-dev-statebucket-x1", "ragdrop-dev2-statebucket-y1"]
TABLES = [f"ragdrop-dev-{name}Table-ABC" for name in ("Registry", "Visited", "Telemetry")]


def test_what_a_deleted_stack_left_is_found_by_its_names() -> None:
    assert retained_names("ragdrop-dev", BUCKETS, TABLES) == {
        "DocumentBucket": {"BucketName": BUCKETS[0]},
        "StateBucket": {"BucketName": BUCKETS[1]},
        "RegistryTable": {"TableName": TABLES[0]},
        "VisitedTable": {"TableName": TABLES[1]},
        "TelemetryTable": {"TableName": TABLES[2]},
    }


def test_what_is_missing_or_there_twice_is_named_and_nothing_imported() -> None:
    with pytest.raises(LaunchError, match=r"StateBucket: none; RegistryTable: .*-ABC, .*-DEF$"):
        retained_names("ragdrop-dev", BUCKETS[:1], [*TABLES, "ragdrop-dev-RegistryTable-DEF"])


def test_what_is_adopted_has_the_logical_ids_policies_and_keys_of_the_template() -> None:
    adopted, template = (read_template(name)["Resources"] for name in ("templates/adopt.yaml", "template.yaml"))
    retained = {name for name, each in template.items() if each["Type"] in {"AWS::S3::Bucket", "AWS::DynamoDB::Table"}}

    assert set(adopted) == retained
    for name, resource in adopted.items():
        properties = template[name]["Properties"]
        assert {key: properties.get(key) for key in resource["Properties"]} == resource["Properties"], name
        assert resource["DeletionPolicy"] == template[name]["DeletionPolicy"]
        assert "TableName" not in properties
