"""What a changed parameter changes: a file to be read, and the template through SAM's own translator behind it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from localstack.deploy import defaults_of
from tests.architecture.cloudformation import REPOSITORY, read_template
from tests.aws.transform import changes, leaves, transformed

pytestmark = pytest.mark.long

GOLDEN = Path(__file__).with_name("transform.json")
TEXT = (REPOSITORY / "template.yaml").read_text("utf-8")
BASE = {
    **defaults_of(TEXT),
    "IndexUrl": "https://index.example",
    "EmbeddingUrl": "https://models.example/v1",
    "EmbeddingModel": "m",
    "EmbeddingDimension": "384",
    "ChatUrl": "https://models.example/v1",
    "ChatModels": "m",
}
# A parameter that counts only beside another: with what it is looked at.
BESIDE = {
    "OpenSearchInstanceType": {"OpenSearchDomain": "single-node", "IndexUrl": ""},
    "OpenSearchVolumeGb": {"OpenSearchDomain": "single-node", "IndexUrl": ""},
    "OpenSearchMasterRoleArn": {"OpenSearchDomain": "single-node", "IndexUrl": ""},
    "OpenSearchDomain": {"IndexUrl": ""},
    "VpcSecurityGroupIds": {"VpcSubnetIds": "subnet-1,subnet-2"},
    "WebAdapterLayerArn": {"ResponseStreaming": "true"},
    "HourlyCostAlarm": {"AlarmTopicArn": "shown"},
}


WORDS = {"OcrUrl": "textract", "ChatUrl": "bedrock", "EmbeddingUrl": "bedrock", "RerankUrl": "bedrock"}
"""Values that mean more than any other."""


def another(name: str) -> str:
    """A value of a parameter that is not the one in BASE."""
    if name in WORDS:
        return WORDS[name]
    parameter = read_template()["Parameters"][name]
    held = BASE.get(name, "")
    if "AllowedValues" in parameter:
        return next(str(each) for each in parameter["AllowedValues"] if str(each) not in {held, ""})
    if parameter["Type"] == "Number":
        return str(int(float(held or 0)) + 1)
    return f"{held}7" if held.isdigit() else f"{held}x"


def differences(names: Iterable[str], template: str = "") -> dict[str, list[str]]:
    """By parameter, what another value of it changes."""
    pairs = {name: ({**BASE, **BESIDE.get(name, {})}, name) for name in names}
    asked = [{**base, name: another(name)} for base, name in pairs.values()]
    bases = [dict(each) for each in {tuple(base.items()) for base, _ in pairs.values()}]
    made = transformed([*bases, *asked], template)
    held = {tuple(base.items()): leaves(each, base) for base, each in zip(bases, made, strict=False)}
    return {
        name: changes(held[tuple(base.items())], leaves(made[len(bases) + place], asked[place]))
        for place, (base, name) in enumerate(pairs.values())
    }


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    return differences(read_template()["Parameters"])


def test_what_each_parameter_changes_is_what_the_file_says(found: dict[str, Any]) -> None:
    if os.environ.get("RAGDROP_REWRITE_GOLDEN") == "1":
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n", "utf-8")

    assert found == json.loads(GOLDEN.read_text("utf-8"))


def test_no_parameter_changes_nothing(found: dict[str, list[str]]) -> None:
    assert [name for name, changed in found.items() if not changed] == []


def test_a_planted_parameter_that_changes_nothing_is_found() -> None:
    planted = TEXT.replace("EMBEDDING_MODEL: !Ref EmbeddingModel", "EMBEDDING_MODEL: one")
    assert planted != TEXT

    assert differences(["EmbeddingModel", "ChatModels"], planted) == {
        "EmbeddingModel": [],
        "ChatModels": ["every function: Environment.Variables.CHAT_MODELS"],
    }
