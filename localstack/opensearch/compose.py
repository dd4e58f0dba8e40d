"""Runs the official image by Docker Compose, for machines that have Docker and no JDK."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from localstack.opensearch.jdk import UnavailableError

FILE = Path(__file__).with_name("compose.yaml")


def docker_answers() -> bool:
    """Whether there is a Docker engine to talk to."""
    if shutil.which("docker") is None:
        return False
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=15, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def up(port: int, version: str, timeout_s: int) -> str:
    """Start the service on *port*; the project's name, by which `down` finds it.

    Raises:
        UnavailableError: Compose failed; the message carries what it said.
    """
    project = f"ragdrop-opensearch-{port}"
    environment = os.environ | {"OPENSEARCH_PORT": str(port), "OPENSEARCH_VERSION": version}
    command = [*_compose(project), "up", "--detach", "--wait", "--wait-timeout", str(timeout_s)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise UnavailableError(f"Docker Compose could not start OpenSearch:\n{run.stderr.strip()[-1000:]}")
    return project


def down(project: str) -> None:
    """Stop the service; its data stay in a volume."""
    environment = os.environ | {"OPENSEARCH_PORT": "9200", "OPENSEARCH_VERSION": "unused"}
    subprocess.run([*_compose(project), "down"], env=environment, capture_output=True, check=False)


def _compose(project: str) -> list[str]:
    return ["docker", "compose", "--project-name", project, "--file", str(FILE)]
