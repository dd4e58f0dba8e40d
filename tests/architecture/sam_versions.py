"""Transforms the template as AWS does: a program for SAM's environment, which alone has the translator.

Reads a list of parameter values as JSON; prints the logical ids of versions and of the API's deployment for each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from samcli.yamlhelper import yaml_parse
from samtranslator.translator.transform import transform

TEMPLATE = Path(__file__).resolve().parents[2] / "template.yaml"


class _NoPolicies:
    """There are none to load."""

    def load(self) -> dict[str, str]:
        """Nothing."""
        return {}


def versions(parameters: dict[str, str]) -> list[str]:
    """Logical ids of what must be new for callers to see a change."""
    template: dict[str, Any] = yaml_parse(TEMPLATE.read_text("utf-8"))
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Serverless::Function":
            properties["CodeUri"] = "s3://bucket/function"
        if resource["Type"] == "AWS::Serverless::LayerVersion":
            properties["ContentUri"] = "s3://bucket/layer"
    kinds = {"AWS::Lambda::Version", "AWS::ApiGateway::Deployment"}
    transformed = transform(template, parameters, _NoPolicies())["Resources"]
    return sorted(name for name, each in transformed.items() if each["Type"] in kinds)


print(json.dumps([versions(each) for each in json.load(sys.stdin)]))
