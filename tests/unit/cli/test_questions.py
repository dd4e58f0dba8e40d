"""`ragdrop search`, `ragdrop ask` and `ragdrop verify`."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.unit.cli.world import CommandLine, refused

ANSWER = {
    "answer": "The pump's code is QX-5521 [1].",
    "citations": [
        {
            "marker": 1,
            "bucket": "docs",
            "key": "demo/team/notes/pump.md",
            "start": 10,
            "end": 35,
            "quote": "The pump's code\nis QX-5521.",
            "heading_path": ["Pumps", "Codes"],
            "status": "verified",
        }
    ],
    "abstained": False,
    "warnings": [],
    "model": "extractive",
}
FOUND = {
    "results": [
        {
            "vault": "team",
            "path": "notes/pump.md",
            "title": "Pumps",
            "score": 0.914,
            "chunks": [{"text": "Code: [bold]QX-5521[/bold]", "heading_path": ["Pumps"], "start": 0, "end": 26}],
        }
    ],
    "critical": [],
    "linked": [],
    "total_matches": 4,
    "total_indexed": 25,
    "latency_ms": 12,
}


def answer(ragdrop: CommandLine, route: str, body: bytes) -> None:
    ragdrop.api.routes["POST", route] = lambda _request: httpx.Response(200, content=body)


def test_an_answer_is_followed_by_a_footnote_with_key_span_headings_and_quote(ragdrop: CommandLine) -> None:
    answer(ragdrop, "/ask", json.dumps(ANSWER).encode())

    result = ragdrop.run("ask", "Which code has the pump?")

    assert result.exit_code == 0
    assert result.stdout.startswith("The pump's code is QX-5521 [1].\n\nSources\n")
    assert "[1] demo/team/notes/pump.md  characters 10-35  Pumps > Codes\n" in result.stdout
    assert '"The pump\'s code is QX-5521."' in result.stdout


def test_where_nothing_was_found_the_closest_documents_are_shown_and_how_to_see_more(ragdrop: CommandLine) -> None:
    nearest = [{"vault": "team", "path": "notes/pump.md", "title": "Pumps", "score": 0.412}]
    nothing = {**FOUND, "results": [], "nearest": nearest, "total_matches": 0, "abstained": True}
    answer(ragdrop, "/search", json.dumps(nothing).encode())

    result = ragdrop.run("search", "ships")

    assert "Nothing found.\n\nClosest documents, which may not answer it\n" in result.stdout
    assert "0.41  team/notes/pump.md  Pumps" in result.stdout
    assert "--min-relevance 0" in result.stdout


def test_only_the_fields_that_were_given_are_sent(ragdrop: CommandLine) -> None:
    answer(ragdrop, "/ask", json.dumps(ANSWER).encode())

    ragdrop.run("ask", "Which?")
    ragdrop.run("ask", "Which?", "--vault", "team", "--vault", "agents", "--limit", "3")

    sent = [json.loads(request.content) for request in ragdrop.api.requests]
    assert sent == [
        {"query": "Which?", "stream": True},
        {"query": "Which?", "vaults": ["team", "agents"], "limit": 3, "stream": True},
    ]


def test_a_question_after_an_answer_has_that_answer_as_its_conversation(ragdrop: CommandLine) -> None:
    receipt = {"question": "Where is the pump?", "answer": "In the cellar [1]."}
    ragdrop.api.routes["GET", "/answers/a1"] = lambda _request: httpx.Response(200, json=receipt)
    answer(ragdrop, "/ask", json.dumps(ANSWER).encode())

    ragdrop.run("ask", "And its code?", "--after", "a1")

    assert json.loads(ragdrop.api.requests[-1].content)["history"] == [receipt]


def test_json_prints_the_body_byte_for_byte_with_one_line_end(ragdrop: CommandLine) -> None:
    body = '{"b": 1.50,  "a": "\\u00e4 ä"}\n\n'.encode()
    answer(ragdrop, "/search", body)

    result = ragdrop.run("search", "pump", "--json")

    assert result.stdout_bytes == body.rstrip() + b"\n"


def test_an_error_is_one_line_with_its_code_then_the_next_step(ragdrop: CommandLine) -> None:
    ragdrop.api.routes["POST", "/ask"] = lambda _request: refused(401, "UNAUTHENTICATED", "no such key")

    result = ragdrop.run("ask", "Which?")

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines()[0] == "error UNAUTHENTICATED: no such key (request r-7)"
    assert result.stderr.splitlines()[1].startswith("next: ")


def test_with_json_the_error_body_is_printed_too(ragdrop: CommandLine) -> None:
    ragdrop.api.routes["POST", "/ask"] = lambda _request: refused(
        400, "INVALID_PARAMS", "query is empty", field="query"
    )

    result = ragdrop.run("ask", " ", "--json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["details"] == {"field": "query"}


def test_flags_of_search_become_fields_and_debug_says_why_a_candidate_was_dropped(ragdrop: CommandLine) -> None:
    candidate = {"rank": 2, "relevance": 0.31, "vault": "team", "path": "far.md", "reason": "under min_relevance"}
    answer(ragdrop, "/search", json.dumps({**FOUND, "debug": {"candidates": [candidate]}}).encode())

    result = ragdrop.run("search", "pump", "--folder", "team/a", "--tag", "red", "--no-links", "--debug")

    sent = json.loads(ragdrop.api.requests[-1].content)
    assert sent == {"query": "pump", "folders": ["team/a"], "tags": ["red"], "follow_links": False, "debug": True}
    assert "2  0.31  team/far.md  under min_relevance" in result.stdout


def test_a_failed_dependency_ends_with_3(ragdrop: CommandLine) -> None:
    ragdrop.api.routes["POST", "/search"] = lambda _request: refused(
        503, "DATABASE_ERROR", "the index did not answer", service="index", retryable=True, retry_after_s=7
    )

    result = ragdrop.run("search", "pump")

    assert result.exit_code == 3
    assert "(after 7 s)" in result.stderr


def test_results_show_score_place_and_text_whose_brackets_are_no_markup(ragdrop: CommandLine) -> None:
    answer(ragdrop, "/search", json.dumps(FOUND).encode())

    result = ragdrop.run("search", "pump")

    assert "1.  0.91  team/notes/pump.md  Pumps" in result.stdout
    assert "Pumps  characters 0-26" in result.stdout
    assert "Code: [bold]QX-5521[/bold]" in result.stdout
    assert "1 of 4 matches in 25 documents, 12 ms" in result.stdout


def test_results_come_before_the_documents_that_are_always_included(ragdrop: CommandLine) -> None:
    rule = {"vault": "team", "path": "rule.md", "title": "Rule", "score": 0.16, "chunks": []}
    answer(ragdrop, "/search", json.dumps({**FOUND, "critical": [rule]}).encode())

    shown = ragdrop.run("search", "pump").stdout

    assert shown.index("team/notes/pump.md") < shown.index("Always included") < shown.index("team/rule.md")


def test_control_characters_of_a_document_do_not_reach_the_terminal(ragdrop: CommandLine) -> None:
    answer(ragdrop, "/ask", json.dumps({**ANSWER, "answer": "a\x1b[2Jb"}).encode())

    assert "\x1b" not in ragdrop.run("ask", "Which?").stdout


def test_a_degraded_answer_is_reported_on_standard_error(ragdrop: CommandLine) -> None:
    body = {**ANSWER, "degraded": True, "fallback_level": 2, "served_by": "fallback", "warnings": ["no vectors"]}
    answer(ragdrop, "/ask", json.dumps(body).encode())

    assert ragdrop.run("ask", "Which?").stderr.splitlines() == [
        "warning: degraded, level 2, served by fallback",
        "warning: no vectors",
    ]


def test_an_abstention_says_why_and_is_no_failure(ragdrop: CommandLine) -> None:
    body = {"answer": "I found nothing on that.", "abstained": True, "abstain_reason": "no_relevant_context"}
    answer(ragdrop, "/ask", json.dumps(body).encode())

    result = ragdrop.run("ask", "Which?")

    assert result.exit_code == 0
    assert "no_relevant_context" in result.stdout


def streamed(ragdrop: CommandLine, *events: tuple[str, object]) -> None:
    body = "".join(f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n" for name, data in events)
    kind = {"content-type": "text/event-stream; charset=utf-8"}
    ragdrop.api.routes["POST", "/ask"] = lambda _request: httpx.Response(200, content=body.encode(), headers=kind)


def test_a_streamed_answer_is_printed_piece_by_piece_and_followed_by_its_footnotes(ragdrop: CommandLine) -> None:
    pieces = ["The pump's", " code\u2028is\x1b[2J", " QX-5521 [1]."]
    streamed(ragdrop, ("retrieval", {}), *(("token", {"text": piece}) for piece in pieces), ("done", ANSWER))

    result = ragdrop.run("ask", "Which?")

    assert json.loads(ragdrop.api.requests[-1].content) == {"query": "Which?", "stream": True}
    assert result.stdout.startswith("The pump's code is [2J QX-5521 [1].\n\nSources\n[1] demo/team/notes/pump.md")


def test_an_abstention_after_some_words_stands_alone(ragdrop: CommandLine) -> None:
    abstained = {**ANSWER, "answer": "Not enough.", "citations": [], "abstained": True, "abstain_reason": "x"}
    streamed(ragdrop, ("token", {"text": "It is"}), ("done", abstained))

    assert ragdrop.run("ask", "Which?").stdout.startswith("It is\n\nNot enough.\n(no answer: x)\n")


def test_an_error_in_the_middle_of_an_answer_ends_like_any_other(ragdrop: CommandLine) -> None:
    error = {"code": "GENERATION_ERROR", "message": "it broke", "details": {"service": "chat"}, "request_id": "r-9"}
    streamed(ragdrop, ("token", {"text": "It is"}), ("error", {"error": error}))

    result = ragdrop.run("ask", "Which?")

    assert (result.exit_code, result.stdout) == (3, "It is\n")
    assert result.stderr.startswith("error GENERATION_ERROR: it broke (request r-9)")


def test_a_stream_that_ends_early_is_an_error(ragdrop: CommandLine) -> None:
    streamed(ragdrop, ("token", {"text": "It is"}))

    assert ragdrop.run("ask", "Which?").exit_code == 3


def test_with_no_stream_and_with_json_the_answer_is_asked_for_whole(ragdrop: CommandLine) -> None:
    answer(ragdrop, "/ask", json.dumps(ANSWER).encode())

    ragdrop.run("ask", "Which?", "--no-stream")
    ragdrop.run("ask", "Which?", "--json")

    assert [json.loads(request.content) for request in ragdrop.api.requests] == [{"query": "Which?"}] * 2


CHECKED = {
    "sentences": [
        {
            "start": 0,
            "end": 16,
            "text": "The pump is red.",
            "status": "contradicted",
            "reason": "negation",
            "support": 1.0,
            "evidence": [{"source": "a.md", "start": 4, "end": 24, "quote": "The pump is not red."}],
        }
    ],
    "warnings": ["the verifier did not answer"],
}


def test_verify_shows_each_sentence_with_its_status_and_the_passage_that_decided(
    ragdrop: CommandLine, tmp_path: Path
) -> None:
    answer(ragdrop, "/v1/verify", json.dumps(CHECKED).encode())
    Path(tmp_path, "answer.txt").write_text("The pump is red.", "utf-8")
    Path(tmp_path, "a.md").write_text("Oh. The pump is not red.", "utf-8")

    result = ragdrop.run("verify", str(tmp_path / "answer.txt"), "--source", str(tmp_path / "a.md"))

    assert result.exit_code == 0
    assert "contradicted  The pump is red.  (negation)\n" in result.stdout
    assert 'a.md  characters 4-24  "The pump is not red."' in result.stdout
    assert "warning: the verifier did not answer" in result.stderr
    sent = json.loads(ragdrop.api.requests[-1].content)
    assert sent["sources"] == [{"id": str(tmp_path / "a.md"), "text": "Oh. The pump is not red."}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_verify_reads_answer_and_sources_of_a_json_file(ragdrop: CommandLine, tmp_path: Path, encoding: str) -> None:
    answer(ragdrop, "/v1/verify", json.dumps(CHECKED).encode())
    asked = {"answer": "It is.", "sources": [{"id": "a", "text": "It is."}]}
    Path(tmp_path, "asked.json").write_text(json.dumps(asked), encoding)

    result = ragdrop.run("verify", str(tmp_path / "asked.json"), "--json")

    assert json.loads(result.stdout) == CHECKED
    assert json.loads(ragdrop.api.requests[-1].content) == asked


CHECKED_ANSWER = ANSWER | {
    "sentences": [
        {"text": "The pump's code is QX-5521.", "status": "verified"},
        {"text": "It is blue.", "status": "unsupported"},
    ]
}


@pytest.mark.parametrize("flag", ["--stream", "--no-stream"])
def test_an_answer_is_printed_once_with_the_count_of_its_verdicts(ragdrop: CommandLine, flag: str) -> None:
    if flag == "--stream":
        streamed(ragdrop, ("token", {"text": CHECKED_ANSWER["answer"]}), ("done", CHECKED_ANSWER))
    else:
        answer(ragdrop, "/ask", json.dumps(CHECKED_ANSWER).encode())

    shown = ragdrop.run("ask", "Which?", flag).stdout

    assert shown.count("code is QX-5521 [1]") == 1
    assert "Sentences: 1 verified, 1 unsupported (--sentences lists them)" in shown
    assert "It is blue." not in shown


def test_with_sentences_each_one_is_listed_with_its_verdict(ragdrop: CommandLine) -> None:
    answer(ragdrop, "/ask", json.dumps(CHECKED_ANSWER).encode())

    shown = ragdrop.run("ask", "Which?", "--no-stream", "--sentences").stdout

    assert "unsupported   It is blue." in shown


@pytest.mark.parametrize("command", ["ask", "search"])
def test_as_of_is_understood_as_people_write_it_and_printed_as_a_time(ragdrop: CommandLine, command: str) -> None:
    answer(ragdrop, f"/{command}", json.dumps(ANSWER | FOUND).encode())

    result = ragdrop.run(command, "Which?", "--as-of", "yesterday", "--json")

    assert json.loads(ragdrop.api.requests[-1].content)["as_of"] == "2026-01-30T23:59:59+01:00"
    assert result.stderr == "yesterday: 2026-01-30T23:59:59+01:00\n"


@pytest.mark.parametrize("content", [b"It is.", b"[]", b'{"answer": "x"}', b"\xff\xfe"])
def test_verify_says_what_a_file_must_hold(ragdrop: CommandLine, tmp_path: Path, content: bytes) -> None:
    Path(tmp_path, "answer").write_bytes(content)

    result = ragdrop.run("verify", str(tmp_path / "answer"))

    assert result.exit_code == 1
    assert "--source" in result.stderr or "cannot be read as text" in result.stderr
    assert ragdrop.api.requests == []
