"""The real Lambda Web Adapter before the built function: every route streams, and tokens arrive as they are made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from localstack.processes import choose_port
from tests.architecture.cloudformation import read_template
from tests.aws.runtime_api import RuntimeApi
from tests.chat_server import chat_server
from tests.integration.commands import Tenant, within
from tests.integration.test_built_functions import BUILD, runtime  # noqa: F401 - a fixture
from tests.stacks import REPOSITORY, LocalStack, shared_stack

ADAPTER = REPOSITORY / ".local/adapter/bin/lambda-adapter"
STALL_S = 2.0
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def tenant() -> Tenant:
    """A tenant with one document."""
    made = Tenant.created(shared_stack(), "adapter")
    made.put("team/pump.md", "The pump is red.")
    within(60, lambda: made.listed("team", "indexed"))
    return made


@pytest.fixture
def adapter() -> Path:
    """The adapter's program; a skip where cargo could not build it, a failure with RAGDROP_REQUIRE_TOOLS=1."""
    if not ADAPTER.exists():
        missing = "cargo is needed to build the Lambda Web Adapter (`make .local/adapter/.ready`)"
        if os.environ.get("RAGDROP_REQUIRE_TOOLS") == "1":
            pytest.fail(f"RAGDROP_REQUIRE_TOOLS=1 and {missing}", pytrace=False)
        pytest.skip(missing)
    return ADAPTER


@contextmanager
def behind(adapter: Path, stack: LocalStack, boto3_folder: Path, **named: str) -> Iterator[RuntimeApi]:
    """`run.sh` and the adapter as Lambda starts them, with the template's variables."""
    api = RuntimeApi()
    function = read_template()["Resources"]["GenerateFunction"]["Properties"]
    declared = {
        name: value["Fn::If"][1]
        for name, value in function["Environment"]["Variables"].items()
        if name.startswith("AWS_LWA_")
    }
    environment = {
        **{name: value for name, value in stack.environment.items() if name != "AWS_LAMBDA_FUNCTION_NAME"},
        **declared,
        "AWS_LWA_PORT": str(choose_port()),
        "AWS_LAMBDA_RUNTIME_API": api.address,
        "AWS_LAMBDA_FUNCTION_NAME": "GenerateFunction",
        "AWS_LAMBDA_FUNCTION_VERSION": "1",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
        "PATH": f"{Path(sys.base_prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(BUILD / "CommonLayer/python"),
        "LAMBDA_RUNTIME_DIR": str(boto3_folder),
        "PYTHONNOUSERSITE": "1",
        **named,
    }
    started = [
        subprocess.Popen(command, env=environment, cwd=BUILD / "GenerateFunction")
        for command in (["sh", str(BUILD / "GenerateFunction/run.sh")], [str(adapter)])
    ]
    api.pids += [each.pid for each in started]
    try:
        yield api
    finally:
        for each in started:
            each.kill()
            each.wait(10)
        api.close()


def mode_of(integration: dict[str, Any]) -> str:
    """How the gateway sends an integration's replies where functions stream; by default it waits for their end."""
    mode: str = integration.get("responseTransferMode", {"Fn::If": ["StreamsResponses", "BUFFERED"]})["Fn::If"][1]
    return mode


def event(tenant: Tenant, method: str, path: str, resource: str, body: Any = None) -> dict[str, Any]:
    """A request as the gateway hands it over."""
    made: dict[str, Any] = json.loads((REPOSITORY / "events/ask.json").read_text("utf-8"))
    headers = {"content-type": "application/json", "x-api-key": tenant.key, "origin": "https://app.example"}
    if method == "OPTIONS":
        headers |= {"access-control-request-method": "POST", "access-control-request-headers": "x-api-key"}
    context = {**made["requestContext"], "httpMethod": method, "path": path, "resourcePath": resource}
    del context["requestTimeEpoch"]  # of the time when it was recorded
    return {
        **made,
        "httpMethod": method,
        "path": path,
        "resource": resource,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "requestContext": context,
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }


def test_each_route_of_the_function_answers_in_the_mode_that_the_template_declares(
    tenant: Tenant,
    adapter: Path,
    runtime: Path,  # noqa: F811
) -> None:
    asked = {"query": "Which colour is the pump?", "vaults": ["team"]}
    bodies = {"/ask": asked, "/v1/chat/completions": {"messages": [{"role": "user", "content": "The pump's colour?"}]}}
    paths = read_template()["Resources"]["Api"]["Properties"]["DefinitionBody"]["paths"]
    declared = {
        (method.upper(), path)
        for path, methods in paths.items()
        for method, each in methods.items()
        if mode_of(each["x-amazon-apigateway-integration"]) == "STREAM"
    }
    assert {("POST", "/ask"), ("OPTIONS", "/ask"), ("GET", "/v1/{proxy+}"), ("POST", "/v1/{proxy+}")} <= declared

    with behind(adapter, tenant.stack, runtime, CORS_ALLOW_ORIGINS="https://app.example") as api:
        for method, path, resource in (
            ("POST", "/ask", "/ask"),
            ("OPTIONS", "/ask", "/ask"),
            ("GET", "/v1/models", "/v1/{proxy+}"),
            ("POST", "/v1/chat/completions", "/v1/{proxy+}"),
            ("OPTIONS", "/v1/models", "/v1/{proxy+}"),
        ):
            answer = api.invoke(event(tenant, method, path, resource, bodies.get(path) if method == "POST" else None))
            prelude, body = answer.parts()
            assert (method, resource) in declared
            assert answer.streams, path
            assert prelude["statusCode"] in {200, 204}, (method, path, body)


def test_tokens_arrive_one_after_another_while_the_model_still_speaks(
    tenant: Tenant,
    adapter: Path,
    runtime: Path,  # noqa: F811
) -> None:
    with chat_server() as chat:
        chat.behave("slow", text="The pump is red [1]. It is red indeed [1].", stall_after=5, stall_s=STALL_S)
        asked = {"query": "Which colour is the pump?", "vaults": ["team"], "stream": True}
        with behind(adapter, tenant.stack, runtime, CHAT_URL=chat.url, CHAT_MODELS="slow") as api:
            answer = api.invoke(event(tenant, "POST", "/ask", "/ask", asked))

    prelude, body = answer.parts()
    assert prelude["headers"]["content-type"].startswith("text/event-stream")
    assert b"red" in body
    when = [at for at, chunk in answer.chunks if b"red" in chunk]
    assert len(answer.chunks) > 5
    assert when[-1] - when[0] > STALL_S / 2
