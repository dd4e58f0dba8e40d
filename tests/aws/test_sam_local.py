"""What a container of `sam local invoke` gets, resolved by SAM's own class from the files that `make up` writes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from localstack.artifact import SAM_PYTHON
from localstack.deploy import write_sam_local
from localstack.home import BUILD, Home
from tests.aws.transform import FUNCTIONS
from tests.stacks import REPOSITORY

PROGRAM = REPOSITORY / "tests/aws/sam_variables.py"
STACK = {
    "api_key": "rd_the_stacks_own",
    "bucket": "documents-of-the-stack",
    "tenant": "acme",
    "environment": {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:4599",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    },
}
DECLARED = {"LOG_LEVEL": "INFO", "EMBEDDING_URL": "http://127.0.0.1:8081/v1", "QUEUE_URL": "http://localhost:4599/0/q"}
CONFIGURATION = {
    "Handler": "app.handler",
    "Runtime": "python3.11",
    "Architectures": ["x86_64"],
    "MemorySize": 1024,
    "Timeout": 29,
    "Environment": {"Variables": DECLARED},
}
REAL_ACCOUNT = {  # of somebody who is signed in to AWS, and has other settings in the shell
    "AWS_ENDPOINT_URL": "https://sqs.eu-central-1.amazonaws.com",
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "AKIAREAL",
    "AWS_SECRET_ACCESS_KEY": "real",
    "AWS_SESSION_TOKEN": "real",
    "LOG_LEVEL": "DEBUG",
}


def resolved(template: Path, *overrides: Path, **shell: str) -> dict[str, dict[str, Any]]:
    """By function, what SAM gives its container where the caller's shell has *shell*."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_") and name not in DECLARED}
    quiet = {"SAM_CLI_TELEMETRY": "0", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    done = subprocess.run(
        [str(SAM_PYTHON), str(PROGRAM), str(template), *map(str, overrides)],
        env=kept | quiet | {"AWS_DEFAULT_REGION": "us-east-1"} | shell,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("stack"), "bucket")
    home.make()
    write_sam_local(home, STACK, dict.fromkeys(FUNCTIONS, CONFIGURATION))
    return home


@pytest.mark.parametrize("shell", [{}, REAL_ACCOUNT], ids=["an empty shell", "signed in to AWS"])
def test_every_function_gets_the_emulators_address_and_the_stacks_settings(home: Home, shell: dict[str, str]) -> None:
    found = resolved(home.base / "sam-local.yaml", home.base / "env.json", **shell)

    assert found.keys() == set(FUNCTIONS)
    for each in found.values():
        assert {name: each["variables"][name] for name in (*DECLARED, *STACK["environment"])} == {
            "LOG_LEVEL": "INFO",
            "EMBEDDING_URL": "http://host.docker.internal:8081/v1",
            "QUEUE_URL": "http://host.docker.internal:4599/0/q",
            "AWS_ENDPOINT_URL": "http://host.docker.internal:4599",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        assert each["variables"].get("AWS_SESSION_TOKEN", "") == ""


def test_every_function_runs_the_code_and_the_layer_that_were_built(home: Home) -> None:
    found = resolved(home.base / "sam-local.yaml")

    assert {name: each["code"] for name, each in found.items()} == {
        name: str(BUILD / "build" / name) for name in FUNCTIONS
    }
    assert {tuple(each["layers"]) for each in found.values()} == {(str(BUILD / "build/CommonLayer"),)}


def test_the_deployed_template_alone_would_lose_the_emulators_address(home: Home) -> None:
    found = resolved(REPOSITORY / "template.yaml", home.base / "env.json")

    assert found["QueryFunction"]["variables"]["EMBEDDING_URL"] == "http://host.docker.internal:8081/v1"
    assert "AWS_ENDPOINT_URL" not in found["QueryFunction"]["variables"]


def test_what_holds_keys_is_for_its_owner_alone(home: Home) -> None:
    files = [home.base / "sam-local.yaml", home.base / "env.json", *(home.base / "events").iterdir()]

    assert {file.stat().st_mode & 0o077 for file in files} == {0}
