"""What the demo prints: an answer that stands in S3, and an abstention with the closest passages."""

from __future__ import annotations

from typing import Any

import pytest

from localstack.processes import LaunchError
from localstack.seed import QUESTIONS, SAMPLE, lines_of

TEXT = "It is red. Wait 90 seconds."
CITATION = {"bucket": "b", "key": "demo/v/a.md", "marker": 1, "start": 11, "end": 27, "quote": "Wait 90 seconds."}
ANSWER: dict[str, Any] = {"answer": "Wait 90 seconds. [1]", "abstained": False, "citations": [CITATION], "closest": []}


def test_an_answer_is_shown_with_its_evidence_as_s3_has_it() -> None:
    assert list(lines_of(ANSWER, lambda _citation: TEXT)) == [
        "Answer",
        "  Wait 90 seconds. [1]",
        "Citations",
        "  [1] s3://b/demo/v/a.md characters 11-27",
        "      “Wait 90 seconds.”",
        "      read back from S3: stands there letter for letter",
    ]


def test_a_quote_that_s3_does_not_have_ends_the_demo() -> None:
    with pytest.raises(LaunchError, match="does not stand"):
        list(lines_of(ANSWER, lambda _citation: "Another text."))


def test_an_abstention_is_shown_with_the_closest_passages_on_one_line_each() -> None:
    passage = {"vault": "v", "path": "b.md", "start": 0, "end": 12, "quote": "Leave\nis long"}
    reply = {"answer": "Nothing holds it.", "abstained": True, "citations": [], "closest": [passage]}

    assert list(lines_of(reply, lambda _citation: "")) == [
        "No answer",
        "  Nothing holds it.",
        "Closest passages; nothing confirms that they answer",
        "  v/b.md characters 0-12",
        "      “Leave is long”",
    ]


def test_the_code_that_the_demo_asks_for_stands_in_one_document_of_the_sample_vault() -> None:
    code = next(word for question, _ in QUESTIONS for word in question.split() if any(map(str.isdigit, word)))

    assert sum(code.encode() in path.read_bytes() for path in SAMPLE.rglob("*") if path.is_file()) == 1
