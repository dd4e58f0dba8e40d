"""The hooks of .pre-commit-config.yaml run commands of the project's own environments, and those commands work."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from checks.import_graph import ROOT
from checks.secret_scan import TOOL

CONFIG: dict[str, Any] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
HOOKS = {hook["id"]: shlex.split(hook["entry"]) for repo in CONFIG["repos"] for hook in repo["hooks"]}
PLANTED_KEY = "key_id = 'AKIA" + "QWERTYUIOPASDFGH'\n"


def run(hook: str, file: Path) -> int:
    """The exit status of a hook's command on *file*."""
    if hook == "secrets" and not TOOL.exists():
        pytest.skip("make hooks builds the environment of the secret scan")
    return subprocess.run([*HOOKS[hook], str(file)], cwd=ROOT, capture_output=True, check=False).returncode


def test_every_hook_is_local_and_starts_from_the_projects_environment() -> None:
    assert [repo["repo"] for repo in CONFIG["repos"]] == ["local"]
    assert [entry[0] for entry in HOOKS.values() if not entry[0].startswith(".venv/bin/")] == []


@pytest.mark.parametrize("hook", HOOKS)
def test_a_file_of_the_repository_passes(hook: str) -> None:
    assert run(hook, ROOT / "checks/secret_scan.py") == 0


def test_an_unused_import_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "planted.py"
    file.write_text("import os\n", "utf-8")

    assert run("ruff-check", file) == 1


def test_a_key_is_refused() -> None:
    with TemporaryDirectory(dir=ROOT / ".venv") as folder:  # the scan knows only files inside the repository
        file = Path(folder) / "planted.py"
        file.write_text(PLANTED_KEY, "utf-8")

        assert run("secrets", file) == 1


def test_an_unformatted_file_is_formatted(tmp_path: Path) -> None:
    file = tmp_path / "planted.py"
    file.write_text("a   =  1", "utf-8")

    assert run("ruff-format", file) == 0
    assert file.read_text("utf-8") == "a = 1\n"
