"""What would fail a first deployment to AWS after minutes, found in seconds before it begins."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import botocore.exceptions

MAX_STACK_NAME, MAX_WITH_DOMAIN = 25, 22  # the document bucket and the domain are named after the stack
STACK_NAME = re.compile(r"[a-z][a-z0-9-]*[a-z0-9]|[a-z]")
NEEDED_OF_KEY = ("kms:GenerateDataKey", "kms:Decrypt")
DOMAIN_ROLE = "AWSServiceRoleForAmazonOpenSearchService"
NOT_ASKED = (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError)


def name_problems(stack_name: str, parameters: Mapping[str, str]) -> list[str]:
    """Why a stack cannot have this name; empty if it can.

    >>> name_problems("ragdrop-dev", {}), name_problems("Ragdrop", {})
    ([], ["the stack name 'Ragdrop' must be lower-case letters, digits and hyphens, and begin with a letter"])
    """
    has_domain = parameters.get("OpenSearchDomain", "none") != "none"
    most = MAX_WITH_DOMAIN if has_domain else MAX_STACK_NAME
    found = []
    if not STACK_NAME.fullmatch(stack_name):
        found.append(
            f"the stack name {stack_name!r} must be lower-case letters, digits and hyphens, and begin with a letter"
        )
    if len(stack_name) > most:
        found.append(f"the stack name {stack_name!r} has {len(stack_name)} characters; at most {most} are possible")
    return found


def admits_s3(policy: str, account: str) -> bool:
    """Whether a key's policy lets S3 encrypt the events that it sends to a queue.

    Only statements that name the service are read, with no condition but on *account*.
    """
    found = set()
    for each in _listed(json.loads(policy)["Statement"]):
        principal, actions = each.get("Principal"), _listed(each.get("Action", []))
        services = _listed(principal.get("Service", [])) if isinstance(principal, dict) else []
        conditions = [values for kinds in each.get("Condition", {}).values() for values in kinds.items()]
        is_ours = all(key.lower() == "aws:sourceaccount" and account in _listed(value) for key, value in conditions)
        if each["Effect"] == "Allow" and "s3.amazonaws.com" in services and is_ours:
            found |= {name for name in NEEDED_OF_KEY for action in actions if _covers(action, name)}
    return found == set(NEEDED_OF_KEY)


def s3_statement(account: str) -> dict[str, Any]:
    """The statement that the key's policy needs, so that S3 can send events to the stack's queue."""
    return {
        "Sid": "S3SendsEventsToEncryptedQueues",
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": list(NEEDED_OF_KEY),
        "Resource": "*",
        "Condition": {"StringEquals": {"aws:SourceAccount": account}},
    }


def key_problems(parameters: Mapping[str, str], client: Any, account: str) -> list[str]:
    """Why S3 could not send events under the key of the deployment: a first one fails when the bucket is made.

    *client* speaks to KMS. A policy that may not be read is reported as a problem of the caller's rights.
    """
    key = parameters.get("KmsKeyArn", "")
    if not key:
        return []
    try:
        policy = client.get_key_policy(KeyId=key, PolicyName="default")["Policy"]
    except NOT_ASKED as exc:
        return [f"the policy of {key} cannot be read ({type(exc).__name__}): allow yourself kms:GetKeyPolicy"]
    if admits_s3(policy, account):
        return []
    return [f"the policy of {key} does not admit S3; add:\n{json.dumps(s3_statement(account), indent=2)}"]


def domain_problems(parameters: Mapping[str, str], client: Any) -> list[str]:
    """Why a domain could not be put into the network: it needs a service-linked role. *client* speaks to IAM."""
    if parameters.get("OpenSearchDomain", "none") == "none" or not parameters.get("VpcSubnetIds", ""):
        return []
    try:
        client.get_role(RoleName=DOMAIN_ROLE)
    except NOT_ASKED:
        command = "aws iam create-service-linked-role --aws-service-name opensearchservice.amazonaws.com"
        return [f"a domain in a network needs the role {DOMAIN_ROLE}: {command}"]
    return []


def problems(stack_name: str, parameters: Mapping[str, str], session: Any) -> list[str]:
    """Everything that would fail the deployment of a stack; AWS is asked only where the parameters need it.

    *session* is boto3's.
    """
    found = name_problems(stack_name, parameters)
    if parameters.get("KmsKeyArn", ""):
        _, _, _, region, account, _ = parameters["KmsKeyArn"].split(":", 5)
        found += key_problems(parameters, session.client("kms", region_name=region), account)
    if parameters.get("VpcSubnetIds", ""):
        found += domain_problems(parameters, session.client("iam"))
    return found


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def _covers(action: str, name: str) -> bool:
    return re.fullmatch(re.escape(action).replace(r"\*", ".*"), name, re.IGNORECASE) is not None
