"""`ragdrop rm`, `retry` and `sweep`: what they ask for and what they tell."""

from __future__ import annotations

import json

import pytest

from ragdrop.domain.deadlines import Deadline
from tests.unit.cli.world import CommandLine
from tests.world import TENANT


@pytest.fixture
def stored(ragdrop: CommandLine) -> CommandLine:
    for name in ("a.md", "b.md"):
        ragdrop.write(f"in/{name}", name)
    ragdrop.run("push", str(ragdrop.folder / "in"), "--vault", "team", "--wait")
    ragdrop.api.requests.clear()
    return ragdrop


def test_rm_searches_for_what_it_deleted_and_shows_that_it_is_not_found(stored: CommandLine) -> None:
    result = stored.run("rm", "team/a.md")

    assert result.exit_code == 0
    assert "a search for 'a.md' does not find it" in result.stdout
    probe = json.loads(stored.api.requests[-1].content)
    assert (probe["query"], probe["vaults"]) == ("a.md", ["team"])


def test_rm_ends_with_1_where_the_search_still_finds_it(stored: CommandLine) -> None:
    stored.api.found = [{"vault": "team", "path": "a.md"}]

    result = stored.run("rm", "team/a.md")

    assert result.exit_code == 1
    assert "still finds it" in result.stderr


def test_a_purge_prints_what_went_from_each_place_and_no_time_to_restore(stored: CommandLine) -> None:
    result = stored.run("rm", "team/a.md", "--purge")

    assert result.exit_code == 0
    assert "purged demo/team/a.md" in result.stdout
    for line in ("3 object versions", "4 derived objects", "5 chunks", "2 registry items"):
        assert line in result.stdout
    assert "restored" not in result.stdout


def test_retry_asks_for_the_documents_that_are_named(stored: CommandLine) -> None:
    result = stored.run("retry", "team/a.md", "team/b.md")

    assert (result.exit_code, result.stdout) == (0, "2 documents tried again: 2 pending\n")
    assert sorted(request.url.path for request in stored.api.requests) == [
        "/prod/documents/team/a.md/retry",
        "/prod/documents/team/b.md/retry",
    ]


def test_retry_failed_asks_for_all_that_failed(stored: CommandLine) -> None:
    stored.run("retry", "--failed", "--vault", "team")

    listing, *retries = stored.api.requests
    assert dict(listing.url.params) == {"vault": "team", "status": "failed", "limit": "1000"}
    assert len(retries) == 2  # the fake API lists all, whatever their status


def test_retry_of_what_is_not_there_ends_with_1(stored: CommandLine) -> None:
    result = stored.run("retry", "team/none.md")

    assert result.exit_code == 1
    assert "DOCUMENT_NOT_FOUND" in result.stderr


def test_retry_moves_dead_letters_back_until_none_is_left(ragdrop: CommandLine) -> None:
    queue = ragdrop.deployment.world.queue
    queue.dead = [f"{TENANT}/team/{number}.md" for number in range(23)]

    result = ragdrop.run("retry", "--dead-letter")

    assert result.stdout == "23 messages moved back to the queue\n"
    assert (len(queue.sent), queue.dead) == (23, [])


@pytest.mark.parametrize("arguments", [(), ("team/a.md", "--failed"), ("--failed", "--dead-letter")])
def test_retry_wants_to_know_what(ragdrop: CommandLine, arguments: tuple[str, ...]) -> None:
    assert ragdrop.run("retry", *arguments).exit_code == 2


def test_sweep_shows_what_differs_and_asks_for_another_look(ragdrop: CommandLine) -> None:
    world = ragdrop.deployment.world
    world.put("team/lost.md", "Lost.", ingest=False)

    result = ragdrop.run("sweep", "--tenant", TENANT)

    assert result.exit_code == 0
    assert "1 new (in the bucket, not in the registry): team/lost.md" in result.stdout
    assert world.queue.sent == [f"{TENANT}/team/lost.md"]


def test_a_dry_run_of_the_sweep_sends_nothing(ragdrop: CommandLine) -> None:
    world = ragdrop.deployment.world
    world.put("team/lost.md", "Lost.", ingest=False)

    report = json.loads(ragdrop.run("sweep", "--dry-run", "--json").stdout)

    assert (report["tenant"], report["found"]["new"], report["dry_run"]) == (TENANT, 1, True)
    assert world.queue.sent == []


def test_a_sweep_rebuilds_what_the_index_lost_and_a_dry_run_only_reports_it(ragdrop: CommandLine) -> None:
    world = ragdrop.deployment.world
    world.put("team/pump.md", "The pump is red.")
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    world.index.drop(tenant.index, Deadline.after(10))

    dry = ragdrop.run("sweep", "--dry-run")
    lost = world.index.count(tenant.index, Deadline.after(10))
    result = ragdrop.run("sweep", "--verify", "--json")

    assert (dry.exit_code, lost, result.exit_code) == (1, 0, 0)
    assert "index: it holds 0 of at least 1 chunks" in dry.stdout
    report = json.loads(result.stdout)
    assert (report["index_fault"], report["rebuilt"], report["index_whole"]) == (
        "it holds 0 of at least 1 chunks",
        1,
        True,
    )
    assert world.texts("pump", min_relevance=0) == ["The pump is red."]


def test_restore_shows_what_came_back_and_that_keys_are_to_be_made(ragdrop: CommandLine) -> None:
    ragdrop.deployment.world.put("team/pump.md", "The pump is red.")
    ragdrop.deployment.world.delete("team/pump.md")
    ragdrop.deployment.world.put("team/tap.md", "The tap drips.")
    ragdrop.deployment.world.put("team/empty.md", " ")

    result = ragdrop.run("restore")

    assert result.exit_code == 0, result.stderr
    assert "acme: 1 documents indexed, 0 waiting in stages, 1 deleted" in result.stdout
    assert "acme: 1 failed: 1 EMPTY_DOCUMENT" in result.stdout
    assert "acme: 1 chunks embedded, 0 with stored vectors" in result.stdout
    assert "ragdrop key create acme" in result.stdout
    report = json.loads(ragdrop.run("restore", "--tenant", TENANT, "--json").stdout)
    assert (report["tenant"], report["created"], report["failed"]) == (TENANT, False, {"EMPTY_DOCUMENT": 1})


def test_a_tenant_that_cannot_be_restored_does_not_stop_the_others(ragdrop: CommandLine) -> None:
    ragdrop.deployment.world.put("team/tap.md", "The tap drips.")

    result = ragdrop.run("restore", "--tenant", "nobody", "--tenant", TENANT)

    assert result.exit_code == 1
    assert "nobody: error INVALID_PARAMS" in result.stderr
    assert "1 documents indexed" in result.stdout


def test_a_sweep_that_refuses_says_so_loudly_and_ends_with_1(ragdrop: CommandLine) -> None:
    world = ragdrop.deployment.world
    for number in range(30):
        world.put(f"team/{number}.md", "Words.")
        world.documents.delete(f"{TENANT}/team/{number}.md")
    world.now_s += 1_000

    result = ragdrop.run("sweep")

    assert result.exit_code == 1
    assert "REFUSED: 30 of 30 documents of vault team are gone" in result.stderr
    assert "; 0 are rechecked" in result.stdout
    assert world.queue.sent == []
    assert ragdrop.run("sweep", "--allow-mass-delete").exit_code == 0
    assert len(world.queue.sent) == 30


def test_ls_outdated_asks_for_documents_chunked_by_older_settings(stored: CommandLine) -> None:
    stored.run("ls", "--outdated")

    assert dict(stored.api.requests[0].url.params) == {"outdated": "1"}


def test_ls_unused_asks_for_documents_that_no_answer_used_for_so_many_days(stored: CommandLine) -> None:
    stored.run("ls", "--unused", "--days", "7")

    assert dict(stored.api.requests[0].url.params) == {"unused_days": "7"}
