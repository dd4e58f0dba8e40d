"""The servers of the local stack: how each is started and when it is ready; and an emulator that the caller runs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import botocore.config
import botocore.exceptions
import botocore.parsers
import httpx

from localstack import opensearch
from localstack.deploy import Emulated
from localstack.home import REPOSITORY, SHARED, Home
from localstack.launch_options import EMULATOR_VARIABLES, LaunchOptions
from localstack.opensearch.node import USUAL_PORT as INDEX_PORT
from localstack.processes import CONTAINER_HOST, HOST, POLL_S, LaunchError, Process, await_health, choose_port, start

USUAL_PORTS = {"emulator": 4566, "models": 8081, "ocr": 8083}
REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}  # the emulator takes any
START_TIMEOUT_S = 90

# What servers and tools take from the caller: never the caller's own AWS account.
INHERITED = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")


@dataclass(frozen=True)
class Service:
    """A server: its command gets the port, its health address says when it is ready."""

    name: str
    command: tuple[str, ...]
    health: str
    environment: Mapping[str, str]


def emulator(home: Home, port: int, *, bind: str = HOST) -> Service:
    """MiniStack, with its state in the home over an orderly stop.  Functions run as its children."""
    environment = {
        "GATEWAY_PORT": str(port),
        "BIND_HOST": bind,
        "MINISTACK_HOST": HOST,
        "AWS_DEFAULT_REGION": REGION,
        "LOG_LEVEL": "WARNING",
        "PERSIST_STATE": "1",
        "STATE_DIR": str(home.emulator / "state"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(home.emulator / "objects"),
        "SFTP_ENABLED": "0",
        # an idle function stays for a quarter of an hour, about as AWS does: a new one unpacks the layer first
        "LAMBDA_WARM_TTL_SECONDS": "900",
        "IOT_MTLS_ENABLED": "0",  # it would listen on another port
        "TMPDIR": str(home.emulator / "tmp"),
        "HOME": str(home.emulator),  # no AWS profile of the caller's reaches a function
    }
    command = (str(SHARED / "env/ministack/bin/ministack"),)
    return Service("emulator", command, f"http://{HOST}:{port}/_ministack/health", environment)


QUEUE_ADDRESS = re.compile(rf"http://{re.escape(HOST)}:\d+(?=/\d{{12}}/)")


def move_queues(home: Home, port: int) -> None:
    """Give the saved queues their addresses on *port*.

    MiniStack finds the queue of an event source by its address, port included, and saves addresses as they were: on
    another port it would never read a message again.
    """
    for path in (home.emulator / "state").glob("*.json"):
        saved = path.read_text(encoding="utf-8")
        moved = QUEUE_ADDRESS.sub(f"http://{HOST}:{port}", saved)
        if moved != saved:
            path.write_text(moved, encoding="utf-8")


def model_server(home: Home, port: int, *, name: str, options: LaunchOptions, bind: str = HOST) -> Service:
    """The local model server of this *name*."""
    environment, served = options.model_servers[name]
    command = (str(SHARED / "env" / environment / "bin/python"), "-m", "localstack.models.server", *served)
    command += ("--host", bind, "--port", str(port), "--home", str(SHARED / "models"))
    return Service(name, command, f"http://{HOST}:{port}/health", {"HOME": str(home.root)})


def launch(service: Service, home: Home, port: int) -> Process:
    """Start *service*; it is not ready yet."""
    log = home.logs / f"{service.name}.log"
    environment = clean_environment() | dict(service.environment)
    if temporary := service.environment.get("TMPDIR"):
        Path(temporary).mkdir(parents=True, exist_ok=True)
    process = start(service.name, service.command, port=port, environment=environment, folder=REPOSITORY, log=log)
    return replace(process, made_by=str(service))


def await_service(service: Service, process: Process, home: Home) -> None:
    """Wait until *service* says that it is ready. Raises LaunchError if it ended, or was not ready in time."""
    await_health(process, service.health, log=home.logs / f"{service.name}.log", timeout_s=START_TIMEOUT_S)


def port_for(name: str, home: Home, before: int | None, *, choose: Callable[..., int] = choose_port) -> int:
    """The port of last time, else the usual one for the default home, where free; else any free one."""
    return choose(before, USUAL_PORTS[name] if home.is_default else None)


def clean_environment() -> dict[str, str]:
    """The caller's environment without what could lead to another AWS account or past the loopback address."""
    inherited = {name: os.environ[name] for name in (*INHERITED, *PROXIES) if name in os.environ}
    return inherited | {"NO_PROXY": f"{HOST},localhost", "no_proxy": f"{HOST},localhost", "PYTHONUNBUFFERED": "1"}


def aws_environment(endpoint_url: str) -> dict[str, str]:
    """What an AWS client needs to reach the emulator at *endpoint_url*, and nobody else."""
    return {"AWS_ENDPOINT_URL": endpoint_url, "AWS_DEFAULT_REGION": REGION, "AWS_REGION": REGION, **CREDENTIALS}


ANSWER_TIMEOUT_S = 30


def start_node(home: Home) -> str:
    """Start *home*'s node, or take the one that runs; its address, once it is healthy."""
    before = opensearch.noted(home.root)
    port = None if before is None else httpx.URL(before.url).port
    if before is None or before.compose_project is None:  # Compose finds its project by the port
        port = choose_port(port, INDEX_PORT if home.is_default else None)
    # Where the caller named a node, this is not called: the variable is taken out so that it can mean nothing else.
    return opensearch.start(home.root, port, environ=os.environ | {"OPENSEARCH_URL": ""}).url


def await_named(url: str, *, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
    """Wait until the caller's own index answers at *url*, whatever it says; LaunchError if nothing answers there."""
    deadline = time.monotonic() + timeout_s
    while not answers(url):
        if time.monotonic() > deadline:
            place = httpx.URL(url).copy_with(userinfo=b"")
            raise LaunchError(f"no OpenSearch answers at {place}, which OPENSEARCH_URL or INDEX_URL names")
        time.sleep(POLL_S)


def answers(url: str) -> bool:
    """Whether something speaks HTTP at *url*; asking for a password is an answer too."""
    try:
        return httpx.get(url, timeout=5, trust_env=False).status_code < httpx.codes.INTERNAL_SERVER_ERROR
    except httpx.TransportError:
        return False


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
    """The emulator at *endpoint_url*; *with_secrets*: a key is given as a name in the parameter store.

    Raises LaunchError if nothing answers there, or it lacks services; all of them are named.
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
