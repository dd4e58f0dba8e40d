"""Where nothing answers, every surface names the closest documents, as a hint and not as evidence."""

from __future__ import annotations

import json

from tests.functions.conftest import Deployment
from tests.functions.openai_wire import post_chat

KEY = "demo/team/notes/pump.md"


def test_a_search_without_a_result_names_the_closest_documents(deployment: Deployment) -> None:
    deployment.put_object(KEY, "# Pumps\n\n## Codes\n\nThe pump's code is QX-5521.")

    _, body = deployment.post("query", {"query": "pump code of the ship", "min_relevance": 1.0})

    assert (body["results"], body["abstained"]) == ([], True)
    [nearest] = body["nearest"]
    assert (nearest["path"], nearest["title"], nearest["heading_path"]) == ("notes/pump.md", "Pumps", ["Pumps"])
    assert 0 < nearest["score"] < 1


def test_a_search_with_results_names_none(deployment: Deployment) -> None:
    deployment.put_object(KEY, "# Pumps\n\nThe pump's code is QX-5521.")

    _, body = deployment.post("query", {"query": "pump code", "min_relevance": 0})

    assert (len(body["results"]), body["nearest"]) == (1, [])


def test_an_answer_that_the_model_refuses_names_what_was_found(deployment: Deployment) -> None:
    deployment.put_object(KEY, "# Pumps\n\nThe pump's code is QX-5521.")
    deployment.chat.reply = "INSUFFICIENT_INFORMATION"

    _, body = deployment.post("generate", {"query": "Who built the pump?", "min_relevance": 0})

    assert (body["abstained"], body["citations"]) == (True, [])
    assert [one["path"] for one in body["nearest"]] == ["notes/pump.md"]


def test_a_chat_client_reads_the_closest_passages_in_the_message(deployment: Deployment) -> None:
    deployment.put_object(KEY, "# Pumps\n\nThe pump's code is QX-5521.")
    deployment.chat.reply = "INSUFFICIENT_INFORMATION"

    question = {"role": "user", "content": "Which code does the pump have?"}
    _, body = post_chat(deployment, messages=[question])

    said = json.loads(body)["choices"][0]["message"]["content"]
    assert "> The pump's code is QX-5521.\n> (team/notes/pump.md)" in said
