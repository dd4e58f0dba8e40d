"""Events of an answer, as server-sent events or AWS's messages; a caller who disconnects stops the model."""

import json
import struct
import time
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from contextvars import copy_context
from queue import Empty, Full, Queue
from threading import Event
from typing import Any
from zlib import crc32

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from ragdrop.api.edge import body_of_error
from ragdrop.api.shapes.answer_shapes import ask_response, asked_field, citation_shape, claim_shape, shown_fields
from ragdrop.api.shapes.search_shapes import flags
from ragdrop.domain.answers import Answer, CheckedSentence, Citation, closest_text
from ragdrop.errors import RagdropError
from ragdrop.generate.ask import AskEvent, SourcesFound

EVENT_STREAM = "text/event-stream"
ONE_BY_ONE = 16  # events
MAX_WAITING = 1_000  # events; a model that is faster than its listener waits then
GATHER_S = 0.004
LOOK_S = 0.1  # how soon a source that waits sees that its listener left
Frame = str | bytes
COMMENT = ": waiting\n\n"  # which parsers of server-sent events pass over


class EventStream(StreamingResponse):
    """Sends the events of *source* as they come, and closes it, whether it came to its end or the listener left.

    *source* runs in another thread.  After the first events, what comes within a few milliseconds is written at once:
    to hand over each event of a fast model costs more than the event.  While nothing comes, *waiting* is sent every
    `waits_s`, so that no proxy takes the connection for dead.
    """

    waits_s = 10.0  # many proxies cut a connection on which nothing comes for 30 or 60 seconds

    def __init__(
        self,
        source: Generator[Frame, None, None],
        *,
        media_type: str = EVENT_STREAM,
        waiting: Frame = COMMENT,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._source = source
        self._sent_meanwhile = waiting
        self._waiting: Queue[Frame | None] = Queue(MAX_WAITING)  # None is the end
        self._left = Event()
        self._started = False
        always = {"cache-control": "no-cache"}
        super().__init__(self._batches(), media_type=media_type, headers={**always, **(headers or {})})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._left.set()
            if not self._started:
                self._source.close()

    async def _batches(self) -> AsyncGenerator[Frame, None]:
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

    def _put(self, event: Frame | None) -> bool:
        """Whether somebody is there who will take it."""
        while not self._left.is_set():
            try:
                self._waiting.put(event, timeout=LOOK_S)
            except Full:
                continue
            return True
        return False

    def _take(self, gather_s: float) -> Frame | None:
        """All events that wait, at least one, or what is sent meanwhile; None at the end."""
        batch: list[Any] = []
        try:
            event = self._waiting.get(timeout=self.waits_s)
        except Empty:
            return self._sent_meanwhile
        if event is not None and gather_s:
            time.sleep(gather_s)
        while event is not None:
            batch.append(event)
            try:
                event = self._waiting.get_nowait()
            except Empty:
                return self._joined(batch)
        if batch:
            self._waiting.put(None)  # the end is for the next time
            return self._joined(batch)
        return None

    def _joined(self, batch: list[Any]) -> Frame:
        nothing: Any = self._sent_meanwhile[:0]
        found: Frame = nothing.join(batch)
        return found


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


def begun(stream: Iterator[AskEvent]) -> Iterator[AskEvent]:
    """*stream* from its first word on; what fails before it is an error with a status, if a client can still wait."""
    words = (event for event in stream if not isinstance(event, SourcesFound | Citation | CheckedSentence))
    thread = ThreadPoolExecutor(1, thread_name_prefix="first-word")
    first = thread.submit(copy_context().run, next, words)
    thread.shutdown(wait=False)
    wait([first], EventStream.waits_s)
    if first.done():
        first.result()
    return (event for each in (_result(first), stream) for event in each)


def _result(first: Future[str | Answer]) -> Iterator[AskEvent]:
    yield first.result()


def left_to_say(answer: Answer, said: str) -> str:
    """What has not been said of an answer: an abstention comes at the end, whatever was let out before it."""
    if answer.abstain_reason is None:
        return ""
    return f"\n\n{whole_text(answer)}" if said.strip() else whole_text(answer)


def whole_text(answer: Answer) -> str:
    """The answer, or the abstention with the closest passages."""
    hint = closest_text([(each.hit.key.vault_path, each.quote) for each in answer.closest])
    return f"{answer.text}\n\n{hint}" if hint else answer.text


AWS_EVENT_STREAM = "application/vnd.amazon.eventstream"
_STRING = 7  # the type of a header's value


def aws_event(message: str, kind: str, content: Mapping[str, Any]) -> bytes:
    """One message of AWS's event stream: *message* is `event` or `exception`, *kind* its name in the service's model.

    A prelude of two lengths and its CRC, headers, the payload, and the CRC of all that is before it.

    >>> len(aws_event("event", "output", {"text": "It is red."}))
    114
    """
    headers = {f":{message}-type": kind, ":content-type": "application/json", ":message-type": message}
    head = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", _STRING, len(value)) + value.encode()
        for name, value in headers.items()
    )
    payload = _encode(content).encode(errors="replace")
    prelude = struct.pack("!II", 16 + len(head) + len(payload), len(head))
    framed = prelude + struct.pack("!I", crc32(prelude)) + head + payload
    return framed + struct.pack("!I", crc32(framed))
