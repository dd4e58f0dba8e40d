"""What the page asks beside documents and answers: who one is, sign-in links, the queue, chunks, conversations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functions.conftest import Deployment

PUMP = "demo/handbook/pump.md"


def get(deployment: Deployment, path: str, **query: str) -> tuple[int, Any]:
    return deployment.send("GET", path, **query)


def test_a_key_learns_its_tenant_role_vaults_and_limits(deployment: Deployment) -> None:
    deployment.put_object(PUMP, "# Pump\n\nThe pump's code is QX-5521.")

    status, body = get(deployment, "/me")

    assert status == 200
    assert (body["tenant"], body["role"], body["vaults"]) == ("demo", "admin", ["handbook"])
    assert (body["limited_to_vaults"], body["index"]) == (False, "bucket")
    assert body["max_put_bytes"] < body["max_upload_bytes"]


def test_a_sign_in_link_gives_the_key_that_it_was_made_with_once(deployment: Deployment) -> None:
    _, link = deployment.send("POST", "/app/links", "{}")

    first = deployment.send("POST", "/app/sign-in", f'{{"code": "{link["code"]}"}}')
    second = deployment.send("POST", "/app/sign-in", f'{{"code": "{link["code"]}"}}')

    assert (first[0], first[1]["key"]) == (200, deployment.key)
    assert (second[0], second[1]["error"]["code"]) == (401, "UNAUTHENTICATED")


def test_the_queue_is_counted_and_its_dead_letters_go_back(deployment: Deployment) -> None:
    deployment.sqs.send_message(QueueUrl=deployment.dead_letters_url, MessageBody="{}")

    _, before = get(deployment, "/queue")
    _, redriven = deployment.send("POST", "/queue/redrive", "{}")
    _, after = get(deployment, "/queue")

    assert (before["dead_letters"], redriven["moved"], after["dead_letters"]) == (1, 1, 0)
    assert after["waiting"] == before["waiting"] + 1


def test_chunks_are_named_by_their_places_in_the_text(deployment: Deployment) -> None:
    deployment.put_object(PUMP, "\n\n".join(f"# Part {n}\n\nPump {n} is red. " + "It turns. " * 80 for n in range(6)))

    _, body = get(deployment, "/documents/handbook/pump.md", chunks="1")
    _, some = get(deployment, "/documents/handbook/pump.md", chunks="1", span="0-10")
    chunk = body["chunks"][1]
    _, text = get(deployment, "/documents/handbook/pump.md", span=f"{chunk['start']}-{chunk['end']}")

    assert len(body["chunks"]) > 2
    assert [each["index"] for each in body["chunks"]] == list(range(len(body["chunks"])))
    assert body["chunks"][-1]["end"] <= body["char_count"]
    assert [each["index"] for each in some["chunks"]] == [0]
    assert text["text"].startswith("# Part")


def test_documents_with_a_link_to_another_are_listed(deployment: Deployment) -> None:
    deployment.put_object(PUMP, "# Pump\n\nIts [valve](valve.md) and [[filter]].")
    deployment.put_object("demo/handbook/valve.md", "# Valve\n\nSee [nothing](pumps.md).")
    deployment.put_object("demo/handbook/filter.md", "# Filter\n\nSee the [valve](../handbook/valve.md).")

    def linking_to(path: str) -> list[str]:
        return [each["path"] for each in get(deployment, "/documents", links_to=path)[1]["documents"]]

    assert linking_to("handbook/valve.md") == ["pump.md"]
    assert linking_to("handbook/filter.md") == ["pump.md"]
    assert linking_to("handbook/pump.md") == []


@pytest.mark.parametrize("wanted", ["nothing", "handbook/", "/pump.md"])
def test_what_is_no_document_cannot_be_linked_to(deployment: Deployment, wanted: str) -> None:
    status, body = get(deployment, "/documents", links_to=wanted)

    assert (status, body["error"]["code"]) == (400, "INVALID_PARAMS")


def test_a_question_of_a_conversation_is_searched_as_the_model_rewrote_it(deployment: Deployment) -> None:
    deployment.put_object(PUMP, "# Pump\n\nThe pump's code is QX-5521.")
    deployment.chat.reply = lambda messages: (
        "What is the code of the pump?" if "rewrite" in messages[0].content else "The pump's code is QX-5521. [1]"
    )
    history = [{"question": "Where is the pump?", "answer": "In the cellar."}]

    _, body = deployment.post("generate", {"query": "And its code?", "history": history, "min_relevance": 0})
    _, alone = deployment.post("generate", {"query": "code QX-5521", "min_relevance": 0})

    assert body["asked"] == "What is the code of the pump?"
    assert alone["asked"] == "code QX-5521"
    assert "In the cellar." in deployment.chat.asked[0][1].content
    assert " assistant: In the cellar.\n" in deployment.chat.asked[1][1].content
    assert "cellar" not in deployment.chat.asked[2][1].content
