"""A chat model that writes nothing: `/chat/completions`, answered with a passage quoted from the sources."""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import mul
from typing import Any

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.languages import is_english
from ragdrop.domain.models import EXTRACTIVE
from ragdrop.errors import DeadlineError
from ragdrop.models.extraction import Read, Similarity, pick_quotes
from ragdrop.models.model_protocol import READ_TIMEOUT_S, Calls, EmbeddingModel, ProtocolError, request_to
from ragdrop.models.sources import read_task
from ragdrop.ports.model_services import Reader, Reading

SIMILARITY_TIMEOUT_S = 5.0  # an answer does not wait for the embedding of documents
MOST_VECTORS = 4_000  # of texts that were compared; 6 MB of the local model's
logger = logging.getLogger(__name__)
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
        completion = estimated_tokens(len(self.text))
        total = self.prompt_tokens + completion
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": completion, "total_tokens": total}


def read_chat(body: object, *, model: str) -> ProtocolRequest:
    """Check the JSON *body* of a chat request; the message is the last one of the user.

    Raises ProtocolError with 404 for another model, 400 for everything else that is wrong.
    """
    body = request_to(model, body, is_named=True)
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


def estimated_tokens(chars: int) -> int:
    """Estimated tokens of a text of *chars* characters, rounded up."""
    return -(-chars // CHARS_PER_TOKEN)


def cut(text: str, max_tokens: int | None) -> tuple[str, str]:
    """The *text* within *max_tokens* and its finish reason."""
    if max_tokens is None or estimated_tokens(len(text)) <= max_tokens:
        return text, "stop"
    return text[: max_tokens * CHARS_PER_TOKEN], "length"


def completion_body(completion: ProtocolCompletion) -> dict[str, Any]:
    """The reply to a request that does not stream."""
    message = {"role": "assistant", "content": completion.text}
    choice = {"index": 0, "message": message, "finish_reason": completion.finish_reason}
    return {**_frame(completion, "chat.completion"), "choices": [choice], "usage": completion.usage}


def completion_events(completion: ProtocolCompletion, *, include_usage: bool) -> Iterator[str]:
    """Server-sent events of a streamed reply: a few words each, then the reason, the usage if asked for, `[DONE]`."""
    deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": piece}, None) for piece in streamed_pieces(completion.text)]
    deltas.append(({}, completion.finish_reason))
    frame = _frame(completion, "chat.completion.chunk")
    choices = [{"index": 0, "delta": delta, "finish_reason": reason} for delta, reason in deltas]
    chunks = [{**frame, "choices": [choice]} for choice in choices]
    if include_usage:
        chunks.append({**frame, "choices": [], "usage": completion.usage})
    yield from (f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    yield "data: [DONE]\n\n"


def streamed_pieces(text: str) -> list[str]:
    """The *text* in pieces of up to four words; joined they are the text."""
    return _PIECE.findall(text) or ([text] if text else [])


def _frame(completion: ProtocolCompletion, kind: str) -> dict[str, Any]:
    return {"id": completion.id, "object": kind, "created": completion.created, "model": completion.model}


MODEL = EXTRACTIVE
INSUFFICIENT = "INSUFFICIENT_INFORMATION"  # the prompt's sentinel: ragdrop turns it into an abstention


def quoted_answer(message: str, similarity: Similarity | None = None, read: Read | None = None) -> str:
    """The reply to ragdrop's prompt *message*: quoted sentences with their markers, or the sentinel.

    A message of any other form gets the sentinel too, since there are no sources to quote.
    """
    task = read_task(message)
    quotes = pick_quotes(task, similarity, read) if task else []
    if not quotes:
        return INSUFFICIENT
    return "".join(f"{quote.text} [{quote.prefix}{quote.number}]{quote.after}" for quote in quotes).rstrip()


def complete(
    body: object, similarity: Similarity | None, read: Read | None
) -> tuple[ProtocolRequest, ProtocolCompletion]:
    """Answer the JSON *body* of a chat request.

    Raises ProtocolError with 404 for another model, 400 for everything else that is wrong.
    """
    asked = read_chat(body, model=MODEL)
    text, reason = cut(quoted_answer(asked.message, similarity, read), asked.max_tokens)
    made = ProtocolCompletion(
        id=f"chatcmpl-{uuid.uuid4().hex}",
        model=MODEL,
        created=int(time.time()),
        text=text,
        finish_reason=reason,
        prompt_tokens=estimated_tokens(asked.prompt_chars),
    )
    return asked, made


def answerer_calls(similarity: Similarity | None = None, read: Read | None = None) -> Calls:
    """What the answerer answers: `/chat/completions`, whole also where a stream is asked for.

    Without *similarity* it compares words, without *read* nothing is read.
    """
    return {"/chat/completions": lambda body: completion_body(complete(body, similarity, read)[1])}


def similarity_by(model: EmbeddingModel, timeout_s: float = SIMILARITY_TIMEOUT_S) -> Similarity:
    """Cosines by *model*, in [-1, 1]; None where it takes longer than *timeout_s*: then words decide.

    Vectors are cached: the passages of a vault return with most of its questions.
    """
    pool = ThreadPoolExecutor(4, thread_name_prefix="similarity")
    cached = BoundedCache[str, Vector](size=MOST_VECTORS)

    def similarity(question: str, passages: Sequence[str]) -> list[float] | None:
        known = cached.many([question, *passages], now_s=0.0)
        new = [text for text in dict.fromkeys([question, *passages]) if text not in known]
        embedding = pool.submit(model.embed, new) if new else None
        try:
            vectors = embedding.result(timeout_s).vectors if embedding else []
        except TimeoutError:
            if embedding:
                embedding.cancel()
            logger.warning("the embedding took over %s s: lexical only", timeout_s)
            return None
        for text, vector in zip(new, vectors, strict=True):
            known[text] = array("f", vector)
            cached.put(text, known[text], now_s=0.0)
        return [sum(map(mul, known[question], known[each])) for each in passages]

    return similarity


def read_by(reader: Reader, timeout_s: float = READ_TIMEOUT_S) -> Read:
    """Readings by *reader*; None where they take longer than *timeout_s*, or it is no English question."""

    def read(question: str, passages: Sequence[str]) -> list[Reading] | None:
        try:
            asked = [(question, passage) for passage in passages]
            return reader.read(asked, Deadline.after(timeout_s)) if is_english(question) else None
        except DeadlineError:
            return None

    return read
