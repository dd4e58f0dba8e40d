"""A policy simulator over the template: the roles allow every call that was recorded, and nothing that was not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.architecture.cloudformation import listed, of_type, read_template
from tests.aws.call_shapes import SHAPES
from tests.functions.roles import Permission, allowed, pattern_of, permissions_of, place_of

# What a role needs for calls that boto3 does not make from a handler, and who makes them.
BY_OTHERS = {
    "logs:": "the runtime writes what a function prints",
    "kms:": "S3, SQS and DynamoDB, with the function's role, under a key of one's own",
    "secretsmanager:": "the first use of a secret: tests/unit/wiring",
    "ssm:": "the first use of a secret: tests/unit/wiring",
    "lambda:": "texts, where no endpoint is named: tests/contract/test_models_function.py, over a fake",
    "textract:": "ingest, where OcrUrl is textract: tests/unit/models/test_text_recognizers.py, over a fake",
    "bedrock:": "signed requests, where a model's address is bedrock: tests/aws/test_bedrock_rights.py",
    "es:": "signed requests: tests/opensearch/test_opensearch_rights.py",
}
BY_THE_POLLER = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
MISSING_KEYS = "s3:ListBucket"
"""Asked for no call: without it S3 answers 403 in place of 404 (HeadObject, GetObject)."""
WITHOUT_VERSIONS = ("s3:DeleteObject", "StateBucket/")
"""The state bucket has no versions; its documentation leaves open which right a version `null` needs."""


def needs() -> Iterator[tuple[str, str, str]]:
    """Role, action and place of every recorded call."""
    for role, recorded in SHAPES.permissions.items():
        for told in recorded:
            action, _, place = told.partition(" ")
            yield role, action, place


def refused(resources: dict[str, Any]) -> list[str]:
    """Recorded calls that a role of *resources* may not make."""
    held = permissions_of(resources)
    return [
        f"{role}: {action} on {place}"
        for role, action, place in needs()
        if not allowed(held.get(role, []), action, place)
    ]


def unused(resources: dict[str, Any]) -> list[str]:
    """What a role of *resources* allows though no recorded call needs it."""
    recorded = list(needs())
    return [
        f"{role}: {action} on {where.pattern}"
        for role, permissions in permissions_of(resources).items()
        for action, where in permissions
        if not _excused(action, where.pattern) and not any(_uses(each, role, (action, where)) for each in recorded)
    ]


def _excused(action: str, place: str) -> bool:
    by_others = action.startswith(tuple(BY_OTHERS)) or action in BY_THE_POLLER or action == MISSING_KEYS
    return by_others or (action == WITHOUT_VERSIONS[0] and place.startswith(WITHOUT_VERSIONS[1]))


def _uses(need: tuple[str, str, str], role: str, permission: Permission) -> bool:
    return need[0] == role and allowed([permission], need[1], need[2])


def test_the_roles_allow_every_recorded_call() -> None:
    assert len(list(needs())) > 50
    assert refused(read_template()["Resources"]) == []


def test_the_roles_allow_nothing_that_no_call_needs() -> None:
    assert unused(read_template()["Resources"]) == []


def statements() -> Iterator[Any]:
    for name, role in of_type(read_template()["Resources"], "AWS::IAM::Role").items():
        for policy in role["Policies"]:
            for number, statement in enumerate(policy["PolicyDocument"]["Statement"]):
                places = [pattern_of(each).pattern for each in listed(statement["Resource"])]
                yield from (
                    pytest.param(name, number, each, id=f"{name}-{statement['Sid']}-{each}")
                    for each in listed(statement["Action"])
                    if not all(_excused(each, place) for place in places)
                )


@pytest.mark.parametrize(("role", "number", "action"), list(statements()))
def test_each_permission_is_missed_when_it_is_taken_away(role: str, number: int, action: str) -> None:
    resources = copy.deepcopy(read_template()["Resources"])
    for policy in resources[role]["Properties"]["Policies"]:
        statement = policy["PolicyDocument"]["Statement"][number]
        statement["Action"] = [each for each in listed(statement["Action"]) if each != action]

    assert refused(resources) != []


def test_a_permission_too_many_is_found() -> None:
    resources = copy.deepcopy(read_template()["Resources"])
    statement = {"Effect": "Allow", "Action": "s3:PutObject", "Resource": {"Fn::Sub": "${DocumentBucket.Arn}/*"}}
    resources["GenerateRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"].append(statement)

    assert unused(resources) == [r"GenerateRole: s3:PutObject on DocumentBucket/.*"]


def test_a_call_stands_for_all_of_its_kind() -> None:
    assert place_of("RegistryTable/index/listing") == "RegistryTable/index/listing"
    assert place_of("DocumentBucket") == "DocumentBucket"
