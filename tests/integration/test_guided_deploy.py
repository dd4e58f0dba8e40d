"""`sam deploy --guided` with a profile of samconfig.toml, answered as docs/deploy.md says, up to the change set."""

from __future__ import annotations

import os
import subprocess

import pytest

from localstack.deploy import with_first_parts
from tests.architecture.cloudformation import of_type, read_template
from tests.stacks import REPOSITORY, LocalStack

pytestmark = pytest.mark.long

SAM = REPOSITORY / ".local/env/sam/bin/sam"
BUILT = REPOSITORY / ".aws-sam/build/template.yaml"


def answers() -> list[str]:
    """Enter keeps a default; a secret that is not used is `none`; that the gateway checks no keys is all right."""
    template = read_template()
    functions = of_type(template["Resources"], "AWS::Serverless::Function").values()
    routes = [event for each in functions for event in each.get("Events", {}).values() if event["Type"] == "Api"]
    parameters = ["none" if each.get("NoEcho") else "" for each in template["Parameters"].values()]
    name_and_region, confirm_roles_rollback, save = ["ragdrop-guided", ""], ["n", "y", "n"], ["n"]
    return [*name_and_region, *parameters, *confirm_roles_rollback, *("y" for _ in routes), *save]


def test_the_guide_is_answered_by_enter_none_and_y(stack: LocalStack) -> None:
    credentials = {name: value for name, value in stack.environment.items() if name.startswith("AWS_")}
    template = BUILT.with_name("template-guided.yaml")  # the emulator does not split a parameter in a condition
    template.write_text(with_first_parts(BUILT.read_text("utf-8"), {}), "utf-8")
    done = subprocess.run(
        [str(SAM), "deploy", "--guided", "--config-env", "dev", "--no-execute-changeset", "--template", str(template)],
        cwd=REPOSITORY,
        env={**os.environ, **credentials, "SAM_CLI_TELEMETRY": "0", "NO_PROXY": "127.0.0.1,localhost"},
        input="\n".join(answers()) + "\n",
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    told = done.stdout + done.stderr
    assert "Changeset created successfully" in told, told
    assert '"IndexUrl": "s3://"' in told
