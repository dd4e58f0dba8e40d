"""`ragdrop snapshot` over the real use case with fakes behind it."""

from __future__ import annotations

import json

import pytest

from ragdrop.errors import ObjectStoreError
from tests.unit.cli.world import CommandLine
from tests.world import TENANT


@pytest.fixture
def filled(ragdrop: CommandLine) -> CommandLine:
    ragdrop.deployment.world.put("team/pump.md", "The pump is red.")
    ragdrop.deployment.world.put("team/valve.md", "The valve is blue.")
    return ragdrop


def test_it_tells_what_the_snapshot_holds_and_what_changed(filled: CommandLine) -> None:
    result = filled.run("snapshot")

    assert result.exit_code == 0
    assert result.stdout.startswith("acme: 2 chunks of 2 documents, 2 added; 0.")
    assert result.stdout.rstrip().endswith("MB compressed")


def test_a_tenant_that_did_not_change_keeps_its_own_unless_a_full_one_is_asked_for(filled: CommandLine) -> None:
    filled.run("snapshot")

    assert filled.run("snapshot", "--tenant", TENANT).stdout == "acme: nothing changed since the last snapshot\n"
    assert "2 added" in filled.run("snapshot", "--full").stdout


def test_json_tells_coverage_counts_and_sizes(filled: CommandLine) -> None:
    told = json.loads(filled.run("snapshot", "--json").stdout)

    assert (told["tenant"], told["added"], told["chunks"], told["coverage"]) == (TENANT, 2, 2, 1.0)
    assert told["packed_bytes"] < told["size_bytes"]


def test_where_s3_does_not_answer_the_exit_code_is_3(filled: CommandLine) -> None:
    filled.deployment.world.state.fail_with = ObjectStoreError("S3 did not answer", service="object_store")

    result = filled.run("snapshot")

    assert result.exit_code == 3
    assert "S3 did not answer" in result.stderr
