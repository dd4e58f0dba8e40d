"""Transforms the template as AWS does: a program for SAM's environment, which alone has the translator.

Reads a list of parameter values as JSON; prints the whole transformed template for each.
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


def transformed(text: str, parameters: dict[str, str]) -> dict[str, Any]:
    """What CloudFormation gets, with code as if it were uploaded."""
    template: dict[str, Any] = yaml_parse(text)
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Serverless::Function":
            properties["CodeUri"] = "s3://bucket/function"
        if resource["Type"] == "AWS::Serverless::LayerVersion":
            properties["ContentUri"] = "s3://bucket/layer"
    found: dict[str, Any] = transform(template, parameters, _NoPolicies())
    return found


asked = json.load(sys.stdin)
text = asked["template"] or TEMPLATE.read_text("utf-8")
print(json.dumps([transformed(text, each) for each in asked["parameters"]]))
