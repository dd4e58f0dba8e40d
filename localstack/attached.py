"""An emulator that the caller runs: found by the variables that its users set, checked, used, and never stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import botocore.config
import botocore.exceptions
import botocore.parsers
import httpx

from localstack.deploy import Emulated
from localstack.launch_options import EMULATOR_VARIABLES
from localstack.processes import CONTAINER_HOST, HOST, LaunchError
from localstack.services import aws_environment

HEALTH = {"MiniStack": "/_ministack/health", "LocalStack": "/_localstack/health"}  # MiniStack answers on both
UNUSABLE = frozenset({"disabled", "error", "unavailable"})  # states of a service; all others answer calls
ALIASES = {"monitoring": "cloudwatch"}  # MiniStack's name of a service: LocalStack's
PATIENCE_S = 5
REFUSALS = (
    botocore.exceptions.ClientError,
    botocore.exceptions.BotoCoreError,
    botocore.parsers.ResponseParserError,  # of a server that is no emulator
)

# What the template's resources and `sam deploy` need, each with a call that only reads, for an emulator without a
# health page that lists its services.
PROBES = {
    "apigateway": "get_rest_apis",
    "cloudformation": "describe_stacks",
    "cloudwatch": "describe_alarms",
    "dynamodb": "list_tables",
    "events": "list_rules",
    "iam": "list_roles",
    "lambda": "list_functions",
    "logs": "describe_log_groups",
    "s3": "list_buckets",
    "sqs": "list_queues",
    "sts": "get_caller_identity",
}
PARAMETER_STORE = {"ssm": "describe_parameters"}  # where a key is given as ssm:NAME


@dataclass(frozen=True)
class Attached:
    """A running emulator; *product* is empty where it has no health page."""

    endpoint_url: str
    product: str
    version: str

    @property
    def host_of_this_machine(self) -> str:
        """What its functions call this machine: LocalStack runs them in containers, MiniStack as processes."""
        return CONTAINER_HOST if self.product == "LocalStack" else HOST

    def __str__(self) -> str:
        """Product, version and address."""
        return " ".join(filter(None, (self.product or "an emulator", self.version, "at", self.endpoint_url)))


def attach(endpoint_url: str, *, with_secrets: bool) -> Attached:
    """Look at the emulator at *endpoint_url*.

    Args:
        endpoint_url: Where it answers.
        with_secrets: Whether a key is given as a name in the parameter store.

    Raises:
        LaunchError: Nothing answers there, or it lacks services; all of them are named.
    """
    probes = PROBES | (PARAMETER_STORE if with_secrets else {})
    attached, services = _looked_at(endpoint_url)
    if services is None:
        emulated = Emulated(endpoint_url, aws_environment(endpoint_url))
        services = probed(lambda service: emulated.client(service, config=_QUICK), probes)
    if missing := sorted(probes.keys() - services):
        raise LaunchError(
            f"{attached} lacks {', '.join(missing)}. ragdrop needs {', '.join(sorted(probes))}. Start the emulator "
            "with them (its variable SERVICES may limit it; LocalStack has some in its paid plans alone), or "
            f"unset {', '.join(EMULATOR_VARIABLES)}: then `make up` starts an emulator that has all of them."
        )
    return attached


def probed(client_of: Callable[[str], Any], probes: Mapping[str, str]) -> set[str]:
    """The services that answer a call that only reads."""
    return {service for service, call in probes.items() if _answers(client_of(service), call)}


def _answers(client: Any, call: str) -> bool:
    try:
        getattr(client, call)()
    except REFUSALS:
        return False
    finally:
        client.close()
    return True


_QUICK = botocore.config.Config(connect_timeout=PATIENCE_S, read_timeout=PATIENCE_S, retries={"total_max_attempts": 1})


def _looked_at(endpoint_url: str) -> tuple[Attached, set[str] | None]:
    """Product and usable services by its health page; None for services where it has no such page."""
    for product, path in HEALTH.items():
        try:
            response = httpx.get(f"{endpoint_url}{path}", timeout=PATIENCE_S, trust_env=False)
        except httpx.TransportError as exc:
            named = "AWS_ENDPOINT_URL, LOCALSTACK_HOST or EDGE_PORT"
            raise LaunchError(
                f"No emulator answers at {endpoint_url}, which {named} names ({exc}). Start it, or unset the variable: "
                "then `make up` starts an emulator."
            ) from exc
        try:
            content: Any = response.json() if response.status_code == httpx.codes.OK else None
        except ValueError:
            content = None
        if isinstance(content, dict) and isinstance(content.get("services"), dict):
            usable = {ALIASES.get(name, name) for name, state in content["services"].items() if state not in UNUSABLE}
            return Attached(endpoint_url, product, str(content.get("version", ""))), usable
    return Attached(endpoint_url, "", ""), None


def running_emulator(url: str) -> Attached | None:
    """The emulator that answers at *url*; None where nothing or something else answers."""
    try:
        found, _ = _looked_at(url)
    except LaunchError:
        return None
    return found if found.product else None
