"""A changed parameter reaches callers: every function publishes a new version, and the API is deployed again."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from localstack.deploy import defaults_of, deployment_digest, with_release
from localstack.processes import LaunchError

ROOT = Path(__file__).parents[2]
SAM = ROOT / ".local/env/sam/bin/python"
TEMPLATE = (ROOT / "template.yaml").read_text("utf-8")
BASE = {
    **defaults_of(TEMPLATE),
    "IndexUrl": "https://index.example",
    "EmbeddingUrl": "https://models.example/v1",
    "EmbeddingModel": "m",
    "EmbeddingDimension": "384",
    "ChatUrl": "https://models.example/v1",
    "ChatModels": "m",
}


@pytest.fixture(scope="module")
def versions() -> dict[str, set[str]]:
    """By parameter the versions and deployments with another value of it; by the empty name those of BASE."""
    changed = {name: {**BASE, name: f"{value}x"} for name, value in BASE.items() if name != "Release"}
    given = [{**each, "Release": deployment_digest("built", each)} for each in (BASE, *changed.values())]
    environment = {
        **os.environ,
        "AWS_DEFAULT_REGION": "us-east-1",
        "SAM_CLI_TELEMETRY": "0",
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [str(SAM), str(ROOT / "tests/architecture/sam_versions.py")],
        input=json.dumps(given),
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return dict(zip(["", *changed], map(set, json.loads(done.stdout)), strict=True))


def test_every_parameter_makes_a_new_version_of_every_function(versions: dict[str, set[str]]) -> None:
    functions = {name for name in versions[""] if "Version" in name}

    assert len(functions) == 5
    assert {name for name, found in versions.items() if name and found & functions} == set()


def test_a_deployment_of_the_api_is_new_each_time() -> None:
    api = TEMPLATE[TEMPLATE.index("  Api:\n    Type: AWS::Serverless::Api") :]

    assert "AlwaysDeploy: true" in api[: api.index("DefinitionBody")]


def test_a_template_without_the_parameter_is_refused() -> None:
    with pytest.raises(LaunchError, match="no parameter Release"):
        with_release("Parameters: {}", "abc")
