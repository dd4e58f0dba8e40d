"""`ragdrop connect` looks up the stack that `sam deploy` made, as it would on AWS."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import httpx

from tests.integration.commands import operate
from tests.stacks import LocalStack


def test_it_finds_the_stack_and_makes_a_tenant_whose_key_opens_the_api(stack: LocalStack, tmp_path: Path) -> None:
    file, tenant = tmp_path / "found.json", f"connect-{uuid.uuid4().hex[:6]}"
    credentials = {name: value for name, value in stack.environment.items() if name.startswith("AWS_")}

    operate(stack, "connect", "ragdrop", "--tenant", tenant, "--file", str(file), "--json", **credentials)

    found = json.loads(file.read_text("utf-8"))
    assert found["bucket"] == stack.bucket
    assert found["environment"]["REGISTRY_TABLE"] == stack.environment["REGISTRY_TABLE"]
    answer = httpx.get(
        f"{stack.api_url}/documents", headers={"x-api-key": found["api_key"]}, timeout=60, trust_env=False
    )
    assert answer.status_code == 200, answer.text
