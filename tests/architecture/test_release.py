"""A changed parameter reaches callers: every function publishes a new version, and the API is deployed again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from localstack.build import DEFAULTS, pinned, with_release
from localstack.deploy import command_of, defaults_of, deployment_digest, overrides_of
from localstack.launch_options import parameters_of
from localstack.processes import LaunchError
from tests.architecture.cloudformation import MODELS, read_template
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


PREFIX = "0123456789"  # SAM looks at ten characters of a value of AutoPublishCodeSha256


def versions(parameters: Mapping[str, str], release: str) -> set[str]:
    """The logical ids of versions of functions with settings, and of deployments of the API.

    The function models has no settings: its code and its layer make its versions.
    """
    kinds = {"AWS::Lambda::Version", "AWS::ApiGateway::Deployment"}
    [made] = transformed([parameters], with_release(TEMPLATE, release))
    found = {name for name, each in made["Resources"].items() if each["Type"] in kinds}
    return {name for name in found if not name.startswith("ModelsFunction")}


def test_another_release_makes_a_new_version_of_every_function_whatever_its_first_characters() -> None:
    one, other = versions(BASE, f"{PREFIX}-a"), versions(BASE, f"{PREFIX}-b")

    assert len({name for name in one if "Version" in name}) == 5
    assert {name for name in one & other if "Version" in name} == set()


def test_every_parameter_makes_another_release() -> None:
    changed = [{**BASE, name: f"{value}x"} for name, value in BASE.items()]
    releases = {deployment_digest("built", each) for each in (BASE, *changed)}

    assert len(releases) == len(BASE) + 1


def test_no_parameter_names_the_release_so_that_none_of_the_last_deployment_is_in_force() -> None:
    assert "Release" not in read_template()["Parameters"]
    assert "AutoPublishCodeSha256" not in TEMPLATE


def test_a_built_template_names_runtime_and_processor_of_the_build_whatever_the_parameters_say() -> None:
    built = pinned(yaml.safe_dump(read_template()), {"PythonRuntime": "python3.12", "Architecture": "arm64"})
    [made] = transformed([{**BASE, "PythonRuntime": "python3.11", "Architecture": "x86_64"}], built)
    functions = [
        each["Properties"]
        for name, each in made["Resources"].items()
        if each["Type"] == "AWS::Lambda::Function" and name not in MODELS
    ]

    assert {each["Runtime"] for each in functions} == {"python3.12"}
    assert {tuple(each["Architectures"]) for each in functions} == {("arm64",)}


def test_the_build_has_the_templates_defaults_of_runtime_and_processor() -> None:
    assert {name: defaults_of(TEMPLATE)[name] for name in DEFAULTS} == DEFAULTS


def test_a_deployment_of_the_api_is_new_each_time() -> None:
    api = TEMPLATE[TEMPLATE.index("  Api:\n    Type: AWS::Serverless::Api") :]

    assert "AlwaysDeploy: true" in api[: api.index("DefinitionBody")]


def test_a_deployment_to_aws_has_the_parameters_of_its_profile() -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text("utf-8"))
    parameters = parameters_of(config, "dev")

    assert set(overrides_of(parameters)) <= set(command_of("dev", parameters, []))


def test_a_parameter_that_left_the_profile_has_its_default_again_and_a_typed_key_stays() -> None:
    shown = defaults_of(TEMPLATE, with_hidden=False)

    assert shown["ChatUrl"] == shown["EmbeddingUrl"] == ""
    hidden = {"ChatApiKey", "EmbeddingApiKey", "RerankApiKey", "IndexPassword"}
    assert defaults_of(TEMPLATE).keys() - shown.keys() == hidden


def test_an_environment_that_is_not_configured_is_refused_with_those_that_are() -> None:
    config = tomllib.loads((ROOT / "samconfig.toml").read_text("utf-8"))

    with pytest.raises(LaunchError, match="dev, prod"):
        parameters_of(config, "staging")


def test_a_template_without_the_variable_is_refused() -> None:
    with pytest.raises(LaunchError, match="no variable RELEASE"):
        with_release("Parameters: {}", "abc")
