"""The embeddings request and reply of the OpenAI protocol, without a server."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from localstack.models.openai_errors import ProtocolError, model_not_found

MAX_TEXTS = 2048  # OpenAI's limit for one request


@dataclass(frozen=True)
class EmbeddingRequest:
    """What a caller asked for, checked."""

    texts: tuple[str, ...]
    base64: bool


def read_request(body: object, *, model: str, dimension: int) -> EmbeddingRequest:
    """Check the JSON *body* of a request to the server of *model*.

    Raises:
        ProtocolError: 404 for another model, 400 for everything else that is wrong.

    >>> read_request({"input": "a"}, model="m", dimension=3).texts
    ('a',)

    """
    if not isinstance(body, dict):
        raise ProtocolError(400, "The body must be a JSON object.")
    asked = body.get("model", model)
    if asked != model:
        raise model_not_found(asked, model)
    encoding = body.get("encoding_format", "float")
    if encoding not in ("float", "base64"):
        raise ProtocolError(400, "encoding_format must be 'float' or 'base64'.", param="encoding_format")
    if body.get("dimensions", dimension) != dimension:
        raise ProtocolError(400, f"This model has {dimension} dimensions only.", param="dimensions")
    return EmbeddingRequest(_texts(body.get("input")), encoding == "base64")


def _texts(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ProtocolError(400, "input must be a string or a list of strings.", param="input")
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise ProtocolError(400, f"input must hold 1 to {MAX_TEXTS} texts, not {len(texts)}.", param="input")
    for position, text in enumerate(texts):
        if not text:
            raise ProtocolError(400, f"input[{position}] is empty.", param="input")
    return tuple(texts)


def reply(vectors: Sequence[bytes], tokens: int, *, model: str, as_base64: bool) -> dict[str, Any]:
    """The reply for *vectors* (little-endian float32), in the order asked.

    >>> reply([bytes(4)], 3, model="m", as_base64=False)["data"]
    [{'object': 'embedding', 'index': 0, 'embedding': [0.0]}]
    """
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(vector).decode("ascii") if as_base64 else floats(vector),
        }
        for index, vector in enumerate(vectors)
    ]
    return {
        "object": "list",
        "data": data,
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def floats(vector: bytes) -> list[float]:
    """Numbers of a little-endian float32 *vector*.

    >>> floats(bytes(8))
    [0.0, 0.0]
    """
    return list(struct.unpack(f"<{len(vector) // 4}f", vector))
