"""`ragdrop tenant create` and `ragdrop key create`."""

from __future__ import annotations

import json

from tests.unit.cli.world import CommandLine


def test_a_tenant_is_created_once(ragdrop: CommandLine) -> None:
    assert ragdrop.run("tenant", "create", "acme").exit_code == 0

    again = ragdrop.run("tenant", "create", "acme")

    assert again.exit_code == 1
    assert again.stderr.startswith("error CONFLICT: tenant acme exists")


def test_if_missing_accepts_one_that_is_there(ragdrop: CommandLine) -> None:
    told = [json.loads(ragdrop.run("tenant", "create", "acme", "--if-missing", "--json").stdout) for _ in range(2)]

    assert told == [{"tenant": "acme", "created": True}, {"tenant": "acme", "created": False}]


def test_the_secret_alone_is_on_standard_output(ragdrop: CommandLine) -> None:
    result = ragdrop.run("key", "create", "acme", "--role", "reader", "--vault", "team")

    assert result.stdout == "rd_secret\n"
    assert "reader of tenant acme, team" in result.stderr


def test_a_key_as_json_names_its_rights(ragdrop: CommandLine) -> None:
    key = json.loads(ragdrop.run("key", "create", "acme", "--role", "admin", "--json").stdout)

    assert key["api_key"] == "rd_secret"
    assert (key["tenant"], key["role"], key["vaults"]) == ("acme", "admin", [])


def test_an_unknown_role_is_a_usage_error(ragdrop: CommandLine) -> None:
    assert ragdrop.run("key", "create", "acme", "--role", "owner").exit_code == 2


def test_the_stack_files_environment_is_laid_under_the_real_one(ragdrop: CommandLine) -> None:
    ragdrop.write_stack(environment={"REGISTRY_TABLE": "of the stack", "LOG_LEVEL": "INFO"})
    ragdrop.environ["LOG_LEVEL"] = "DEBUG"

    ragdrop.run("tenant", "create", "acme")

    assert ragdrop.environ["REGISTRY_TABLE"] == "of the stack"
    assert ragdrop.environ["LOG_LEVEL"] == "DEBUG"
