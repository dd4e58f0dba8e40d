"""`ragdrop canary`: golden questions are asked now, and a deployment script can refuse on the answer."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.unit.cli.world import CommandLine


def outcome(number: int, answered: bool | None = True, *, dropped: bool = False) -> dict[str, Any]:
    return {"question": f"Question {number}?", "expected": f"{number}.md", "answered": answered, "dropped": dropped}


def answering(ragdrop: CommandLine, *outcomes: dict[str, Any], not_measured: str | None = None) -> None:
    """Let the vault `team` answer so."""
    run = {
        "request_id": "r1",
        "vault": "team",
        "questions": len(outcomes),
        "answered": sum(each["answered"] is True for each in outcomes),
        "dropped": [each["question"] for each in outcomes if each["dropped"]],
        "measured_at": "2026-01-31T10:00:00Z",
        "not_measured": not_measured,
        "outcomes": list(outcomes),
    }
    ragdrop.api.routes["GET", "/canaries"] = lambda _: httpx.Response(200, json={"canaries": [run] if outcomes else []})
    ragdrop.api.routes["POST", "/canaries/team"] = lambda _: httpx.Response(200, json=run)


def test_what_fails_is_shown_and_fails_no_script_that_names_no_gate(ragdrop: CommandLine) -> None:
    answering(ragdrop, outcome(1), outcome(2, answered=False))

    done = ragdrop.run("canary")

    assert done.exit_code == 0
    assert "failed   team: Question 2? (expects 2.md)" in done.stdout


def test_a_question_that_once_was_answered_fails_the_command(ragdrop: CommandLine) -> None:
    answering(ragdrop, outcome(1), outcome(2, answered=False, dropped=True))

    done = ragdrop.run("canary", "--gate", "0.5")

    assert done.exit_code == 1
    assert "dropped  team: Question 2?" in done.stdout
    assert "1 golden questions are not answered any more" in done.stderr


@pytest.mark.parametrize(("gate", "code"), [("0.5", 0), ("0.51", 1)])
def test_a_share_under_the_gate_fails_the_command(ragdrop: CommandLine, gate: str, code: int) -> None:
    answering(ragdrop, outcome(1), outcome(2, answered=False))

    assert ragdrop.run("canary", "--vault", "team", "--gate", gate).exit_code == code


def test_what_could_not_be_asked_passes_no_gate_and_is_no_failure_of_the_documents(ragdrop: CommandLine) -> None:
    answering(ragdrop, outcome(1), outcome(2, answered=None), not_measured="EMBEDDING_SERVICE_ERROR")

    done = ragdrop.run("canary", "--gate", "0.5")

    assert done.exit_code == 3
    assert "EMBEDDING_SERVICE_ERROR" in done.stdout
    assert "some questions could not be asked" in done.stderr


def test_a_gate_without_golden_questions_is_an_error_of_the_settings(ragdrop: CommandLine) -> None:
    answering(ragdrop)

    assert ragdrop.run("canary").exit_code == 0
    assert ragdrop.run("canary", "--gate", "1").exit_code == 2


def test_json_is_one_line_of_all_runs(ragdrop: CommandLine) -> None:
    answering(ragdrop, outcome(1))

    done = json.loads(ragdrop.run("canary", "--json").stdout)

    assert [run["outcomes"] for run in done["canaries"]] == [[outcome(1)]]
