"""A transport that answers the Python client in memory."""

from __future__ import annotations

import httpx

from ragdrop.client import RagdropClient


class Wire:
    """A transport that keeps the requests and the pauses between tries."""

    def __init__(self, *answers: httpx.Response | type[httpx.RequestError]) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.slept_s: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, httpx.Response):
            return answer
        raise answer("no luck", request=request)

    def client(self) -> RagdropClient:
        transport = httpx.MockTransport(self)
        return RagdropClient("http://api.example/prod/", "rd_key", transport=transport, sleep=self.slept_s.append)


def ok(**fields: object) -> httpx.Response:
    return httpx.Response(200, json=fields)


def refused(status: int, code: str, **details: object) -> httpx.Response:
    error = {"code": code, "message": "because", "details": details, "request_id": "r-1"}
    return httpx.Response(status, json={"error": error})
