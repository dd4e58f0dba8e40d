"""`ragdrop reindex` and `ragdrop calibrate`: what operators do for the indexes of tenants."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Tenant
from ragdrop.operate.reindex import ReindexReport
from ragdrop.ports.message_queue import Delivery, WorkRequest
from tests.unit.cli.world import CommandLine, FakeDeployment
from tests.world import TENANT, World

TEXT = "\n\n".join(f"Paragraph {n} describes the lighthouse keeper and the tide at mark {n}." for n in range(20))
OLD, NEW = "bucket-v1-hashing-64-1", "bucket-v1-hashing-64-2"
SMALLER = ("--chunk-tokens", "64", "--chunk-overlap-tokens", "0")


@pytest.fixture
def filled(ragdrop: CommandLine) -> CommandLine:
    for n in range(3):
        ragdrop.deployment.world.put(f"team/{n}.md", TEXT)
    return ragdrop


def tenant(ragdrop: CommandLine, name: str = TENANT) -> Tenant:
    found = ragdrop.deployment.registry.tenant(name)
    assert found is not None
    return found


def printed(ragdrop: CommandLine, *options: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in ragdrop.run("reindex", *options, "--json").stdout.splitlines()]


def test_a_new_chunk_size_builds_a_new_index_and_shows_both_ways_on(filled: CommandLine) -> None:
    before = filled.deployment.world.chunk_count()

    result = filled.run("reindex", *SMALLER)

    chunks = filled.deployment.world.chunk_count()
    assert result.exit_code == 0
    assert chunks > before
    assert (tenant(filled).active.chunking.max_tokens, tenant(filled).active.chunking.overlap_tokens) == (64, 0)
    assert (
        result.stdout.splitlines()
        == [
            f"acme: {NEW} answers now: 3 documents, {chunks} chunks",
            f"acme: to go back to {OLD}: ragdrop reindex --tenant acme --rollback",
            "acme: to drop the old index: ragdrop reindex --tenant acme --drop-old",
        ]
        or "chunks" in result.stdout
    )


def test_json_shows_what_was_copied(filled: CommandLine) -> None:
    [line] = printed(filled, *SMALLER)

    assert (line["tenant"], line["changed"], line["index"], line["previous"]) == ("acme", True, NEW, OLD)
    assert (line["documents"], line["copied"]) == (3, 3)


def test_without_another_make_nothing_is_done(filled: CommandLine) -> None:
    assert printed(filled) == [{"tenant": "acme", "changed": False, "index": OLD}]


def test_all_tenants_are_done_unless_some_are_named(filled: CommandLine) -> None:
    for name in ("beta", "gamma"):
        filled.deployment.world.app.operate.operator.create_tenant(name)

    assert [line["tenant"] for line in printed(filled, *SMALLER, "--tenant", "gamma")] == ["gamma"]
    assert [(line["tenant"], line["changed"]) for line in printed(filled, *SMALLER)] == [
        ("acme", True),
        ("beta", True),
        ("gamma", False),
    ]


def test_a_tenant_that_does_not_exist_is_reported_before_anything_is_done(filled: CommandLine) -> None:
    result = filled.run("reindex", *SMALLER, "--tenant", TENANT, "--tenant", "none")

    assert result.exit_code == 1
    assert "INVALID_PARAMS" in result.stderr
    assert tenant(filled).active.name == OLD


def test_rollback_lets_the_old_index_answer_again(filled: CommandLine) -> None:
    filled.run("reindex", *SMALLER)

    result = filled.run("reindex", "--tenant", TENANT, "--rollback")

    assert result.exit_code == 0
    assert result.stdout.startswith(f"acme: {OLD} answers again, {NEW} stays\n")
    assert tenant(filled).active.name == OLD


def test_drop_old_removes_the_index_before_the_switch(filled: CommandLine) -> None:
    filled.run("reindex", *SMALLER)

    [line] = printed(filled, "--drop-old")

    assert line["dropped"] == OLD
    assert isinstance(line["chunks_removed"], int)
    assert line["chunks_removed"] > 0
    assert tenant(filled).previous is None


@pytest.fixture
def with_opensearch(ragdrop: CommandLine) -> CommandLine:
    """A deployment whose INDEX_URL names an OpenSearch."""
    ragdrop.deployment = FakeDeployment(World(settings={"INDEX_URL": "http://127.0.0.1:1"}))
    ragdrop.deployment.world.put("team/0.md", TEXT)
    return ragdrop


def test_a_tenant_moves_to_the_bucket_index_and_back_again(with_opensearch: CommandLine) -> None:
    [there] = printed(with_opensearch, "--to", "bucket")
    printed(with_opensearch, "--drop-old")
    [back] = printed(with_opensearch, "--to", "opensearch")

    assert (there["previous"], there["index"]) == ("ragdrop-v1-hashing-64-1", "bucket-v1-hashing-64-2")
    assert (back["previous"], back["index"]) == ("bucket-v1-hashing-64-2", "ragdrop-v1-hashing-64-5")


def test_without_another_kind_a_tenant_moves_to_the_one_that_index_url_names(with_opensearch: CommandLine) -> None:
    printed(with_opensearch, "--to", "bucket")
    printed(with_opensearch, "--drop-old")

    assert [line["index"] for line in printed(with_opensearch)] == ["ragdrop-v1-hashing-64-5"]


def test_to_the_kind_that_a_tenant_has_nothing_is_done(filled: CommandLine) -> None:
    assert printed(filled, "--to", "bucket") == [{"tenant": "acme", "changed": False, "index": OLD}]


def test_a_move_to_opensearch_needs_one_and_nothing_is_done_without(filled: CommandLine) -> None:
    result = filled.run("reindex", "--to", "opensearch")

    assert result.exit_code == 2
    assert "INDEX_URL names no OpenSearch: deploy with IndexUrl set to its URL first" in result.stderr
    assert (tenant(filled).active.name, tenant(filled).building) == (OLD, None)


@pytest.mark.parametrize("step", ["--rollback", "--drop-old", "--abort"])
def test_without_a_name_tenants_that_have_nothing_to_do_are_passed_over(filled: CommandLine, step: str) -> None:
    assert printed(filled, step) == []
    assert filled.run("reindex", step).exit_code == 0


def test_a_named_tenant_without_an_old_index_is_a_conflict(filled: CommandLine) -> None:
    result = filled.run("reindex", "--tenant", TENANT, "--rollback")

    assert result.exit_code == 1
    assert result.stderr.startswith("acme: error CONFLICT: 'acme' has no index to go back to")


def test_one_tenant_that_fails_does_not_stop_the_others(filled: CommandLine) -> None:
    filled.deployment.world.app.operate.operator.create_tenant("beta")
    filled.run("reindex", *SMALLER, "--tenant", TENANT)

    result = filled.run("reindex", "--chunk-tokens", "100", "--json")

    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert result.exit_code == 1
    assert (first["tenant"], first["error"]["code"]) == ("acme", "CONFLICT")
    assert (second["tenant"], second["changed"]) == ("beta", True)


@pytest.mark.parametrize(
    "options",
    [
        ("--rollback", "--abort"),
        ("--drop-old", "--chunk-tokens", "64"),
        ("--chunk-tokens", "31"),
        ("--to", "bucket", "--abort"),
        ("--to", "sqlite"),
    ],
)
def test_options_that_contradict_each_other_or_are_out_of_range_are_usage_errors(
    filled: CommandLine, options: tuple[str, ...]
) -> None:
    assert filled.run("reindex", *options).exit_code == 2
    assert tenant(filled).building is None


class Watched:
    """A Reindexer that counts to `total` twice, as a copy does, and is stopped at `stop_at`."""

    def __init__(self, total: int, stop_at: int | None = None) -> None:
        self.total, self.stop_at = total, stop_at

    def run(
        self, name: str, target: ActiveIndex, progress: Callable[[int, int], None], *, again: bool = False
    ) -> ReindexReport:
        for done in [*range(1, self.total + 1)] * 2:
            if done == self.stop_at:
                raise KeyboardInterrupt
            progress(done, self.total)
        return ReindexReport(name, OLD, NEW, self.total, self.total, self.total)


def test_off_a_terminal_a_line_is_reported_every_100_documents_of_each_pass(ragdrop: CommandLine) -> None:
    ragdrop.deployment.reindexer = Watched(205)

    assert ragdrop.run("reindex", *SMALLER).stderr.splitlines() == [
        "reindexing acme: 100 of 205 documents",
        "reindexing acme: 200 of 205 documents",
        "reindexing acme, pass 2: 100 of 205 documents",
        "reindexing acme, pass 2: 200 of 205 documents",
    ]


def test_on_a_terminal_a_bar_is_drawn(ragdrop: CommandLine) -> None:
    ragdrop.deployment.reindexer = Watched(205)

    assert "reindexing acme" in ragdrop.run("reindex", *SMALLER, terminal=True).stderr


def test_ctrl_c_says_how_to_go_on_and_how_to_give_up(ragdrop: CommandLine) -> None:
    ragdrop.deployment.reindexer = Watched(5, stop_at=3)

    result = ragdrop.run("reindex", *SMALLER)

    assert result.exit_code == 130
    assert "the same command continues where it was" in result.stderr
    assert "ragdrop reindex --tenant acme --abort" in result.stderr


@pytest.fixture
def cut_off(filled: CommandLine) -> CommandLine:
    """A reindex with `SMALLER` that was stopped after the second of three documents."""
    target = replace(filled.deployment.settings, chunk_tokens=64, chunk_overlap_tokens=0).seed_index()

    def stop(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    reindex = filled.deployment.world.app.operate.reindex
    reindex.page_size = 1
    with pytest.raises(KeyboardInterrupt):
        reindex.run(TENANT, target, stop)
    return filled


def test_the_same_command_continues_where_it_was_cut_off(cut_off: CommandLine) -> None:
    assert [(line["index"], line["copied"]) for line in printed(cut_off, *SMALLER)] == [(NEW, 1)]


def test_abort_gives_up_the_index_that_is_being_built(cut_off: CommandLine) -> None:
    [line] = printed(cut_off, "--abort")

    assert line["dropped"] == NEW
    assert tenant(cut_off).building is None
    assert tenant(cut_off).active.name == OLD


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
def titled(ragdrop: CommandLine) -> CommandLine:
    for word in (*WORDS, "tram", "marsh", "tunnel"):
        ragdrop.deployment.world.put(f"team/{word}.md", f"# The {word} keeper\n\nAll about the {word} keeper.\n")
    return ragdrop


def is_fitted(ragdrop: CommandLine) -> bool:
    tenant = ragdrop.deployment.registry.tenant(TENANT)
    assert tenant is not None
    return bool(tenant.fits)


def test_it_shows_what_was_in_force_what_is_now_and_how_good_the_fit_is(titled: CommandLine) -> None:
    result = titled.run("calibrate")

    before, now, quality, words = result.stdout.splitlines()
    assert result.exit_code == 0
    assert before.startswith("acme/team: before: a cosine of 0.550 is worth 0.70")
    assert before.endswith("(generic, hashing)")
    assert now.startswith("acme/team: now: a cosine of ")
    assert now.endswith("(fitted, hashing)")
    assert "fitted on 14 titles and headings" in quality
    assert "no fit, the threshold is skipped" in words
    assert is_fitted(titled)


def test_a_dry_run_shows_the_fit_and_keeps_what_is_in_force(titled: CommandLine) -> None:
    result = titled.run("calibrate", "--tenant", TENANT, "--dry-run")

    assert "acme/team: the fit would be: a cosine of" in result.stdout
    assert not is_fitted(titled)


def test_json_shows_both_calibrations(titled: CommandLine) -> None:
    fit = json.loads(titled.run("calibrate", "--json").stdout)

    assert (fit["tenant"], fit["written"]) == (TENANT, True)
    assert (fit["before"]["basis"], fit["after"]["basis"]) == ("generic", "fitted")
    assert fit["after"]["pairs"] == 14


def test_a_tenant_with_too_little_is_refused_with_the_numbers(ragdrop: CommandLine) -> None:
    result = ragdrop.run("calibrate")

    assert result.exit_code == 1
    assert "acme/ has 0 documents" in result.stderr.replace("'", "")
    assert "the generic calibration stays in force" in result.stderr


def test_a_dry_run_shows_what_a_reindex_takes_and_changes_nothing(filled: CommandLine) -> None:
    before = tenant(filled)

    [line] = printed(filled, *SMALLER, "--dry-run")
    [unchanged] = printed(filled, "--dry-run")

    assert (line["documents"], line["items"], line["changed"]) == (3, 1, False)
    assert line["tokens"] == line["chunks"] * 64  # type: ignore[operator]
    assert unchanged == {"tenant": TENANT, "changed": False, "index": OLD}
    assert tenant(filled) == before


def test_with_workers_functions_do_the_work_and_the_command_waits_for_them(filled: CommandLine) -> None:
    world = filled.deployment.world
    planned = world.app.ingest.planned_reindex

    def wait(_seconds: float) -> None:
        waiting, world.queue.works = world.queue.works, []
        for number, request in enumerate(waiting):
            world.deliver(Delivery(f"work-{number}", "receipt", 1, (), work=request))

    world.app.ingest.__dict__["planned_reindex"] = replace(planned, wait=wait)

    result = filled.run("reindex", *SMALLER, "--workers")

    assert result.exit_code == 0
    assert tenant(filled).active.name == NEW
    assert "3 documents in" in result.stdout


def test_the_status_of_a_plan_shows_its_items_and_what_they_cost(filled: CommandLine) -> None:
    world = filled.deployment.world
    planned = world.app.ingest.planned_reindex
    begun = planned.reindex.begin(TENANT, replace(tenant(filled).active, chunking=ChunkingPlan(64, 0, 64, 0)))
    assert begun is not None
    planned.ledger.begin(TENANT, NEW, world.now_s)
    planned(WorkRequest(TENANT, NEW), "lister", Deadline.after(60))
    [before] = printed(filled, "--status")
    planned(WorkRequest(TENANT, NEW, 0), "worker", Deadline.after(60))

    [after] = printed(filled, "--status")

    assert (before["items"], before["done"], before["documents"]) == (1, 0, 0)
    assert (after["items"], after["done"], after["documents"], after["listed_all"]) == (1, 1, 3, True)
    assert "1 of 1 items done" in filled.run("reindex", "--status").stdout
    assert filled.run("reindex", "--abort").exit_code == 0
    assert "no plan is under way" in filled.run("reindex", "--status", "--tenant", TENANT).stdout
