"""The servers of the local stack: how each is started, and where it reports that it is ready."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from localstack import opensearch
from localstack.home import REPOSITORY, SHARED, Home
from localstack.launch_options import LocalModel
from localstack.opensearch.node import USUAL_PORT as INDEX_PORT
from localstack.processes import HOST, POLL_S, LaunchError, Process, await_health, choose_port, start

USUAL_PORTS = {"emulator": 4566, "embedding": 8081, "answerer": 8082, "ocr": 8083}
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


def embedding(home: Home, port: int, *, model: LocalModel, bind: str = HOST) -> Service:
    """The local embedding server."""
    command = (*_models_python(model), "localstack.models.embedding_server", "--model", model.name)
    command += (*_at(port, bind), "--home", str(SHARED / "models"))
    return Service("embedding", command, f"http://{HOST}:{port}/health", {"HOME": str(home.root)})


def answerer(home: Home, port: int, *, model: LocalModel, embedding_url: str | None, bind: str = HOST) -> Service:
    """The local answerer; given a local embedding server it also compares meanings."""
    extra = ("--embedding-url", embedding_url, "--embedding-model", model.name) if embedding_url else ()
    command = (*_models_python(model), "localstack.models.answerer", *_at(port, bind), *extra)
    return Service("answerer", command, f"http://{HOST}:{port}/health", {"HOME": str(home.root)})


def ocr(home: Home, port: int, *, bind: str = HOST) -> Service:
    """The local recogniser of text in pictures."""
    command = (str(SHARED / "env/ocr/bin/python"), "-m", "localstack.models.ocr_server", *_at(port, bind))
    return Service("ocr", command, f"http://{HOST}:{port}/health", {"HOME": str(home.root)})


def _models_python(model: LocalModel) -> tuple[str, ...]:
    return (str(SHARED / "env" / model.environment / "bin/python"), "-m")


def _at(port: int, bind: str) -> tuple[str, ...]:
    return ("--host", bind, "--port", str(port))


def launch(service: Service, home: Home, port: int) -> Process:
    """Start *service*; it is not ready yet."""
    log = home.logs / f"{service.name}.log"
    environment = clean_environment() | dict(service.environment)
    if temporary := service.environment.get("TMPDIR"):
        Path(temporary).mkdir(parents=True, exist_ok=True)
    return start(service.name, service.command, port=port, environment=environment, folder=REPOSITORY, log=log)


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
    """Start *home*'s node, or take the one that runs; its address, once it is healthy.

    Raises LaunchError if there is no way to run one here; the message names what is missing.
    """
    before = opensearch.noted(home.root)
    port = None if before is None else httpx.URL(before.url).port
    if before is None or before.compose_project is None:  # Compose finds its project by the port
        port = choose_port(port, INDEX_PORT if home.is_default else None)
    # Where the caller named a node, this is not called: the variable is taken out so that it can mean nothing else.
    environ = {name: value for name, value in os.environ.items() if name != "OPENSEARCH_URL"}
    try:
        return opensearch.start(home.root, port, environ=environ).url
    except opensearch.UnavailableError as exc:
        raise LaunchError(str(exc)) from exc


def stop_node(home: Home) -> None:
    """Stop the node that this home started, if there is one."""
    if (node := opensearch.noted(home.root)) is not None:
        opensearch.stop(node)


def running_node(home: Home) -> str | None:
    """The address of *home*'s node, None where it does not run."""
    node = opensearch.find(home.root)
    return None if node is None else node.url


def forget_node(home: Home) -> None:
    """Stop the node and remove its data."""
    stop_node(home)
    opensearch.forget(home.root)


def await_named(url: str, *, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
    """Wait until the caller's own index answers at *url*, whatever it says.

    Raises LaunchError if nothing answers there.
    """
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
