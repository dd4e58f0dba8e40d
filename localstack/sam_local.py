"""What ``sam local invoke`` reads: a template and variables with addresses that a container reaches, and events."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import yaml

from localstack.attached import CONTAINER_HOST
from localstack.home import BUILD, REPOSITORY, Home, write_json, write_private
from localstack.ports import HOST
from ragdrop_cli.local_lambda import filled_in

LAYER = "CommonLayer"
EXAMPLE_TENANT = r"\"key\":\"demo/"  # in the keys of the events of S3
COPIED = ("Handler", "Runtime", "Architectures", "MemorySize", "Timeout")


def write_sam_local(home: Home, stack: Mapping[str, Any], configurations: Mapping[str, Mapping[str, Any]]) -> None:
    """Write sam-local.yaml, env.json and events/; all of them hold keys, so their owner alone may read them.

    SAM passes on only variables that the template declares: AWS_ENDPOINT_URL, which AWS does not need, is among them
    here, else a function in a container would call AWS itself. SAM also prefers the caller's shell to a template: so
    the values are in env.json too, which it prefers to both.

    Args:
        home: The stack's home.
        stack: What stack.json holds.
        configurations: By logical id, what Lambda answers of each function.
    """
    variables = {name: variables_of(each, stack) for name, each in configurations.items()}
    write_json(home.env_file, variables)
    functions = {name: _function(name, each, variables[name]) for name, each in configurations.items()}
    layer = {"Type": "AWS::Serverless::LayerVersion", "Properties": {"ContentUri": str(BUILD / "build" / LAYER)}}
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Transform": "AWS::Serverless-2016-10-31",
        "Description": "Written by make up, for sam local invoke alone (CONTRIBUTING.md)",
        "Resources": {LAYER: layer, **functions},
    }
    write_private(home.sam_template, yaml.safe_dump(template, sort_keys=False))
    home.events.mkdir(mode=0o700, exist_ok=True)
    for path in sorted((REPOSITORY / "events").glob("*.json")):
        write_json(home.events / path.name, local_event(path.read_text("utf-8"), stack))


def variables_of(configuration: Mapping[str, Any], stack: Mapping[str, Any]) -> dict[str, str]:
    """A function's variables and what leads AWS clients to the emulator, as a container needs them."""
    emulator = {name: value for name, value in stack["environment"].items() if name.startswith("AWS_")}
    variables = {**configuration["Environment"]["Variables"], **emulator, "AWS_SESSION_TOKEN": ""}
    return {name: seen_from(CONTAINER_HOST, str(value)) for name, value in variables.items()}


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
