"""The drilled system: servers behind fault proxies, the functions' apps as processes, and the calls to them."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import httpx

from localstack.deploy import Emulated
from localstack.home import REPOSITORY, Home, Progress
from localstack.launcher import down, up
from localstack.opensearch import start as start_node
from localstack.opensearch import stop as stop_node
from localstack.processes import HOST, LaunchError, Process, await_health, choose_port, start, stop
from localstack.seed import push, ragdrop_json
from localstack.services import CREDENTIALS, clean_environment
from tests.bedrock_server import BedrockServer, bedrock_server
from tests.faults.proxy import FaultProxies, FaultProxy
from tests.lambda_server import LambdaServer, lambda_server
from tests.reader_server import reader_server, supporting

SAMPLE = REPOSITORY / "localstack/sample-vault"
TENANT, VAULT = "drill", "handbook"
OPEN_S = 3
SETTINGS = {
    "BREAKER_OPEN_S": str(OPEN_S),
    "BREAKER_WINDOW_S": str(OPEN_S),
    "CHAT_TIMEOUT_S": "12",  # five questions at once take the laptop's answerer 5 s on two idle cores, 10 on busy ones
    "CACHE_SIZE": "0",  # every question has to go the whole way
    "EMBEDDING_CACHE_SIZE": "0",
    "LOG_LEVEL": "WARNING",
}
SERVERS = ("index", "embedding", "chat")
START_TIMEOUT_S = 60
# What would name other servers than the drill's own.
FOREIGN = ("EMBEDDING_", "CHAT_", "READER_", "INDEX_", "AWS_", "RAGDROP_", "LOCALSTACK_", "EDGE_PORT")


@dataclass(frozen=True)
class Harness:
    """What runs: *proxies* by dependency, *apps* and their *logs* by function.

    *key* is one of the drill's tenant; *new_key* makes another.  *index_url* is the node itself, past its proxy.
    *function* and *bedrock* answer for the models' function and Amazon Bedrock, behind proxies of these names.
    *stack* is what stack.json holds, *environment* what the apps run with; *folder* holds their logs, *home* the stack.
    """

    proxies: Mapping[str, FaultProxy]
    apps: Mapping[str, Process]
    logs: Mapping[str, Path]
    key: str
    new_key: Callable[[], str]
    index_url: str
    stack: Mapping[str, Any]
    environment: Mapping[str, str]
    folder: Path
    home: Home
    function: LambdaServer
    bedrock: BedrockServer

    def url(self, function: str) -> str:
        """Where the app of a function answers."""
        return f"http://{HOST}:{self.apps[function].port}"


@contextmanager
def harness(folder: Path, progress: Progress) -> Iterator[Harness]:
    """Everything, up and with the sample vault indexed; stopped at the end.

    Raises:
        LaunchError: A part did not come up.
        UnavailableError: There can be no OpenSearch node here.
    """
    home = Home(folder, "opensearch")
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        del os.environ[name]
    with ExitStack() as ending:
        node = start_node(folder / "node", choose_port(), environ=dict(os.environ) | {"OPENSEARCH_URL": ""})
        ending.callback(stop_node, node)
        os.environ["OPENSEARCH_URL"] = node.url
        ending.callback(down, home, progress)
        stack = up(home, os.environ, index="opensearch", tenant=TENANT, progress=progress)
        with progress.step("the sample vault, indexed"):
            push(home, SAMPLE, vault=VAULT)
        proxies = ending.enter_context(FaultProxies())
        before = {name: proxies.before(_port(stack[f"{name}_url"])) for name in SERVERS}
        emulator = _port(stack["endpoint_url"])
        before |= {service: proxies.before(emulator) for service in ("dynamodb", "s3")}
        before["reader"] = proxies.before(_port(ending.enter_context(reader_server(supporting)).url))
        models = ending.enter_context(lambda_server(str(stack["embedding_url"])))
        bedrock = ending.enter_context(bedrock_server(CREDENTIALS["AWS_SECRET_ACCESS_KEY"]))
        before |= {"function": proxies.before(_port(models.url)), "bedrock": proxies.before(_port(bedrock.url))}
        environment = _environment(stack, before)
        apps = {}
        for function in ("query", "generate"):
            temporary = folder / function  # copies of segments are there, as in a function's own /tmp
            temporary.mkdir()
            apps[function] = _serve(function, environment | {"TMPDIR": str(temporary)}, folder)
            ending.callback(stop, apps[function])
        logs = {function: _log(folder, function) for function in apps}
        key = str(stack["api_key"])
        yield Harness(
            before, apps, logs, key, lambda: _new_key(home), node.url, stack, environment, folder, home, models, bedrock
        )


@contextmanager
def with_settings(harness: Harness, settings: Mapping[str, str]) -> Iterator[Harness]:
    """The same with apps of their own that run with other *settings*, and have no copy of a segment yet."""
    with ExitStack() as ending:
        apps = {}
        for function in harness.apps:
            folder = Path(ending.enter_context(TemporaryDirectory(prefix=f"{function}-", dir=harness.folder)))
            apps[function] = _serve(function, {**harness.environment, **settings, "TMPDIR": str(folder)}, folder)
            ending.callback(stop, apps[function])
        yield replace(harness, apps=apps)


@contextmanager
def on_another_port(harness: Harness) -> Iterator[Harness]:
    """The same after the stack went down and came up while something else listened on the emulator's port.

    `up` sends a document through S3, the queue and ingest before it returns.

    Raises:
        LaunchError: The stack did not come up, or did not ingest.
    """
    progress = Progress()
    down(harness.home, progress)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((HOST, _port(harness.stack["endpoint_url"])))
        other.listen()
        stack = up(harness.home, os.environ, index="opensearch", tenant=TENANT, progress=progress)
    if stack["endpoint_url"] == harness.stack["endpoint_url"]:
        raise LaunchError("the emulator came up on a port that something else listens on")
    for name in SERVERS:
        harness.proxies[name].lead_to(_port(stack[f"{name}_url"]))
    for service in ("dynamodb", "s3"):
        harness.proxies[service].lead_to(_port(stack["endpoint_url"]))
    yield replace(harness, stack=stack)


def _new_key(home: Home) -> str:
    return str(ragdrop_json(home, ["key", "create", TENANT, "--role", "reader"])["api_key"])


def sweep(stack: Mapping[str, Any]) -> None:
    """Run the sweep function once, as its hourly schedule does.

    Raises:
        LaunchError: It failed.
    """
    _invoke_sweep(stack, b"{}")


def check_index(stack: Mapping[str, Any]) -> None:
    """Run the sweep function once as its schedule of ten minutes does.

    Raises:
        LaunchError: It failed.
    """
    _invoke_sweep(stack, b'{"check": "index"}')


def _invoke_sweep(stack: Mapping[str, Any], event: bytes) -> None:
    functions = Emulated(stack["endpoint_url"], stack["environment"]).client("lambda")
    answer = functions.invoke(FunctionName=stack["outputs"]["SweepFunctionName"], Payload=event)
    if "FunctionError" in answer:
        raise LaunchError(f"the sweep failed: {answer['Payload'].read()[:500]!r}")


def _environment(stack: Mapping[str, Any], before: Mapping[str, FaultProxy]) -> dict[str, str]:
    """What the functions run with, every address of a dependency led through its proxy."""
    environment = clean_environment() | {name: str(value) for name, value in stack["environment"].items()} | SETTINGS
    for name in SERVERS:
        environment[f"{name.upper()}_URL"] = _through(stack[f"{name}_url"], before[name])
    environment["READER_URL"] = f"http://{HOST}:{before['reader'].port}/v1"
    environment["AWS_ENDPOINT_URL_LAMBDA"] = f"http://{HOST}:{before['function'].port}"
    environment["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] = f"http://{HOST}:{before['bedrock'].port}"
    environment["VERIFIER"] = "vectors"  # unless a row says otherwise
    for service in ("dynamodb", "s3"):
        environment[f"AWS_ENDPOINT_URL_{service.upper()}"] = f"http://{HOST}:{before[service].port}"
    return environment


def _serve(function: str, environment: Mapping[str, str], folder: Path) -> Process:
    port = choose_port()
    app = ("--app-dir", str(REPOSITORY / "functions" / function), "app:served.asgi", "--interface", "asgi3")
    command = (sys.executable, "-m", "uvicorn", *app, "--host", HOST, "--port", str(port), "--no-access-log")
    log = _log(folder, function)
    process = start(function, command, port=port, environment=environment, folder=REPOSITORY, log=log)
    nowhere = f"http://{HOST}:{port}/nowhere"  # the functions have no route in common, but all know what they have not
    await_health(process, nowhere, log=log, timeout_s=START_TIMEOUT_S, status=httpx.codes.NOT_FOUND)
    return process


def _log(folder: Path, function: str) -> Path:
    return folder / f"{function}.log"


def _port(url: str) -> int:
    return urlsplit(url).port or 80


def _through(url: str, proxy: FaultProxy) -> str:
    return url.replace(f":{_port(url)}", f":{proxy.port}", 1)


QUESTION = "How long should on-call wait before promoting the standby database?"
LIMIT_S = 29.0  # the gateway's


@dataclass(frozen=True)
class DrillReply:
    """What a caller got."""

    status: int
    taken_s: float
    body: dict[str, Any]
    retry_after: bool
    sent_at_s: float = 0.0

    @property
    def level(self) -> int:
        """The fallback level; 0 where there is none."""
        return int(self.body.get("fallback_level", 0))

    @property
    def code(self) -> str:
        """The code of the error; empty where there is none."""
        error = self.body.get("error")
        return str(error.get("code", "")) if isinstance(error, dict) else ""

    @property
    def breaker(self) -> bool:
        """Whether it says that a breaker is open."""
        return bool(self.body.get("circuit_breaker_open"))

    @property
    def well(self) -> bool:
        """Whether nothing is missing from it."""
        return self.status == httpx.codes.OK and self.level == 1 and not self.body.get("degraded")


def search(harness: Harness) -> DrillReply:
    """One search."""
    return _post(harness, "query", "/search", {"query": QUESTION, "min_relevance": 0})


def ask(harness: Harness) -> DrillReply:
    """One question."""
    return _post(harness, "generate", "/ask", {"query": QUESTION, "min_relevance": 0})


def verify(harness: Harness, answer: str, source: str) -> DrillReply:
    """The check of an answer against one source."""
    body = {"answer": answer, "sources": [{"id": "source", "text": source}]}
    return _post(harness, "generate", "/v1/verify", body)


def health(harness: Harness) -> str:
    """The status of the index in `/health`."""
    response = httpx.get(
        f"{harness.url('query')}/health", headers={"x-api-key": harness.key}, timeout=LIMIT_S, trust_env=False
    )
    return str(response.json()["dependencies"]["index"]["status"])


def _post(harness: Harness, function: str, path: str, body: dict[str, Any]) -> DrillReply:
    sent_at_s, begun = time.time(), time.monotonic()
    headers = {"x-api-key": harness.key}
    url = harness.url(function) + path
    try:
        response = httpx.post(url, json=body, headers=headers, timeout=LIMIT_S + 10, trust_env=False)
    except httpx.TransportError as exc:
        return DrillReply(
            0, time.monotonic() - begun, {"error": type(exc).__name__}, retry_after=False, sent_at_s=sent_at_s
        )
    taken_s = time.monotonic() - begun
    found = response.json() if "json" in response.headers.get("content-type", "") else {}
    return DrillReply(response.status_code, taken_s, found, "retry-after" in response.headers, sent_at_s)
