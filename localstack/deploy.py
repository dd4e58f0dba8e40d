"""``sam deploy`` of the real template to the emulator, and what the emulator leaves out of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3
import botocore.exceptions

from localstack.build import run_sam
from localstack.home import Home

STACK_NAME = "ragdrop"
GATEWAY_RESPONSES = "x-amazon-apigateway-gateway-responses"


@dataclass(frozen=True)
class Emulated:
    """The emulator as AWS clients see it."""

    endpoint_url: str
    environment: Mapping[str, str]

    def client(self, service: str) -> Any:
        """A boto3 client of *service* that speaks to the emulator."""
        return boto3.client(
            service,
            endpoint_url=self.endpoint_url,
            region_name=self.environment["AWS_DEFAULT_REGION"],
            aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
        )

    def outputs(self) -> dict[str, str]:
        """The deployed stack's outputs; empty where it is not deployed."""
        try:
            stacks = self.client("cloudformation").describe_stacks(StackName=STACK_NAME)["Stacks"]
        except botocore.exceptions.ClientError:
            return {}
        if not stacks[0]["StackStatus"].endswith("_COMPLETE") or stacks[0]["StackStatus"].startswith("ROLLBACK"):
            return {}
        return {output["OutputKey"]: output["OutputValue"] for output in stacks[0].get("Outputs", [])}

    def waiting(self, queue_url: str) -> int:
        """Messages that wait in a queue."""
        attributes = ["ApproximateNumberOfMessages"]
        reply = self.client("sqs").get_queue_attributes(QueueUrl=queue_url, AttributeNames=attributes)
        return int(reply["Attributes"][attributes[0]])

    def function_environment(self, function: str) -> dict[str, str]:
        """The environment variables of a deployed function."""
        configuration = self.client("lambda").get_function_configuration(FunctionName=function)
        return dict(configuration["Environment"]["Variables"])


def deployment_digest(built: str, parameters: Mapping[str, str]) -> str:
    """SHA-256 over the build and the parameters: where it is unchanged there is nothing to deploy.

    It is the value of the parameter `Release`, so that a changed parameter makes a new version of every function.

    >>> deployment_digest("b", {"LogLevel": "INFO"}) == deployment_digest("b", {"LogLevel": "DEBUG"})
    False
    """
    return hashlib.sha256(json.dumps([built, sorted(parameters.items())]).encode()).hexdigest()


def overrides_of(parameters: Mapping[str, str]) -> list[str]:
    """Parameters as `sam deploy --parameter-overrides` takes them.

    >>> overrides_of({"Stage": "dev", "ChatModels": "a b"})
    ['ChatModels="a b"', 'Stage="dev"']
    """
    return [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(parameters.items())]


def deploy(home: Home, emulated: Emulated, parameters: Mapping[str, str]) -> None:
    """Deploy the build with *parameters*, then mend what the emulator leaves out.

    Raises:
        LaunchError: sam failed; the message has the end of its output.
    """
    overrides = overrides_of(parameters)
    arguments = ["deploy", "--config-env", "local", "--no-progressbar", "--parameter-overrides", *overrides]
    run_sam(arguments, log=home.logs / "sam-deploy.log", environment=dict(emulated.environment))
    apply_gateway_responses(emulated)


def apply_gateway_responses(emulated: Emulated) -> None:
    """Give the API the gateway's own error bodies: the emulator does not read them from an API's definition."""
    template = emulated.client("cloudformation").get_template(StackName=STACK_NAME, TemplateStage="Processed")
    body = template["TemplateBody"]
    resources = (json.loads(body) if isinstance(body, str) else body)["Resources"]
    api = next(item for item in resources.values() if item["Type"] == "AWS::ApiGateway::RestApi")
    outputs = emulated.outputs()
    gateway = emulated.client("apigateway")
    for kind, response in api["Properties"]["Body"][GATEWAY_RESPONSES].items():
        optional = {"statusCode": str(response["statusCode"])} if "statusCode" in response else {}
        gateway.put_gateway_response(
            restApiId=outputs["ApiId"],
            responseType=kind,
            responseTemplates=response.get("responseTemplates", {}),
            responseParameters=response.get("responseParameters", {}),
            **optional,
        )
    gateway.create_deployment(restApiId=outputs["ApiId"], stageName=stage_of(outputs))


def stage_of(outputs: Mapping[str, str]) -> str:
    """The API's stage, the last part of its address.

    >>> stage_of({"ApiUrl": "https://x.example/dev"})
    'dev'
    """
    return outputs["ApiUrl"].rpartition("/")[2]


def local_api_url(endpoint_url: str, outputs: Mapping[str, str]) -> str:
    """Where the emulator serves the API: by path, as no name leads to it.

    >>> local_api_url("http://h:1", {"ApiId": "abc", "ApiUrl": "https://x.example/dev"})
    'http://h:1/restapis/abc/dev/_user_request_'
    """
    return f"{endpoint_url}/restapis/{outputs['ApiId']}/{stage_of(outputs)}/_user_request_"
