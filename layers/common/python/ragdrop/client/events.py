"""Typed events of a streamed answer, parsed from server-sent events."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from ragdrop.client.replies import API_SERVICE, Reply, error_in
from ragdrop.errors import DependencyError


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What was found, before the model says anything: `sources`, `linked_docs`, `excluded` and the flags of search."""

    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation, after its check."""

    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SentenceChecked:
    """A sentence of the answer with its status, as soon as that is known."""

    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """The last event: the whole answer, as `POST /ask` gives it without a stream."""

    answer: Reply


AnswerEvent = Retrieved | Said | Cited | SentenceChecked | Done


def is_event_stream(response: httpx.Response) -> bool:
    """Whether *response* is a stream of events, by its media type."""
    return "text/event-stream" in response.headers.get("content-type", "")


def answer_events(response: httpx.Response) -> Iterator[AnswerEvent]:
    """The events of *response* as they come.

    Raises:
        RagdropError: The stream reported an error.
        DependencyError: It ended before the answer did.
        httpx.RequestError: The connection broke.
    """
    for name, data in server_sent_events(response.iter_bytes()):
        fields = json.loads(data)
        if name == "retrieval":
            yield Retrieved(fields)
        elif name == "token":
            yield Said(fields["text"])
        elif name == "citation":
            yield Cited(fields)
        elif name == "sentence":
            yield SentenceChecked(fields)
        elif name == "error":
            raise error_in(fields, {}) or DependencyError("the answer broke off", service=API_SERVICE)
        elif name == "done":
            yield Done(Reply(fields, raw=data))
            return
    raise DependencyError("the answer broke off", service=API_SERVICE)


def server_sent_events(pieces: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    r"""Name and data of each event; other lines than `event` and `data` are passed over.

    >>> list(server_sent_events([b"event: token\nda", b"ta: {}\n\nevent: done\ndata: 1\n\n"]))
    [('token', b'{}'), ('done', b'1')]
    """
    rest = b""
    for piece in pieces:
        *events, rest = (rest + piece).split(b"\n\n")
        for event in events:
            fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if b": " in line)
            if b"data" in fields:
                yield fields.get(b"event", b"message").decode(), fields[b"data"]
