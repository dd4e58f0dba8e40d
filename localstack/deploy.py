"""``sam deploy`` of the real template to the emulator, and what the emulator leaves out; ``sam local invoke``.

`make deploy` and `make destroy` are here too: to AWS, with a digest, so that changed parameters reach the running
functions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import boto3
import botocore.exceptions
import yaml
from localstack_client.session import Session

from localstack.build import (
    FOR_AWS,
    RELEASE_CHARACTERS,
    SAM,
    build_for_aws,
    digest_for,
    run_sam,
    target_of,
    with_release,
)
from localstack.home import BUILD, REPOSITORY, TEMPLATE, Home, write_json, write_private
from localstack.launch_options import CONFIG, STACK_NAME, parameters_of
from localstack.preflight import problems
from localstack.processes import CONTAINER_HOST, HOST, LaunchError
from ragdrop.config import DOCUMENT_KEY
from ragdrop_cli.invoke import filled_in

FOLDER = re.compile(r"^( +(?:CodeUri|ContentUri): \w+)$", re.MULTILINE)
CONCURRENCY = re.compile(r"MaximumConcurrency:\s+Ref: IngestConcurrency")
FIRST_PART = re.compile(r"Fn::Select:\s+- 0\s+- Fn::Split:\s+- ['\"]?:['\"]?\s+- Ref: (\w+)")
GATEWAY_RESPONSES = "x-amazon-apigateway-gateway-responses"


@dataclass(frozen=True)
class Emulated:
    """The emulator as AWS clients see it, and the name of ragdrop's stack in it."""

    endpoint_url: str
    environment: Mapping[str, str]
    stack_name: str = STACK_NAME

    def client(self, service: str, **named: Any) -> Any:
        """A boto3 client of *service* that speaks to the emulator; *named* goes to boto3."""
        session = Session(
            region_name=self.environment["AWS_DEFAULT_REGION"],
            aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
        )
        # Without this an AWS_ENDPOINT_URL of the process would decide, whichever emulator is asked for here.
        session._service_endpoint_mapping = dict.fromkeys(session._service_endpoint_mapping, self.endpoint_url)
        return session.client(service, **named)

    def outputs(self) -> dict[str, str]:
        """The deployed stack's outputs; empty where it is not deployed."""
        try:
            stacks = self.client("cloudformation").describe_stacks(StackName=self.stack_name)["Stacks"]
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

    def configurations(self, outputs: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """What Lambda answers of each function of the stack, by logical id."""
        functions = self.client("lambda")
        return {
            output.removesuffix("Name"): dict(functions.get_function_configuration(FunctionName=name))
            for output, name in outputs.items()
            if output.endswith("FunctionName")
        }


def deployment_digest(built: str, parameters: Mapping[str, str]) -> str:
    """SHA-256 over the build and the parameters: where it is unchanged there is nothing to deploy.

    It is the variable RELEASE of every function, so that a changed parameter makes a new version of each.
    """
    return hashlib.sha256(json.dumps([built, sorted(parameters.items())]).encode()).hexdigest()


def overrides_of(parameters: Mapping[str, str]) -> list[str]:
    """Parameters as `sam deploy --parameter-overrides` takes them.

    >>> overrides_of({"Stage": "dev", "ChatModels": "a b"})
    ['ChatModels="a b"', 'Stage="dev"']
    """
    return [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(parameters.items())]


class _Parameters(yaml.SafeLoader):
    """Reads a template's plain parts; its functions (`!Ref`, `!Sub`) are left out."""


_Parameters.add_multi_constructor("!", lambda _loader, _suffix, _node: None)


def defaults_of(template: str, *, with_hidden: bool = True) -> dict[str, str]:
    """The defaults of a template's parameters, or of those that are not hidden.

    They are given explicitly: otherwise a stack keeps the value of its last deployment.
    """
    parameters = yaml.load(template, _Parameters)["Parameters"]  # noqa: S506 - a safe loader
    given = {name: each for name, each in parameters.items() if "Default" in each}
    return {name: str(each["Default"]) for name, each in given.items() if with_hidden or not each.get("NoEcho")}


def with_concurrency(template: str, concurrency: str) -> str:
    r"""The built template with ingest's concurrency as a number: the emulator stops polling where it gets a text.

    >>> with_concurrency("MaximumConcurrency:\n  Ref: IngestConcurrency\n", "7")
    'MaximumConcurrency: 7\n'
    """
    return CONCURRENCY.sub(f"MaximumConcurrency: {int(concurrency)}", template)


def with_first_parts(template: str, parameters: Mapping[str, str]) -> str:
    r"""The built template with what conditions take from the start of a parameter: the emulator does not split there.

    >>> condition = "- Fn::Select:\n  - 0\n  - Fn::Split:\n    - ':'\n    - Ref: ChatUrl\n"
    >>> with_first_parts(condition, {"ChatUrl": "bedrock:eu-west-1"})
    "- 'bedrock'\n"
    """
    return FIRST_PART.sub(lambda found: f"'{parameters.get(found[1], '').partition(':')[0]}'", template)


def deploy(home: Home, emulated: Emulated, parameters: Mapping[str, str], release: str) -> None:
    """Deploy the build with *parameters* as *release*, then fix what the emulator leaves out.

    Raises LaunchError if sam failed; the message has the end of its output.
    """
    built = BUILD / "build/template.yaml"
    template = built.with_name(f"template-{home.name}.yaml")
    text = with_release(built.read_text("utf-8"), release)
    text = with_first_parts(with_concurrency(text, parameters["IngestConcurrency"]), parameters)
    template.write_text(FOLDER.sub(r"\1.zip", text), "utf-8")  # packed folders in place of the folders
    arguments = ["deploy", "--config-file", str(REPOSITORY / "samconfig.toml"), "--config-env", "local"]
    arguments += ["--stack-name", emulated.stack_name, "--no-progressbar", "--template-file", str(template)]
    arguments += ["--parameter-overrides", *overrides_of(parameters)]
    run_sam(arguments, log=home.logs / "sam-deploy.log", environment=dict(emulated.environment))
    apply_gateway_responses(emulated, has_cors=bool(parameters.get("CorsAllowOrigins")))


def write_settings(emulated: Emulated, outputs: Mapping[str, str], document: Mapping[str, Any]) -> None:
    """Put the settings document where functions read it."""
    body = json.dumps(document, ensure_ascii=False, indent=1).encode()
    objects = emulated.client("s3")
    objects.put_object(Bucket=outputs["StateBucket"], Key=DOCUMENT_KEY, Body=body, ContentType="application/json")


def variables_for(document: Mapping[str, Any]) -> dict[str, str]:
    """The settings of a document as variables, for programs on this machine that do not read it."""
    return {name.upper(): each if isinstance(each, str) else json.dumps(each) for name, each in document.items()}


def apply_gateway_responses(emulated: Emulated, *, has_cors: bool) -> None:
    """Give the API the gateway's own error bodies: the emulator does not read them from an API's definition."""
    template = emulated.client("cloudformation").get_template(StackName=emulated.stack_name, TemplateStage="Processed")
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
            responseParameters=plain_values(response.get("responseParameters", {}), has_cors=has_cors),
            **optional,
        )
    gateway.create_deployment(restApiId=outputs["ApiId"], stageName=outputs["ApiUrl"].rpartition("/")[2])


def plain_values(headers: Mapping[str, Any], *, has_cors: bool) -> dict[str, str]:
    """The headers of a gateway response, those that stand in a condition only where pages of other origins may call."""
    found = {name: value if isinstance(value, str) else value["Fn::If"][1] for name, value in headers.items()}
    return {name: value for name, value in found.items() if has_cors or isinstance(headers[name], str)}


def local_api_url(endpoint_url: str, outputs: Mapping[str, str]) -> str:
    """Where the emulator serves the API: by path, as no name leads to it."""
    stage = outputs["ApiUrl"].rpartition("/")[2]
    return f"{endpoint_url}/restapis/{outputs['ApiId']}/{stage}/_user_request_"


LAYER = "CommonLayer"
EXAMPLE_TENANT = r"\"key\":\"demo/"  # in the keys of the events of S3
COPIED = ("Handler", "Runtime", "Architectures", "MemorySize", "Timeout")


def write_sam_local(home: Home, stack: Mapping[str, Any], configurations: Mapping[str, Mapping[str, Any]]) -> None:
    """Write sam-local.yaml, env.json and events/; all of them have keys, so their owner alone may read them.

    SAM passes on only variables that the template declares: AWS_ENDPOINT_URL, which AWS does not need, is among them
    here, else a function in a container would call AWS itself. SAM also prefers the caller's shell to a template: so
    the values are in env.json too, which it prefers to both.  *configurations* are Lambda's, by logical id.
    """
    aws = {name: value for name, value in stack["environment"].items() if name.startswith("AWS_")}
    aws["AWS_SESSION_TOKEN"] = ""
    variables = {
        function: {
            name: seen_from(CONTAINER_HOST, str(value))
            for name, value in (each["Environment"]["Variables"] | aws).items()
        }
        for function, each in configurations.items()
    }
    write_json(home.base / "env.json", variables)
    functions = {name: _function(name, each, variables[name]) for name, each in configurations.items()}
    layer = {"Type": "AWS::Serverless::LayerVersion", "Properties": {"ContentUri": str(BUILD / "build" / LAYER)}}
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Transform": "AWS::Serverless-2016-10-31",
        "Description": "Written by make up, for sam local invoke alone (CONTRIBUTING.md)",
        "Resources": {LAYER: layer, **functions},
    }
    write_private(home.base / "sam-local.yaml", yaml.safe_dump(template, sort_keys=False))
    events = home.base / "events"
    events.mkdir(mode=0o700, exist_ok=True)
    for path in sorted((REPOSITORY / "events").glob("*.json")):
        write_json(events / path.name, local_event(path.read_text("utf-8"), stack))


def _function(name: str, configuration: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, Any]:
    properties: dict[str, Any] = {key: configuration[key] for key in COPIED if key in configuration}
    properties["CodeUri"] = str(BUILD / "build" / name)
    properties["Layers"] = [{"Ref": LAYER}]
    properties["Environment"] = {"Variables": dict(variables)}
    return {"Type": "AWS::Serverless::Function", "Properties": properties}


def local_event(text: str, stack: Mapping[str, Any]) -> dict[str, Any]:
    """An event of ``events/`` with the stack's key, bucket and tenant in place of the examples."""
    filled, _ = filled_in(text, api_key=str(stack["api_key"]), bucket=str(stack["bucket"]))
    event: dict[str, Any] = json.loads(filled.replace(EXAMPLE_TENANT, EXAMPLE_TENANT.replace("demo", stack["tenant"])))
    for record in event.get("Records", []):
        record["md5OfBody"] = hashlib.md5(record["body"].encode(), usedforsecurity=False).hexdigest()
    return event


def seen_from(machine: str, value: str) -> str:
    """*value*, with this machine named *machine* where the value is an address on the loopback.

    >>> seen_from("host.docker.internal", "http://127.0.0.1:8081/v1"), seen_from("host.docker.internal", "demo")
    ('http://host.docker.internal:8081/v1', 'demo')
    """
    host = urlsplit(value).hostname
    return value.replace(f"//{host}", f"//{machine}", 1) if host in {HOST, "localhost"} else value


def command_of(environment: str, parameters: Mapping[str, str], options: Sequence[str]) -> list[str]:
    """The call of sam, with the parameters of *environment*."""
    overrides = ["--parameter-overrides", *overrides_of(parameters)] if parameters else []
    return [str(SAM), "deploy", "--config-env", environment, *options, *overrides]


def stack_name_in(config: Mapping[str, Any], environment: str, options: Sequence[str]) -> str:
    """The stack that sam deploys: the one that its options name, else that of *environment*.

    >>> stack_name_in({"dev": {"deploy": {"parameters": {"stack_name": "one"}}}}, "dev", ["--stack-name", "two"])
    'two'
    """
    if "--stack-name" in options[:-1]:
        return options[options.index("--stack-name") + 1]
    parameters_of(config, environment)  # there is such an environment
    return str(config[environment]["deploy"]["parameters"].get("stack_name", ""))


RETAINED = {"AWS::S3::Bucket": "bucket", "AWS::DynamoDB::Table": "table", "AWS::OpenSearchService::Domain": "domain"}


def destroy(stack_name: str, client: Any) -> list[str]:
    """Delete a stack and wait for it; what it leaves, as kind and name. *client* speaks to CloudFormation.

    Raises LaunchError if there is no such stack, or it could not be deleted.
    """
    try:
        pages = client.get_paginator("list_stack_resources").paginate(StackName=stack_name)
        found = [each for page in pages for each in page["StackResourceSummaries"]]
        client.delete_stack(StackName=stack_name)
        client.get_waiter("stack_delete_complete").wait(StackName=stack_name)
    except (botocore.exceptions.ClientError, botocore.exceptions.WaiterError) as exc:
        raise LaunchError(f"could not delete the stack {stack_name}: {exc}") from exc
    retained = [(RETAINED[each["ResourceType"]], each) for each in found if each["ResourceType"] in RETAINED]
    return [f"{kind} {each['PhysicalResourceId']}" for kind, each in retained]


def retained_names(stack_name: str, buckets: Sequence[str], tables: Sequence[str]) -> dict[str, dict[str, str]]:
    """By logical id the identifier of what a deleted stack left, as an import takes it.

    Args:
        stack_name: Of the deleted stack, and of the next one.
        buckets: Names of all buckets of the account.
        tables: Names of all tables of the region.

    Raises:
        LaunchError: A resource is missing, or several could be meant; names them.
    """
    required = {
        "DocumentBucket": ("BucketName", f"{stack_name}-documents-", buckets),
        "StateBucket": ("BucketName", f"{stack_name}-statebucket-", buckets),
        "RegistryTable": ("TableName", f"{stack_name}-RegistryTable-", tables),
        "VisitedTable": ("TableName", f"{stack_name}-VisitedTable-", tables),
        "TelemetryTable": ("TableName", f"{stack_name}-TelemetryTable-", tables),
    }
    found = {name: [each for each in names if each.startswith(start)] for name, (_, start, names) in required.items()}
    if unclear := [f"{name}: {', '.join(each) or 'none'}" for name, each in found.items() if len(each) != 1]:
        raise LaunchError("one of each is needed to adopt them: " + "; ".join(unclear))
    return {name: {required[name][0]: each} for name, [each] in found.items()}


def adopt(stack_name: str, client: Callable[[str], Any]) -> None:
    """Make a stack of what a deleted one of this name left, by import; the next deployment completes it.

    *client* gives boto3's client of a service. Raises LaunchError if the import failed.
    """
    buckets = [each["Name"] for each in client("s3").list_buckets()["Buckets"]]
    tables = [
        name for page in client("dynamodb").get_paginator("list_tables").paginate() for name in page["TableNames"]
    ]
    kinds = {"BucketName": "AWS::S3::Bucket", "TableName": "AWS::DynamoDB::Table"}
    imported = [
        {"ResourceType": kinds[next(iter(each))], "LogicalResourceId": name, "ResourceIdentifier": each}
        for name, each in retained_names(stack_name, buckets, tables).items()
    ]
    stacks, change = client("cloudformation"), {"StackName": stack_name, "ChangeSetName": "adopt"}
    body = (REPOSITORY / "templates/adopt.yaml").read_text("utf-8")
    try:
        stacks.create_change_set(**change, ChangeSetType="IMPORT", TemplateBody=body, ResourcesToImport=imported)
        stacks.get_waiter("change_set_create_complete").wait(**change)
        stacks.execute_change_set(**change)
        stacks.get_waiter("stack_import_complete").wait(StackName=stack_name)
    except (botocore.exceptions.ClientError, botocore.exceptions.WaiterError) as exc:
        raise LaunchError(f"could not adopt what {stack_name} left: {exc}") from exc


def deploy_to_aws(environment: str, options: Sequence[str]) -> str:
    """Build what changed, look for what would fail, and deploy a profile of samconfig.toml; the stack's name.

    Raises LaunchError if one of these failed.
    """
    config = tomllib.loads(CONFIG.read_text("utf-8"))
    named = parameters_of(config, environment)
    target = target_of(named)
    # A hidden one that a profile does not name may have been typed at a deployment before.
    parameters = defaults_of(TEMPLATE.read_text("utf-8"), with_hidden=False) | target | named
    stack_name = stack_name_in(config, environment, options)
    if found := problems(stack_name, parameters, boto3.Session()):
        raise LaunchError("this deployment would fail:\n- " + "\n- ".join(found))
    built = digest_for(target)
    if not FOR_AWS.exists() or FOR_AWS.read_text() != built:
        build_for_aws(environment, [])
    template = BUILD / "build/template.yaml"
    release = deployment_digest(built, parameters)[:RELEASE_CHARACTERS]
    template.write_text(with_release(template.read_text("utf-8"), release), "utf-8")
    command = command_of(environment, parameters, options)
    if code := subprocess.run(command, cwd=REPOSITORY, check=False).returncode:
        raise LaunchError(f"sam deploy ended with {code}")
    return stack_name


def main(arguments: list[str] | None = None) -> int:
    """Build and deploy to AWS, or delete a stack; 0 if all of it succeeded."""
    parser = argparse.ArgumentParser(prog="make deploy", description="Deploy to AWS, and build first what changed.")
    parser.add_argument("environment", help="an environment of samconfig.toml, such as dev")
    parser.add_argument("--tenant", help="connect this folder to the stack, with this tenant, and check it")
    parser.add_argument("--adopt", action="store_true", help="first import what a deleted stack of this name left")
    parser.add_argument("--destroy", action="store_true", help="delete the stack in place of deploying it")
    options, rest = parser.parse_known_args(arguments)
    try:
        name = stack_name_in(tomllib.loads(CONFIG.read_text("utf-8")), options.environment, rest)
        if options.adopt:
            adopt(name, boto3.client)
        if options.destroy:
            left = destroy(name, boto3.client("cloudformation"))
            sys.stderr.write(f"deleted the stack {name}. These stay, with all documents:\n")
            sys.stderr.writelines(f"  {each}\n" for each in left)
            return 0
        stack_name = deploy_to_aws(options.environment, rest)
    except LaunchError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    ragdrop = [sys.executable, "-m", "ragdrop_cli"]
    steps = [["connect", stack_name, "--tenant", options.tenant], ["doctor"]] if options.tenant else []
    return next((code for each in steps if (code := subprocess.run([*ragdrop, *each], check=False).returncode)), 0)


if __name__ == "__main__":
    sys.exit(main())
