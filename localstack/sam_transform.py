"""Transforms a template as AWS does: a program for SAM's environment, which alone has the translator.

Reads templates as texts, and lists of parameter values for each, as JSON; prints all transformed templates.
"""

from __future__ import annotations

import json
import sys
from typing import Any

CODE = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}


class _NoPolicies:
    """There are none to load."""

    def load(self) -> dict[str, str]:
        """Nothing."""
        return {}


def transformed(text: str, parameters: dict[str, str]) -> dict[str, Any]:
    """What CloudFormation gets; code of a folder as if it were uploaded."""
    from samcli.yamlhelper import yaml_parse
    from samtranslator.translator.transform import transform

    template: dict[str, Any] = yaml_parse(text)
    for resource in template["Resources"].values():
        used_as = CODE.get(resource["Type"])
        if used_as and isinstance(resource["Properties"].get(used_as), str):
            resource["Properties"][used_as] = "s3://bucket/code"
    found: dict[str, Any] = transform(template, parameters, _NoPolicies())
    return found


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    print(json.dumps([transformed(asked["template"], each) for each in asked["parameters"]]))  # noqa: T201 - its result
