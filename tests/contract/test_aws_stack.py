"""A deployed stack as AWS tells it: the SDK's own clients, whose answers are checked against AWS's descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from ragdrop.errors import ConfigurationError, DependencyError
from ragdrop.stores.aws.deployment import read_stack

REGION = "eu-central-1"
OUTPUTS = {"ApiUrl": "https://api.example/dev", "DocumentBucket": "documents", "IngestFunctionName": "ingest"}


class Account:
    """CloudFormation and Lambda that answer what they are told to."""

    def __init__(self) -> None:
        keys = {"region_name": REGION, "aws_access_key_id": "a", "aws_secret_access_key": "b"}
        self.clients = {service: boto3.client(service, **keys) for service in ("cloudformation", "lambda")}
        self.told = {service: Stubber(client) for service, client in self.clients.items()}
        for stubber in self.told.values():
            stubber.activate()

    def has_stack(self, outputs: dict[str, str]) -> None:
        listed = [{"OutputKey": name, "OutputValue": value} for name, value in outputs.items()]
        stack = {"StackName": "ragdrop-dev", "StackStatus": "CREATE_COMPLETE", "Outputs": listed}
        answer = {"Stacks": [{**stack, "CreationTime": datetime.now(UTC)}]}
        self.told["cloudformation"].add_response("describe_stacks", answer, {"StackName": "ragdrop-dev"})

    def refuses(self, code: str) -> None:
        self.told["cloudformation"].add_client_error("describe_stacks", code, http_status_code=400)

    def read(self) -> Any:
        return read_stack("ragdrop-dev", self.clients.__getitem__)


@pytest.fixture
def account() -> Iterator[Account]:
    account = Account()
    yield account
    for client in account.clients.values():
        client.close()


def test_its_outputs_and_its_functions_environment_are_read(account: Account) -> None:
    account.has_stack(OUTPUTS)
    variables = {"Environment": {"Variables": {"INDEX_URL": "https://index.example"}}}
    account.told["lambda"].add_response("get_function_configuration", variables, {"FunctionName": "ingest"})

    stack = account.read()

    assert (stack.api_url, stack.bucket) == ("https://api.example/dev", "documents")
    assert stack.environment == {"INDEX_URL": "https://index.example", "AWS_DEFAULT_REGION": REGION}


def test_a_stack_that_does_not_exist_is_named_with_its_region(account: Account) -> None:
    account.refuses("ValidationError")

    with pytest.raises(ConfigurationError, match=f"there is no stack ragdrop-dev in {REGION}"):
        account.read()


def test_credentials_that_may_not_ask_are_a_dependency_that_no_retry_helps(account: Account) -> None:
    account.refuses("AccessDenied")

    with pytest.raises(DependencyError) as caught:
        account.read()

    assert caught.value.details["retryable"] is False


def test_a_stack_that_is_not_ragdrops_is_refused(account: Account) -> None:
    account.has_stack({"Other": "x"})

    with pytest.raises(ConfigurationError, match="has no output ApiUrl"):
        account.read()
