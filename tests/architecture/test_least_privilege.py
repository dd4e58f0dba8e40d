"""Who may do what in AWS: no wildcard without a reason, TLS everywhere, secrets by reference only."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from tests.architecture.cloudformation import Resource, allowed_statements, listed, of_type

# A wildcard in a resource, by the statement's Sid or what it is a part of, and why there is no narrower one.
REASONS = {
    "objects of one bucket": re.compile(r"\$\{(DocumentBucket|StateBucket)\.Arn\}/(revisions/|sweeps/|index/)?\*"),
    "objects of the document bucket, by the name that it is given, as they would depend on each other": re.compile(
        r"arn:\$\{AWS::Partition\}:s3:::\$\{AWS::StackName\}-documents-\$\{AWS::AccountId\}-\$\{AWS::Region\}/"
        r"(\.admitted/)?\*"
    ),
    "paths of the domain's indexes, whose names the tenants' items hold": re.compile(
        r"\$\{IndexDomain\.Arn\}/\*(/_msearch|/_count|/_refresh|/_delete_by_query)?"
    ),
    "a named model or profile of Bedrock, wherever bedrock:REGION calls it": re.compile(
        r"arn:(\$\{AWS::Partition\}|\*):bedrock:\*:(\$\{AWS::AccountId\}|\*)?:"
        r"(foundation-model/|\*?inference-profile/)(\$\{EmbeddingModel\}|[a-z.:0-9-]*[0-9])?"
    ),
    "the default project of the account, in the region of bedrock:REGION": re.compile(
        r"arn:\$\{AWS::Partition\}:bedrock:\*:\$\{AWS::AccountId\}:project/default"
    ),
    "models behind a named profile of Bedrock: the statement's condition names it": re.compile(
        r"arn:\$\{AWS::Partition\}:bedrock:\*::foundation-model/\*, by the profile"
    ),
}


WITHOUT_RESOURCE = ("textract:DetectDocumentText",)
"""Actions that AWS lets nobody narrow to a resource."""


def unreasoned(resources: dict[str, Resource]) -> list[str]:
    """Every wildcard that an allowing statement of a function has, without a reason for it."""
    found = []
    for name, statement in allowed_statements(resources):
        if "NotAction" in statement or "NotResource" in statement:
            found.append(f"{name}: everything but something")
            continue
        if statement["Action"] in WITHOUT_RESOURCE:
            continue
        found += [f"{name}: action {action}" for action in listed(statement["Action"]) if "*" in action]
        for resource in listed(statement["Resource"]):
            text = resource_text(resource, statement)
            if "*" in text and not any(reason.fullmatch(text) for reason in REASONS.values()):
                found.append(f"{name}: resource {text}")
    return found


def resource_text(resource: Any, statement: Resource) -> str:
    """A resource as the template writes it; of a list that is joined, what each begins with."""
    through = statement.get("Condition", {}).get("StringLike", {}).get("bedrock:InferenceProfileArn")
    if isinstance(resource, dict) and "Fn::Split" in resource:
        [first, joined] = resource["Fn::Split"][1]["Fn::Join"][1]
        assert joined["Fn::Join"][0] == f",{first}"
        return str(first)
    if through and isinstance(resource, dict):
        return f"{resource['Fn::Sub']}, by the profile"
    if isinstance(resource, dict):
        inner = resource.get("Fn::Sub") or resource.get("Fn::GetAtt") or resource.get("Ref") or str(resource)
        return str(inner[0] if isinstance(inner, list) else inner)
    return str(resource)


def test_no_wildcard_stands_without_a_reason(template: Resource) -> None:
    assert unreasoned(template["Resources"]) == []


def test_every_reason_is_needed(template: Resource) -> None:
    texts = [
        resource_text(resource, statement)
        for _, statement in allowed_statements(template["Resources"])
        for resource in listed(statement["Resource"])
    ]

    assert [why for why, pattern in REASONS.items() if not any(pattern.fullmatch(text) for text in texts)] == []


PLANTED: list[dict[str, Any]] = [
    {"Effect": "Allow", "Action": "*", "Resource": "arn:aws:s3:::one"},
    {"Effect": "Allow", "Action": ["s3:GetObject", "s3:*"], "Resource": "arn:aws:s3:::one"},
    {"Effect": "Allow", "Action": "dynamodb:Get*", "Resource": {"Fn::GetAtt": "RegistryTable.Arn"}},
    {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"},
    {"Effect": "Allow", "Action": "s3:GetObject", "Resource": ["arn:aws:s3:::one", {"Fn::Sub": "arn:aws:s3:::*/x"}]},
    {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": {"Fn::Sub": "${RegistryTable.Arn}/*"}},
    {"Effect": "Allow", "NotAction": "iam:PassRole", "Resource": "arn:aws:s3:::one"},
    {"Effect": "Allow", "Action": "s3:GetObject", "NotResource": "arn:aws:s3:::one"},
]


@pytest.mark.parametrize("statement", PLANTED, ids=str)
@pytest.mark.parametrize("role", ["IngestRole", "QueryRole", "GenerateRole", "McpRole", "SweepRole"])
def test_a_planted_wildcard_is_found_in_every_role(template: Resource, role: str, statement: dict[str, Any]) -> None:
    resources = copy.deepcopy(template["Resources"])
    resources[role]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"].append(statement)

    assert len(unreasoned(resources)) == 1


def test_every_role_is_taken_by_lambda_alone(template: Resource) -> None:
    for name, role in of_type(template["Resources"], "AWS::IAM::Role").items():
        for statement in role["AssumeRolePolicyDocument"]["Statement"]:
            assert statement["Principal"] == {"Service": "lambda.amazonaws.com"}, name


@pytest.mark.parametrize(
    ("kind", "policy_kind", "place"),
    [("AWS::S3::Bucket", "AWS::S3::BucketPolicy", "Bucket"), ("AWS::SQS::Queue", "AWS::SQS::QueuePolicy", "Queues")],
)
def test_every_bucket_and_queue_refuses_whatever_comes_without_tls(
    template: Resource, kind: str, policy_kind: str, place: str
) -> None:
    refusing = set()
    for policy in of_type(template["Resources"], policy_kind).values():
        for statement in policy["PolicyDocument"]["Statement"]:
            if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}:
                assert statement["Principal"] == "*"
                assert statement["Action"] in {"s3:*", "sqs:*"}
                refusing |= {each["Ref"] for each in listed(policy[place])}

    assert refusing == set(of_type(template["Resources"], kind))


def test_everybody_is_only_ever_denied(template: Resource) -> None:
    for kind in ("AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy"):
        for name, policy in of_type(template["Resources"], kind).items():
            allowing = [each for each in policy["PolicyDocument"]["Statement"] if each["Effect"] == "Allow"]
            assert [each for each in allowing if "*" in str(each["Principal"])] == [], name
            assert all(each.get("Condition") for each in allowing), name


def test_a_secret_reaches_a_function_as_a_parameter_that_is_not_shown(template: Resource) -> None:
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    secrets = {name: value for name, value in variables.items() if name.endswith(("_KEY", "_PASSWORD", "_SECRET"))}

    assert len(secrets) >= 4
    for name, value in secrets.items():
        held = value["Fn::If"][1] if "Fn::If" in value else value
        assert template["Parameters"][held["Ref"]]["NoEcho"] is True, name
