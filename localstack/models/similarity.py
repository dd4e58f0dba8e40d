"""Asks an embedding server how near sentences are to a question; when it cannot say, words alone decide."""

from __future__ import annotations

import http.client
import json
import logging
import math
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass

logger = logging.getLogger(__name__)
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the service is on this machine


@dataclass(frozen=True)
class EmbeddingSimilarity:
    """Cosines by `POST {url}/embeddings`; *url* ends in `/v1`. One request a question."""

    url: str
    model: str
    timeout_s: float = 5.0

    def __call__(self, question: str, sentences: Sequence[str]) -> list[float] | None:
        """Cosine in [-1, 1] of each sentence to the question, or None where the server does not answer as it should."""
        request = urllib.request.Request(  # noqa: S310  # the address is the operator's own
            f"{self.url.rstrip('/')}/embeddings",
            data=json.dumps({"model": self.model, "input": [question, *sentences]}).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with _DIRECT.open(request, timeout=self.timeout_s) as response:
                data = json.load(response)["data"]
            vectors = [item["embedding"] for item in sorted(data, key=lambda item: item["index"])]
            return [cosine(vectors[0], vector) for vector in vectors[1 : len(sentences) + 1]]
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, IndexError) as exc:
            logger.warning("the embedding server gave no similarity (%s): words alone decide", type(exc).__name__)
            return None


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """Cosine of two vectors of one length, in [-1, 1]; 0 where one of them is zero.

    >>> cosine([1.0, 0.0], [2.0, 0.0]), cosine([0.0], [1.0])
    (1.0, 0.0)
    """
    length = math.hypot(*left) * math.hypot(*right)
    return sum(a * b for a, b in zip(left, right, strict=True)) / length if length else 0.0
