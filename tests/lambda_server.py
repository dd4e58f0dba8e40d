"""A server of Lambda's Invoke for one function, `models`: its events become requests to a server of models.

It refuses and fails on request, as "Invoke" (docs.aws.amazon.com, Lambda API) has it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx

from tests.served import handled_by

REFUSALS = {"TooManyRequestsException": 429, "AccessDeniedException": 403, "ResourceNotFoundException": 404}


class LambdaServer:
    """Where it is; `refusal` is the error that it answers with, `failure` the payload of a function that failed."""

    def __init__(self) -> None:
        self.url = ""
        self.refusal: str | None = None
        self.failure: Mapping[str, Any] | None = None


@contextmanager
def lambda_server(models_url: str) -> Iterator[LambdaServer]:
    """A server on a free port of the loopback, gone with the block; *models_url* ends with /v1."""
    made = LambdaServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if made.refusal is not None:
                self._say(REFUSALS[made.refusal], {"Message": "no"}, {"x-amzn-ErrorType": made.refusal})
            elif made.failure is not None:
                self._say(200, made.failure, {"X-Amz-Function-Error": "Unhandled"})
            else:
                self._say(200, answered(models_url, event), {})

        def _say(self, status: int, content: Mapping[str, Any], headers: Mapping[str, str]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {
                "content-type": "application/json",
                "content-length": str(len(body)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with handled_by(Handler) as made.url:
        yield made


def answered(models_url: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """What the function answers to an event."""
    url = f"{models_url}{event['path']}"
    body = event.get("body")
    with httpx.Client(timeout=60, trust_env=False) as client:
        reply = client.get(url) if body is None else client.post(url, json={**body, "stream": False})
    return {"status": reply.status_code, "body": reply.json()}
