"""The golden questions of the sample vault, asked by `ragdrop eval` on the live stack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stacks import REPOSITORY, LocalStack

pytestmark = pytest.mark.long

RAGDROP = Path(sys.executable).parent / "ragdrop"
VAULT = "golden"


def test_at_least_85_percent_of_the_50_golden_texts_are_in_the_top_3(stack: LocalStack) -> None:
    environment = {**os.environ, "RAGDROP_STACK": str(stack.file), "NO_PROXY": "127.0.0.1,localhost"}
    commands = (
        ("push", "localstack/sample-vault", "--vault", VAULT, "--wait"),
        (
            "eval",
            "tests/e2e/golden_sample_vault.jsonl",
            "--vault",
            VAULT,
            "--gate",
            "0.85",
        ),  # all settings as they come
    )

    for command in commands:
        done = subprocess.run(
            [str(RAGDROP), *command],
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
