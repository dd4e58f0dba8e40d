"""`ragdrop tenant` and `ragdrop key`."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ragdrop.domain.tenants import key_hash
from tests.unit.cli.world import CommandLine


@pytest.fixture
def now(ragdrop: CommandLine) -> None:
    """The world's clock is the real one, which the command line takes the state of keys from."""
    ragdrop.deployment.world.now_s = time.time()


def printed(ragdrop: CommandLine, *arguments: str) -> Any:
    """The objects that a command prints with --json."""
    result = ragdrop.run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_tenant_is_created_once(ragdrop: CommandLine) -> None:
    assert ragdrop.run("tenant", "create", "team-a").exit_code == 0

    again = ragdrop.run("tenant", "create", "team-a")

    assert again.exit_code == 1
    assert again.stderr.startswith("error CONFLICT: a tenant named 'team-a' exists already")


def test_if_missing_accepts_one_that_is_there(ragdrop: CommandLine) -> None:
    runs = [printed(ragdrop, "tenant", "create", "team-a", "--if-missing") for _ in range(2)]

    assert runs == [[{"tenant": "team-a", "created": True}], [{"tenant": "team-a", "created": False}]]


def test_a_list_of_tenants_names_them_and_their_state(ragdrop: CommandLine) -> None:
    ragdrop.run("tenant", "create", "other")
    ragdrop.run("tenant", "disable", "other")

    assert [(each["tenant"], each["enabled"]) for each in printed(ragdrop, "tenant", "list")] == [
        ("acme", True),
        ("other", False),
    ]
    assert "other\tdisabled" in ragdrop.run("tenant", "list").stdout


def test_a_disabled_tenant_can_be_enabled_again(ragdrop: CommandLine) -> None:
    assert printed(ragdrop, "tenant", "disable", "acme") == [{"tenant": "acme", "enabled": False, "changed": True}]
    assert printed(ragdrop, "tenant", "disable", "acme") == [{"tenant": "acme", "enabled": False, "changed": False}]
    assert ragdrop.run("tenant", "enable", "acme").stdout == "tenant acme is enabled\n"
    assert ragdrop.deployment.registry.tenant("acme").enabled is True  # type: ignore[union-attr]


def test_limits_are_set_one_by_one_and_zero_removes_one(ragdrop: CommandLine) -> None:
    ragdrop.run("tenant", "limit", "acme", "--per-minute", "600")
    [both] = printed(ragdrop, "tenant", "limit", "acme", "--key-per-minute", "120")
    [one] = printed(ragdrop, "tenant", "limit", "acme", "--per-minute", "0")

    [daily] = printed(ragdrop, "tenant", "limit", "acme", "--daily-tokens", "100000", "--daily-documents", "50")

    none = {"tenant": "acme", "per_minute": None, "key_per_minute": None, "daily_tokens": None, "daily_documents": None}
    assert both == none | {"per_minute": 600, "key_per_minute": 120}
    assert one == none | {"key_per_minute": 120}
    assert daily == none | {"key_per_minute": 120, "daily_tokens": 100_000, "daily_documents": 50}


@pytest.mark.parametrize("command", ["disable", "enable", "limit"])
def test_an_unknown_tenant_is_an_error_that_names_it(ragdrop: CommandLine, command: str) -> None:
    result = ragdrop.run("tenant", command, "nobody")

    assert result.exit_code == 1
    assert "there is no tenant named 'nobody'" in result.stderr


def test_the_secret_alone_is_on_standard_output(ragdrop: CommandLine) -> None:
    result = ragdrop.run("key", "create", "acme", "--role", "reader", "--vault", "team")

    assert result.stdout.startswith("rd_")
    assert len(result.stdout.split()) == 1
    assert "reader of tenant acme, team" in result.stderr
    assert ragdrop.deployment.registry.api_key(key_hash(result.stdout.strip())) is not None


def test_a_key_as_json_names_its_rights(ragdrop: CommandLine) -> None:
    [key] = printed(ragdrop, "key", "create", "acme", "--role", "admin", "--label", "nightly sync")

    assert key["api_key"].startswith("rd_")
    assert (key["tenant"], key["role"], key["vaults"], key["label"]) == ("acme", "admin", [], "nightly sync")
    assert key["expires_at"] is None


@pytest.mark.usefixtures("now")
def test_a_key_expires_when_it_was_asked_to(ragdrop: CommandLine) -> None:
    [key] = printed(ragdrop, "key", "create", "acme", "--role", "reader", "--expires", "90d")

    stored = ragdrop.deployment.registry.api_key(key["key_sha256"])
    assert stored is not None
    assert stored.expires_at_s == ragdrop.deployment.world.now_s + 90 * 86_400


@pytest.mark.parametrize("expires", ["90", "1w", "d", "-1d", "9999d", ""])
def test_what_is_no_span_of_time_is_refused(ragdrop: CommandLine, expires: str) -> None:
    result = ragdrop.run("key", "rotate", "acme", "0123456789ab", "--overlap", expires)

    assert result.exit_code == 1
    assert "is no span of time" in result.stderr


@pytest.mark.usefixtures("now")
def test_lists_show_ids_and_states_and_never_a_secret(ragdrop: CommandLine) -> None:
    [live] = printed(ragdrop, "key", "create", "acme", "--role", "reader")
    [revoked] = printed(ragdrop, "key", "create", "acme", "--role", "writer", "--vault", "team")
    [expired] = printed(ragdrop, "key", "create", "acme", "--role", "admin", "--expires", "0s")
    ragdrop.run("key", "revoke", "acme", revoked["key_id"])

    text = ragdrop.run("key", "list", "acme").stdout

    assert {each["key_id"]: each["state"] for each in printed(ragdrop, "key", "list", "acme")} == {
        live["key_id"]: "active",
        revoked["key_id"]: "revoked",
        expired["key_id"]: "expired",
    }
    assert "writer\tteam\t-\trevoked" in text
    assert "rd_" not in text


@pytest.mark.usefixtures("now")
def test_a_rotated_key_has_the_same_rights_and_the_old_one_ends_after_the_overlap(ragdrop: CommandLine) -> None:
    arguments = ("--role", "writer", "--vault", "team", "--expires", "90d", "--label", "sync")
    [old] = printed(ragdrop, "key", "create", "acme", *arguments)
    ragdrop.deployment.world.now_s += 86_400

    [new] = printed(ragdrop, "key", "rotate", "acme", old["key_id"], "--overlap", "2h")

    rights = ("tenant", "role", "vaults", "label")
    assert [new[name] for name in rights] == [old[name] for name in rights]
    registry, now_s = ragdrop.deployment.registry, ragdrop.deployment.world.now_s
    stored = [registry.api_key(each["key_sha256"]) for each in (old, new)]
    assert [each.expires_at_s - now_s for each in stored if each and each.expires_at_s] == [7_200, 90 * 86_400]
    assert new["replaces"]["key_id"] == old["key_id"]


@pytest.mark.usefixtures("now")
def test_a_rotation_never_lengthens_the_old_keys_life(ragdrop: CommandLine) -> None:
    [old] = printed(ragdrop, "key", "create", "acme", "--role", "reader", "--expires", "1h")

    [new] = printed(ragdrop, "key", "rotate", "acme", old["key_id"], "--overlap", "24h", "--expires", "90d")

    assert new["replaces"]["expires_at"] == old["expires_at"]


def test_what_is_revoked_cannot_be_rotated(ragdrop: CommandLine) -> None:
    [key] = printed(ragdrop, "key", "create", "acme", "--role", "reader")
    ragdrop.run("key", "revoke", "acme", key["key_id"])

    result = ragdrop.run("key", "rotate", "acme", key["key_id"])

    assert result.exit_code == 1
    assert "is revoked: create a new one" in result.stderr


@pytest.mark.parametrize("key_id", ["0123456789ab", "0", ""])
def test_a_key_that_is_not_there_or_is_named_too_shortly_is_an_error(ragdrop: CommandLine, key_id: str) -> None:
    ragdrop.run("key", "create", "acme", "--role", "reader")

    result = ragdrop.run("key", "revoke", "acme", key_id)

    assert result.exit_code == 1
    assert "no key of acme begins with" in result.stderr


def test_a_key_of_another_tenant_cannot_be_named(ragdrop: CommandLine) -> None:
    ragdrop.run("tenant", "create", "other")
    [key] = printed(ragdrop, "key", "create", "acme", "--role", "reader")

    assert ragdrop.run("key", "revoke", "other", key["key_id"]).exit_code == 1


def test_an_unknown_role_is_a_usage_error(ragdrop: CommandLine) -> None:
    assert ragdrop.run("key", "create", "acme", "--role", "owner").exit_code == 2


def test_the_stack_files_environment_is_laid_under_the_real_one(ragdrop: CommandLine) -> None:
    ragdrop.write_stack(environment={"REGISTRY_TABLE": "of the stack", "LOG_LEVEL": "INFO"})
    ragdrop.environ["LOG_LEVEL"] = "DEBUG"

    ragdrop.run("tenant", "create", "team-a")

    assert ragdrop.environ["REGISTRY_TABLE"] == "of the stack"
    assert ragdrop.environ["LOG_LEVEL"] == "DEBUG"


def test_a_tenant_is_only_deleted_with_yes(ragdrop: CommandLine) -> None:
    result = ragdrop.run("tenant", "delete", "acme")

    assert result.exit_code == 2
    assert "ragdrop tenant delete acme --yes" in result.stderr
    assert ragdrop.deployment.registry.tenant("acme") is not None


def test_a_deleted_tenant_leaves_a_receipt(ragdrop: CommandLine) -> None:
    ragdrop.deployment.world.put("team/a.md", "# A")

    [receipt] = printed(ragdrop, "tenant", "delete", "acme", "--yes")

    assert (receipt["tenant"], receipt["versions"], receipt["documents"]) == ("acme", 1, 1)
    assert ragdrop.slept_s == [65.0]
    assert ragdrop.deployment.registry.tenant("acme") is None
    assert ragdrop.run("tenant", "delete", "acme", "--yes").exit_code == 1
