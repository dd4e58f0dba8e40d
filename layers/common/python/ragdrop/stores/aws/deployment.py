"""Read a deployed CloudFormation stack: outputs and environment of its functions."""

import json
from collections.abc import Callable, Mapping, Sequence

from botocore.exceptions import ClientError

from ragdrop.domain.models import foundation_model, is_profile
from ragdrop.errors import ConfigurationError, DependencyError, ObjectStoreError, QueueError
from ragdrop.ports.message_queue import DeployedStack, Wiring
from ragdrop.ports.model_services import ModelStanding
from ragdrop.stores.aws.clients import AwsClient, aws_errors, client, error_code

SERVICE = "cloudformation"
NEEDED = ("ApiUrl", "DocumentBucket", "IngestFunctionName")
DEPTH = "ApproximateNumberOfMessages"


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
    with aws_errors(DependencyError, service=SERVICE, resource=f"the stack {name}"):
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


class AwsWiring:
    """A WiringProbe.

    Args:
        bucket: The document bucket.
        queue_url: The queue that feeds ingest.
        s3, sqs, functions: Low-level clients (the last of Lambda); by default the environment's own.
    """

    def __init__(
        self, bucket: str, queue_url: str, *, s3: AwsClient = None, sqs: AwsClient = None, functions: AwsClient = None
    ) -> None:
        self._bucket = bucket
        self._queue_url = queue_url
        self._given = s3, sqs
        self._functions = functions

    def look(self) -> Wiring:
        """Queue, dead-letter queue, bucket, then the account: six requests at most."""
        s3, sqs = self._given[0] or client("s3"), self._given[1] or client("sqs")
        with aws_errors(QueueError, service="queue", resource=f"queue {self._queue_url.rsplit('/', 1)[-1]}"):
            names = ["QueueArn", "RedrivePolicy", DEPTH]
            attributes = sqs.get_queue_attributes(QueueUrl=self._queue_url, AttributeNames=names)["Attributes"]
            dead = self._dead_letters(
                sqs, str(json.loads(attributes.get("RedrivePolicy", "{}")).get("deadLetterTargetArn", ""))
            )
        with aws_errors(ObjectStoreError, service="object_store", resource=f"bucket {self._bucket}"):
            versioned = s3.get_bucket_versioning(Bucket=self._bucket).get("Status") == "Enabled"
            sent = s3.get_bucket_notification_configuration(Bucket=self._bucket).get("QueueConfigurations", [])
        events = {event for each in sent if each["QueueArn"] == attributes["QueueArn"] for event in each["Events"]}
        return Wiring(versioned, frozenset(events), int(attributes[DEPTH]), dead, self._concurrency())

    def _concurrency(self) -> int | None:
        functions = self._functions or client("lambda")
        with aws_errors(DependencyError, service="lambda", resource="the account's settings"):
            try:
                limits = functions.get_account_settings()["AccountLimit"]
            except ClientError:  # not everybody who may look at a queue may ask this
                return None
        return int(limits["ConcurrentExecutions"])

    @staticmethod
    def _dead_letters(sqs: AwsClient, arn: str) -> int | None:
        if not arn:
            return None
        url = sqs.get_queue_url(QueueName=arn.rsplit(":", 1)[-1])["QueueUrl"]
        return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[DEPTH])["Attributes"][DEPTH])


NOT_THERE = frozenset({"ResourceNotFoundException", "ValidationException"})
"""Bedrock's words for a model or a profile that a region does not have."""
READY = {"authorizationStatus": "AUTHORIZED", "entitlementAvailability": "AVAILABLE"}
"""What a model that may be called has."""


class BedrockCatalogue:
    """A ModelCatalogue over the control plane of Amazon Bedrock.

    Args:
        models: Region (empty for the environment's own) and name of each model.
        made: Gives the client of a service in a region; tests hand in others.
    """

    def __init__(self, models: Sequence[tuple[str, str]], made: Callable[[str, str], AwsClient] = client) -> None:
        self._models = tuple(models)
        self._made = made

    def standings(self) -> Mapping[str, ModelStanding]:
        return {model: self._standing(region, model) for region, model in self._models}

    def _standing(self, region: str, model: str) -> ModelStanding:
        bedrock = self._made("bedrock", region)
        with aws_errors(DependencyError, service="bedrock", resource=f"Amazon Bedrock's catalogue ({model})"):
            try:
                behind = foundation_model(model)
                if is_profile(model):
                    leads_to = bedrock.get_inference_profile(inferenceProfileIdentifier=model).get("models")
                    behind = foundation_model(leads_to[0]["modelArn"]) if leads_to else behind
                found = bedrock.get_foundation_model_availability(modelId=behind)
            except ClientError as exc:
                if error_code(exc) in NOT_THERE:
                    return ModelStanding(in_region=False)
                raise
        missing = [f"{name} is {found[name]}" for name, ready in READY.items() if found[name] != ready]
        agreement = found["agreementAvailability"]["status"]
        missing += [] if agreement == "AVAILABLE" else [f"agreementAvailability is {agreement}"]
        return ModelStanding(is_profile(model) or found["regionAvailability"] == "AVAILABLE", tuple(missing))
