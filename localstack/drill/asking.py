"""What the drill asks as a caller does, and what it gets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import httpx

from localstack.drill.harness import Harness

QUESTION = "How long should on-call wait before promoting the standby database?"
LIMIT_S = 29.0  # the gateway's


@dataclass(frozen=True)
class DrillReply:
    """What a caller got."""

    status: int
    taken_s: float
    body: dict[str, Any]
    retry_after: bool
    sent_at_s: float = 0.0

    @property
    def level(self) -> int:
        """The fallback level; 0 where there is none."""
        return int(self.body.get("fallback_level", 0))

    @property
    def code(self) -> str:
        """The code of the error; empty where there is none."""
        error = self.body.get("error")
        return str(error.get("code", "")) if isinstance(error, dict) else ""

    @property
    def breaker(self) -> bool:
        """Whether it says that a breaker is open."""
        return bool(self.body.get("circuit_breaker_open"))

    @property
    def well(self) -> bool:
        """Whether nothing is missing from it."""
        return self.status == httpx.codes.OK and self.level == 1 and not self.body.get("degraded")


def search(harness: Harness) -> DrillReply:
    """One search."""
    return _post(harness, "query", "/search", {"query": QUESTION, "min_relevance": 0})


def ask(harness: Harness) -> DrillReply:
    """One question."""
    return _post(harness, "generate", "/ask", {"query": QUESTION, "min_relevance": 0})


def verify(harness: Harness, answer: str, source: str) -> DrillReply:
    """The check of an answer against one source."""
    body = {"answer": answer, "sources": [{"id": "source", "text": source}]}
    return _post(harness, "generate", "/v1/verify", body)


def health(harness: Harness) -> str:
    """The status of the index in `/health`."""
    response = httpx.get(
        f"{harness.url('query')}/health", headers={"x-api-key": harness.key}, timeout=LIMIT_S, trust_env=False
    )
    return str(response.json()["dependencies"]["index"]["status"])


def _post(harness: Harness, function: str, path: str, body: dict[str, Any]) -> DrillReply:
    sent_at_s, begun = time.time(), time.monotonic()
    headers = {"x-api-key": harness.key}
    url = harness.url(function) + path
    try:
        response = httpx.post(url, json=body, headers=headers, timeout=LIMIT_S + 10, trust_env=False)
    except httpx.TransportError as exc:
        return DrillReply(
            0, time.monotonic() - begun, {"error": type(exc).__name__}, retry_after=False, sent_at_s=sent_at_s
        )
    taken_s = time.monotonic() - begun
    told = response.json() if "json" in response.headers.get("content-type", "") else {}
    return DrillReply(response.status_code, taken_s, told, "retry-after" in response.headers, sent_at_s)
