"""Requests of the OpenAI protocol are checked, replies have its shape."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest

from localstack.models.weights import without_limits
from ragdrop.models.answerer import ProtocolCompletion, completion_body, completion_events, read_chat, streamed_pieces
from ragdrop.models.model_protocol import MAX_TEXTS, ProtocolError, read_request, reply
from ragdrop.models.onnx_embedder import batches_by_length

ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
DONE = ProtocolCompletion("c1", "m", 1, "one two\nthree four five.", "stop", prompt_tokens=7)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ([], None),
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": ""}, "input"),
        ({"input": ["a", ""]}, "input"),
        ({"input": [1, 2]}, "input"),
        ({"input": ["a"] * (MAX_TEXTS + 1)}, "input"),
        ({"input": "a", "encoding_format": "hex"}, "encoding_format"),
        ({"input": "a", "dimensions": 2}, "dimensions"),
    ],
)
def test_a_wrong_embedding_request_is_refused_and_the_field_named(body: object, param: str | None) -> None:
    with pytest.raises(ProtocolError) as caught:
        read_request(body, model="m", dimension=3)

    assert (caught.value.status, caught.value.param) == (400, param)


def test_an_unknown_model_is_not_found() -> None:
    with pytest.raises(ProtocolError) as embedding:
        read_request({"input": "a", "model": "other"}, model="m", dimension=3)
    with pytest.raises(ProtocolError) as chat:
        read_chat({**ASKED, "model": "other"}, model="m")

    for caught in (embedding, chat):
        assert caught.value.status == 404
        assert caught.value.body["error"]["code"] == "model_not_found"


def test_base64_vectors_are_little_endian_float32() -> None:
    vector = struct.pack("<2f", 0.5, -1.0)

    data = reply([vector], 3, model="m", as_base64=True)["data"][0]

    assert struct.unpack("<2f", base64.b64decode(data["embedding"])) == (0.5, -1.0)


def test_every_text_is_in_one_batch_and_no_batch_is_over_its_tokens() -> None:
    lengths = [256, 3, 90, 256, 17, 600, 4]

    batches = list(batches_by_length(lengths, max_tokens=512))

    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    assert all(len(b) * max(lengths[p] for p in b) <= 512 for b in batches if len(b) > 1)


@pytest.mark.parametrize("change", [{"messages": []}, {"messages": "Hi"}, {"messages": [1]}, {"max_tokens": 0}])
def test_a_wrong_chat_request_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError) as caught:
        read_chat({**ASKED, **change}, model="m")

    assert caught.value.status == 400


def test_the_last_user_message_is_the_one_answered_also_when_it_comes_in_parts() -> None:
    parts = [{"type": "text", "text": "B"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "C"}]
    messages = [
        {"role": "user", "content": "A"},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "D"},
    ]

    assert read_chat({**ASKED, "messages": messages}, model="m").message == "BC"


def test_the_stream_carries_the_same_text_as_the_whole_reply_then_usage_then_done() -> None:
    lines = [event.removeprefix("data: ").strip() for event in completion_events(DONE, include_usage=True)]
    chunks = [json.loads(line) for line in lines[:-1]]

    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"])
    assert text == completion_body(DONE)["choices"][0]["message"]["content"]
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"] == completion_body(DONE)["usage"]
    assert lines[-1] == "[DONE]"


@pytest.mark.parametrize("text", ["", " ", "a", " a  b\n\nc d e f\n", "word " * 9])
def test_pieces_joined_are_the_text(text: str) -> None:
    assert "".join(streamed_pieces(text)) == text


def test_the_written_tokenizer_neither_truncates_nor_pads() -> None:
    written = without_limits({"truncation": {"max_length": 128}, "padding": {"length": 128}, "model": 1})

    assert written == {"truncation": None, "padding": None, "model": 1}
