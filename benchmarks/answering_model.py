"""One chat model for all: what it says is decided here, in the form in which each system's prompt wants it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchmarks.peer_prompts import read_prompt
from localstack.models.extraction import Similarity, pick_quotes
from localstack.models.sources import Task

DO_NOT_KNOW = "I do not know."
Claim = tuple[str, int]
"""A sentence and the number of the source that it names."""
Mind = Callable[[Task], Sequence[Claim]]


def extractive(similarity: Similarity) -> Mind:
    """The laptop's answerer: quoted sentences, or nothing where none answers well enough."""
    return lambda task: [(quote.text, quote.number) for quote in pick_quotes(task, similarity)]


def claiming(sentence: str, passage: str) -> Mind:
    """A model that says *sentence* and names the source that holds *passage*.

    Where none does it names the first that does not hold the sentence itself: naming one that does would be right.
    """

    def say(task: Task) -> list[Claim]:
        passages = {source.number: " ".join(source.text.split()) for source in task.sources}
        wanted, said = " ".join(passage.split())[:60], " ".join(sentence.split())
        holding = [number for number, held in passages.items() if wanted in held]
        others = [number for number, held in passages.items() if said not in held]
        return [(sentence, (holding or others or list(passages))[0])]

    return say


class AnsweringModel:
    """Speaks the OpenAI protocol; `mind` decides what it says, and may be changed between questions."""

    def __init__(self) -> None:
        self.mind: Mind = lambda _: []
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])

    def text(self, messages: list[str]) -> str:
        """The reply with markers, as a prompt without a schema wants it; empty where it does not know."""
        task = read_prompt(messages)
        claims = self.mind(task) if task else []
        return "\n".join(f"{_stopped(said)[:-1]} [{number}]{_stopped(said)[-1]}" for said, number in claims)

    async def _complete(self, request: Request) -> JSONResponse:
        asked = await request.json()
        messages = [_text(message["content"]) for message in asked["messages"]]
        message: dict[str, Any] = {"role": "assistant", "content": self.text(messages) or DO_NOT_KNOW}
        if "tools" in asked or "response_format" in asked:
            task = read_prompt(messages)
            claims = self.mind(task) if task else []
            filled = {
                "answer": " ".join(said for said, _ in claims) or DO_NOT_KNOW,
                "citations": [{"source_id": number, "quote": said} for said, number in claims],
            }
            message["content"] = json.dumps(filled)
            if "tools" in asked:
                call = {"name": asked["tools"][0]["function"]["name"], "arguments": json.dumps(filled)}
                message |= {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
        reason = "tool_calls" if "tool_calls" in message else "stop"
        return JSONResponse(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": asked["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )


def _stopped(said: str) -> str:
    said = said.strip()
    return said if said[-1:] in ".!?" else f"{said}."


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")
