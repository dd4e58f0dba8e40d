"""The template as tests read it: CloudFormation's short forms resolved to plain objects."""

from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]

MODELS = {"ModelsRole", "ModelsFunction"}
"""Of the function that has no settings, no data and no network, unlike all others: test_template_models.py."""

Resource = dict[str, Any]


class TemplateLoader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms: `!Ref x` becomes {"Ref": "x"}, `!Sub x` {"Fn::Sub": "x"}."""


def _short_form(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Resource:
    name = suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    assert isinstance(node, yaml.MappingNode)
    return {name: loader.construct_mapping(node, deep=True)}


TemplateLoader.add_multi_constructor("!", _short_form)


def read_template(name: str = "template.yaml") -> Resource:
    """A whole template."""
    loaded: Resource = yaml.load((REPOSITORY / name).read_text("utf-8"), TemplateLoader)  # noqa: S506
    return loaded


def of_type(resources: dict[str, Resource], kind: str) -> dict[str, Resource]:
    return {name: each["Properties"] for name, each in resources.items() if each["Type"] == kind}


def allowed_statements(resources: dict[str, Resource]) -> list[tuple[str, Resource]]:
    """Every statement that allows something to a function, with the name of the resource it stands in."""
    documents = [(name, policy["PolicyDocument"]) for name, policy in of_type(resources, "AWS::IAM::Policy").items()]
    for name, role in of_type(resources, "AWS::IAM::Role").items():
        documents += [(name, policy["PolicyDocument"]) for policy in role["Policies"]]
    statements = [(name, statement) for name, document in documents for statement in document["Statement"]]
    return [(name, statement) for name, statement in statements if statement["Effect"] == "Allow"]


def roles_of(resources: dict[str, Resource], name: str) -> list[str]:
    """The roles that the policies of a resource belong to: itself, or those that a policy of its own names."""
    properties = resources[name]["Properties"]
    return [role["Ref"] for role in properties["Roles"]] if resources[name]["Type"] == "AWS::IAM::Policy" else [name]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
