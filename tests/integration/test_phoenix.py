"""Spans sent over OTLP to Phoenix, a collector and backend of traces, and what it makes of them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from localstack.processes import HOST, await_health, choose_port, start, stop
from tests.contract.test_genai_spans import ask, world
from tests.contract.test_tracer import SPANS
from tests.stacks import REPOSITORY
from tests.world import World

__all__ = ["world"]

pytestmark = pytest.mark.long

PHOENIX = Path(os.environ.get("RAGDROP_PHOENIX", REPOSITORY / ".local/env/phoenix")) / "bin"
START_TIMEOUT_S = 420  # a minute alone
SEEN_TIMEOUT_S = 30


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert (PHOENIX / "phoenix").exists(), "make .local/env/phoenix/.ready installs it"
    folder, port = tmp_path_factory.mktemp("phoenix"), choose_port()
    settings = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": HOST,
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(choose_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "NO_PROXY": "*",
    }
    environment, log = {**os.environ, **settings}, folder / "log"
    process = start(
        "phoenix", [str(PHOENIX / "phoenix"), "serve"], port=port, environment=environment, folder=folder, log=log
    )
    try:
        await_health(process, f"http://{HOST}:{port}/healthz", log=log, timeout_s=START_TIMEOUT_S)
        yield f"http://{HOST}:{port}"
    finally:
        stop(process)


def seen(url: str, count: int) -> dict[str, dict[str, Any]]:
    """The *count* spans that Phoenix has, by name: it stores them some moments after it took them."""
    until = time.monotonic() + SEEN_TIMEOUT_S
    while True:
        reply = httpx.get(f"{url}/v1/projects/default/spans", trust_env=False)
        found = reply.json()["data"] if reply.is_success else []
        if len(found) >= count or time.monotonic() > until:
            return {each["name"]: each for each in found}
        time.sleep(0.2)


def test_phoenix_takes_the_spans_of_an_answer_and_knows_model_tokens_and_kinds(world: World, url: str) -> None:
    ask(world)
    spans = [json.loads(span.to_json()) for span in SPANS.get_finished_spans()]
    sent = subprocess.run(
        [PHOENIX / "python", Path(__file__).with_name("send_spans.py"), f"{url}/v1/traces"],
        input=json.dumps(spans).encode(),
        env={**os.environ, "NO_PROXY": "*"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    found = seen(url, len(spans))

    assert sent.returncode == 0, sent.stderr
    assert {*found} == {each["name"] for each in spans}
    kinds = {"chat scripted": "LLM", "retrieval team": "RETRIEVER", "embeddings hashing": "EMBEDDING"}
    assert {name: found[name]["span_kind"] for name in kinds} == kinds
    chat, root = found["chat scripted"]["attributes"], found["invoke_workflow ask"]
    assert chat["llm.model_name"] == "scripted"
    assert chat["llm.token_count.prompt"] == chat["gen_ai.usage.input_tokens"] > 0
    assert chat["llm.token_count.completion"] == chat["gen_ai.usage.output_tokens"] > 0
    assert found["retrieval team"]["parent_id"] == root["context"]["span_id"]
    assert root["attributes"]["ragdrop.receipt.id"]
