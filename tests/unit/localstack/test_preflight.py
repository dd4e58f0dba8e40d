"""What is found before a deployment: names, a key that does not admit S3, a role that a domain needs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from localstack.preflight import admits_s3, domain_problems, key_problems, name_problems, s3_statement

ACCOUNT, KEY = "123456789012", "arn:aws:kms:eu-west-1:123456789012:key/k"
ROOT = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "kms:*", "Resource": "*"}
IN_NETWORK = {"OpenSearchDomain": "single-node", "VpcSubnetIds": "subnet-1,subnet-2"}


class Aws:
    """KMS and IAM with one answer, or one refusal."""

    def __init__(self, policy: dict[str, Any] | None = None) -> None:
        self._policy = policy

    def get_key_policy(self, **_: str) -> dict[str, str]:
        if self._policy is None:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetKeyPolicy")
        return {"Policy": json.dumps(self._policy)}

    def get_role(self, **_: str) -> dict[str, str]:
        if self._policy is None:
            raise ClientError({"Error": {"Code": "NoSuchEntity"}}, "GetRole")
        return {}


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [ROOT, *statements]}


@pytest.mark.parametrize(
    ("name", "parameters", "count"),
    [
        ("ragdrop-dev", {}, 0),
        ("r" * 25, {}, 0),
        ("r" * 26, {}, 1),
        ("r" * 23, {"OpenSearchDomain": "multi-az"}, 1),
        ("Ragdrop", {}, 1),
        ("rag_drop", {}, 1),
        ("ragdrop-", {}, 1),
    ],
)
def test_a_stack_name_that_no_bucket_could_have_is_found(name: str, parameters: dict[str, str], count: int) -> None:
    assert len(name_problems(name, parameters)) == count


def test_a_key_whose_policy_has_the_printed_statement_admits_s3() -> None:
    assert admits_s3(json.dumps(policy(s3_statement(ACCOUNT))), ACCOUNT)
    assert key_problems({"KmsKeyArn": KEY}, Aws(policy(s3_statement(ACCOUNT))), ACCOUNT) == []


@pytest.mark.parametrize(
    "statement",
    [
        ROOT,
        {**s3_statement(ACCOUNT), "Effect": "Deny"},
        {**s3_statement(ACCOUNT), "Action": "kms:Decrypt"},
        s3_statement("999999999999"),
        {**s3_statement(ACCOUNT), "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
    ],
)
def test_a_key_that_does_not_admit_s3_is_found_and_the_statement_printed(statement: dict[str, Any]) -> None:
    [problem] = key_problems({"KmsKeyArn": KEY}, Aws(policy(statement)), ACCOUNT)

    assert '"Service": "s3.amazonaws.com"' in problem


def test_a_key_whose_policy_cannot_be_read_names_the_right_that_is_missing() -> None:
    [problem] = key_problems({"KmsKeyArn": KEY}, Aws(), ACCOUNT)

    assert "kms:GetKeyPolicy" in problem


def test_a_domain_in_a_network_needs_the_service_linked_role() -> None:
    assert domain_problems(IN_NETWORK, Aws(policy())) == []
    assert "create-service-linked-role" in domain_problems(IN_NETWORK, Aws())[0]
    assert domain_problems({"OpenSearchDomain": "single-node"}, Aws()) == []
