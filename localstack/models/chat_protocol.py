"""The chat completions request and reply of the OpenAI protocol, plain and streamed, without a server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from localstack.models.openai_errors import ProtocolError, model_not_found

CHARS_PER_TOKEN = 4  # a rule of thumb: this answerer has no tokenizer
_PIECE = re.compile(r"\s*\S+(?:\s+\S+){0,3}\s*")


@dataclass(frozen=True)
class ProtocolRequest:
    """What a caller asked for, checked.  *prompt_chars* counts all messages, *max_tokens* is None for no limit."""

    message: str
    prompt_chars: int
    stream: bool
    include_usage: bool
    max_tokens: int | None


@dataclass(frozen=True)
class ProtocolCompletion:
    """One finished answer."""

    id: str
    model: str
    created: int
    text: str
    finish_reason: str
    prompt_tokens: int

    @property
    def usage(self) -> dict[str, int]:
        """Tokens, estimated at four characters each."""
        completion = tokens(len(self.text))
        total = self.prompt_tokens + completion
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": completion, "total_tokens": total}


def read_chat(body: object, *, model: str) -> ProtocolRequest:
    """Check the JSON *body* of a chat request; the message is the last one of the user.

    Raises:
        ProtocolError: 404 for another model, 400 for everything else that is wrong.

    >>> read_chat({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, model="m").message
    'Hi'

    """
    if not isinstance(body, dict):
        raise ProtocolError(400, "The body must be a JSON object.")
    if body.get("model") != model:
        raise model_not_found(body.get("model"), model)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(entry, dict) for entry in messages):
        raise ProtocolError(400, "messages must be a list of at least one message.", param="messages")
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise ProtocolError(400, "max_tokens must be a whole number from 1.", param="max_tokens")
    texts = [(entry.get("role"), _text(entry.get("content"))) for entry in messages]
    options = body.get("stream_options")
    return ProtocolRequest(
        message=next((text for role, text in reversed(texts) if role == "user"), ""),
        prompt_chars=sum(len(text) for _, text in texts),
        stream=bool(body.get("stream")),
        include_usage=isinstance(options, dict) and bool(options.get("include_usage")),
        max_tokens=limit,
    )


def _text(content: object) -> str:
    """Text of a message: a string, or the protocol's list of parts, of which the text parts count."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def tokens(chars: int) -> int:
    """Estimated tokens of a text of *chars* characters, rounded up.

    >>> tokens(9)
    3
    """
    return -(-chars // CHARS_PER_TOKEN)


def cut(text: str, max_tokens: int | None) -> tuple[str, str]:
    """The *text* within *max_tokens* and its finish reason.

    >>> cut("abcdefgh", 1), cut("abc", None)
    (('abcd', 'length'), ('abc', 'stop'))
    """
    if max_tokens is None or tokens(len(text)) <= max_tokens:
        return text, "stop"
    return text[: max_tokens * CHARS_PER_TOKEN], "length"


def whole(completion: ProtocolCompletion) -> dict[str, Any]:
    """The reply to a request that does not stream."""
    message = {"role": "assistant", "content": completion.text}
    choice = {"index": 0, "message": message, "finish_reason": completion.finish_reason}
    return {**_frame(completion, "chat.completion"), "choices": [choice], "usage": completion.usage}


def events(completion: ProtocolCompletion, *, include_usage: bool) -> Iterator[str]:
    """Server-sent events of a streamed reply: a few words each, then the reason, the usage if asked for, `[DONE]`."""
    deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": piece}, None) for piece in pieces(completion.text)]
    deltas.append(({}, completion.finish_reason))
    frame = _frame(completion, "chat.completion.chunk")
    for delta, reason in deltas:
        yield _event({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    if include_usage:
        yield _event({**frame, "choices": [], "usage": completion.usage})
    yield "data: [DONE]\n\n"


def pieces(text: str) -> list[str]:
    """The *text* in pieces of up to four words; joined they are the text.

    >>> pieces("one two three four five")
    ['one two three four ', 'five']
    """
    return _PIECE.findall(text) or ([text] if text else [])


def _frame(completion: ProtocolCompletion, kind: str) -> dict[str, Any]:
    return {"id": completion.id, "object": kind, "created": completion.created, "model": completion.model}


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"
