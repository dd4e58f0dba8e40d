"""Dialects of the chat protocol, as the endpoints document them: each is answered, or has the error that helps.

The replies follow the documentation of OpenAI, Azure OpenAI, Amazon Bedrock's OpenAI route, vLLM, llama.cpp, Ollama,
LM Studio, OpenRouter and Mistral.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import CONTEXT_LENGTH, GenerationError
from ragdrop.models.chat import ROOM_TO_THINK, OpenAiChatModel
from ragdrop.ports.model_services import Completion
from tests.chat_server import TEXT, ChatServer, chat_server
from tests.contract.test_chat_model import LEFT_S, MESSAGES, model_of, streamed, whole


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running, httpx.Client() as client:
        running.client = client
        yield running


NO_MAX_TOKENS = {
    "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
    "instead.",
    "type": "invalid_request_error",
    "param": "max_tokens",
    "code": "unsupported_parameter",
}
NO_TEMPERATURE = {
    "message": "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is "
    "supported.",
    "type": "invalid_request_error",
    "param": "temperature",
    "code": "unsupported_value",
}
NO_JSON_OBJECT = {"error": "'response_format.type' must be 'json_schema' or 'text'"}
EXTRA_FIELD = {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "not permitted"}]}


def refusal(body: object, status: int = 400) -> dict[str, Any]:
    return {"status": status, "raw": json.dumps(body)}


REFUSED_FIELDS: dict[str, dict[str, Any]] = {
    "OpenAI, a reasoning model": {
        "max_tokens": refusal({"error": NO_MAX_TOKENS}),
        "temperature": refusal({"error": NO_TEMPERATURE}),
    },
    "Azure, a reasoning model": {"max_tokens": refusal({"error": NO_MAX_TOKENS})},
    "Mistral, a field that it does not know": {"stream_options": refusal(EXTRA_FIELD, 422)},
}
TEXTS: dict[str, Any] = {
    "Bedrock, gpt-oss": "<reasoning>The source says 7.</reasoning>It holds 7 litres [1].",
    "Ollama, LM Studio, a model that thinks": "<think>\n7, as source 1 says.\n</think>\n\nIt holds 7 litres [1].",
    "a template that holds the opening tag": "7, as source 1 says.\n</think>\n\nIt holds 7 litres [1].",
    "Mistral, parts": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "7?"}]},
        {"type": "text", "text": "It holds 7 litres [1]."},
    ],
    "a tag that is the answer's": "It holds 7 litres [1].",
}
DELTAS: dict[str, list[dict[str, Any]]] = {
    "vLLM, llama.cpp and DeepSeek": [{"reasoning_content": "7?"}, {"content": "It holds 7 litres [1]."}],
    "OpenRouter and Ollama": [{"reasoning": "7?", "content": ""}, {"content": "It holds 7 litres [1]."}],
    "tags in pieces": [{"content": piece} for piece in ("<th", "ink>7", "?</thi", "nk>\n\nIt", " holds 7 litres [1].")],
    "Mistral, parts": [{"content": [{"type": "text", "text": "It holds 7 litres [1]."}]}],
    "an answer that begins with a bracket": [{"content": "<"}, {"content": "b>It holds 7 litres [1]."}],
}
TOO_LONG_REPLIES: dict[str, dict[str, Any]] = {
    "OpenAI": {"error": {"message": "This model's maximum context length is 8192", "code": "context_length_exceeded"}},
    "vLLM": {"object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400},
    "llama.cpp": {"error": {"message": "the request exceeds the available context size", "n_ctx": 4096, "code": 400}},
    "LM Studio": {"error": "The number of tokens to keep from the initial prompt is greater than the context length"},
    "OpenRouter": {"error": {"message": "This endpoint's maximum context length is 8192 tokens.", "code": 400}},
    "Bedrock": {"error": {"message": "Input is too long for requested model."}},
    "Mistral": {"object": "error", "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum"},
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", REFUSED_FIELDS)
def test_a_field_that_is_refused_is_left_out_or_renamed_and_not_sent_again(
    server: ChatServer, name: str, *, stream: bool
) -> None:
    server.behave("m", refuses=REFUSED_FIELDS[name])
    model = model_of(server)
    ask = streamed if stream else whole

    ask(model)
    first = len(server.bodies)
    ask(model)

    assert len(server.bodies) == first + 1
    assert not REFUSED_FIELDS[name].keys() & server.bodies[-1].keys()
    if "max_tokens" in REFUSED_FIELDS[name]:
        assert server.bodies[-1]["max_completion_tokens"] == ROOM_TO_THINK * 50


def in_json(model: OpenAiChatModel) -> Completion:
    return model.complete(MESSAGES, max_tokens=50, deadline=Deadline.after(LEFT_S), as_json=True)


def test_a_reply_that_has_to_be_json_is_asked_for_as_json_and_no_other_one_is(server: ChatServer) -> None:
    in_json(model_of(server))
    whole(model_of(server))

    assert server.bodies[0]["response_format"] == {"type": "json_object"}
    assert "response_format" not in server.bodies[1]


def test_an_endpoint_that_refuses_json_objects_is_asked_without_from_then_on(server: ChatServer) -> None:
    server.behave("m", refuses={"response_format": refusal(NO_JSON_OBJECT)})
    model = model_of(server)

    said = [in_json(model).text, in_json(model).text]

    assert said == [TEXT, TEXT]
    assert ["response_format" in body for body in server.bodies] == [True, False, False]


@pytest.mark.parametrize("name", TEXTS)
def test_thoughts_are_no_part_of_a_whole_answer(server: ChatServer, name: str) -> None:
    server.behave("m", text=TEXTS[name])

    assert whole(model_of(server)).text == "It holds 7 litres [1]."


@pytest.mark.parametrize("name", DELTAS)
def test_thoughts_are_no_part_of_a_streamed_answer(server: ChatServer, name: str) -> None:
    server.behave("m", deltas=DELTAS[name])

    *pieces, completion = streamed(model_of(server))

    assert isinstance(completion, Completion)
    assert "".join(map(str, pieces)) == completion.text
    assert completion.text.removeprefix("<b>") == "It holds 7 litres [1]."


def test_thoughts_without_an_answer_are_an_empty_answer(server: ChatServer) -> None:
    server.behave("m", text="<think>7, or is it", finish="length")

    for ask in (whole, streamed):
        with pytest.raises(GenerationError) as failed:
            ask(model_of(server))
        assert failed.value.details["reason"] == "empty"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", TOO_LONG_REPLIES)
def test_a_prompt_that_is_too_long_has_a_reason_and_names_the_setting(
    server: ChatServer, name: str, *, stream: bool
) -> None:
    server.behave("m", **refusal(TOO_LONG_REPLIES[name]))

    with pytest.raises(GenerationError, match="MAX_CONTEXT_TOKENS") as failed:
        (streamed if stream else whole)(model_of(server))

    assert failed.value.details["reason"] == CONTEXT_LENGTH


def test_what_an_endpoint_says_of_a_key_is_not_repeated(server: ChatServer) -> None:
    server.behave("m", **refusal({"error": {"message": "Incorrect API key provided: sk-abc***xyz."}}, 401))

    with pytest.raises(GenerationError, match="CHAT_API_KEY") as failed:
        whole(model_of(server))

    assert "sk-abc" not in str(failed.value)
