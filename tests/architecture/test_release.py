"""A changed parameter reaches callers: every function publishes a new version, and the API is deployed again."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from localstack.deploy import command_of, defaults_of, deployment_digest, overrides_of, parameters_of, with_release
from localstack.processes import LaunchError
from tests.aws.transform import transformed

ROOT = Path(__file__).parents[2]
TEMPLATE = (ROOT / "template.yaml").read_text("utf-8")
BASE = {
    **defaults_of(TEMPLATE),
    "IndexUrl": "https://index.example",
    "EmbeddingUrl": "https://models.example/v1",
    "EmbeddingModel": "m",
    "EmbeddingDimension": "384",
    "ChatUrl": "https://models.example/v1",
    "ChatModels": "m",
}


@pytest.fixture(scope="module")
def versions() -> dict[str, set[str]]:
    """By parameter the versions and deployments with another value of it; by the empty name those of BASE."""
    changed = {name: {**BASE, name: f"{value}x"} for name, value in BASE.items() if name != "Release"}
    given = [{**each, "Release": deployment_digest("built", each)} for each in (BASE, *changed.values())]
    kinds = {"AWS::Lambda::Version", "AWS::ApiGateway::Deployment"}
    found = [{name for name, each in made["Resources"].items() if each["Type"] in kinds} for made in transformed(given)]
    return dict(zip(["", *changed], found, strict=True))


def test_every_parameter_makes_a_new_version_of_every_function(versions: dict[str, set[str]]) -> None:
    functions = {name for name in versions[""] if "Version" in name}

    assert len(functions) == 5
    assert {name for name, found in versions.items() if name and found & functions} == set()


def test_a_deployment_of_the_api_is_new_each_time() -> None:
    api = TEMPLATE[TEMPLATE.index("  Api:\n    Type: AWS::Serverless::Api") :]

    assert "AlwaysDeploy: true" in api[: api.index("DefinitionBody")]


def test_a_deployment_to_aws_names_a_release_that_follows_from_its_parameters() -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text("utf-8"))
    parameters = parameters_of(config, "dev")

    commands = [
        command_of("dev", parameters, "built", []),
        command_of("dev", {**parameters, "ChatModels": "another"}, "built", []),
        command_of("dev", parameters, "built again", []),
    ]

    releases = {each for command in commands for each in command if each.startswith("Release=")}
    assert len(releases) == 3
    assert set(overrides_of(parameters)) <= set(commands[0])


def test_an_environment_that_is_not_configured_is_refused_with_those_that_are() -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text("utf-8"))

    with pytest.raises(LaunchError, match="dev, prod"):
        parameters_of(config, "staging")


def test_a_template_without_the_parameter_is_refused() -> None:
    with pytest.raises(LaunchError, match="no parameter Release"):
        with_release("Parameters: {}", "abc")
