"""`make wheel`, then `pipx install` of its file: what somebody without a clone gets."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragdrop import __version__
from tests.integration.commands import Tenant, within
from tests.stacks import REPOSITORY, LocalStack

PIPX = REPOSITORY / ".local/env/pipx/bin/pipx"
LOCK = REPOSITORY / "requirements/dev.txt"  # so that a release of the day cannot break this test
PINNED = re.compile(r"^[\w.-]+==[^\\\n]+", re.MULTILINE)


@dataclass(frozen=True)
class Installed:
    """What pipx installed: the folder of its commands, that of the environment's own, and one that is no clone."""

    commands: Path
    scripts: Path
    folder: Path

    def run(self, *command: str, **named: str) -> subprocess.CompletedProcess[str]:
        foreign = ("RAGDROP_", "AWS_", "PYTHON", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        scripts = self.commands if command[0] == "ragdrop" else self.scripts
        return subprocess.run(
            [str(scripts / command[0]), *command[1:]],
            cwd=self.folder,
            env={**kept, "NO_PROXY": "127.0.0.1,localhost", **named},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make wheel` filled."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(["make", "--silent", "wheel", f"DIST={folder}"], cwd=REPOSITORY, check=True, timeout=300)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    place = tmp_path_factory.mktemp("pipx")
    constraints = place / "constraints.txt"
    constraints.write_text("\n".join(PINNED.findall(LOCK.read_text("utf-8"))) + "\n", "utf-8")
    homes = {"PIPX_HOME": str(place / "home"), "PIPX_BIN_DIR": str(place / "bin"), "PIPX_MAN_DIR": str(place / "man")}
    subprocess.run(
        [str(PIPX), "install", f"--pip-args=--constraint={constraints}", f"ragdrop-{__version__}-py3-none-any.whl"],
        cwd=built,
        env={**os.environ, **homes, "PIPX_DEFAULT_PYTHON": sys.executable},
        check=True,
        timeout=300,
    )
    (place / "folder").mkdir()
    return Installed(place / "bin", place / "home/venvs/ragdrop/bin", place / "folder")


@pytest.fixture(scope="module")
def tenant(stack: LocalStack) -> Tenant:
    tenant = Tenant.created(stack, "wheel")
    tenant.put("cellar/pump.md", "# Pump\n\nThe code of the pump is QX-5521.\n")
    within(60, lambda: tenant.listed("cellar", "indexed"))
    return tenant


def test_the_folder_has_the_wheel_and_the_source_archive_of_this_version(built: Path) -> None:
    named = {path.name for path in built.iterdir()} - {".gitignore"}

    assert named == {f"ragdrop-{__version__}-py3-none-any.whl", f"ragdrop-{__version__}.tar.gz"}


def test_it_runs_where_there_is_no_clone(installed: Installed) -> None:
    assert "Usage: ragdrop" in installed.run("ragdrop", "--help").stdout
    assert installed.run("ragdrop", "--version").stdout == f"ragdrop {__version__}\n"
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
