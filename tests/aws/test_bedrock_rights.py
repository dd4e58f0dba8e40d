"""What the functions may call of Amazon Bedrock: the models that the parameters name, and nothing without them."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any

import pytest

from tests.architecture.cloudformation import allowed_statements, listed, read_template, roles_of

ACCOUNT, REGION = "123456789012", "eu-central-1"
ELSEWHERE = {"ChatUrl": "https://models.example/v1", "EmbeddingUrl": "https://models.example/v1", "RerankUrl": ""}
NAMED = {"ChatModels": "m", "EmbeddingModel": "m"}
READERS = {"QueryRole", "GenerateRole", "McpRole"}
HAIKU = "anthropic.claude-haiku-4-5-20251001-v1:0"
TITAN = "amazon.titan-embed-text-v2:0"


class Deployed:
    """The template with values of its parameters: what a role may call of Bedrock."""

    def __init__(self, **parameters: str) -> None:
        self.template = read_template()
        self.values = {**ELSEWHERE, **NAMED, **parameters}
        pseudo = {"AWS::Partition": "aws", "AWS::AccountId": ACCOUNT, "AWS::Region": REGION}
        self.known = {**self.values, **pseudo}

    def value(self, found: Any) -> Any:
        """*found* as CloudFormation resolves it."""
        if isinstance(found, list):
            return [self.value(each) for each in found]
        if not isinstance(found, dict) or len(found) != 1:
            return {name: self.value(each) for name, each in found.items()} if isinstance(found, dict) else found
        [(name, inner)] = found.items()
        if name == "Ref":
            return self.known[inner]
        if name == "Fn::Split":
            return self.value(inner[1]).split(inner[0])
        if name == "Fn::Join":
            assert isinstance(inner[0], str), "CloudFormation takes a literal"
            return inner[0].join(self.value(inner[1]))
        if name == "Fn::Select":
            return self.value(inner[1])[inner[0]]
        if name == "Fn::Equals":
            return self.value(inner[0]) == self.value(inner[1])
        if name == "Fn::Sub":
            return re.sub(r"\$\{([\w:]+)\}", lambda each: self.known[each[1]], inner)
        return {name: self.value(inner)}

    def roles(self, action: str, arn: str, profile: str = "") -> set[str]:
        """The roles that may do *action* on *arn*, by way of a *profile* if there is one."""
        resources, allowed = self.template["Resources"], set()
        for name, statement in allowed_statements(resources):
            condition = resources[name].get("Condition")
            if "bedrock:InvokeModel" not in listed(statement["Action"]) or action not in listed(statement["Action"]):
                continue
            if condition and not self.value(self.template["Conditions"][condition]):
                continue
            patterns = listed(self.value(statement["Resource"]))
            needed = self.value(statement.get("Condition", {})).get("StringLike", {}).get("bedrock:InferenceProfileArn")
            through = needed is None or any(fnmatchcase(profile, each) for each in listed(needed))
            if through and any(fnmatchcase(arn, pattern) for pattern in patterns):
                allowed |= set(roles_of(resources, name))
        return allowed


def model(name: str, region: str = REGION) -> str:
    return f"arn:aws:bedrock:{region}::foundation-model/{name}"


def profile(name: str) -> str:
    return f"arn:aws:bedrock:{REGION}:{ACCOUNT}:inference-profile/{name}"


INVOKE, STREAM = "bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"


def test_without_bedrock_no_role_may_call_a_model() -> None:
    deployed = Deployed()

    for arn in (model("m"), model(TITAN), profile("m"), model("cohere.rerank-v3-5:0")):
        assert deployed.roles(INVOKE, arn) == deployed.roles(INVOKE, arn, profile("m")) == set()


@pytest.mark.parametrize("url", ["bedrock", "bedrock:us-east-1"])
def test_each_chat_model_that_is_named_may_be_called_whole_and_streamed_by_those_who_answer(url: str) -> None:
    deployed = Deployed(ChatUrl=url, ChatModels="amazon.nova-micro-v1:0, openai.gpt-oss-20b-1:0")

    for name in ("amazon.nova-micro-v1:0", "openai.gpt-oss-20b-1:0"):
        for action in (INVOKE, STREAM):
            assert deployed.roles(action, model(name, "us-east-1")) == READERS


def test_a_chat_model_that_is_not_named_may_not_be_called() -> None:
    deployed = Deployed(ChatUrl="bedrock", ChatModels="amazon.nova-micro-v1:0")

    for name in ("amazon.nova-pro-v1:0", "amazon.nova-micro-v1:0x", TITAN):
        assert deployed.roles(INVOKE, model(name)) == set()
        assert deployed.roles(INVOKE, profile(f"eu.{name}")) == set()


def test_a_profile_leads_to_its_models_in_every_region_and_they_may_not_be_called_without_it() -> None:
    deployed = Deployed(ChatUrl="bedrock", ChatModels=f"eu.{HAIKU},amazon.nova-micro-v1:0")

    assert deployed.roles(STREAM, profile(f"eu.{HAIKU}")) == READERS
    assert deployed.roles(STREAM, model(HAIKU, "eu-west-3"), profile(f"eu.{HAIKU}")) == READERS
    assert deployed.roles(STREAM, model(HAIKU, ""), profile(f"eu.{HAIKU}")) == READERS  # of a global one
    assert deployed.roles(STREAM, model(HAIKU)) == set()
    assert deployed.roles(STREAM, model(HAIKU), profile(f"us.{HAIKU}")) == set()


def test_an_application_profile_is_named_by_its_arn_and_leads_to_its_model_alone() -> None:
    mine, other = (
        f"arn:aws:bedrock:{REGION}:{ACCOUNT}:application-inference-profile/{name}" for name in ("a1b2", "c3d4")
    )
    deployed = Deployed(ChatUrl="bedrock", ChatModels=f"{mine}, amazon.nova-micro-v1:0")

    assert deployed.roles(STREAM, mine) == READERS
    assert deployed.roles(STREAM, model(HAIKU, "eu-west-3"), mine) == READERS
    assert deployed.roles(STREAM, model("amazon.nova-micro-v1:0")) == READERS
    assert deployed.roles(STREAM, other) == deployed.roles(STREAM, model(HAIKU), other) == set()
    assert deployed.roles(STREAM, model(HAIKU)) == set()


def test_the_openai_route_may_book_a_call_on_the_default_project() -> None:
    arn = f"arn:aws:bedrock:{REGION}:{ACCOUNT}:project/default"

    assert Deployed(ChatUrl="bedrock").roles(INVOKE, arn) == READERS
    assert Deployed(EmbeddingUrl="bedrock", EmbeddingModel=TITAN).roles(INVOKE, arn) == set()


def test_the_embedding_model_may_be_called_by_every_function_and_never_streamed() -> None:
    deployed = Deployed(EmbeddingUrl="bedrock", EmbeddingModel=TITAN)

    assert deployed.roles(INVOKE, model(TITAN)) == {*READERS, "IngestRole", "SweepRole"}
    assert deployed.roles(STREAM, model(TITAN)) == set()
    assert deployed.roles(INVOKE, model("cohere.embed-v4:0")) == set()


def test_an_embedding_model_may_be_a_profile() -> None:
    deployed = Deployed(EmbeddingUrl="bedrock", EmbeddingModel="us.cohere.embed-v4:0")
    name = profile("us.cohere.embed-v4:0")

    assert "IngestRole" in deployed.roles(INVOKE, name)
    assert "IngestRole" in deployed.roles(INVOKE, model("cohere.embed-v4:0", "us-west-2"), name)
    assert deployed.roles(INVOKE, model("cohere.embed-v4:0", "us-west-2")) == set()


def test_both_rerankers_may_be_called_where_bedrock_reranks() -> None:
    deployed = Deployed(RerankUrl="bedrock:us-west-2")

    for name in ("cohere.rerank-v3-5:0", "amazon.rerank-v1:0"):
        assert deployed.roles(INVOKE, model(name, "us-west-2")) == {*READERS, "SweepRole"}
    assert deployed.roles(INVOKE, model("m")) == set()


@pytest.mark.parametrize("name", ["ChatUrl", "EmbeddingUrl", "RerankUrl"])
@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("bedrock", True),
        ("bedrock:eu-central-1", True),
        ("bedrock:us-gov-west-1", True),
        ("https://models.example/v1", True),
        ("bedrock:", False),
        ("bedrock:Frankfurt", False),
        ("bedrocks", False),
    ],
)
def test_the_parameters_take_what_the_settings_take(name: str, text: str, *, fits: bool) -> None:
    pattern = read_template()["Parameters"][name]["AllowedPattern"]

    assert (re.fullmatch(pattern, text) is not None) == fits
