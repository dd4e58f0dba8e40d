"""The functions' environment for ``sam local invoke``: by logical id, with addresses that a container can reach."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from localstack.home import write_json
from localstack.ports import HOST

CONTAINER_HOST = "host.docker.internal"  # what a container calls the machine that it runs on


def write_env_json(path: Path, stack: Mapping[str, Any]) -> None:
    """Write what ``sam local invoke --env-vars`` reads; keys are in it, so its owner alone may read it."""
    environment = {name: from_container(str(value)) for name, value in stack["environment"].items()}
    functions = [name.removesuffix("Name") for name in stack["outputs"] if name.endswith("FunctionName")]
    write_json(path, dict.fromkeys(functions, environment))


def from_container(value: str) -> str:
    """*value*, with this machine named as a container names it where the value is an address on the loopback.

    >>> from_container("http://127.0.0.1:8081/v1"), from_container("demo")
    ('http://host.docker.internal:8081/v1', 'demo')
    """
    if urlsplit(value).hostname not in {HOST, "localhost"}:
        return value
    return value.replace(f"//{urlsplit(value).hostname}", f"//{CONTAINER_HOST}", 1)
