"""The function that runs models: made where no endpoint is named, and with no right but to write its log."""

from __future__ import annotations

import re
from typing import Any

import pytest

from localstack.deploy import defaults_of
from ragdrop.app.serve_models import EMBEDDING
from ragdrop.config import FUNCTION, Settings
from ragdrop.models.answerer import MODEL as ANSWERER
from tests.architecture.cloudformation import MODELS, REPOSITORY, Resource, of_type
from tests.aws.transform import leaves, transformed
from tests.world import ENVIRONMENT

TEMPLATE = (REPOSITORY / "template.yaml").read_text("utf-8")
INSIDE = f"{FUNCTION}${{AWS::StackName}}-models:live"
ADDRESS = "https://models.example/v1"
URLS = {"EMBEDDING_URL": "EmbeddingUrl", "CHAT_URL": "ChatUrl", "READER_URL": "ReaderUrl"}


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Any]]:
    """What is made, by the endpoints that are named: none, each, all, all but the reader."""
    named = {
        "none": {},
        **{name: {name: ADDRESS} for name in URLS.values()},
        "all": dict.fromkeys(URLS.values(), ADDRESS),
        "no reader": {"EmbeddingUrl": ADDRESS, "ChatUrl": ADDRESS, "ReaderUrl": "none"},
    }
    given = {what: {**defaults_of(TEMPLATE), "Release": "r", **each} for what, each in named.items()}
    made = transformed(list(given.values()))
    return {what: leaves(template, given[what]) for what, template in zip(given, made, strict=True)}


def variables(of: dict[str, Any], function: str = "QueryFunction") -> dict[str, str]:
    return {name: of[f"{function}.Environment.Variables.{name}"] for name in URLS}


def test_without_an_endpoint_all_models_are_those_of_the_stack(found: dict[str, dict[str, Any]]) -> None:
    assert variables(found["none"]) == dict.fromkeys(URLS, INSIDE)
    assert found["none"]["QueryFunction.Environment.Variables.EMBEDDING_MODEL"] == EMBEDDING
    assert found["none"]["QueryFunction.Environment.Variables.CHAT_MODELS"] == ANSWERER


@pytest.mark.parametrize(("variable", "parameter"), URLS.items())
def test_an_endpoint_takes_the_place_of_one_model(
    found: dict[str, dict[str, Any]], variable: str, parameter: str
) -> None:
    assert variables(found[parameter]) == {**dict.fromkeys(URLS, INSIDE), variable: ADDRESS}
    assert "ModelsFunction.Type" in found[parameter]


def test_where_every_endpoint_is_named_there_is_no_function(found: dict[str, dict[str, Any]]) -> None:
    for what in ("all", "no reader"):
        assert [
            path for path in found[what] if path.startswith("Models") or ":function:" in str(found[what][path])
        ] == []
    assert variables(found["no reader"])["READER_URL"] == ""


def test_the_function_is_called_by_the_name_that_it_has(found: dict[str, dict[str, Any]]) -> None:
    made = found["none"]

    assert f"{FUNCTION}{made['ModelsFunction.FunctionName']}:live" == INSIDE
    assert made["ModelsFunctionAliaslive.Name"] == "live"


def test_the_function_may_write_its_log_and_has_no_settings_and_no_network(found: dict[str, dict[str, Any]]) -> None:
    of_function = [path for path in found["none"] if path.startswith("ModelsFunction.")]
    actions = [value for path, value in found["none"].items() if path.startswith("ModelsRole") and ".Action[" in path]

    assert not [path for path in of_function if "Environment" in path or "VpcConfig" in path]
    assert set(actions) == {"logs:CreateLogStream", "logs:PutLogEvents"}


def test_every_other_function_may_call_it_and_nothing_else(resources: dict[str, Resource]) -> None:
    policy = resources["ModelsPolicy"]["Properties"]
    [statement] = policy["PolicyDocument"]["Statement"]

    assert {role["Ref"] for role in policy["Roles"]} == set(of_type(resources, "AWS::IAM::Role")) - MODELS
    assert (statement["Action"], statement["Resource"]) == (
        "lambda:InvokeFunction",
        {"Fn::Sub": "${ModelsFunction.Arn}:live"},
    )


def test_the_settings_take_the_functions_name() -> None:
    named = dict.fromkeys(URLS, "lambda:ragdrop-models:live")

    settings = Settings.from_environment({**ENVIRONMENT, **named})

    assert (settings.embedding_url, settings.chat_url, settings.reader_url) == tuple(named.values())


def test_the_wheels_that_the_build_takes_are_for_the_functions_runtime(resources: dict[str, Resource]) -> None:
    makefile = (REPOSITORY / "functions/models/Makefile").read_text("utf-8")
    [version] = re.findall(r"^LAMBDA_PYTHON = (.+)$", makefile, re.MULTILINE)

    assert resources["ModelsFunction"]["Properties"]["Runtime"] == f"python{version}"
