"""`ragdrop replay`: a question of before, asked again."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.unit.cli.world import CommandLine, refused

CITATION = {"key": "demo/team/pump.md", "quote": "It is red.", "start": 0, "end": 10}
RECEIPT: dict[str, Any] = {
    "answer_id": "a1",
    "question": "Which colour?",
    "request": {"vaults": ["team"], "limit": 3, "session": "s"},
    "request_left_out": [],
    "answer": "It is red [1].",
    "citations": [CITATION],
    "documents": [{"vault": "team", "path": "pump.md", "key": "demo/team/pump.md", "version_id": "v1"}],
    "model": "m",
    "prompt_version": "p",
    "shortened": False,
}
SAME = {"answer": "It is red [1].", "citations": [CITATION], "model": "m", "prompt_version": "p", "answer_id": "a2"}
OTHER = {**SAME, "answer": "It is blue [1].", "citations": [{**CITATION, "quote": "It is blue."}]}


def serve(ragdrop: CommandLine, receipt: dict[str, Any], answer: dict[str, Any], version: str | None = "v1") -> None:
    routes = ragdrop.api.routes
    routes["GET", "/answers/a1"] = lambda _request: httpx.Response(200, json=receipt)
    routes["POST", "/ask"] = lambda _request: httpx.Response(200, json=answer)
    record = {"live_version_id": version, "status": "indexed"}
    gone = refused(404, "DOCUMENT_NOT_FOUND", "no document")
    routes["GET", "/documents/team/pump.md"] = lambda _request: httpx.Response(200, json=record) if version else gone


def test_the_same_question_is_asked_but_for_its_session_and_the_same_answer_ends_with_0(ragdrop: CommandLine) -> None:
    serve(ragdrop, RECEIPT, SAME)

    result = ragdrop.run("replay", "a1")

    assert result.exit_code == 0
    assert result.stdout == "Which colour?\nThe same answer.\n"
    [asked] = [json.loads(request.content) for request in ragdrop.api.requests if request.method == "POST"]
    assert asked == {"query": "Which colour?", "vaults": ["team"], "limit": 3}


def test_another_answer_ends_with_1_and_shows_text_citations_and_changed_documents(ragdrop: CommandLine) -> None:
    serve(ragdrop, RECEIPT, OTHER, version="v2")

    result = ragdrop.run("replay", "a1")

    assert result.exit_code == 1
    assert "  -It is red [1].\n  +It is blue [1].\n" in result.stdout
    assert 'Citations gone\n  demo/team/pump.md  characters 0-10  "It is red."\n' in result.stdout
    assert 'New citations\n  demo/team/pump.md  characters 0-10  "It is blue."\n' in result.stdout
    assert "Documents changed since\n  demo/team/pump.md  v1 -> v2\n" in result.stdout


def test_a_changed_document_that_changes_no_answer_is_reported_and_no_failure(ragdrop: CommandLine) -> None:
    serve(ragdrop, RECEIPT, SAME, version="v2")

    result = ragdrop.run("replay", "a1")

    assert result.exit_code == 0
    assert "v1 -> v2" in result.stdout


def test_a_document_that_is_gone_is_reported(ragdrop: CommandLine) -> None:
    serve(ragdrop, RECEIPT, OTHER, version=None)

    assert "demo/team/pump.md  v1 -> gone" in ragdrop.run("replay", "a1").stdout


def test_json_is_one_object_with_all_that_differs(ragdrop: CommandLine) -> None:
    serve(ragdrop, RECEIPT, OTHER, version="v2")

    result = ragdrop.run("replay", "a1", "--json")

    body = json.loads(result.stdout)
    assert (result.exit_code, body["same"], body["answer_id"], body["new_answer_id"]) == (1, False, "a1", "a2")
    assert body["text"] == ["-It is red [1].", "+It is blue [1]."]
    assert [len(body[name]) for name in ("citations_gone", "citations_new", "documents_changed")] == [1, 1, 1]


def test_another_model_and_prompts_that_no_receipt_keeps_are_reported(ragdrop: CommandLine) -> None:
    serve(ragdrop, {**RECEIPT, "request_left_out": ["system_prompt"]}, {**SAME, "model": "n"})

    result = ragdrop.run("replay", "a1")

    assert "model: m -> n" in result.stdout
    assert "system_prompt" in result.stderr


def test_a_receipt_that_is_not_there_any_more_is_one_line_with_its_code(ragdrop: CommandLine) -> None:
    ragdrop.api.routes["GET", "/answers/a1"] = lambda _request: refused(404, "NOT_FOUND", "there is no answer 'a1'")

    result = ragdrop.run("replay", "a1")

    assert result.exit_code == 1
    assert result.stderr.startswith("error NOT_FOUND: there is no answer 'a1'")


def test_a_verdict_that_changed_is_shown_though_the_text_is_the_same(ragdrop: CommandLine) -> None:
    then, now = ({"answers_question": {"status": status}} for status in ("yes", "unchecked"))
    serve(ragdrop, RECEIPT | then, SAME | now)

    assert "answers_question: yes -> unchecked" in ragdrop.run("replay", "a1").stdout
    found = json.loads(ragdrop.run("replay", "a1", "--json").stdout)
    assert (found["same"], found["answers_question"]) == (True, {"before": "yes", "after": "unchecked"})
