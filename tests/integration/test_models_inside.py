"""A stack that names no endpoint: its own function embeds, reads and answers, called by the other functions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from localstack.home import read_json
from ragdrop.models.answerer import MODEL as ANSWERER
from tests.aws.models_function import built, invoked_over_http, runtime_client, under_the_client
from tests.aws.test_runtime import called, event, running
from tests.integration.test_built_functions import runtime  # noqa: F401 - a fixture
from tests.integration.test_life_of_a_file import FIRST_WITHIN_S, put, search, within
from tests.stacks import LocalStack, running_stack

pytestmark = pytest.mark.long

NAME = "ragdrop-models"


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    with running_stack(tmp_path_factory.mktemp("inside-stack"), RAGDROP_MODELS="function") as running:
        put(running, "notes", "pump.md", "# Pump room\n\nThe valve is labelled Marzipan-7. The pump is green.\n")
        put(running, "notes", "soup.md", "# Soup\n\nSoup needs salt and a bay leaf.\n")
        within(FIRST_WITHIN_S, lambda: all(search(running, word, "notes") for word in ("pump", "soup")))
        yield running


def asked(stack: LocalStack, **more: Any) -> httpx.Response:
    body = {"query": "How is the valve labelled?", "vaults": ["notes"], **more}
    return httpx.post(
        f"{stack.api_url}/ask", json=body, headers={"x-api-key": stack.api_key}, timeout=60, trust_env=False
    )


def test_a_question_is_answered_cited_and_checked_without_a_model_server(inside: LocalStack) -> None:
    answer = asked(inside).json()

    assert set(read_json(inside.home / "stack.json")["pids"]) == {"emulator"}
    assert "Marzipan-7" in answer["answer"]
    assert {each["path"] for each in answer["citations"]} == {"pump.md"}
    assert {each["status"] for each in answer["sentences"]} == {"verified"}
    assert answer["model"] == ANSWERER
    assert answer["warnings"] == []


def test_the_reader_says_whether_the_answer_answers(inside: LocalStack) -> None:
    assert asked(inside).json()["answers_question"]["status"] == "yes"


def test_an_answer_that_is_asked_for_as_a_stream_is_the_same(inside: LocalStack) -> None:
    assert "Marzipan-7" in asked(inside, stream=True).text


def test_the_function_runs_without_the_settings_of_the_others(inside: LocalStack) -> None:
    found = inside.client("lambda").get_function_configuration(FunctionName=NAME, Qualifier="live")

    assert found.get("Environment", {}).get("Variables", {}) == {}
    assert found["MemorySize"] == 2_560


def test_a_bad_event_is_refused_and_the_function_answers_on(inside: LocalStack) -> None:
    functions = inside.client("lambda")
    events: list[dict[str, Any]] = [{"path": "/embeddings", "body": {"input": [""]}}, {"path": "/models"}]

    refused, listed = (
        json.loads(functions.invoke(FunctionName=f"{NAME}:live", Payload=json.dumps(each).encode())["Payload"].read())
        for each in events
    )

    assert (refused["status"], listed["status"]) == (400, 200)


@pytest.mark.enable_socket
def test_ask_and_models_answer_the_question_under_the_runtime_client(
    inside: LocalStack,
    runtime: Path,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("models")
    question = {"body": json.dumps({"query": "How is the valve labelled?", "vaults": ["notes"]})}

    with (
        under_the_client(built("native", folder / "function"), runtime_client(folder)) as (models, _),
        invoked_over_http(models) as address,
        running("GenerateFunction", inside, runtime, AWS_ENDPOINT_URL_LAMBDA=address) as generate,
    ):
        answer = called(generate, event("ask", inside, **question))

    assert "Marzipan-7" in answer["answer"]
    assert answer["model"] == ANSWERER
    assert {each["status"] for each in answer["sentences"]} == {"verified"}
    assert answer["answers_question"]["status"] == "yes"
    assert answer["warnings"] == []
