"""`ragdrop eval` and `ragdrop canary`: measures, changes, gates and exit codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import Result

from tests.unit.cli.world import CommandLine

BACKUP = {"vault": "team", "path": "backup.md", "score": 0.9, "text": "Kept for\n35 days.", "chunks": []}
PUMP = {"vault": "team", "path": "pump.md", "score": 0.8, "text": "Code QX-5521.", "chunks": []}
FOUND = {"backups?": [BACKUP, PUMP], "pump?": [BACKUP, PUMP], "salary?": []}
QUESTIONS = (
    {"question": "backups?", "document": "backup.md", "text": "kept for 35 days"},
    {"question": "pump?", "document": "team/pump.md", "text": None},
    {"question": "salary?", "document": None, "text": None},
)


@pytest.fixture
def asked(ragdrop: CommandLine) -> CommandLine:
    def search(request: httpx.Request) -> httpx.Response:
        results = FOUND[json.loads(request.content)["query"]]
        return httpx.Response(200, json={"results": results, "critical": [], "abstained": not results})

    ragdrop.api.routes["POST", "/search"] = search
    write_questions(ragdrop, *QUESTIONS)
    return ragdrop


def write_questions(ragdrop: CommandLine, *lines: Mapping[str, object]) -> Path:
    return ragdrop.write("questions.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def evaluate(ragdrop: CommandLine, *options: str) -> Result:
    return ragdrop.run("eval", str(ragdrop.folder / "questions.jsonl"), *options)


def test_places_of_documents_and_texts_become_the_measures(asked: CommandLine) -> None:
    measured = json.loads(evaluate(asked, "--json").stdout)["measures"]

    assert measured == {
        "questions": 3,
        "answerable": 2,
        "expected_in_top_3": 1.0,
        "hit_rate_at_1": 0.5,
        "hit_rate_at_3": 1.0,
        "recall": 1.0,
        "mrr": 0.75,
        "ndcg": 0.8155,
        "abstained_rightly": 1.0,
        "abstained_wrongly": 0.0,
    }


def test_the_gate_fails_where_too_few_expected_texts_are_in_the_top_3(asked: CommandLine) -> None:
    write_questions(asked, QUESTIONS[0], {**QUESTIONS[1], "text": "a text that no document has"})

    assert evaluate(asked, "--gate", "0.5").exit_code == 0
    missed = evaluate(asked, "--gate", "0.8")
    assert missed.exit_code == 1
    assert "gate MISSED: 50.0% of what is expected is in the top 3, 80% is required" in missed.stderr


def test_two_runs_are_compared_question_by_question(asked: CommandLine) -> None:
    run = asked.folder / "run.json"
    evaluate(asked, "--save", str(run))
    asked.api.routes["POST", "/search"] = lambda _request: httpx.Response(
        200, json={"results": [PUMP], "abstained": False}
    )

    found = json.loads(evaluate(asked, "--compare", str(run), "--json").stdout)["changes"]

    assert found == [
        ["worse", "backups?", "place 1", "not found"],
        ["worse", "salary?", "abstained", "answered"],
        ["better", "pump?", "place 2", "place 1"],
    ]


def test_a_critical_document_counts_where_its_own_score_puts_it(asked: CommandLine) -> None:
    low = {**PUMP, "score": 0.1}
    asked.api.routes["POST", "/search"] = lambda _request: httpx.Response(
        200, json={"results": [BACKUP], "critical": [low], "abstained": False}
    )

    outcomes = json.loads(evaluate(asked, "--json").stdout)["questions"]

    assert outcomes[1]["found"] == ["team/backup.md", "team/pump.md"]


def test_a_beir_folder_is_read_with_its_grades_and_paths(asked: CommandLine) -> None:
    asked.write("set/queries.jsonl", '{"_id": "q1", "text": "pump?"}\n{"_id": "q2", "text": "not judged"}\n')
    asked.write("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\tpump\t2\nq1\tbackup\t0\n")

    result = asked.run("eval", str(asked.folder / "set"), "--vault", "team", "--json")

    run = json.loads(result.stdout)
    assert [one["place"] for one in run["questions"]] == [2]
    assert json.loads(asked.api.requests[-1].content)["vaults"] == ["team"]


def test_the_golden_questions_of_a_settings_file_are_asked(asked: CommandLine) -> None:
    golden = [{"question": "backups?", "text": "35 days"}, {"question": "pump?", "document": "pump.md"}]
    asked.write("own.json", json.dumps({"golden_questions": golden, "min_relevance": 0.5}))

    run = json.loads(asked.run("eval", str(asked.folder / "own.json"), "--json").stdout)

    assert [one["question"] for one in run["questions"]] == ["backups?", "pump?"]
    assert run["measures"]["expected_in_top_3"] == 1.0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 1 is no JSON"),
        ("[]", "line 1 is no JSON object"),
        ("{}", "line 1 has no question"),
        ("", "holds no"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_line(ragdrop: CommandLine, line: str, said: str) -> None:
    ragdrop.write("questions.jsonl", line)

    result = evaluate(ragdrop)

    assert result.exit_code == 2
    assert said in result.stderr


def test_the_threshold_is_sent_only_where_it_is_given(asked: CommandLine) -> None:
    evaluate(asked)
    assert "min_relevance" not in json.loads(asked.api.requests[-1].content)

    evaluate(asked, "--min-relevance", "0")
    assert json.loads(asked.api.requests[-1].content)["min_relevance"] == 0


def test_answers_of_a_stage_are_compared_with_those_of_now(asked: CommandLine) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        found = "36 days." if (body["query"], body.get("stage")) == ("backups?", "spring") else "35 days."
        cited = "b.md" if (body["query"], body.get("stage")) == ("pump?", "spring") else "a.md"
        return httpx.Response(200, json={"answer": found, "citations": [{"key": f"acme/team/{cited}"}] * 2})

    asked.api.routes["POST", "/ask"] = answer

    run = json.loads(evaluate(asked, "--stage", "spring", "--answers", "--json").stdout)

    assert run["changes"] == [
        ["answer", "backups?", "35 days. [team/a.md]", "36 days. [team/a.md]"],
        ["answer", "pump?", "35 days. [team/a.md]", "35 days. [team/b.md]"],
    ]
    assert [one["cited"] for one in run["questions"]] == [["team/a.md"], ["team/b.md"], ["team/a.md"]]


def test_no_answer_is_asked_for_unless_it_is_requested(asked: CommandLine) -> None:
    run = json.loads(evaluate(asked, "--stage", "spring", "--json").stdout)

    assert run["changes"] == []
    assert {request.url.path for request in asked.api.requests} == {"/prod/search"}


FACT = "You read: {{ sources }} and {{ question }}"


@pytest.fixture
def prompted(asked: CommandLine) -> CommandLine:
    """Two prompts: with a template the answer about backups holds its fact, with a system prompt it does not."""

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if body["query"] == "salary?":
            return httpx.Response(200, json={"answer": "Nothing.", "abstained": True, "usage": {}})
        by_template = "prompt_template" in body
        reply = {
            "answer": "They are kept for [1] 35 days. [1]" if by_template else "For a while. [1]",
            "abstained": False,
            "citations": [{"key": f"acme/team/{'pump' if body['query'] == 'pump?' else 'backup'}.md"}],
            "unsupported": [] if by_template else [{"text": "For a while."}],
            "answers_question": {"status": "yes" if by_template else "no"},
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            "cost": 0.001,
            "prompt_version": "v2" if by_template else "v1",
        }
        return httpx.Response(200, json=reply)

    asked.api.routes["POST", "/ask"] = answer
    asked.write("a.txt", "Answer briefly.")
    asked.write("b.j2", FACT)
    return asked


def with_prompts(ragdrop: CommandLine, *names: str, options: tuple[str, ...] = ()) -> Result:
    named = [part for name in names for part in ("--prompt", str(ragdrop.folder / name) if "." in name else name)]
    return evaluate(ragdrop, *named, *options)


def test_two_prompts_are_compared_by_facts_verdicts_citations_tokens_and_cost(prompted: CommandLine) -> None:
    run = json.loads(with_prompts(prompted, "a.txt", "b.j2", options=("--json",)).stdout)

    first, second = run["prompts"]
    assert (first["prompt_version"], second["prompt_version"]) == ("v1", "v2")
    same = {
        "questions": 3,
        "answered": 2,
        "cited_right": 2,
        "prompt_tokens": 200,
        "completion_tokens": 20,
        "cost": 0.002,
    }
    changed = ("right", "fact_found", "true", "answers_yes", "answers_no")
    assert {name: first["measures"][name] for name in same} == same
    assert {name: second["measures"][name] for name in same} == same
    assert [first["measures"][name] for name in changed] == [2, 0, 0, 0, 2]
    assert [second["measures"][name] for name in changed] == [3, 1, 2, 2, 0]
    [backups, pump] = run["differences"]
    assert backups == {
        "question": "backups?",
        str(prompted.folder / "a.txt"): "wrong, not supported, does not answer",
        str(prompted.folder / "b.j2"): "right",
    }
    assert pump["question"] == "pump?"


def test_prompts_stand_side_by_side_in_a_table_with_the_questions_that_differ(prompted: CommandLine) -> None:
    shown = with_prompts(prompted, "a.txt", "b.j2").stdout

    assert "right\t2\t3\n" in shown
    assert "2 of 3 questions differ" in shown
    assert "wrong, not supported, does not answer\tright\tbackups?\n" in shown


def test_one_prompt_is_compared_with_the_one_in_force(prompted: CommandLine) -> None:
    run = json.loads(with_prompts(prompted, "b.j2", options=("--json",)).stdout)

    assert [each["prompt"] for each in run["prompts"]] == ["current", str(prompted.folder / "b.j2")]
    sent = [json.loads(request.content) for request in prompted.api.requests]
    assert [body.get("prompt_template") for body in sent] == [None] * 3 + [FACT] * 3


def test_a_prompt_is_read_from_a_settings_file_too(prompted: CommandLine) -> None:
    prompted.write(
        "own.json", json.dumps({"min_relevance": 0.5, "system_prompt": "S", "prompt_template": "{{ sources }}"})
    )

    with_prompts(prompted, "own.json")

    body = json.loads(prompted.api.requests[-1].content)
    assert (body["system_prompt"], body["prompt_template"], "min_relevance" in body) == ("S", "{{ sources }}", False)


@pytest.mark.parametrize(("gate", "code"), [("1.0", 0), ("0.5", 0)])
def test_the_gate_holds_for_the_last_prompt(prompted: CommandLine, gate: str, code: int) -> None:
    assert with_prompts(prompted, "a.txt", "b.j2", options=("--gate", gate)).exit_code == code


def test_a_last_prompt_under_the_gate_fails_the_command(prompted: CommandLine) -> None:
    missed = with_prompts(prompted, "b.j2", "a.txt", options=("--gate", "0.9"))

    assert missed.exit_code == 1
    assert "gate MISSED: 66.7% are right with" in missed.stderr


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.j2", None, "there is no prompt"),
        ("empty.j2", " ", "holds no prompt"),
        ("wrong.json", "{", "is no JSON"),
        ("other.json", '{"min_relevance": 1}', "holds no prompt"),
    ],
)
def test_a_prompt_that_is_none_is_refused_before_anything_is_asked(
    prompted: CommandLine, name: str, text: str | None, said: str
) -> None:
    if text is not None:
        prompted.write(name, text)

    result = with_prompts(prompted, name)

    assert (result.exit_code, prompted.api.requests) == (2, [])
    assert said in result.stderr


def test_a_prompt_that_does_not_render_is_named_with_the_reason(prompted: CommandLine) -> None:
    message = "prompt_template: line 1: unexpected end of template"
    details = {"field": "prompt_template"}
    error = {"code": "INVALID_PARAMS", "message": message, "details": details, "request_id": "r1"}
    prompted.api.routes["POST", "/ask"] = lambda _request: httpx.Response(400, json={"error": error})

    result = with_prompts(prompted, "b.j2", "a.txt")

    assert result.exit_code == 2
    assert f"b.j2 cannot be used: {message}" in result.stderr


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
