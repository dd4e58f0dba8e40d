"""`groundcheck` in an environment of its own project: what somebody who needs only the check gets."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stacks import REPOSITORY

PROJECT = REPOSITORY / "layers/common/python/groundcheck"
README = (PROJECT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment that has only groundcheck."""
    folder = tmp_path_factory.mktemp("alone") / "env"
    uv = REPOSITORY / ".venv/bin/uv"
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, folder], check=True, timeout=60)
    found = folder / "bin/python"
    subprocess.run([uv, "pip", "install", "-q", "--python", found, PROJECT], check=True, timeout=120)
    return found


def run(python: Path, script: str) -> str:
    done = subprocess.run(
        [python, "-I", "-c", script], cwd=python.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def block(language: str) -> str:
    """The first block of the README in *language*."""
    found = re.search(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_example_of_its_readme_prints_what_the_readme_shows(python: Path) -> None:
    assert run(python, block("python")) == block("text")


def test_it_is_typed_and_needs_no_other_package(python: Path) -> None:
    script = """
import importlib.util, pathlib, sys
import groundcheck
[found] = groundcheck.check("The pump holds 9 litres.", ["The pump holds 7 litres."])
others = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names - {"groundcheck", "__main__"}
folder = pathlib.Path(groundcheck.__file__).parent
print(found.status, (folder / "py.typed").is_file(), importlib.util.find_spec("ragdrop"), sorted(others))
"""
    assert run(python, script) == "contradicted True None []\n"


def test_its_wheel_holds_its_modules_alone(python: Path) -> None:
    installed = next(python.parents[1].glob("lib/python*/site-packages/groundcheck"))
    files = {path.name for path in installed.iterdir() if path.name != "__pycache__"}

    assert files == {path.name for path in PROJECT.glob("*.py")} | {"py.typed"}
