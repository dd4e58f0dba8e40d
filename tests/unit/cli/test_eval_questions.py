"""`ragdrop eval --from-feedback`: what callers said of answers becomes golden questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragdrop_cli.eval_questions import read_questions
from tests.unit.cli.world import CommandLine


def judged(
    number: int, kind: str, text: str = "", *, at: str = "2026-01-01T00:00:00Z", **fields: Any
) -> dict[str, Any]:
    return {
        "answer_id": f"{number:032}",
        "created_at": "2026-01-01T00:00:00Z",
        "question": f"Question {number}?",
        "abstained": False,
        "cited": ["team/cited.md"],
        "found": ["team/cited.md", "team/notes/found.md"],
        "feedback": [{"kind": kind, "text": text, "at": at, "own": True}],
        **fields,
    }


def given(ragdrop: CommandLine, *answers: dict[str, Any]) -> None:
    """Let the API list these answers, one a page; only team/other.md and those found exist."""

    def page(request: httpx.Request) -> httpx.Response:
        at = int(request.url.params.get("cursor", "0"))
        cursor = str(at + 1) if at + 1 < len(answers) else None
        return httpx.Response(200, json={"answers": [*answers[at : at + 1]], "cursor": cursor})

    ragdrop.api.routes["GET", "/feedback"] = page
    record = {"vault": "team", "path": "other.md", "status": "indexed"}
    ragdrop.api.routes["GET", "/documents/team/other.md"] = lambda _: httpx.Response(200, json=record)
    missing = {"error": {"code": "DOCUMENT_NOT_FOUND", "message": "no such document", "details": {}}}
    for place in ("1.5", "team/1.5", "team/team/other.md", "nowhere.md"):
        ragdrop.api.routes["GET", f"/documents/{place}"] = lambda _: httpx.Response(404, json=missing)


def questions(ragdrop: CommandLine) -> list[dict[str, Any]]:
    done = ragdrop.run("eval", "--from-feedback")
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_right_answer_expects_the_documents_that_it_cites(ragdrop: CommandLine) -> None:
    given(ragdrop, judged(1, "right"), judged(2, "right", cited=["team/a.md", "team/b.md"]))

    assert questions(ragdrop) == [
        {"id": f"{1:032}", "question": "Question 1?", "document": ["team/cited.md"]},
        {"id": f"{2:032}", "question": "Question 2?", "document": ["team/a.md", "team/b.md"]},
    ]


def test_an_abstention_that_was_right_becomes_a_question_that_nothing_answers(ragdrop: CommandLine) -> None:
    given(ragdrop, judged(1, "right", cited=[], abstained=True))

    assert questions(ragdrop) == [{"id": f"{1:032}", "question": "Question 1?"}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see notes/found.md, page 1.5", ["team/notes/found.md"]),
        ("it is in team/other.md.", ["team/other.md"]),
        ("`other.md` says so", ["team/other.md"]),
    ],
)
@pytest.mark.parametrize("kind", ["wrong", "missing"])
def test_a_wrong_answer_expects_the_document_that_the_text_names(
    ragdrop: CommandLine, kind: str, text: str, expected: list[str]
) -> None:
    given(ragdrop, judged(1, kind, text))

    assert [line["document"] for line in questions(ragdrop)] == [expected]


def test_what_names_no_document_is_listed_for_a_person(ragdrop: CommandLine) -> None:
    given(ragdrop, judged(1, "wrong", "just wrong"), judged(2, "missing"), judged(3, "right", cited=[]))

    done = ragdrop.run("eval", "--from-feedback")

    assert done.stdout == ""
    assert "3 are open" in done.stderr
    assert "wrong\tQuestion 1?\tjust wrong" in done.stderr


def test_the_last_word_on_a_question_counts(ragdrop: CommandLine) -> None:
    later = judged(2, "right", at="2026-01-02T00:00:00Z", question="Question 1?", cited=["team/new.md"])
    given(ragdrop, later, judged(1, "wrong", "just wrong"))

    assert [line["document"] for line in questions(ragdrop)] == [["team/new.md"]]


def test_a_file_is_written_that_eval_reads_and_never_over_another_one(ragdrop: CommandLine) -> None:
    given(ragdrop, judged(1, "right"))
    place = ragdrop.folder / "golden.jsonl"

    first, second = (ragdrop.run("eval", "--from-feedback", str(place)) for _ in range(2))

    (question,) = read_questions(place, split="test", path_format="{id}.md")
    assert (question.text, dict(question.documents)) == ("Question 1?", {"team/cited.md": 1.0})
    assert (first.exit_code, first.stdout, second.exit_code) == (0, "", 2)
    assert "exists" in second.stderr


def test_questions_are_read_from_files_that_windows_wrote(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    for name, text in (
        ("a.jsonl", '{"question": "How many?"}\n'),
        ("queries.jsonl", '{"_id": "1", "text": "How many?"}\n'),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\ta\t1\n"),
    ):
        (tmp_path / name).write_text(text, "utf-8-sig", newline="\r\n")

    for place in (tmp_path / "a.jsonl", tmp_path):
        assert [each.text for each in read_questions(place, split="test", path_format="team/{id}.md")] == ["How many?"]


def test_json_has_questions_and_what_is_open(ragdrop: CommandLine) -> None:
    given(ragdrop, judged(1, "right"), judged(2, "missing", "the colour"))

    body = json.loads(ragdrop.run("eval", "--from-feedback", "--json").stdout)

    assert [line["question"] for line in body["questions"]] == ["Question 1?"]
    assert body["open"] == [{"question": "Question 2?", "kind": "missing", "text": "the colour"}]


def test_without_a_file_and_without_feedback_eval_says_what_it_needs(ragdrop: CommandLine) -> None:
    done = ragdrop.run("eval")

    assert done.exit_code == 2
    assert "name a file of questions" in done.stderr
