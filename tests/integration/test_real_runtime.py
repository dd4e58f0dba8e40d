"""What `sam build` made runs under AWS's own runtime client, against a Runtime API that freezes it between events.

The API is that of "Using the Lambda runtime API" (docs.aws.amazon.com): next, response, error and init error.
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_built_functions import BUILD, runtime  # noqa: F401 - a fixture
from tests.stacks import REPOSITORY, LocalStack

LIMIT_BYTES = 6 * 1024 * 1024  # of a response, as AWS has it
TIMEOUT_S = 29.0
OF_THE_CLIENT = ("awslambdaric", "runtime_client", "snapshot_restore_py", "simplejson")
EVENTS = REPOSITORY / "events"
PROGRAM = "import sys; sys.path[:0] = {paths!r}; from awslambdaric.__main__ import main; main(['', 'app.handler'])"


class RuntimeApi:
    """Hands events to one function, one at a time, and takes its answers; between them the process is stopped."""

    def __init__(self) -> None:
        self.events: queue.Queue[Mapping[str, Any]] = queue.Queue()
        self.answers: queue.Queue[tuple[str, Any]] = queue.Queue()
        self.pid = 0
        api = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                event = api.events.get()
                body = json.dumps(event).encode()
                self.send_response(200)
                self.send_header("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
                self.send_header("Lambda-Runtime-Deadline-Ms", str(int((time.time() + TIMEOUT_S) * 1_000)))
                self.send_header(
                    "Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:123456789012:function:f"
                )
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(202)
                self.send_header("content-length", "0")
                self.end_headers()
                kind = self.path.rpartition("/")[2]
                api.answers.put((kind if len(body) <= LIMIT_BYTES else "too large", json.loads(body)))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def invoke(self, event: Mapping[str, Any]) -> Any:
        """The function's answer to *event*; it runs for no longer than that."""
        os.kill(self.pid, signal.SIGCONT)
        self.events.put(event)
        kind, answer = self.answers.get(timeout=TIMEOUT_S)
        os.kill(self.pid, signal.SIGSTOP)
        assert kind == "response", answer
        return answer


@contextmanager
def running(function: str, stack: LocalStack, boto3_folder: Path) -> Iterator[RuntimeApi]:
    """*function* under the runtime client, with its build, the layer and boto3 on the path and nothing else."""
    api = RuntimeApi()
    client = boto3_folder / "client"
    client.mkdir()
    for name in OF_THE_CLIENT:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        path = Path(spec.origin)
        path = path.parent if path.name == "__init__.py" else path
        (client / path.name).symlink_to(path)
    paths = [str(BUILD / function), str(BUILD / "CommonLayer/python"), str(boto3_folder), str(client)]
    environment = {
        **stack.environment,
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{api.server.server_port}",
        "AWS_LAMBDA_FUNCTION_NAME": function,
        "AWS_LAMBDA_FUNCTION_VERSION": "1",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
        "LAMBDA_TASK_ROOT": str(BUILD / function),
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PROGRAM.format(paths=paths)], env=environment, cwd=BUILD / function
    )
    api.pid = process.pid
    try:
        yield api
    finally:
        os.kill(process.pid, signal.SIGCONT)
        process.kill()
        process.wait(10)
        api.server.shutdown()
        api.server.server_close()


def event(name: str, stack: LocalStack, **changed: Any) -> dict[str, Any]:
    """A recorded event with the stack's own key."""
    text = (EVENTS / f"{name}.json").read_text("utf-8").replace("rd_local_example_key", stack.api_key)
    return {**json.loads(text), **changed}


def called(api: RuntimeApi, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a proxy response, whose form API Gateway checks."""
    answer = api.invoke(asked)
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
        answer = api.invoke(event(name, stack))

    assert answer == {"batchItemFailures": []}
