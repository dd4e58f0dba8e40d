"""`make deploy`: `sam deploy` to AWS with a release number, so that changed parameters reach the running functions."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from typing import Any

from localstack.build import SAM, build_digest
from localstack.deploy import deployment_digest, overrides_of
from localstack.home import BUILD, REPOSITORY
from localstack.processes import LaunchError

CONFIG = REPOSITORY / "samconfig.toml"
RELEASE_CHARACTERS = 32


def parameters_of(config: Mapping[str, Any], environment: str) -> dict[str, str]:
    """The parameters that samconfig.toml has for *environment*, as a list or as the guide writes them, a text.

    >>> parameters_of({"dev": {"deploy": {"parameters": {"parameter_overrides": 'Stage="dev" A="b c"'}}}}, "dev")
    {'Stage': 'dev', 'A': 'b c'}

    Raises LaunchError if there is no such environment.
    """
    try:
        overrides = config[environment]["deploy"]["parameters"].get("parameter_overrides", [])
    except KeyError as exc:
        known = ", ".join(sorted(name for name in config if name not in {"version", "local"}))
        raise LaunchError(f"{CONFIG.name} has no environment {environment!r} to deploy; it has {known}") from exc
    pairs = shlex.split(overrides) if isinstance(overrides, str) else overrides
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def command_of(environment: str, parameters: Mapping[str, str], built: str, options: list[str]) -> list[str]:
    """The call of sam: its parameters are those of *environment* and the release that follows from them."""
    release = deployment_digest(built, parameters)[:RELEASE_CHARACTERS]
    overrides = overrides_of({**parameters, "Release": release})
    return [str(SAM), "deploy", "--config-env", environment, *options, "--parameter-overrides", *overrides]


def main(arguments: list[str] | None = None) -> int:
    """Deploy what `make build` made; sam's exit code."""
    parser = argparse.ArgumentParser(prog="make deploy", description=__doc__)
    parser.add_argument("environment", help="an environment of samconfig.toml, such as dev")
    options, rest = parser.parse_known_args(arguments)
    try:
        parameters = parameters_of(tomllib.loads(CONFIG.read_text("utf-8")), options.environment)
        if not (BUILD / "build/template.yaml").exists():
            raise LaunchError(f"nothing is built: run make build ENV={options.environment} first")
    except LaunchError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    command = command_of(options.environment, parameters, build_digest(), rest)
    return subprocess.run(command, cwd=REPOSITORY, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
