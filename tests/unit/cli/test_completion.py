"""Shell completion, as a shell asks for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.world import CommandLine

RAGDROP = Path(sys.executable).parent / "ragdrop"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_is_printed_for_the_shell_that_is_named(ragdrop: CommandLine, shell: str) -> None:
    script = ragdrop.run("completion", shell)

    assert script.exit_code == 0
    assert f"complete_{shell}" in script.stdout
    assert json.loads(ragdrop.run("completion", shell, "--json").stdout)["script"] == script.stdout.rstrip("\n")


def test_a_shell_that_is_not_known_is_a_usage_error(ragdrop: CommandLine) -> None:
    assert ragdrop.run("completion", "tcsh").exit_code == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="asks bash itself")
def test_bash_completes_commands_and_options() -> None:
    typed = """
      PATH="$1:$PATH"; eval "$(ragdrop completion bash)"
      complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ragdrop_completion ragdrop; echo "${COMPREPLY[*]}"; }
      complete_it ragdrop se; complete_it ragdrop search --deb
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", typed, "bash", str(RAGDROP.parent)],
        env={"PATH": os.environ["PATH"], "HOME": os.devnull},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout.splitlines() == ["search", "--debug"], done.stderr
