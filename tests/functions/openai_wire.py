"""The OpenAI client over a handler: its requests become the gateway's events, so no socket is opened."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx2
from openai import OpenAI

from tests.functions.conftest import Deployment, LocalContext


class Gateway(httpx2.BaseTransport):
    """Sends each request to the function of its route as a REST API does."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        event: dict[str, Any] = self._deployment.event("ask")
        path, query = request.url.path, dict(request.url.params)
        event |= {
            "path": path,
            "httpMethod": request.method,
            "queryStringParameters": query or None,
            "multiValueQueryStringParameters": {name: [value] for name, value in query.items()} or None,
            "body": base64.b64encode(request.read()).decode() or None,
            "isBase64Encoded": True,
            "headers": dict(request.headers),
            "multiValueHeaders": {name: [value] for name, value in request.headers.items()},
        }
        response = self._deployment.response(event)
        body = response["body"]
        content = base64.b64decode(body) if response.get("isBase64Encoded") else body.encode()
        headers = {name: values[0] for name, values in (response.get("multiValueHeaders") or {}).items()}
        return httpx2.Response(response["statusCode"], content=content, headers=headers or response.get("headers"))


def openai_client(deployment: Deployment) -> OpenAI:
    """The real client with the deployment's own key as bearer token."""
    transport = httpx2.Client(transport=Gateway(deployment))
    return OpenAI(api_key=deployment.key, base_url="http://ragdrop/v1", http_client=transport, max_retries=0)


def post_chat(deployment: Deployment, *, path: str = "/v1/chat/completions", **body: Any) -> tuple[int, Any]:
    """POST /v1/chat/completions, or another *path*, without the client."""
    event = deployment.event("ask", path=path, body=json.dumps(body))
    response = deployment.handlers["generate"].handler(event, LocalContext())
    return response["statusCode"], response["body"]
