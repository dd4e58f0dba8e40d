"""What the build makes of the function `models`: within Lambda's limit for both processors, and running here."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from localstack.launch_options import architecture
from ragdrop.models.answerer import MODEL as ANSWERER
from tests.aws.models_function import LAYER, built, runtime_client, under_the_client
from tests.aws.test_interpreters import interpreter
from tests.integration.test_built_functions import LAYER_LIMIT_BYTES

pytestmark = pytest.mark.long

LIMIT_BYTES = 250 * 1024 * 1024  # of a function with its layers, unzipped: AWS counts 262,144,000
INIT_S = 10  # that Lambda gives a function to start; 0.5 s are measured (docs/evidence/performance.md)
PLAIN = """import sys; sys.path[:0] = {paths!r}; import app
reply = app.handler({{"path": "/embeddings", "body": {{"input": ["the pump"]}}}}, None)
sys.stdout.write(str(len(reply["body"]["data"][0]["embedding"])))"""
COMPILED_BYTES = 12_000_000  # what `make build` adds: compiled modules
EMBEDDING = "all-MiniLM-L6-v2"


@pytest.mark.parametrize(("processor", "machine"), [("x86_64", "x86_64"), ("arm64", "aarch64")])
def test_function_and_layer_are_within_lambdas_limit(processor: str, machine: str, tmp_path: Path) -> None:
    folder = built(processor, tmp_path)
    files = [path for path in folder.rglob("*") if path.is_file()]

    assert sum(path.stat().st_size for path in files) + LAYER_LIMIT_BYTES + COMPILED_BYTES < LIMIT_BYTES
    [engine] = [path.name for path in files if path.name.startswith("onnxruntime_pybind11_state")]
    assert f"cpython-313-{machine}" in engine


def test_the_wheels_for_lambda_start_under_its_python_on_this_processor(tmp_path: Path) -> None:
    python = interpreter("3.13")
    if python is None:
        pytest.skip("there is no python3.13 here")
    folder = built(architecture(), tmp_path)
    program = PLAIN.format(paths=[str(folder), str(LAYER)])

    done = subprocess.run(
        [python, "-I", "-S", "-c", program], cwd=folder, capture_output=True, text=True, timeout=INIT_S, check=False
    )

    assert done.stdout == "384", done.stderr[-2_000:]


def test_without_models_the_build_is_the_handler_alone(tmp_path: Path) -> None:
    assert [path.name for path in built("none", tmp_path).iterdir()] == ["app.py"]


@pytest.mark.enable_socket
def test_the_function_answers_under_the_runtime_client_with_nothing_else_on_the_path(tmp_path: Path) -> None:
    folder = built("native", tmp_path / "function")
    client, begun = runtime_client(tmp_path), time.monotonic()
    with under_the_client(folder, client) as (api, _):
        api.invoke({"path": "/models"})
        cold_s = time.monotonic() - begun
        embedded, read, listed = (
            json.loads(api.invoke(event).body)
            for event in (
                {"path": "/embeddings", "body": {"input": ["the pump", "soup"]}},
                {"path": "/read", "body": {"pairs": [["Where is the pump?", "The pump stands in the cellar."]]}},
                {"path": "/models"},
            )
        )

    assert cold_s < INIT_S
    assert [len(each["embedding"]) for each in embedded["body"]["data"]] == [384, 384]
    assert read["body"]["data"][0]["relevance"] > 0.5
    assert [each["id"] for each in listed["body"]["data"]] == [EMBEDDING, "ragdrop-reader", ANSWERER]
