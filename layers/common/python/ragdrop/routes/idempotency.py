"""`Idempotency-Key` on writes: the same request with the same key is done once."""

import hashlib
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Header, Request, Response
from pydantic import BaseModel

from ragdrop.domain.tenants import Caller
from ragdrop.usecases.write_once import WriteOnce

_WORDS = "A key of your own, new for each write: sent again with it the write is done once, for a day."
IdempotencyKey = Annotated[
    str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255, pattern="^[!-~]+$", description=_WORDS)
]
COUNTED = ("content-type", "if-match", "if-none-match")  # headers that are part of what is asked for
Shape = TypeVar("Shape", bound=BaseModel)


def fingerprint_of(request: Request, body: bytes) -> str:
    """SHA-256 of all that a request asks for."""
    headers = sorted(
        (name, value) for name, value in request.headers.items() if name in COUNTED or name.startswith("x-amz-meta-")
    )
    parts = [request.method, request.url.path, request.url.query, *(f"{name}:{value}" for name, value in headers)]
    digest = hashlib.sha256()
    for part in (*(part.encode() for part in parts), body):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def answered_once(
    once: Callable[[], WriteOnce],
    request: Request,
    response: Response,
    who: Caller,
    key: str | None,
    body: bytes,
    work: Callable[[], Shape],
    shape: type[Shape],
) -> Shape:
    """The reply of *work*; with a *key* the one that was kept, if it was done before: `Idempotent-Replay` says so.

    Raises:
        ConflictError: The key came with another request, or this one is under way.
    """
    if key is None:
        return work()
    kept, replayed = once()(who, key, fingerprint_of(request, body), lambda: work().model_dump(mode="json"))
    if replayed:
        response.headers["idempotent-replay"] = "true"
    return shape.model_validate({**kept, "request_id": request.state.request_id})
