"""A server that speaks for Amazon Bedrock: the shapes of its documentation, each request's signature checked.

It serves InvokeModel of Titan, Cohere Embed and both rerankers, Converse, ConverseStream and the OpenAI route.  It
misbehaves on request.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from testing.memory_services import WordReranker
from testing.models import HashingEmbedder
from tests.served import handled_by
from tests.sigv4 import signature, signed_parts

SAID = "It is so [1]. And so."
ERROR_STATUS = {
    "AccessDeniedException": 403,
    "UnrecognizedClientException": 403,
    "ResourceNotFoundException": 404,
    "UnknownOperationException": 404,
    "ModelTimeoutException": 408,
    "ModelErrorException": 424,
    "ModelNotReadyException": 429,
    "ThrottlingException": 429,
    "InternalServerException": 500,
    "ServiceUnavailableException": 503,
}
AVAILABLE = {
    "agreementAvailability": {"status": "AVAILABLE"},
    "authorizationStatus": "AUTHORIZED",
    "entitlementAvailability": "AVAILABLE",
    "regionAvailability": "AVAILABLE",
}
"""What the catalogue says of a model that may be called."""


class BedrockServer:
    """Where it is, what came (`requests`: path, body and region of the signature), and how models behave."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[tuple[str, dict[str, Any], str]] = []
        self.refused = 0  # requests whose signature was wrong
        self.behaviours: dict[str, dict[str, Any]] = {}
        self.said = SAID

    def behave(self, model: str, **how: Any) -> None:
        """From now on calls of *model* end like this.

        `error` and `message` are those of an exception; `stop` is a stop reason; `blocks` are contents before the text;
        `raw` is a body; `ends` breaks a stream off; `breaks` has the exception that ends a stream; `refuses` has, by a
        part of the request's JSON, the message of a ValidationException.
        """
        self.behaviours[model] = how


@contextmanager
def bedrock_server(secret: str | None = None) -> Iterator[BedrockServer]:
    """A server on a free port of the loopback, gone with the block; without a *secret* the environment's is checked."""
    made = BedrockServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self._error("UnknownOperationException", "there is nothing here")

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            if not self._is_signed(raw):
                made.refused += 1
                self._error("UnrecognizedClientException", "The security token included in the request is invalid.")
                return
            body = json.loads(raw)
            made.requests.append((self.path, body, self._region()))
            try:
                if self.path == "/openai/v1/chat/completions":
                    self._openai(body)
                else:
                    _, _, model, operation = self.path.split("/")
                    self._native(unquote(model), operation, body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _region(self) -> str:
            return signed_parts(self._named())["Credential"].split("/")[2]

        def _named(self) -> dict[str, str]:
            return {name.casefold(): value for name, value in self.headers.items()}

        def _is_signed(self, body: bytes) -> bool:
            headers = self._named()
            given = signed_parts(headers)
            if not given or given["Credential"].split("/")[3] != "bedrock":
                return False
            known = secret or os.environ["AWS_SECRET_ACCESS_KEY"]
            return given["Signature"] == signature(self.command, self.path, headers, body, secret=known)

        def _native(self, model: str, operation: str, body: dict[str, Any]) -> None:
            how = made.behaviours.get(model, {})
            refusal = next((why for part, why in how.get("refuses", {}).items() if part in json.dumps(body)), None)
            if "raw" in how:
                self._json(how["raw"])
            elif refusal is not None:
                self._error("ValidationException", refusal)
            elif "error" in how:
                self._error(how["error"], how.get("message", "no"))
            elif operation == "invoke":
                self._json(invoked(model, body), {"X-Amzn-Bedrock-Input-Token-Count": "3"})
            elif operation == "converse":
                self._json(conversed(made.said, how))
            else:
                self._events(converse_events(made.said, how))

        def _openai(self, body: dict[str, Any]) -> None:
            model = body["model"]
            how = made.behaviours.get(model, {})
            if "error" in how:
                self._error(how["error"], how.get("message", "no"))
                return
            action = {"amazon-bedrock-guardrailAction": "INTERVENED"} if how.get("stop") == "guardrail" else {}
            thoughts = "<reasoning>It says so.</reasoning>"
            usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
            common = {"id": "chatcmpl-1", "model": model, "created": 1758101530, **action}
            if not body.get("stream"):
                message = {"role": "assistant", "content": thoughts + made.said, "refusal": None}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                self._json({**common, "object": "chat.completion", "choices": [choice], "usage": usage})
                return
            pieces = [thoughts, *pieces_of(made.said)]
            deltas = [{"role": "assistant"}, *({"content": piece} for piece in pieces)]
            events = [{**common, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
            events += [{**common, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
            events += [{**common, "choices": [], "usage": usage}]
            lines = [*(json.dumps(event) for event in events), "[DONE]"]
            self._send("".join(f"data: {line}\n\n" for line in lines).encode(), 200, "text/event-stream", {})

        def _events(self, events: list[tuple[str, str, dict[str, Any]]]) -> None:
            raw = b"".join(event_bytes(*event) for event in events)
            self._send(raw, 200, "application/vnd.amazon.eventstream", {})

        def _json(self, body: Any, headers: Mapping[str, str] | None = None) -> None:
            self._send(json.dumps(body).encode(), 200, "application/json", headers or {})

        def _error(self, name: str, message: str) -> None:
            headers = {"x-amzn-ErrorType": f"{name}:http://internal.amazon.com/coral/com.amazon.bedrock/"}
            body = json.dumps({"message": message}).encode()
            self._send(body, ERROR_STATUS.get(name, 400), "application/json", headers)

        def _send(self, body: bytes, status: int, kind: str, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with handled_by(Handler) as made.url:
        yield made


def invoked(model: str, body: dict[str, Any]) -> dict[str, Any]:
    """The reply of InvokeModel, as the user guide has it for each model."""
    if "inputText" in body:
        [found] = hashed([body["inputText"]], body["dimensions"])
        return {"embedding": found, "inputTextTokenCount": 3, "embeddingsByType": {"float": found}}
    if "texts" in body:
        vectors = hashed(body["texts"], body.get("output_dimension", 1_024))
        return {
            "id": "e1",
            "texts": body["texts"],
            "embeddings": {"float": vectors},
            "response_type": "embeddings_by_type",
        }
    scores = WordReranker().scores(body["query"], body["documents"], Deadline.after(5))
    results = [{"index": place, "relevance_score": score} for place, score in enumerate(scores)]
    return {"results": sorted(results, key=lambda one: -float(one["relevance_score"]))}


def hashed(texts: list[str], dimension: int) -> list[list[float]]:
    """Vectors of texts that share words."""
    space = EmbeddingSpace("hashing", dimension)
    embedder = HashingEmbedder(dimension=dimension)
    return [list(each) for each in embedder.passages(texts, space, Deadline.after(5))]


def conversed(text: str, how: Mapping[str, Any]) -> dict[str, Any]:
    """The reply of Converse."""
    content = [*how.get("blocks", ()), {"text": text}]
    return {
        "metrics": {"latencyMs": 551},
        "output": {"message": {"content": content, "role": "assistant"}},
        "stopReason": how.get("stop", "end_turn"),
        "usage": {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12},
    }


def converse_events(text: str, how: Mapping[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """The events of ConverseStream: kind of message, type, content."""
    thoughts = [
        {"contentBlockIndex": 0, "delta": {"reasoningContent": {name: value}}}
        for block in how.get("blocks", ())
        for name, value in block["reasoningContent"]["reasoningText"].items()  # an event has one of them
    ]
    words = [{"contentBlockIndex": 1, "delta": {"text": piece}} for piece in pieces_of(text)]
    events: list[tuple[str, str, dict[str, Any]]] = [
        ("event", "messageStart", {"role": "assistant"}),
        *(("event", "contentBlockDelta", each) for each in [*thoughts, *words]),
        ("event", "contentBlockStop", {"contentBlockIndex": 1}),
        ("event", "messageStop", {"stopReason": how.get("stop", "end_turn")}),
        (
            "event",
            "metadata",
            {"usage": {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12}, "metrics": {"latencyMs": 1_275}},
        ),
    ]
    if "breaks" in how:
        return [*events[:3], ("exception", how["breaks"], {"message": "not now"})]
    return events[:3] if how.get("ends") else events


def pieces_of(text: str) -> list[str]:
    """A text word by word, as models send it."""
    first, *rest = text.split(" ")
    return [first, *(f" {word}" for word in rest)]


def event_bytes(message: str, kind: str, content: dict[str, Any]) -> bytes:
    """One message of `application/vnd.amazon.eventstream`."""
    headers = {":message-type": message, f":{message}-type": kind, ":content-type": "application/json"}
    head = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for name, value in headers.items()
    )
    payload = json.dumps(content).encode()
    prelude = struct.pack("!II", 16 + len(head) + len(payload), len(head))
    framed = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + payload
    return framed + struct.pack("!I", zlib.crc32(framed))
