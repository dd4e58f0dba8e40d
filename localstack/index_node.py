"""The OpenSearch node of one stack: started where the caller names none, found again, stopped."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from localstack import opensearch
from localstack.home import Home, read_json, write_json
from localstack.opensearch.node import USUAL_PORT
from localstack.ports import choose_port
from localstack.processes import POLL_S, LaunchError

ANSWER_TIMEOUT_S = 30


def start_node(home: Home) -> str:
    """Start *home*'s node, or take the one that runs; its address, once it is healthy.

    Raises:
        LaunchError: There is no way to run one here; the message names what is missing.
    """
    before = _noted(home)
    wanted = choose_port(_port(before), USUAL_PORT if home.is_default else None)
    if before is not None and before.compose_project is not None:
        wanted = _port(before) or wanted  # Compose knows its project again by the port
    # Where the caller named a node, this is not called: the variable is taken out so that it can mean nothing else.
    environ = {name: value for name, value in os.environ.items() if name != "OPENSEARCH_URL"}
    try:
        node = opensearch.start(home.root, wanted, environ=environ)
    except opensearch.UnavailableError as exc:
        raise LaunchError(str(exc)) from exc
    write_json(_file(home), {name: _plain(value) for name, value in asdict(node).items()})
    return node.url


def stop_node(home: Home) -> bool:
    """Stop the node that this home started.  False where there was none."""
    node = opensearch.find(home.root) or _noted(home)
    if node is None:
        return False
    opensearch.stop(node)
    _file(home).unlink(missing_ok=True)
    return True


def running_node(home: Home) -> str | None:
    """The address of *home*'s node, None where it does not run."""
    node = opensearch.find(home.root)
    if node is None and (before := _noted(home)) is not None and before.compose_project is not None:
        node = before if answers(before.url) else None
    return None if node is None else node.url


def forget_node(home: Home) -> None:
    """Stop the node and remove what it holds."""
    stop_node(home)
    opensearch.forget(home.root)


def await_named(url: str, *, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
    """Wait until the caller's own index answers at *url*, whatever it says.

    Raises:
        LaunchError: Nothing answers there.
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


def _noted(home: Home) -> opensearch.Node | None:
    fields: dict[str, Any] = read_json(_file(home))
    if not fields:
        return None
    return opensearch.Node(**fields | {"log": Path(fields["log"]) if fields["log"] else None})


def _port(node: opensearch.Node | None) -> int | None:
    return None if node is None else httpx.URL(node.url).port


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


def _file(home: Home) -> Path:
    return home.root / "index-node.json"
