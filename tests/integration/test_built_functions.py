"""What `sam build` made imports with nothing beside it but the runtime's own boto3."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stacks import REPOSITORY, LocalStack

BUILD = REPOSITORY / ".aws-sam/build"
OF_THE_RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "urllib3", "six")
LAYER_LIMIT_BYTES = 60 * 1024 * 1024
FUNCTION_LIMIT_BYTES = 100 * 1024 * 1024


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """A folder that holds boto3 and what it needs, and nothing else."""
    for name in OF_THE_RUNTIME:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        (tmp_path / (origin.name if name == "six" else name)).symlink_to(origin if name == "six" else origin.parent)
    return tmp_path


@pytest.mark.parametrize("function", ["IngestFunction", "QueryFunction", "GenerateFunction", "McpFunction"])
def test_a_handler_imports_with_only_the_layer_and_boto3_beside_it(
    stack: LocalStack, runtime: Path, function: str
) -> None:
    paths = [str(BUILD / function), str(BUILD / "CommonLayer/python"), str(runtime)]
    composed = "ingest.reconcile" if function == "IngestFunction" else "query.search"
    program = f"import sys; sys.path[:0] = {paths!r}; import app; app.app.{composed}; print(app.handler.__name__)"

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        env=stack.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().endswith("handler")


def test_layer_and_functions_stay_within_their_sizes(stack: LocalStack) -> None:
    layer = _size(BUILD / "CommonLayer/python")

    assert layer <= LAYER_LIMIT_BYTES
    for function in ("IngestFunction", "QueryFunction", "GenerateFunction", "McpFunction"):
        assert layer + _size(BUILD / function) <= FUNCTION_LIMIT_BYTES


def test_boto3_is_not_in_the_layer(stack: LocalStack) -> None:
    assert not (BUILD / "CommonLayer/python/boto3").exists()
    assert not (BUILD / "CommonLayer/python/botocore").exists()


def _size(folder: Path) -> int:
    """Bytes of what is uploaded: the launcher compiles modules afterwards, for quicker starts on the laptop."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sum(path.stat().st_size for path in files)
