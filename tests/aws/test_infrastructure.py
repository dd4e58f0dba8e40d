"""CDK and Terraform deploy what SAM deploys: synthesised, planned, and made on the emulator, from one artifact."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from localstack.deploy import Emulated
from localstack.home import REPOSITORY, Home
from localstack.processes import HOST, await_health, choose_port, start, stop
from localstack.services import emulator
from tests.architecture.cloudformation import read_template
from tests.aws.infrastructure import (
    MODULE,
    PAGE,
    Terraform,
    artifact_in,
    by_sam,
    kinds_of,
    synthesised,
    table,
    template_of,
    values_of,
)

pytestmark = pytest.mark.long

BEGIN, END = "<!-- resources: written by tests/aws/test_infrastructure.py -->", "<!-- end of resources -->"
OUTPUTS = set(read_template()["Outputs"])


@dataclass(frozen=True)
class Tools:
    """The three ways to deploy, over one artifact."""

    folder: Path
    artifact: Path
    terraform: Terraform

    @cache  # noqa: B019 - there is one, and each takes seconds
    def cdk(self, *parameters: str) -> dict[str, Any]:
        return synthesised(self.artifact, Path(tempfile.mkdtemp(dir=self.folder)), *parameters)

    @cache  # noqa: B019
    def plan(self, **parameters: str) -> list[dict[str, Any]]:
        return self.terraform.planned(**parameters)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    folder = tmp_path_factory.mktemp("tools")
    artifact = artifact_in(folder)
    return Tools(folder, artifact, Terraform(folder / "terraform", artifact))


def test_the_table_of_resources_is_the_pages_and_explains_every_difference(tools: Tools) -> None:
    plan = tools.plan()
    by_terraform = kinds_of(template_of(plan)) + Counter(each["type"] for each in plan if each["mode"] == "managed")
    made = table(kinds_of(by_sam()), kinds_of(tools.cdk()), by_terraform)
    page = PAGE.read_text("utf-8")
    if os.environ.get("RAGDROP_REWRITE_GOLDEN") == "1":
        page = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{made}\n{END}", page, flags=re.DOTALL)
        PAGE.write_text(page, "utf-8")

    assert f"{BEGIN}\n{made}\n{END}" in page
    assert "| ? |" not in made


def test_every_value_of_every_resource_is_sams(tools: Tools) -> None:
    expected = values_of(by_sam())

    assert len(expected) > 1_000
    assert values_of(tools.cdk()) == expected
    assert values_of(template_of(tools.plan())) == expected


def test_a_changed_parameter_makes_new_versions_of_the_functions_that_read_it(tools: Tools) -> None:
    made = [tools.cdk(), tools.cdk("RetentionDays=31")]
    planned = [template_of(tools.plan()), template_of(tools.plan(RetentionDays="31"))]

    for one, other in (made, planned):
        versions = [{name for name in each["Resources"] if "Version" in name} for each in (one, other)]
        assert [len(each) for each in versions] == [6, 6]
        assert {re.sub("[0-9a-f]{10}$", "", name) for name in versions[0] & versions[1]} == {"ModelsFunctionVersion"}


def test_the_terraform_module_has_the_outputs_of_the_template() -> None:
    assert set(re.findall(r'^output "(\w+)"', (MODULE / "outputs.tf").read_text("utf-8"), re.MULTILINE)) == OUTPUTS


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulated]:
    home = Home(tmp_path_factory.mktemp("emulator"), "infrastructure")
    for folder in (home.logs, home.emulator / "tmp"):
        folder.mkdir(parents=True)
    port = choose_port()
    service = emulator(home, port)
    log, folder = home.logs / "emulator.log", home.emulator
    process = start(service.name, service.command, port=port, environment=service.environment, folder=folder, log=log)
    try:
        await_health(process, service.health, log=log, timeout_s=60)
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
        yield Emulated(f"http://{HOST}:{port}", keys)
    finally:
        stop(process)


@pytest.fixture(scope="module")
def artifact_for_emulator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return artifact_in(tmp_path_factory.mktemp("for-emulator"), for_emulator=True)


@pytest.fixture(scope="module")
def applied(emulated: Emulated, artifact_for_emulator: Path, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """The module after `terraform apply`: its stack is `ragdrop-terraform`."""
    emulated.client("s3").create_bucket(Bucket="artifacts")
    folder = tmp_path_factory.mktemp("applied") / "terraform"
    terraform = Terraform(folder, artifact_for_emulator, emulated.endpoint_url)
    terraform("apply", "-input=false", "-auto-approve")
    return terraform


def test_terraform_makes_the_stack_on_the_emulator_and_gives_its_outputs(
    emulated: Emulated, applied: Terraform
) -> None:
    given = {name: each["value"] for name, each in json.loads(applied("output", "-json")).items()}

    assert set(given) == OUTPUTS
    assert given == Emulated(emulated.endpoint_url, emulated.environment, "ragdrop-terraform").outputs()


def test_what_cdk_synthesised_makes_a_stack_on_the_emulator_with_the_outputs_of_the_template(
    emulated: Emulated, artifact_for_emulator: Path, tmp_path: Path
) -> None:
    synthesised(artifact_for_emulator, tmp_path / "cdk")
    objects, stacks = emulated.client("s3"), emulated.client("cloudformation")
    emulated.client("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String")
    assets = json.loads((tmp_path / "cdk/ragdrop-cdk.assets.json").read_text("utf-8"))["files"].values()
    bucket = "cdk-hnb659fds-assets-000000000000-us-east-1"
    objects.create_bucket(Bucket=bucket)
    for asset in assets:
        [place] = asset["destinations"].values()
        body = (tmp_path / "cdk" / asset["source"]["path"]).read_bytes()
        objects.put_object(Bucket=bucket, Key=place["objectKey"], Body=body)
        if asset["source"]["path"] == "ragdrop-cdk.template.json":
            url = f"https://s3.us-east-1.amazonaws.com/{bucket}/{place['objectKey']}"
    stacks.create_stack(StackName="ragdrop-cdk", TemplateURL=url, Capabilities=["CAPABILITY_IAM"])
    stacks.get_waiter("stack_create_complete").wait(StackName="ragdrop-cdk", WaiterConfig={"Delay": 1})

    assert set(Emulated(emulated.endpoint_url, emulated.environment, "ragdrop-cdk").outputs()) == OUTPUTS


@pytest.mark.usefixtures("applied")
def test_the_statements_for_a_second_account_are_accepted_beside_what_the_stack_has(emulated: Emulated) -> None:
    text = (REPOSITORY / "docs/deploy-choices.md").read_text("utf-8").partition("## A second account")[2]
    statement, policy = [json.loads(each) for each in re.findall(r"```json\n(.*?)```", text, re.DOTALL)][:2]
    outputs = Emulated(emulated.endpoint_url, emulated.environment, "ragdrop-terraform").outputs()
    bucket, objects, gateway = outputs["DocumentBucket"], emulated.client("s3"), emulated.client("apigateway")
    statement["Resource"] = statement["Resource"].replace("DOCUMENT_BUCKET", bucket)
    before = json.loads(objects.get_bucket_policy(Bucket=bucket)["Policy"])
    whole = {**before, "Statement": [*before["Statement"], statement]}
    objects.put_bucket_policy(Bucket=bucket, Policy=json.dumps(whole))
    change = {"op": "replace", "path": "/policy", "value": json.dumps(policy)}
    gateway.update_rest_api(restApiId=outputs["ApiId"], patchOperations=[change])

    assert [each["Sid"] for each in before["Statement"]] == ["TlsOnly"]
    assert json.loads(objects.get_bucket_policy(Bucket=bucket)["Policy"]) == whole
    assert json.loads(gateway.get_rest_api(restApiId=outputs["ApiId"])["policy"].replace("\\", "")) == policy


def test_a_second_account_may_write_one_vault_and_change_nothing_else_of_the_bucket() -> None:
    text = (REPOSITORY / "docs/deploy-choices.md").read_text("utf-8").partition("## A second account")[2]
    statement = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])

    assert statement["Resource"].endswith("/acme/team/*")
    assert not any("*" in action or "Policy" in action or "Version" in action for action in statement["Action"])
