"""A deployed CloudFormation stack of ragdrop's, as its outputs and the environment of its functions tell it."""

from __future__ import annotations

from collections.abc import Callable

from botocore.exceptions import ClientError

from ragdrop.adapters.aws import AwsClient, client, error_code, translated
from ragdrop.domain.deployed_stacks import DeployedStack
from ragdrop.errors import ConfigurationError, DependencyError

SERVICE = "cloudformation"
NEEDED = ("ApiUrl", "DocumentBucket", "IngestFunctionName")


def read_stack(name: str, made: Callable[[str], AwsClient] = client) -> DeployedStack:
    """Ask CloudFormation and Lambda for the stack *name*; credentials and region are the SDK's own search.

    Args:
        name: The stack's name.
        made: Gives the client of a service; tests hand in others.

    Raises:
        ConfigurationError: There is none of that name, it is not finished, or it is not ragdrop's.
        DependencyError: AWS did not answer, or the credentials may not ask.
    """
    cloudformation = made("cloudformation")
    region = cloudformation.meta.region_name
    with translated(DependencyError, service=SERVICE, resource=f"the stack {name}"):
        try:
            found = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        except ClientError as exc:
            if error_code(exc) != "ValidationError":  # CloudFormation's word for a stack that does not exist
                raise
            raise ConfigurationError(f"there is no stack {name} in {region}") from exc
        outputs = {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", [])}
        missing = [each for each in NEEDED if each not in outputs]
        if missing:
            status = found["StackStatus"]
            raise ConfigurationError(f"the stack {name} is {status} and has no output {', '.join(missing)}")
        asked = made("lambda").get_function_configuration(FunctionName=outputs["IngestFunctionName"])
    environment = {**asked.get("Environment", {}).get("Variables", {}), "AWS_DEFAULT_REGION": region}
    return DeployedStack(name, outputs["ApiUrl"], outputs["DocumentBucket"], environment)
