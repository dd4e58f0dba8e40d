"""A function has at most seven parameters: what belongs together is a value with a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST = 7
FOLDERS = (
    "layers/common/python/ragdrop",
    "functions",
    "localstack",
    "testing",
    "pages",
)  # options of a command may be more
LEFT = {
    "documents": "the filters of a list, by keyword: the client's public surface",
    "log_request_fail": "the signature is the OpenSearch client's",
}


def many(source: str) -> Iterator[str]:
    """The functions of *source* with more than MOST parameters, `self` and `cls` not counted."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            if len(names) - (names[:1] in (["self"], ["cls"])) > MOST:
                yield node.name


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_function_has_more_than_seven_parameters(folder: str) -> None:
    paths = [path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts]
    found = {f"{path.relative_to(ROOT)}: {name}" for path in paths for name in many(path.read_text("utf-8"))}

    assert [each for each in sorted(found) if each.rpartition(" ")[2] not in LEFT] == []


def test_one_with_eight_is_found() -> None:
    assert list(
        many("class A:\n    def f(self, a, b, c, d, *, e, f, g, h): ...\n    def g(self, a, b, c, d, *, e, f, g): ...")
    ) == ["f"]
