"""`readers` as a separate package: what its README shows, what it imports, and its version."""

from __future__ import annotations

import doctest
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import readers
from checks.import_graph import ROOT, imported
from ragdrop import __version__
from readers.formats import read_here

PACKAGE = ROOT / "layers/common/python/readers"


def test_the_readme_runs_as_written() -> None:
    found = doctest.testfile(str(PACKAGE / "README.md"), module_relative=False)

    assert (found.failed, found.attempted > 5) == (0, True)


def test_a_file_is_read_by_its_path_and_in_this_process_if_asked(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text("part,price\nseal,3\n")

    assert (
        readers.read(file) == readers.read(str(file), reader=read_here) == readers.read(file.read_bytes(), name="a.csv")
    )
    with pytest.raises(readers.EmptyFileError):
        readers.read(b" ", name="a.md")
    with pytest.raises(FileNotFoundError):
        readers.read(tmp_path / "none.md")


def test_the_child_process_starts_without_the_readers_of_formats() -> None:
    program = "import sys, readers.isolated_reader\nprint(*(m for m in sys.modules if m.startswith('readers.')))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert set(found.stdout.split()) == {
        f"readers.{name}" for name in ("formats", "isolated_reader", "parsed", "read_errors")
    }


def test_its_project_has_ragdrops_version_and_names_what_it_imports() -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {each.partition(">")[0] for each in project["dependencies"]}
    modules = {"markdown_it": "markdown-it-py", "python_calamine": "python-calamine", "yaml": "pyyaml"}
    names = {name.partition(".")[0] for path in PACKAGE.rglob("*.py") for name in imported(path)}

    assert project["version"] == __version__
    assert {modules.get(name, name) for name in names - sys.stdlib_module_names} == needed | {"readers"}


@pytest.mark.parametrize("function", ["query", "generate"])
def test_a_function_that_answers_questions_starts_without_them(function: str) -> None:
    program = f"import sys, ragdrop.app.{function}\nprint(*(m for m in sys.modules if m.startswith('readers')))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert found.stdout.split() == []
