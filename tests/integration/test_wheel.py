"""The built wheel in an empty environment, outside the repository: what `pipx install` gives somebody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.commands import Tenant, within
from tests.stacks import REPOSITORY, LocalStack

UV = Path(sys.executable).parent / "uv"
LOCK = REPOSITORY / "requirements/dev.txt"  # so that a release of the day cannot break this test


@dataclass(frozen=True)
class Installed:
    """An environment that has the wheel and what it needs, and a folder that is nobody's clone."""

    scripts: Path
    folder: Path

    def run(self, *command: str, **named: str) -> subprocess.CompletedProcess[str]:
        foreign = ("RAGDROP_", "AWS_", "PYTHON", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return subprocess.run(
            [str(self.scripts / command[0]), *command[1:]],
            cwd=self.folder,
            env={**kept, "NO_PROXY": "127.0.0.1,localhost", **named},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    place = tmp_path_factory.mktemp("wheel")
    uv = [str(UV), "--quiet", "--no-config"]
    for arguments in (
        ["build", "--wheel", "--no-build-isolation", "--python", sys.executable, "-o", str(place / "dist"), "."],
        ["venv", "--python", sys.executable, str(place / "environment")],
    ):
        subprocess.run([*uv, *arguments], cwd=REPOSITORY, check=True, timeout=120)
    (wheel,) = (place / "dist").glob("*.whl")
    python = place / "environment/bin/python"
    subprocess.run(
        [*uv, "pip", "install", "--python", str(python), "-c", str(LOCK), str(wheel)], check=True, timeout=300
    )
    (place / "folder").mkdir()
    return Installed(python.parent, place / "folder")


@pytest.fixture(scope="module")
def tenant(stack: LocalStack) -> Tenant:
    tenant = Tenant.created(stack, "wheel")
    tenant.put("cellar/pump.md", "# Pump\n\nThe code of the pump is QX-5521.\n")
    within(60, lambda: tenant.listed("cellar", "indexed"))
    return tenant


def test_it_runs_where_there_is_no_clone(installed: Installed) -> None:
    assert "Usage: ragdrop" in installed.run("ragdrop", "--help").stdout
    assert installed.run("python", "-c", "import boto3").returncode != 0


def test_it_says_which_package_an_operator_needs(installed: Installed, stack: LocalStack) -> None:
    refused = installed.run("ragdrop", "tenant", "create", "acme", RAGDROP_STACK=str(stack.file))

    assert refused.returncode == 2
    assert "pip install 'ragdrop[operator]'" in refused.stderr


def test_it_pushes_asks_and_streams(installed: Installed, tenant: Tenant) -> None:
    reached = {"RAGDROP_API_URL": tenant.stack.api_url, "RAGDROP_API_KEY": tenant.key}
    (installed.folder / "notes").mkdir()
    (installed.folder / "notes/fan.md").write_text("# Fan\n\nThe code of the fan is LK-9017.\n", encoding="utf-8")

    pushed = installed.run("ragdrop", "push", "notes", "--vault", "team", "--wait", **reached)
    assert (pushed.returncode, pushed.stdout) == (0, "1 file to vault team: 1 indexed\n"), pushed.stderr

    asked = installed.run("ragdrop", "ask", "What is the code of the fan?", "--json", **reached)
    assert json.loads(asked.stdout)["citations"][0]["path"] == "fan.md"

    streamed = installed.run("ragdrop", "ask", "What is the code of the fan?", **reached)
    assert "LK-9017" in streamed.stdout
    assert "fan.md" in streamed.stdout


def test_its_client_streams_and_is_typed(installed: Installed, tenant: Tenant) -> None:
    script = """
import os, sys
from pathlib import Path
import ragdrop
from ragdrop.client import RagdropClient
from ragdrop.client.events import Done

assert (Path(ragdrop.__file__).parent / "py.typed").is_file()
with RagdropClient(os.environ["API"], os.environ["KEY"]) as client:
    events = list(client.ask_stream("What is the code of the pump?"))
    print(type(events[-1]).__name__, client.search_fast("pump")["results"][0]["path"])
"""
    done = installed.run("python", "-c", script, API=tenant.stack.api_url, KEY=tenant.key)

    assert done.stdout == "Done pump.md\n", done.stderr
