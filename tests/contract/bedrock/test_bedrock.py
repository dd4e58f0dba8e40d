"""Amazon Bedrock by role: the shapes of requests and replies are those of AWS's own model of the service.

A server in AWS's documented shapes checks every signature.  boto3, which ragdrop does not call Bedrock with, is the
second engine: it must send what the adapters send, and read what they read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from botocore.validate import ParamValidator

from ragdrop.domain.models import EmbeddingSpace, ModelCall
from ragdrop.errors import EmbeddingServiceError, GenerationError
from ragdrop.models.bedrock import BedrockReranker
from ragdrop.models.chat import ROOM_TO_THINK
from ragdrop.models.converse import BedrockChatModel
from ragdrop.models.http import OpenAiHttp
from ragdrop.ports.model_services import Completion
from ragdrop.resilience.timing import noted_calls
from tests.bedrock_server import SAID, BedrockServer
from tests.contract.bedrock.bedrock_calls import (
    BOTH_ROUTES,
    CLAUDE,
    COHERE,
    COHERE_V4,
    GPT,
    MESSAGES,
    MODEL,
    NOVA,
    TITAN,
    embedder_of,
    soon,
    streamed,
    whole,
    whole_of,
)

SHAPES: dict[str, Any] = json.loads(Path(__file__).with_name("bedrock_shapes.json").read_text("utf-8"))

REGION = "eu-west-1"


# What is sent


def test_a_request_of_converse_is_the_one_that_aws_model_of_the_service_writes(
    server: BedrockServer, chat: BedrockChatModel
) -> None:
    params = SHAPES["Converse"]["request"]
    chat.complete(MESSAGES, max_tokens=50, deadline=soon(), model=params["modelId"])
    streamed(chat, params["modelId"])

    for operation, (path, body, _) in zip(("Converse", "ConverseStream"), server.requests, strict=True):
        shape = MODEL.operation_model(operation)
        assert not ParamValidator().validate(params, shape.input_shape).has_errors()
        written = create_serializer("rest-json").serialize_to_request(params, shape)
        assert (path, body) == (written["url_path"], json.loads(written["body"]))


@pytest.mark.parametrize("model", SHAPES["InvokeModel"])
def test_a_request_of_invoke_model_has_the_documented_body_and_the_path_of_the_service(
    server: BedrockServer, http: OpenAiHttp, model: str
) -> None:
    if "rerank" in model:
        BedrockReranker(http, model=model).scores("red pump", ["A pump."], soon())
    else:
        dimension = 1_024 if model == COHERE else 256
        embedder_of(http, model).passages(["A pump."], EmbeddingSpace(model, dimension), soon())

    [(path, body, _)] = server.requests
    params = {"modelId": model, "body": json.dumps(body)}
    written = create_serializer("rest-json").serialize_to_request(params, MODEL.operation_model("InvokeModel"))
    assert (path, body) == (written["url_path"], SHAPES["InvokeModel"][model]["request"])


@BOTH_ROUTES
def test_requests_are_signed_for_bedrock_in_the_region_that_is_named(
    server: BedrockServer, chat: BedrockChatModel, model: str
) -> None:
    whole(chat, model)
    streamed(chat, model)

    assert [region for _, _, region in server.requests] == [REGION, REGION]
    assert server.refused == 0


@BOTH_ROUTES
def test_a_wrong_secret_is_refused_and_reported_as_credentials(
    chat: BedrockChatModel, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")  # what the server checks with

    with pytest.raises(GenerationError, match="refused the credentials") as raised:
        whole(chat, model)
    assert not raised.value.retryable


def test_the_openai_route_leaves_room_for_thoughts(server: BedrockServer, chat: BedrockChatModel) -> None:
    whole(chat, GPT)

    [(path, body, _)] = server.requests
    assert path == "/openai/v1/chat/completions"
    assert (body["max_completion_tokens"], "max_tokens" in body) == (ROOM_TO_THINK * 50, False)


# What is read


@BOTH_ROUTES
def test_a_whole_answer_has_text_model_reason_and_usage_and_no_thoughts(chat: BedrockChatModel, model: str) -> None:
    completion = whole(chat, model)

    assert (completion.text, completion.model, completion.finish_reason) == (SAID, model, "stop")
    assert (completion.prompt_tokens, completion.completion_tokens) == (7, 5)


@BOTH_ROUTES
def test_a_streamed_answer_comes_in_pieces_and_ends_with_the_whole(chat: BedrockChatModel, model: str) -> None:
    *pieces, completion = streamed(chat, model)

    assert len(pieces) > 1
    assert isinstance(completion, Completion)
    assert "".join(map(str, pieces)) == completion.text == SAID
    assert (completion.finish_reason, completion.prompt_tokens, completion.completion_tokens) == ("stop", 7, 5)


def test_the_documented_reply_of_converse_is_read_as_boto3_reads_it(
    server: BedrockServer, chat: BedrockChatModel, by_boto3: Any
) -> None:
    reply = SHAPES["Converse"]["response"]
    server.behave(NOVA, raw=reply)

    read = by_boto3.converse(modelId=NOVA, messages=[{"role": "user", "content": [{"text": "Is it so?"}]}])
    del read["ResponseMetadata"]

    assert read == reply  # the model of the service knows every field
    assert whole(chat, NOVA).text == read["output"]["message"]["content"][1]["text"]


def test_the_documented_events_of_a_stream_are_read_as_boto3_reads_them(
    server: BedrockServer, chat: BedrockChatModel, by_boto3: Any
) -> None:
    events = SHAPES["ConverseStream"]["events"]
    shape = MODEL.operation_model("ConverseStream").get_event_stream_output()
    parser = create_parser("rest-json")
    for event in events:
        [(kind, content)] = event.items()
        headers = {":event-type": kind, ":message-type": "event"}
        given = {"headers": headers, "body": json.dumps(content).encode(), "status_code": 200}
        assert parser._event_stream_parser.parse(given, shape) == event  # every field is known to it

    server.behave(NOVA, blocks=SHAPES["Converse"]["response"]["output"]["message"]["content"][:1])
    found = by_boto3.converse_stream(modelId=NOVA, messages=[{"role": "user", "content": [{"text": "So?"}]}])["stream"]
    texts = [event["contentBlockDelta"]["delta"].get("text", "") for event in found if "contentBlockDelta" in event]

    assert "".join(texts) == SAID
    assert whole_of(streamed(chat, NOVA)).text == SAID


@pytest.mark.parametrize(("stop", "reason"), [("max_tokens", "length"), ("stop_sequence", "stop"), ("new", "new")])
def test_a_stop_reason_has_the_word_of_the_chat_protocol(
    server: BedrockServer, chat: BedrockChatModel, stop: str, reason: str
) -> None:
    server.behave(CLAUDE, stop=stop)

    assert whole(chat, CLAUDE).finish_reason == whole_of(streamed(chat, CLAUDE)).finish_reason == reason


def test_vectors_come_in_the_order_of_the_texts_one_call_a_text_with_titan(
    server: BedrockServer, http: OpenAiHttp
) -> None:
    space = EmbeddingSpace(TITAN, 256)
    embedder = embedder_of(http, TITAN)

    found = embedder.passages([f"word{number}" for number in range(5)], space, soon())

    assert len(server.requests) == 5
    assert [list(each) for each in found] == [list(embedder.query(f"word{n}", space, soon())) for n in range(5)]


@pytest.mark.parametrize(("model", "dimension"), [(COHERE, 1_024), (COHERE_V4, 512)])
def test_cohere_embeds_96_texts_a_call_and_questions_in_another_way_than_passages(
    server: BedrockServer, http: OpenAiHttp, model: str, dimension: int
) -> None:
    space = EmbeddingSpace(model, dimension)
    embedder = embedder_of(http, model, batch_size=2_048)

    found = embedder.passages([str(number) for number in range(100)], space, soon())
    embedder.query("which?", space, soon())

    sent = [body for _, body, _ in server.requests]
    assert sorted(len(body["texts"]) for body in sent) == [1, 4, 96]
    assert [body["input_type"] for body in sent].count("search_query") == 1
    assert {len(each) for each in found} == {dimension}


@pytest.mark.parametrize(("model", "dimension"), [(TITAN, 256), (COHERE, 1_024)])
def test_the_tokens_of_an_embedding_are_noted_as_bedrock_counts_them(
    http: OpenAiHttp, model: str, dimension: int
) -> None:
    with noted_calls() as calls:
        embedder_of(http, model).query("x", EmbeddingSpace(model, dimension), soon())

    assert calls == [ModelCall(model, 3, kind="embedding")]


def test_a_text_of_embed_v3_ends_where_bedrock_would_refuse_it(server: BedrockServer, http: OpenAiHttp) -> None:
    embedder_of(http, COHERE).passages(["x" * 3_000], EmbeddingSpace(COHERE, 1_024), soon())

    assert [len(body["texts"][0]) for _, body, _ in server.requests] == [2_048]


def test_a_vector_of_another_length_is_an_error_that_no_retry_mends(server: BedrockServer, http: OpenAiHttp) -> None:
    server.behave(TITAN, raw={"embedding": [1.0] * 512})

    with pytest.raises(EmbeddingServiceError, match="512 dimensions") as raised:
        embedder_of(http, TITAN).query("x", EmbeddingSpace(TITAN, 256), soon())
    assert not raised.value.retryable


@pytest.mark.parametrize("model", [None, "amazon.rerank-v1:0"])
def test_each_text_has_its_score_in_the_order_of_the_texts(http: OpenAiHttp, model: str | None) -> None:
    scores = BedrockReranker(http, model=model).scores("red pump", ["a blue car", "the red pump", "a pump"], soon())

    assert scores == [0.0, 1.0, 0.5]


def test_no_texts_to_rerank_cost_no_call(server: BedrockServer, http: OpenAiHttp) -> None:
    assert BedrockReranker(http, model=None).scores("red pump", (), soon()) == []
    assert server.requests == []


# What a model does not take


def test_what_a_model_does_not_take_is_left_out_or_moved_and_not_sent_again(
    server: BedrockServer, chat: BedrockChatModel
) -> None:
    server.behave(
        NOVA,
        refuses={
            '"temperature"': "temperature is deprecated for this model.",
            '"system"': "This model doesn't support system messages. Try again without a system message.",
        },
    )

    assert whole(chat, NOVA).text == whole_of(streamed(chat, NOVA)).text == SAID
    assert len(server.requests) == 4
    assert server.requests[-1][1] == {
        "messages": [{"role": "user", "content": [{"text": "Be true."}, {"text": "Is it so?"}]}],
        "inferenceConfig": {"maxTokens": 50},
    }
