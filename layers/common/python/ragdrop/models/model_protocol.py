"""The OpenAI protocol as ragdrop's own models speak it, over whatever carries it: JSON in, JSON out.

A call gets the body of a request and returns that of its reply.  A web server or a function carries both.
"""

from __future__ import annotations

import base64
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DeadlineError
from ragdrop.models.cached_reader import MAX_PAIRS, MODEL
from ragdrop.ports.model_services import Reader, Reading

MAX_TEXTS = 2048  # OpenAI's limit for one request
MAX_CHARACTERS = 40_000  # of one text that is read
READ_TIMEOUT_S = 10.0  # ragdrop waits no longer
OK = 200
Call: TypeAlias = Callable[[object], dict[str, Any]]
Calls: TypeAlias = Mapping[str, Call]
"""What a model answers, by the path behind `/v1`; a call raises ProtocolError for what it refuses."""


class ProtocolError(Exception):
    """A request that the OpenAI protocol refuses; carries the HTTP status and the body to answer with."""

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param

    @property
    def body(self) -> dict[str, Any]:
        """The answer's JSON."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def request_to(model: str, body: object, *, is_named: bool = False) -> dict[str, Any]:
    """The JSON object *body*, a request to *model*, which it may leave out unless *is_named*.

    Raises ProtocolError with 400 for what is no object, 404 for another model.
    """
    if not isinstance(body, dict):
        raise ProtocolError(400, "The body must be a JSON object.")
    asked = body.get("model", None if is_named else model)
    if asked != model:
        message = f"The model {asked!r} does not exist here; this address has {model!r}."
        raise ProtocolError(404, message, code="model_not_found", param="model")
    return body


def model_list(names: Sequence[str], created: int) -> dict[str, Any]:
    """The reply of `GET /models`, with models made at *created*, in seconds since 1970."""
    data = [{"id": name, "object": "model", "created": created, "owned_by": "ragdrop"} for name in names]
    return {"object": "list", "data": data}


def not_served(path: str, names: Sequence[str]) -> ProtocolError:
    """The refusal of a *path* that no model answers."""
    message = f"No model for {path} is loaded here; this server has {', '.join(names)}."
    return ProtocolError(404, message, code="model_not_found")


@dataclass(frozen=True)
class Embedded:
    """Unit vectors as little-endian float32 bytes, in the order of the texts, and the tokens the model read."""

    vectors: list[bytes]
    tokens: int


class EmbeddingModel(Protocol):
    """Turns texts into unit vectors.  Safe to call from several threads."""

    name: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed *texts*, any number of them; each is cut to the model's window."""
        ...


def read_request(body: object, *, model: str, dimension: int) -> tuple[tuple[str, ...], bool]:
    """Texts of the JSON *body* of a request to *model*, checked, and whether base64 is asked for.

    Raises ProtocolError with 404 for another model, 400 for everything else that is wrong.
    """
    body = request_to(model, body)
    encoding = body.get("encoding_format", "float")
    if encoding not in ("float", "base64"):
        raise ProtocolError(400, "encoding_format must be 'float' or 'base64'.", param="encoding_format")
    if body.get("dimensions", dimension) != dimension:
        raise ProtocolError(400, f"This model has {dimension} dimensions only.", param="dimensions")
    return _texts(body.get("input")), encoding == "base64"


def _texts(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ProtocolError(400, "input must be a string or a list of strings.", param="input")
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise ProtocolError(400, f"input must have 1 to {MAX_TEXTS} texts, not {len(texts)}.", param="input")
    for position, text in enumerate(texts):
        if not text:
            raise ProtocolError(400, f"input[{position}] is empty.", param="input")
    return tuple(texts)


def reply(vectors: Sequence[bytes], tokens: int, *, model: str, as_base64: bool) -> dict[str, Any]:
    """The reply for *vectors* (little-endian float32), in the order asked."""
    data = []
    for index, vector in enumerate(vectors):
        numbers = struct.unpack(f"<{len(vector) // 4}f", vector)
        shown = base64.b64encode(vector).decode("ascii") if as_base64 else list(numbers)
        data.append({"object": "embedding", "index": index, "embedding": shown})
    return {"object": "list", "data": data, "model": model, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def embedding_calls(model: EmbeddingModel) -> Calls:
    """What a loaded embedding *model* answers: `/embeddings`."""

    def embeddings(body: object) -> dict[str, Any]:
        texts, as_base64 = read_request(body, model=model.name, dimension=model.dimension)
        embedded = model.embed(texts)
        return reply(embedded.vectors, embedded.tokens, model=model.name, as_base64=as_base64)

    return {"/embeddings": embeddings}


def checked_pairs(pairs: object, param: str) -> list[tuple[str, str]]:
    """The *pairs* of query and passage that the field *param* stands for.

    Raises ProtocolError with 400: too many of them or none, one that is no pair, a text that is too long.
    """
    if not isinstance(pairs, list) or not 1 <= len(pairs) <= MAX_PAIRS:
        raise ProtocolError(400, f"{param} must be a list of 1 to {MAX_PAIRS}.", param=param)
    for position, pair in enumerate(pairs):
        texts = pair if isinstance(pair, list) and len(pair) == 2 else [None]
        if not all(isinstance(text, str) and len(text) <= MAX_CHARACTERS for text in texts):
            message = f"{param}[{position}] needs a query and a passage of at most {MAX_CHARACTERS} characters each."
            raise ProtocolError(400, message, param=param)
    return [(query, passage) for query, passage in pairs]


def reader_calls(reader: Reader, version: str) -> Calls:
    """What a loaded *reader* answers: `/read`, and `/rerank` by its relevance; 503 after READ_TIMEOUT_S."""

    def readings(pairs: list[tuple[str, str]]) -> list[Reading]:
        try:
            return reader.read(pairs, Deadline.after(READ_TIMEOUT_S))
        except DeadlineError as exc:
            raise ProtocolError(503, f"The pairs were not read within {READ_TIMEOUT_S:.0f} s.") from exc

    def read(body: object) -> dict[str, Any]:
        found = readings(checked_pairs(request_to(MODEL, body).get("pairs"), "pairs"))
        data = [{"index": index, **asdict(reading)} for index, reading in enumerate(found)]
        return {"model": MODEL, "version": version, "data": data}

    def rerank(body: object) -> dict[str, Any]:
        asked = request_to(MODEL, body)
        documents: Any = asked.get("documents")
        pairs = [[asked.get("query"), text] for text in documents] if isinstance(documents, list) else None
        top = asked.get("top_n", MAX_PAIRS)
        if not isinstance(top, int) or top < 1:
            raise ProtocolError(400, "top_n must be a whole number from 1.", param="top_n")
        found = readings(checked_pairs(pairs, "documents"))
        results = [{"index": index, "relevance_score": reading.relevance} for index, reading in enumerate(found)]
        results.sort(key=lambda result: -result["relevance_score"])
        return {"model": MODEL, "results": results[:top]}

    return {"/read": read, "/rerank": rerank}


class ServedModels:
    """The models of one process, called with an event `{"path": "/embeddings", "body": {…}}`.

    The reply is `{"status": 200, "body": {…}}`; what is refused has the status and the error body of the protocol.
    `/models` lists the models and has no body.

    Args:
        calls: By the name of each model, what it answers.

    >>> served = ServedModels({"shout": {"/say": lambda body: {"said": str(body).upper()}}})
    >>> served({"path": "/say", "body": "hi"})
    {'status': 200, 'body': {'said': 'HI'}}
    >>> served({"path": "/sing"})["status"], served("hi")["status"]
    (404, 400)
    """

    def __init__(self, calls: Mapping[str, Calls]) -> None:
        self._names = tuple(calls)
        self._calls = {path: call for of_model in calls.values() for path, call in of_model.items()}
        self._created = int(time.time())

    def __call__(self, event: object) -> dict[str, Any]:
        try:
            return {"status": OK, "body": self._body(event)}
        except ProtocolError as exc:
            return {"status": exc.status, "body": exc.body}

    def _body(self, event: object) -> dict[str, Any]:
        path = event.get("path") if isinstance(event, dict) else None
        if not isinstance(event, dict) or not isinstance(path, str):
            raise ProtocolError(400, 'The event must be an object with a path, such as "/embeddings", and a body.')
        if path == "/models":
            return model_list(self._names, self._created)
        if path not in self._calls:
            raise not_served(path, self._names)
        return self._calls[path](event.get("body"))
