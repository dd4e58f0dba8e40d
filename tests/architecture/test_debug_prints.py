"""A debug print that somebody left is found by `make lint`, wherever printing is not what the module is for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from checks.import_graph import ROOT

PAGE = ROOT / "layers/common/python/ragdrop/page"


def found_by_lint(path: str, source: str) -> bool:
    """Whether ruff, with the project's own settings, reports a print in a module at *path*."""
    ruff = str(Path(sys.executable).parent / "ruff")
    command = [ruff, "check", "--no-cache", "--output-format", "concise", "--stdin-filename", path, "-"]
    done = subprocess.run(command, cwd=ROOT, input=source, capture_output=True, text=True, check=False)
    return re.search(r"\bT20[13]\b", done.stdout) is not None


@pytest.mark.parametrize(
    "path",
    [
        "layers/common/python/ragdrop/query/new.py",
        "functions/query/app.py",
        "cli/ragdrop_cli/new.py",
        "layers/common/python/ragdrop/models/extraction.py",
        "localstack/new.py",
        "localstack/opensearch/new.py",
        "checks/new.py",
        "pages/new.py",
        "testing/new.py",
    ],
)
@pytest.mark.parametrize("line", ["print(1)", "from pprint import pprint\n\npprint(1)"])
def test_lint_finds_a_print_where_printing_is_not_the_modules_job(path: str, line: str) -> None:
    assert found_by_lint(path, f'"""A module."""\n\n{line}\n')


@pytest.mark.parametrize("path", ["localstack/opensearch/__main__.py", "benchmarks/new.py", "tests/unit/new.py"])
def test_lint_allows_a_print_where_it_is_the_result(path: str) -> None:
    assert not found_by_lint(path, '"""A module."""\n\nprint(1)\n')


def test_the_web_page_writes_nothing_to_the_browsers_console() -> None:
    modules = sorted(PAGE.rglob("*.js"))
    called = re.compile(r"\bconsole\.(log|debug|info|table|trace)\(|^\s*debugger;", re.MULTILINE)

    assert modules
    assert [path.name for path in modules if called.search(path.read_text("utf-8"))] == []
