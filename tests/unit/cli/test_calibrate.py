"""`ragdrop calibrate` over the real use case with fakes behind it."""

from __future__ import annotations

import json

import pytest

from tests.unit.cli.world import CommandLine
from tests.world import TENANT

WORDS = (
    "harbour",
    "turbine",
    "glacier",
    "orchard",
    "violin",
    "railway",
    "desert",
    "paper",
    "beehive",
    "canal",
    "quarry",
)


@pytest.fixture
def filled(ragdrop: CommandLine) -> CommandLine:
    for word in (*WORDS, "tram", "marsh", "tunnel"):
        ragdrop.deployment.world.put(f"team/{word}.md", f"# The {word} keeper\n\nAll about the {word} keeper.\n")
    return ragdrop


def is_fitted(ragdrop: CommandLine) -> bool:
    tenant = ragdrop.deployment.registry.tenant(TENANT)
    assert tenant is not None
    return tenant.calibration is not None


def test_it_tells_what_was_in_force_what_is_now_and_how_good_the_fit_is(filled: CommandLine) -> None:
    result = filled.run("calibrate")

    before, now, quality, words = result.stdout.splitlines()
    assert result.exit_code == 0
    assert before.startswith("acme: before: a cosine of 0.550 is worth 0.70")
    assert before.endswith("(generic, hashing)")
    assert now.startswith("acme: now: a cosine of ")
    assert now.endswith("(fitted, hashing)")
    assert "fitted on 14 titles and headings" in quality
    assert "no fit, the threshold is skipped" in words
    assert is_fitted(filled)


def test_a_dry_run_shows_the_fit_and_keeps_what_is_in_force(filled: CommandLine) -> None:
    result = filled.run("calibrate", "--tenant", TENANT, "--dry-run")

    assert "acme: the fit would be: a cosine of" in result.stdout
    assert not is_fitted(filled)


def test_json_tells_both_calibrations(filled: CommandLine) -> None:
    told = json.loads(filled.run("calibrate", "--json").stdout)

    assert (told["tenant"], told["written"]) == (TENANT, True)
    assert (told["before"]["basis"], told["after"]["basis"]) == ("generic", "fitted")
    assert told["after"]["pairs"] == 14


def test_a_tenant_with_too_little_is_refused_with_the_numbers(ragdrop: CommandLine) -> None:
    result = ragdrop.run("calibrate")

    assert result.exit_code == 1
    assert "acme has 0 titles" in result.stderr.replace("'", "")
    assert "the generic calibration stays in force" in result.stderr
