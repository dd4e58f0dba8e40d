"""A streamed answer as server-sent events: `retrieval`, `token`, `citation`, `done`, `error`."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from typing import Any

from fastapi import Request
from pydantic import BaseModel

from ragdrop.domain.answers import Answer, Citation
from ragdrop.errors import RagdropError
from ragdrop.http import body_of_error
from ragdrop.routes.answer_mapping import ask_response, citation_shape, shown_fields
from ragdrop.routes.search import flags
from ragdrop.usecases.ask import AskEvent, Found

_encode = json.JSONEncoder(ensure_ascii=False).encode


def events(stream: Iterator[AskEvent], request: Request, start_s: float) -> Generator[str, None, None]:
    """The events of *stream*; an error that comes after the first event is an event too, and the last one."""
    try:
        for event in stream:
            if isinstance(event, str):
                yield sse("token", {"text": event})
            elif isinstance(event, Citation):
                yield sse("citation", citation_shape(event))
            elif isinstance(event, Found):
                told = flags(event.retrieval, request, start_s)
                shown = {name: [each.model_dump() for each in held] for name, held in shown_fields(event.shown).items()}
                yield sse("retrieval", {**told, **shown})
            elif isinstance(event, Answer):
                yield sse("done", ask_response(event, request, start_s))
    except RagdropError as exc:
        yield sse("error", body_of_error(exc, request))


def sse(name: str, data: BaseModel | dict[str, Any]) -> str:
    """One event."""
    text = data.model_dump_json(exclude_unset=True) if isinstance(data, BaseModel) else _encode(data)
    return f"event: {name}\ndata: {text}\n\n"
