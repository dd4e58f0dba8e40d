"""The OpenAI protocol: its own Python client asks the documents, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from ragdrop.errors import GenerationError
from testing.memory_services import WordReader
from tests.functions.conftest import Deployment
from tests.functions.openai_wire import openai_client, post_chat

TEXT = "# Pump\n\nThe pump's code is QX-5521. It was built in 1987."
REPLY = "The pump's code is QX-5521. [1]"
ANSWER = "The pump's code is QX-5521. [1]"
OpenAI = Any  # the unions and optional fields of openai.OpenAI are for those who cannot know what comes


@pytest.fixture
def client(deployment: Deployment) -> Iterator[OpenAI]:
    deployment.put_object("demo/handbook/pump.md", TEXT)
    deployment.chat.reply = REPLY
    with openai_client(deployment) as client:
        yield client


def body_of(caught: pytest.ExceptionInfo[openai.APIError]) -> dict[str, Any]:
    """The error object of the reply."""
    assert isinstance(caught.value.body, dict)
    return caught.value.body


def ask(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def test_the_openai_client_gets_an_answer_whose_annotations_name_the_evidence(client: OpenAI) -> None:
    completion = client.chat.completions.create(model="default", messages=ask("What is the pump's code?"))

    [choice] = completion.choices
    assert (choice.finish_reason, choice.message.role) == ("stop", "assistant")
    assert choice.message.content == ANSWER
    [annotation] = choice.message.annotations
    cited = annotation.url_citation
    assert choice.message.content[cited.start_index : cited.end_index] == "The pump's code is QX-5521."
    url, _, span = cited.url.partition("#char=")
    start, end = map(int, span.split(","))
    assert (url, cited.title) == ("s3://ragdrop-documents-example/demo/handbook/pump.md", "Pump")
    assert TEXT[start:end] == "The pump's code is QX-5521."
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens


def test_the_same_citations_stand_beside_the_answer_as_ask_gives_them(client: OpenAI) -> None:
    completion = client.chat.completions.create(model="default", messages=ask("What is the pump's code?"))

    extra = completion.model_extra
    assert [citation["status"] for citation in extra["citations"]] == ["verified"]
    assert extra["citations"][0]["quote"] == "The pump's code is QX-5521."
    assert extra["ragdrop"]["sources"][0]["path"] == "pump.md"
    assert extra["ragdrop"]["degraded"] is False


def test_the_openai_client_streams_the_answer_and_the_last_chunk_has_finish_reason_and_citations(
    client: OpenAI,
) -> None:
    chunks = list(
        client.chat.completions.create(model="default", messages=ask("What is the pump's code?"), stream=True)
    )

    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == ANSWER
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert chunks[-1].model_extra["citations"][0]["quote"] == "The pump's code is QX-5521."
    [annotation] = chunks[-1].choices[0].delta.model_extra["annotations"]
    assert annotation["url_citation"]["title"] == "Pump"
    assert len({chunk.id for chunk in chunks}) == 1


def test_usage_is_streamed_where_it_is_asked_for(client: OpenAI) -> None:
    asked = {"model": "default", "messages": ask("What is the pump's code?"), "stream": True}

    without = list(client.chat.completions.create(**asked))
    with_usage = list(client.chat.completions.create(**asked, stream_options={"include_usage": True}))

    assert all(chunk.usage is None for chunk in without)
    assert (with_usage[-1].choices, with_usage[-1].usage.total_tokens > 0) == ([], True)


def test_the_models_are_the_whole_and_each_vault(client: OpenAI, deployment: Deployment) -> None:
    deployment.put_object("demo/runbooks/a.md", "Water the plants.")
    deployment.handlers["generate"].app.tenants.directory.forget("demo")

    assert [model.id for model in client.models.list()] == ["default", "vault:handbook", "vault:runbooks"]


def test_a_model_that_names_a_vault_asks_that_vault_alone(client: OpenAI, deployment: Deployment) -> None:
    deployment.put_object("demo/runbooks/a.md", "The pump's code is nowhere.")
    deployment.handlers["generate"].app.tenants.directory.forget("demo")

    completion = client.chat.completions.create(model="vault:runbooks", messages=ask("What is the pump's code?"))

    assert completion.model == "vault:runbooks"
    assert {source["vault"] for source in completion.model_extra["ragdrop"]["sources"]} == {"runbooks"}


def test_a_model_that_there_is_not_is_not_found_in_the_protocols_own_shape(client: OpenAI) -> None:
    for model in ("gpt-4o", "vault:unknown", "vault:", ""):
        with pytest.raises(openai.NotFoundError) as caught:
            client.chat.completions.create(model=model, messages=ask("pump"))

        assert body_of(caught)["code"] == "NOT_FOUND"
        assert (body_of(caught)["type"], body_of(caught)["param"]) == ("not_found_error", "model")
        assert body_of(caught)["request_id"]


def test_a_key_that_nobody_made_is_refused_in_the_protocols_own_shape(deployment: Deployment) -> None:
    with openai_client(deployment) as client, pytest.raises(openai.AuthenticationError) as caught:
        client.with_options(api_key="rd_nobody").models.list()

    assert (body_of(caught)["code"], body_of(caught)["type"]) == ("UNAUTHENTICATED", "authentication_error")


def test_a_conversation_without_a_question_is_a_bad_request(client: OpenAI) -> None:
    picture: list[Any] = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]
    for messages in ([], [{"role": "system", "content": "Be brief."}], ask("   "), [*ask("The code?"), *picture]):
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="default", messages=messages)

        assert (body_of(caught)["code"], body_of(caught)["param"]) == ("INVALID_PARAMS", "messages")


def test_fields_of_the_protocol_that_mean_nothing_here_are_ignored(client: OpenAI) -> None:
    completion = client.chat.completions.create(
        model="default",
        messages=[{"role": "user", "name": "me", "content": [{"type": "text", "text": "What is the pump's code?"}]}],
        temperature=1.5,
        n=1,
        user="me",
        max_tokens=5,
        extra_body={"never_heard_of": True},
    )

    assert completion.choices[0].message.content == ANSWER


def test_null_for_an_optional_field_is_the_same_as_to_leave_it_out(client: OpenAI, deployment: Deployment) -> None:
    question: list[Any] = [{"role": "user", "content": "What is the pump's code?", "name": None}]
    chat: dict[str, Any] = {"messages": question, "model": None, "stream": None, "answer_anyway": None, "tools": None}

    assert post_chat(deployment, **chat, stream_options={"include_usage": None})[0] == 200
    for path, fields in (
        ("/v1/embeddings", {"input": "pump", "model": None, "encoding_format": None, "input_type": None}),
        ("/v1/responses", {"input": question[0]["content"], "model": None, "tools": None, "metadata": None}),
        ("/v1/responses", {"input": [{"type": "reasoning", "role": None}, *question]}),
        ("/v1/responses", {"input": question, "tools": [{"type": "file_search", "vector_store_ids": None}]}),
    ):
        assert post_chat(deployment, path=path, **fields)[0] == 200, fields


def test_half_an_emoji_is_a_question_mark_wherever_it_stands(deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/pump.md", TEXT)
    deployment.chat.reply = REPLY
    half = "\ud83d"
    tool = {"type": "file_search", "vector_store_ids": ["handbook"], half: half}
    filters = {"type": "eq", "key": "owner", "value": half}

    assert post_chat(deployment, messages=ask(f"What is the pump's code? {half}"), user=half)[0] == 200
    assert "pump's code? ?" in deployment.chat.asked[-1][-1].content
    for path, fields in (
        ("/v1/embeddings", {"input": [half]}),
        ("/v1/responses", {"input": f"pump {half}", "metadata": {half: half}, "tools": [tool]}),
        ("/v1/responses", {"input": "pump", "stream": True, "tools": [tool]}),
        ("/v1/responses", {"input": "pump", "tools": [{**tool, "filters": filters}]}),
    ):
        assert post_chat(deployment, path=path, **fields)[0] == 200, fields


def test_a_part_or_a_filter_of_no_known_type_is_never_an_internal_error(deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/pump.md", TEXT)
    part, tool = {"type": ["text"], "text": "pump"}, {"type": "file_search", "filters": {"type": ["eq"], "key": "a"}}

    assert post_chat(deployment, messages=[{"role": "user", "content": [part]}])[0] == 400
    assert post_chat(deployment, path="/v1/responses", input="pump", tools=[tool])[0] == 400


@pytest.mark.parametrize(
    ("given", "reason"), [("length", "length"), ("content_filter", "content_filter"), ("eos", "stop")]
)
def test_the_finish_reason_is_one_of_the_protocols(
    client: OpenAI, deployment: Deployment, given: str, reason: str
) -> None:
    deployment.chat.finish_reason = given

    completion = client.chat.completions.create(model="default", messages=ask("What is the pump's code?"))

    assert completion.choices[0].finish_reason == reason


def test_a_conversation_is_condensed_to_one_question_by_the_chat_model(client: OpenAI, deployment: Deployment) -> None:
    rewritten = "What is the code of the pump?"
    deployment.chat.reply = lambda messages: rewritten if "conversation" in messages[0].content else REPLY

    client.chat.completions.create(
        model="default",
        messages=[
            {"role": "system", "content": "You are a pirate."},
            {"role": "user", "content": "Tell me of the pump."},
            {"role": "assistant", "content": "It is red."},
            {"role": "user", "content": "And its code?"},
        ],
    )

    condensing, answering = deployment.chat.asked[-2:]
    assert [turn["content"] for turn in json.loads(condensing[-1].content)] == [
        "Tell me of the pump.",
        "It is red.",
        "And its code?",
    ]
    assert rewritten in answering[-1].content
    assert " assistant: It is red.\n" in answering[-1].content
    assert all("pirate" not in message.content for message in (*condensing, *answering))


def test_without_the_model_the_users_own_words_are_the_question(client: OpenAI, deployment: Deployment) -> None:
    def reply(messages: Any) -> str:
        if "conversation" in messages[0].content:
            raise GenerationError("down", service="chat", reason="unreachable")
        return REPLY

    deployment.chat.reply = reply
    turns = [*ask("Tell me of the pump."), {"role": "assistant", "content": "It is red."}, *ask("And its code?")]

    completion = client.chat.completions.create(model="default", messages=turns)

    assert completion.choices[0].message.content == ANSWER
    assert "Tell me of the pump. And its code?" in deployment.chat.asked[-1][-1].content


def test_what_fails_before_the_first_word_has_a_status_also_in_a_stream(client: OpenAI, deployment: Deployment) -> None:
    deployment.chat.fail_with = GenerationError("down", service="chat", reason="unreachable")

    for stream in (False, True):
        with pytest.raises(openai.InternalServerError) as caught:
            client.chat.completions.create(model="default", messages=ask("pump code"), stream=stream)
        assert caught.value.status_code == 503
        assert (body_of(caught)["code"], body_of(caught)["type"]) == ("GENERATION_ERROR", "server_error")


def test_an_error_after_the_first_word_is_a_chunk_that_the_client_raises(
    client: OpenAI, deployment: Deployment
) -> None:
    deployment.chat.break_after = 3
    stream = client.chat.completions.create(model="default", messages=ask("pump code"), stream=True)
    said = "".join(next(stream).choices[0].delta.content for _ in range(3))

    with pytest.raises(openai.APIError) as caught:
        list(stream)

    assert said.startswith("The pump")
    assert body_of(caught)["code"] == "GENERATION_ERROR"


def test_an_abstention_is_a_plain_sentence_and_never_the_sentinel(client: OpenAI, deployment: Deployment) -> None:
    deployment.chat.reply = "INSUFFICIENT_INFORMATION"

    for stream in (False, True):
        status, body = post_chat(deployment, model="default", messages=ask("pump colour"), stream=stream)

        assert status == 200
        assert "INSUFFICIENT_INFORMATION" not in body
        assert "do not hold enough to answer" in body
        assert '"insufficient_information"' in body


def test_a_client_may_ask_for_an_answer_from_the_closest_passages(client: OpenAI, deployment: Deployment) -> None:
    deployment.handlers["generate"].app.ports.reader = WordReader()
    asked: dict[str, Any] = {"model": "default", "messages": ask("Which whales sing?")}

    refused = client.chat.completions.create(**asked).model_extra["ragdrop"]
    anyway = client.chat.completions.create(**asked, extra_body={"answer_anyway": True})
    response = client.responses.create(model="default", input="Which whales sing?", extra_body={"answer_anyway": True})

    assert refused["abstained"] is True
    assert anyway.model_extra["ragdrop"]["abstained"] is False
    assert (anyway.choices[0].message.content, response.output_text) == (ANSWER, ANSWER)


@pytest.mark.parametrize("stream", [False, True])
def test_an_abstention_that_asked_no_model_counts_no_tokens(deployment: Deployment, *, stream: bool) -> None:
    options: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}

    with openai_client(deployment) as client:
        found = client.chat.completions.create(model="default", messages=ask("Who won the regatta?"), **options)
        usage = list(found)[-1].usage if stream else found.usage

    assert deployment.chat.asked == []
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (0, 0, 0)


def test_condensing_a_conversation_counts_in_usage_stats_and_receipt(client: OpenAI, deployment: Deployment) -> None:
    deployment.chat.reply = lambda messages: (
        "What is the pump's code?" if "conversation" in messages[0].content else REPLY
    )
    turns = [*ask("Tell me of the pump."), {"role": "assistant", "content": "It is red."}, *ask("And its code?")]

    alone = client.chat.completions.create(model="default", messages=ask("What is the pump's code?")).usage
    condensed = client.chat.completions.create(model="default", messages=turns)

    assert condensed.usage.prompt_tokens > alone.prompt_tokens
    assert condensed.usage.completion_tokens > alone.completion_tokens
    _, receipt = deployment.send("GET", f"/answers/{condensed.model_extra['ragdrop']['answer_id']}")
    assert receipt["usage"]["prompt_tokens"] == condensed.usage.prompt_tokens
    _, stats = deployment.send("GET", "/stats")
    assert stats["tokens"]["total"] == alone.total_tokens + condensed.usage.total_tokens


def test_one_model_is_read_by_its_id(client: OpenAI, deployment: Deployment) -> None:
    space = deployment.handlers["generate"].app.tenants.directory.tenant("demo").active.space

    for name in ("default", "vault:handbook", space.model):
        assert client.models.retrieve(name).id == name
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("vault:nowhere")
    assert (body_of(caught)["type"], body_of(caught)["param"]) == ("not_found_error", "model")


def test_texts_are_embedded_by_the_model_of_the_index(client: OpenAI, deployment: Deployment) -> None:
    space = deployment.handlers["generate"].app.tenants.directory.tenant("demo").active.space
    texts = ["The pump is red.", "It holds 7 litres."]

    whole = client.embeddings.create(model="default", input=texts)  # the client asks for base64 and decodes it
    plain = client.embeddings.create(
        model=space.model, input=texts[1], encoding_format="float", dimensions=space.dimension
    )

    assert [each.index for each in whole.data] == [0, 1]
    assert {len(each.embedding) for each in whole.data} == {space.dimension}
    assert plain.data[0].embedding == pytest.approx(whole.data[1].embedding, abs=1e-6)
    assert plain.usage.total_tokens == plain.usage.prompt_tokens > 0


@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        ({"input": [1, 2, 3]}, "input", "tokens are not supported"),
        ({"input": [[1, 2], [3]]}, "input", "tokens are not supported"),
        ({"input": ""}, "input", "none of them empty"),
        ({"input": []}, "input", "1 to 256 are allowed"),
        ({"input": ["a"] * 257}, "input", "257 texts"),
        ({"input": "a", "dimensions": 3}, "dimensions", "dimensions is 3"),
        ({"input": "a", "encoding_format": "hex"}, "encoding_format", "encoding_format"),
        ({}, "input", "input"),
    ],
)
def test_what_cannot_be_embedded_is_refused_in_words(
    deployment: Deployment, fields: dict[str, object], param: str, words: str
) -> None:
    status, text = post_chat(deployment, path="/v1/embeddings", **fields)

    error = json.loads(text)["error"]
    assert (status, error["type"], error["param"]) == (400, "invalid_request_error", param)
    assert words in error["message"]


def test_another_embedding_model_is_not_found(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.embeddings.create(model="text-embedding-3-small", input="pump")

    assert "'default'" in body_of(caught)["message"]
