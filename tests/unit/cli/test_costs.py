"""`ragdrop cost --before deploy`: what the parameters of a profile will cost, before there is a stack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import records
from ragdrop_cli.costs import ALARMS, BATCH, DASHBOARD, FIREWALL, MODELS_GB, PAIRS_S, PASSAGE_S, QUESTION_S, estimate
from tests.architecture.cloudformation import REPOSITORY, read_template
from tests.unit.cli.world import CommandLine

MONTH, DOCUMENTS, QUESTIONS = "a month while nobody asks", "1,000 documents of one chunk", "1,000 questions"
BEDROCK = {"EmbeddingUrl": "bedrock", "EmbeddingModel": "amazon.titan-embed-text-v2:0", "ReaderUrl": "none"}


def test_a_stack_with_models_inside_costs_less_than_a_dollar_a_month_at_rest() -> None:
    found = estimate({})

    assert found[MONTH].services < 1
    assert found[MONTH].models == 0
    assert all(each.services + (each.models or 0) < 1 for each in found.values())


def test_an_estimate_follows_the_parameters_that_cost_by_the_month() -> None:
    chosen = {"OpenSearchDomain": "single-node", "AlarmTopicArn": "shown", "RateLimitPerAddress": "2000"}
    more = estimate(chosen | {"ModelsProvisioned": "1"})[MONTH]

    assert round(more.services - estimate({})[MONTH].services, 2) == round(
        27.50 + ALARMS * 0.10 + DASHBOARD + FIREWALL, 2
    )
    assert 20 < (more.models or 0) < 40


def test_models_of_bedrock_cost_their_tokens_and_no_function() -> None:
    found = estimate({**BEDROCK, "ChatUrl": "bedrock", "ChatModels": "eu.amazon.nova-lite-v1:0, mine"})

    assert found[DOCUMENTS].models == pytest.approx(1_000 * 200 * 0.02 / 1e6)
    assert found[QUESTIONS].models == pytest.approx(1_000 * (20 * 0.02 + 6_000 * 0.06 + 300 * 0.24) / 1e6)


def test_the_price_of_a_model_that_nobody_knows_is_unknown_and_not_nothing() -> None:
    found = estimate({**BEDROCK, "ChatUrl": "https://models.example/v1", "ChatModels": "mine"})

    assert found[QUESTIONS].models is None
    assert found[DOCUMENTS].models == pytest.approx(0.004)


def test_times_of_the_models_function_are_not_below_what_was_measured_with_the_templates_memory() -> None:
    record = records.read("models_function", REPOSITORY / records.WHOLE)
    memory_mb = read_template()["Resources"]["ModelsFunction"]["Properties"]["MemorySize"]
    assert record is not None
    [row] = [each for each in record.results["rows"] if (each["memory_mb"], each["threads"]) == (memory_mb, 2)]

    assert memory_mb / 1_024 == MODELS_GB
    assert row["question_s"] <= QUESTION_S
    assert row["pairs_s"] <= PAIRS_S
    assert row["batch_s"] / BATCH <= PASSAGE_S


def test_the_command_reads_the_profile_of_the_repository(
    ragdrop: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "functions").mkdir()
    (tmp_path / "template.yaml").touch()
    profile = 'parameter_overrides = ["ChatUrl=bedrock", "ChatModels=mine"]'
    (tmp_path / "samconfig.toml").write_text(f"version = 0.1\n[dev.deploy.parameters]\n{profile}\n", "utf-8")
    monkeypatch.chdir(tmp_path)

    shown = ragdrop.run("cost", "--before", "deploy")
    body = json.loads(ragdrop.run("cost", "--before", "deploy", "--json").stdout)
    refused = ragdrop.run("cost", "--before", "deploy", "--env", "staging")

    assert "unknown" in shown.stdout
    assert body[QUESTIONS]["models"] is None
    assert refused.exit_code == 2
    assert "it has dev" in refused.stderr
