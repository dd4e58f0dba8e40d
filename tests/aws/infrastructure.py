"""What SAM, CDK and Terraform deploy: the artifact of a stand-in build, synthesised, planned and compared."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from localstack.artifact import make_artifact
from localstack.deploy import defaults_of, with_concurrency, with_first_parts
from localstack.home import REPOSITORY
from tests.architecture.cloudformation import read_template
from tests.aws.transform import leaves, transformed

PAGE = REPOSITORY / "docs/evidence/infrastructure.md"
MODULE = REPOSITORY / "infrastructure/terraform"
CDK = Path(os.environ.get("RAGDROP_CDK_PYTHON") or REPOSITORY / ".local/env/cdk/bin/python")
CODE = {
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
    "AWS::CloudFormation::Stack": "TemplateURL",
}
RELEASE = re.compile(r"[0-9a-f]{10}(?=\.|$)")
TIMEOUT_S = 300
GET_ATT = re.compile(r"Fn::GetAtt: (\w+)\.(\S+)$", re.MULTILINE)
REASONS = {
    "aws_cloudformation_stack": "Terraform's own: the stack, whose template is the artifact's",
    "aws_s3_object": "Terraform's own: archives, the nested template and the template, which SAM and CDK upload too",
    "rule CheckBootstrapVersion": "CDK's own: it asserts that the account was prepared by `cdk bootstrap`",
    "parameter BootstrapVersion": "CDK's own: what that rule reads",
    "parameter ArtifactBucket": "Of the artifact: the bucket of the archives; CDK puts the bucket of its assets there",
}
DECIDED = ("Code.S3", "Content.S3", ".TemplateURL", ".RELEASE")
"""Parts of paths of values that each tool decides: where it uploaded the code, and the digest of a deployment."""


def needed(program: Path | str) -> str:
    """The path of a program; without it the test is skipped, or fails with RAGDROP_REQUIRE_TOOLS=1."""
    found = shutil.which(program)
    if found is None:
        end = pytest.fail if os.environ.get("RAGDROP_REQUIRE_TOOLS") == "1" else pytest.skip
        end(f"there is no {program}: `make infrastructure` makes what it can")
    return found


def stand_in_build(folder: Path, *, for_emulator: bool = False) -> Path:
    """What `sam build` writes, with a line in place of each function's code."""
    template = read_template()
    for name, resource in template["Resources"].items():
        used_as = CODE.get(resource["Type"])
        if used_as:
            (folder / name).mkdir(parents=True)
            (folder / name / "app.py").write_text(f"name = {name!r}\n", "utf-8")
            resource["Properties"][used_as] = name if used_as.endswith("Uri") else f"{name}/template.yaml"
    shutil.copy(REPOSITORY / "templates/monitoring.yaml", folder / "Monitoring/template.yaml")
    text = GET_ATT.sub(r"Fn::GetAtt: [\1, \2]", yaml.safe_dump(template, sort_keys=False))  # as sam writes it
    if for_emulator:  # what `make up` changes, too
        text = with_first_parts(with_concurrency(text, "2"), defaults_of(text))
    (folder / "template.yaml").write_text(text, "utf-8")
    return folder


def artifact_in(folder: Path, *, for_emulator: bool = False) -> Path:
    """The artifact of a stand-in build."""
    make_artifact(stand_in_build(folder / "build", for_emulator=for_emulator), folder / "artifact")
    return folder / "artifact"


def synthesised(artifact: Path, output: Path, *parameters: str) -> dict[str, Any]:
    """The template that CDK makes of the construct, with *parameters* as NAME=VALUE."""
    command = [needed(CDK), str(REPOSITORY / "tests/aws/cdk_app.py"), str(artifact), str(output), *parameters]
    quiet = {f"JSII_SILENCE_WARNING_{each}_NODE_VERSION": "1" for each in ("UNTESTED", "DEPRECATED", "END_OF_LIFE")}
    run(command, output.parent, {**quiet, "CDK_VALIDATION": "false"})  # its rules take minutes for this template
    found: dict[str, Any] = json.loads((output / "ragdrop-cdk.template.json").read_text("utf-8"))
    return found


def run(command: list[str], folder: Path, more: Mapping[str, str]) -> str:
    """What a program prints; the test fails with the end of what it wrote where the program does."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **more}, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-2_000:]}{done.stderr[-2_000:]}"
    return done.stdout


class Terraform:
    """The module in a folder of its own, with a provider that asks nobody, or the emulator at *endpoint*."""

    def __init__(self, folder: Path, artifact: Path, endpoint: str = "http://127.0.0.1:1") -> None:
        self._program, self._folder = needed("terraform"), folder
        folder.mkdir()
        endpoints = dict.fromkeys(("s3", "cloudformation", "sts"), endpoint)
        skipped = ("skip_credentials_validation", "skip_metadata_api_check", "skip_requesting_account_id")
        names = [each.split('"')[1] for each in (MODULE / "outputs.tf").read_text("utf-8").split("\noutput ")[1:]]
        configuration = {
            "provider": {
                "aws": {
                    "region": "us-east-1",
                    "access_key": "test",
                    "secret_key": "test",
                    "s3_use_path_style": True,
                    "endpoints": endpoints,
                    **dict.fromkeys(skipped, True),
                }
            },
            "variable": {"parameters": {"type": "map(string)", "default": {}}},
            "module": {
                "ragdrop": {
                    "source": str(MODULE),
                    "artifact": str(artifact),
                    "artifact_bucket": "artifacts",
                    "name": "ragdrop-terraform",
                    "parameters": "${var.parameters}",
                }
            },
            "output": {name: {"value": f"${{module.ragdrop.{name}}}"} for name in names},
        }
        (folder / "main.tf.json").write_text(json.dumps(configuration), "utf-8")
        mirror = next(iter(sorted(Path("/opt").glob("*/registry.terraform.io"))), None)  # in place of the registry
        self("init", "-input=false", *([f"-plugin-dir={mirror.parent}"] if mirror else []))

    def __call__(self, *arguments: str) -> str:
        return run([self._program, *arguments], self._folder, {"TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"})

    def planned(self, **parameters: str) -> list[dict[str, Any]]:
        """The resources of a plan."""
        self("plan", "-input=false", "-out=plan", f"-var=parameters={json.dumps(parameters)}")
        plan = json.loads(self("show", "-json", "plan"))
        found: list[dict[str, Any]] = plan["planned_values"]["root_module"]["child_modules"][0]["resources"]
        return found


def template_of(resources: list[dict[str, Any]]) -> dict[str, Any]:
    """The template that a plan uploads."""
    [text] = [each["values"]["content"] for each in resources if each["address"].endswith("aws_s3_object.template")]
    found: dict[str, Any] = json.loads(text)
    return found


def by_sam() -> dict[str, Any]:
    """The template that `sam deploy` deploys."""
    [found] = transformed([{}])
    return found


def values_of(template: Mapping[str, Any]) -> dict[str, Any]:
    """Every value of every resource by its path, names of versions without the digest that makes them new."""
    defaults = {name: str(each.get("Default", "")) for name, each in template["Parameters"].items()}
    found = {
        RELEASE.sub("", path).replace("DependsOn[0]", "DependsOn"): value
        for path, value in leaves(template, defaults).items()
        if not any(part in path for part in DECIDED) and "RestApi deployment id" not in str(value)
    }
    return {path: RELEASE.sub("", value) if isinstance(value, str) else value for path, value in found.items()}


def kinds_of(template: Mapping[str, Any]) -> Counter[str]:
    """How many resources of each type a template has, its rules and parameters by name, and how many outputs."""
    found = Counter(each["Type"] for each in template["Resources"].values())
    for section in ("Parameters", "Rules"):
        found.update(f"{section[:-1].lower()} {name}" for name in template.get(section, {}))
    found.update({"outputs": len(template["Outputs"])})
    return found


def table(sam: Counter[str], cdk: Counter[str], terraform: Counter[str]) -> str:
    """The page's table: what is equal summed up by type, and each difference with its reason, `?` where none is known.

    >>> print(table(Counter({"A::B": 2}), Counter({"A::B": 2}), Counter({"A::B": 2, "c": 1})))
    | what | SAM | CDK | Terraform | difference |
    |---|---|---|---|---|
    | `A::B` | 2 | 2 | 2 | |
    | `c` | 0 | 0 | 1 | ? |
    """
    rows = ["| what | SAM | CDK | Terraform | difference |", "|---|---|---|---|---|"]
    for kind in sorted(sam | cdk | terraform):
        counts = [each[kind] for each in (sam, cdk, terraform)]
        differs = len(set(counts)) > 1
        if differs or not kind.startswith(("parameter ", "rule ")):
            name = kind if kind == "outputs" else f"`{kind}`"
            reason = f" {REASONS.get(kind, '?')} " if differs else " "
            rows.append(f"| {name} | {' | '.join(map(str, counts))} |{reason}|")
    return "\n".join(rows)
