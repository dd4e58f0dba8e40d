"""An API in two halves."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from ragdrop.api.apis import OnDemand


def saying(word: str) -> Starlette:
    async def say(_: object) -> PlainTextResponse:
        return PlainTextResponse(word)

    return Starlette(routes=[Route("/{path:path}", say)])


class Counted:
    """Makes the other half, and counts how often."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> Starlette:
        self.made += 1
        return saying("rest")


def test_the_first_half_serves_its_paths_and_the_other_is_not_made() -> None:
    rest = Counted()
    client = TestClient(OnDemand(saying("first"), ["/search"], rest))

    assert client.get("/search").text == "first"
    assert rest.made == 0


def test_any_other_path_makes_the_other_half_once() -> None:
    rest = Counted()
    client = TestClient(OnDemand(saying("first"), ["/search"], rest))

    assert [client.get(path).text for path in ("/search/more", "/documents", "/documents")] == ["rest"] * 3
    assert rest.made == 1
