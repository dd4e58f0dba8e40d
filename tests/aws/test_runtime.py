"""What `sam build` made runs under AWS's own runtime client, against a Runtime API that freezes it between events."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.aws.models_function import PROGRAM, runtime_client
from tests.aws.runtime_api import RuntimeApi
from tests.integration.test_built_functions import BUILD, runtime  # noqa: F401 - a fixture
from tests.stacks import REPOSITORY, LocalStack, shared_stack

pytestmark = pytest.mark.long

EVENTS = REPOSITORY / "events"
DOCUMENTED = re.compile(r"^\| `([\w.-]+\.json)` \| `(\w+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def stack() -> LocalStack:
    """The stack of this process."""
    return shared_stack()


@contextmanager
def running(function: str, stack: LocalStack, boto3_folder: Path, **named: str) -> Iterator[RuntimeApi]:
    """*function* under the runtime client, with its build, the layer and boto3 on the path and nothing else.

    *named* are variables beside the stack's.
    """
    api = RuntimeApi()
    client = runtime_client(boto3_folder)
    paths = [str(BUILD / function), str(BUILD / "CommonLayer/python"), str(boto3_folder), str(client)]
    environment = {
        **stack.environment,
        "AWS_LAMBDA_RUNTIME_API": api.address,
        "AWS_LAMBDA_FUNCTION_NAME": function,
        "AWS_LAMBDA_FUNCTION_VERSION": "1",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
        "LAMBDA_TASK_ROOT": str(BUILD / function),
        **named,
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PROGRAM.format(paths=paths)], env=environment, cwd=BUILD / function
    )
    api.pids.append(process.pid)
    try:
        yield api
    finally:
        process.kill()
        process.wait(10)
        api.close()


def event(name: str, stack: LocalStack, **changed: Any) -> dict[str, Any]:
    """A recorded event with the stack's own key."""
    text = (EVENTS / f"{name}.json").read_text("utf-8").replace("rd_local_example_key", stack.api_key)
    return {**json.loads(text), **changed}


def called(api: RuntimeApi, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a proxy response, whose form API Gateway checks."""
    answer = json.loads(api.invoke(asked).body)
    assert set(answer) <= {"statusCode", "headers", "multiValueHeaders", "body", "isBase64Encoded"}
    assert isinstance(answer["body"], str)
    assert answer["statusCode"] == 200, answer["body"]
    found: dict[str, Any] = json.loads(answer["body"])
    return found


def test_query_answers_again_after_it_was_frozen(stack: LocalStack, runtime: Path) -> None:  # noqa: F811
    with running("QueryFunction", stack, runtime) as api:
        first = called(api, event("search", stack))
        time.sleep(1.5)
        second = called(api, event("search", stack))

    assert set(first) == set(second)


def test_generate_checks_an_answer(stack: LocalStack, runtime: Path) -> None:  # noqa: F811
    asked = {"answer": "The pump is red.", "sources": [{"id": "a", "text": "The pump is red."}]}
    changed = {"resource": "/v1/{proxy+}", "path": "/v1/verify", "body": json.dumps(asked), "isBase64Encoded": False}

    with running("GenerateFunction", stack, runtime) as api:
        body = called(api, event("ask", stack, **changed))

    assert [each["status"] for each in body["sentences"]] == ["verified"]


def test_mcp_serves_a_tool(stack: LocalStack, runtime: Path) -> None:  # noqa: F811
    with running("McpFunction", stack, runtime) as api:
        body = called(api, event("mcp-search", stack))

    assert body["jsonrpc"] == "2.0"
    assert "result" in body


@pytest.mark.parametrize("name", ["ingest-test-event", "ingest-delete"])
def test_ingest_takes_a_batch_and_says_what_failed_of_it(stack: LocalStack, runtime: Path, name: str) -> None:  # noqa: F811
    with running("IngestFunction", stack, runtime) as api:
        answer = json.loads(api.invoke(event(name, stack)).body)

    assert answer == {"batchItemFailures": []}


def documented() -> list[tuple[str, str, str, str]]:
    """The rows of events/README.md: event, function, what comes of it as it is there, and in .local/events."""
    return DOCUMENTED.findall((EVENTS / "README.md").read_text("utf-8"))


def came_of(api: RuntimeApi, path: Path) -> str:
    """What came of the event at *path*, as events/README.md has it."""
    answer = json.loads(api.invoke(json.loads(path.read_text("utf-8"))).body)
    if "statusCode" in answer:
        return str(answer["statusCode"])
    return f"{len(answer['batchItemFailures'])} failed"


def test_the_page_of_events_has_every_event(stack: LocalStack) -> None:
    names = [name for name, *_ in documented()]

    assert sorted(names) == sorted(path.name for path in EVENTS.glob("*.json"))
    assert sorted(names) == sorted(path.name for path in (stack.home / "events").glob("*.json"))


@pytest.mark.parametrize("function", ["GenerateFunction", "IngestFunction", "McpFunction", "QueryFunction"])
def test_what_comes_of_every_event_is_what_the_page_of_events_says(
    stack: LocalStack,
    runtime: Path,  # noqa: F811
    function: str,
) -> None:
    rows = [row for row in documented() if row[1] == function]

    with running(function, stack, runtime) as api:
        found = [
            (name, function, came_of(api, EVENTS / name), came_of(api, stack.home / "events" / name))
            for name, *_ in rows
        ]

    assert rows
    assert found == rows
