"""An answer in the OpenAI protocol: whole, or as the chunks of a stream, with citations as annotations."""

from __future__ import annotations

import json
import uuid
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from fastapi import Request

from ragdrop.domain.answers import Answer, Citation
from ragdrop.errors import RagdropError
from ragdrop.http import body_of_error
from ragdrop.routes.answer_mapping import ask_response
from ragdrop.routes.bedrock import cited_claims
from ragdrop.usecases.ask import AskEvent

DONE = "data: [DONE]\n\n"
ELSEWHERE = {"answer", "citations", "bedrock", "usage", "finish_reason"}  # of an answer's fields: told by the protocol


@dataclass(frozen=True, slots=True)
class Reply:
    """What all parts of one reply say: `model` as it was asked for, `created` in seconds since 1970."""

    request: Request
    model: str
    created: int
    start_s: float
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")

    def whole(self, answer: Answer) -> dict[str, Any]:
        """A `chat.completion`."""
        message = {
            "role": "assistant",
            "content": answer.text,
            "refusal": None,
            "annotations": annotations_of(answer),
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}
        return {**self._head("chat.completion"), "choices": [choice], "usage": _usage(answer), **self._told(answer)}

    def chunks(self, stream: Iterator[AskEvent], *, include_usage: bool) -> Generator[str, None, None]:
        """The `chat.completion.chunk` events of *stream*; an error that comes on the way is the last of them."""
        said = ""
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            for event in stream:
                if isinstance(event, str):
                    said += event
                    yield self._chunk({"content": event})
                elif isinstance(event, Answer):
                    rest = _left_to_say(event, said)
                    if rest:
                        yield self._chunk({"content": rest})
                    yield self._last(event)
                    if include_usage:
                        yield _event({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(event)})
                    yield DONE
        except RagdropError as exc:
            yield _event(body_of_error(exc, self.request))

    def _chunk(self, delta: dict[str, Any], *, finish_reason: str | None = None, **told: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return _event({**self._head("chat.completion.chunk"), "choices": [choice], **told})

    def _last(self, answer: Answer) -> str:
        delta = {"annotations": annotations_of(answer)}
        return self._chunk(delta, finish_reason=_finish_reason(answer), **self._told(answer))

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _told(self, answer: Answer) -> dict[str, Any]:
        """What the protocol has no word for: citations as `/ask` gives them, and the rest of its answer."""
        body = ask_response(answer, self.request, self.start_s).model_dump(mode="json", exclude_unset=True)
        return {
            "citations": body["citations"],
            "ragdrop": {name: value for name, value in body.items() if name not in ELSEWHERE},
        }


def annotations_of(answer: Answer) -> list[dict[str, Any]]:
    """A `url_citation` for each citation: the cited sentence's code points, `end_index` exclusive, and its source."""
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": claim.start,
                "end_index": claim.end,
                "title": citation.hit.facts.title,
                "url": source_url(citation),
            },
        }
        for claim, citations in cited_claims(answer)
        for citation in citations
        if claim.status == "verified" and citation.status == "verified"
    ]


def source_url(citation: Citation) -> str:
    """Where the evidence stands: the object, and code points of its parsed text as a fragment of RFC 5147."""
    return f"s3://{citation.bucket}/{quote(citation.hit.key.s3_key)}#char={citation.start},{citation.end}"


def _left_to_say(answer: Answer, said: str) -> str:
    """What has not been said of an answer: an abstention comes at the end, whatever was let out before it."""
    if answer.abstain_reason is None:
        return ""
    return f"\n\n{answer.text}" if said.strip() else answer.text


def _finish_reason(answer: Answer) -> str:
    return answer.finish_reason or "stop"


def _usage(answer: Answer) -> dict[str, int] | None:
    """Tokens; None where the endpoint did not count, or no model was asked."""
    if answer.prompt_tokens is None or answer.completion_tokens is None:
        return None
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": answer.prompt_tokens + answer.completion_tokens,
    }


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
