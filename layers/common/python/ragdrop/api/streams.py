"""Server-sent events of an answer; a caller who disconnects stops the model."""

import json
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from queue import Empty, Full, Queue
from threading import Event
from typing import Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from ragdrop.api.edge import body_of_error
from ragdrop.api.shapes.answer_shapes import ask_response, asked_field, citation_shape, claim_shape, shown_fields
from ragdrop.api.shapes.search_shapes import flags
from ragdrop.domain.answers import Answer, CheckedSentence, Citation
from ragdrop.errors import RagdropError
from ragdrop.generate.ask import AskEvent, SourcesFound

EVENT_STREAM = "text/event-stream"
ONE_BY_ONE = 16  # events
MAX_WAITING = 1_000  # events; a model that is faster than its listener waits then
GATHER_S = 0.004
LOOK_S = 0.1  # how soon a source that waits sees that its listener left
COMMENT = ": waiting\n\n"  # which parsers of server-sent events pass over


class EventStream(StreamingResponse):
    """Sends the events of *source* as they come, and closes it, whether it came to its end or the listener left.

    *source* runs in another thread.  After the first events, what comes within a few milliseconds is written at once:
    to hand over each event of a fast model costs more than the event.  While nothing comes, a comment is sent every
    `waits_s`, so that no proxy takes the connection for dead.
    """

    waits_s = 10.0  # many proxies cut a connection on which nothing comes for 30 or 60 seconds

    def __init__(self, source: Generator[str, None, None]) -> None:
        self._source = source
        self._waiting: Queue[str | None] = Queue(MAX_WAITING)  # None is the end
        self._left = Event()
        self._started = False
        super().__init__(self._batches(), media_type=EVENT_STREAM, headers={"cache-control": "no-cache"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._left.set()
            if not self._started:
                self._source.close()

    async def _batches(self) -> AsyncGenerator[str, None]:
        producing = self._start()
        sent = 0
        while (batch := await run_in_threadpool(self._take, 0.0 if sent < ONE_BY_ONE else GATHER_S)) is not None:
            sent += 1
            yield batch
        producing.result()  # what *source* raised is raised here

    def _start(self) -> Future[None]:
        self._started = True  # from now on that thread closes it
        thread = ThreadPoolExecutor(1, thread_name_prefix="events")
        try:
            return thread.submit(copy_context().run, self._produce)
        finally:
            thread.shutdown(wait=False)

    def _produce(self) -> None:
        try:
            with closing(self._source):
                for event in self._source:
                    if not self._put(event):
                        return
        finally:
            self._put(None)

    def _put(self, event: str | None) -> bool:
        """Whether somebody is there who will take it."""
        while not self._left.is_set():
            try:
                self._waiting.put(event, timeout=LOOK_S)
            except Full:
                continue
            return True
        return False

    def _take(self, gather_s: float) -> str | None:
        """All events that wait, at least one, or a comment; None at the end."""
        batch: list[str] = []
        try:
            event = self._waiting.get(timeout=self.waits_s)
        except Empty:
            return COMMENT
        if event is not None and gather_s:
            time.sleep(gather_s)
        while event is not None:
            batch.append(event)
            try:
                event = self._waiting.get_nowait()
            except Empty:
                return "".join(batch)
        if batch:
            self._waiting.put(None)  # the end is for the next time
            return "".join(batch)
        return None


_encode = json.JSONEncoder(ensure_ascii=False).encode


def events(stream: Iterator[AskEvent], request: Request, start_s: float) -> Generator[str, None, None]:
    """The events of *stream*; an error that comes after the first event is an event too, and the last one."""
    try:
        for event in stream:
            if isinstance(event, str):
                yield sse("token", {"text": event})
            elif isinstance(event, Citation):
                yield sse("citation", citation_shape(event, request))
            elif isinstance(event, CheckedSentence):
                yield sse("sentence", claim_shape(event))
            elif isinstance(event, SourcesFound):
                condition = flags(event.retrieval, request, start_s)
                shown = {
                    name: [each.model_dump() for each in listed] for name, listed in shown_fields(event.shown).items()
                }
                yield sse("retrieval", {**condition, **asked_field(request), **shown})
            elif isinstance(event, Answer):
                yield sse("done", ask_response(event, request, start_s))
    except RagdropError as exc:
        yield sse("error", body_of_error(exc, request))


def sse(name: str, data: BaseModel | dict[str, Any]) -> str:
    """One event."""
    text = data.model_dump_json(exclude_unset=True) if isinstance(data, BaseModel) else _encode(data)
    return f"event: {name}\ndata: {text}\n\n"
