"""`ragdrop invoke`: a real module with a handler, run by its path."""

from __future__ import annotations

import json
import sys

import pytest

from tests.unit.cli.world import CommandLine

ECHO = """
from __future__ import annotations
import os
print("a log line")

def handler(event, context):
    return {"event": event, "id": bool(context.aws_request_id), "ms": context.get_remaining_time_in_millis(),
            "name": context.function_name, "arn": context.invoked_function_arn, "mb": context.memory_limit_in_mb}
"""

REFUSING = """
from ragdrop.errors import InvalidParamsError

def handler(event, context):
    raise InvalidParamsError("no")
"""


@pytest.fixture
def repository(ragdrop: CommandLine) -> CommandLine:
    ragdrop.write("template.yaml", "")
    ragdrop.write("functions/echo/app.py", ECHO)
    ragdrop.write("functions/broken/app.py", "def handler(event, context):\n    raise ValueError('no')\n")
    ragdrop.write("functions/refusing/app.py", REFUSING)
    ragdrop.write("events/put.json", '{"bucket": "ragdrop-documents-example", "key": "rd_local_example_key", "n": "ä"}')
    ragdrop.write_stack(bucket="docs-1", api_key="rd_stack", environment={"DOCUMENT_BUCKET": "docs-1"})
    return ragdrop


def test_the_response_is_json_on_standard_output_and_logs_are_not(repository: CommandLine) -> None:
    result = repository.run("invoke", "echo", "events/put.json", "--timeout-s", "9")

    response = json.loads(result.stdout)
    assert result.exit_code == 0
    assert "a log line" in result.stderr
    assert response["name"] == "ragdrop-echo"
    assert response["arn"].endswith(":function:ragdrop-echo")
    assert response["id"] is True
    assert 8000 < response["ms"] <= 9000


def test_the_example_key_and_bucket_become_the_stacks_and_the_key_is_not_shown(repository: CommandLine) -> None:
    result = repository.run("invoke", "echo", "put", "--json")

    assert json.loads(result.stdout)["event"] == {"bucket": "docs-1", "key": "rd_stack", "n": "ä"}
    assert "API key and bucket" in result.stderr
    assert "rd_stack" not in result.stderr


def test_the_handler_runs_with_the_environment_of_the_stack(repository: CommandLine) -> None:
    repository.run("invoke", "echo", "put")

    assert repository.environ["DOCUMENT_BUCKET"] == "docs-1"


def test_a_handler_that_raises_ends_with_1(repository: CommandLine) -> None:
    result = repository.run("invoke", "broken", "put")

    assert result.exit_code == 1
    assert isinstance(result.exception, ValueError)  # the interpreter prints its trace
    assert result.stdout == ""


def test_an_error_of_ragdrops_own_is_a_trace_too(repository: CommandLine) -> None:
    result = repository.run("invoke", "refusing", "put")

    assert result.exit_code == 1
    assert "Traceback" in result.stderr


def test_an_unknown_function_is_answered_with_the_allowed_ones(repository: CommandLine) -> None:
    result = repository.run("invoke", "nothing", "put")

    assert result.exit_code == 2
    assert "broken, echo, refusing" in " ".join(result.stderr.replace("│", " ").split())


def test_an_unknown_event_is_answered_with_the_golden_ones(repository: CommandLine) -> None:
    result = repository.run("invoke", "echo", "nothing")

    assert result.exit_code == 2
    assert "events/put.json" in result.stderr


def test_an_event_that_is_no_json_is_named(repository: CommandLine) -> None:
    repository.write("events/bad.json", "{")

    assert repository.run("invoke", "echo", "bad").exit_code == 2


def test_without_a_stack_it_names_make_up(repository: CommandLine) -> None:
    (repository.folder / ".local" / "stack.json").unlink()

    result = repository.run("invoke", "echo", "put")

    assert result.exit_code == 2
    assert "make up" in result.stderr


def test_the_functions_folder_does_not_come_onto_the_path(repository: CommandLine) -> None:
    before = list(sys.path)

    repository.run("invoke", "echo", "put")

    assert sys.path == before
