"""The query function's API: `/search` at once, the other routes at their first call."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from ragdrop.api.http import authenticated, create_api
from ragdrop.api.search import search_router

if TYPE_CHECKING:
    from ragdrop.bootstrap import App


def search_first_api(app: App) -> OnDemand:
    """The API of api/whole_api.py; a start for a search waits for the models of no other route."""

    def whole() -> ASGIApp:
        from ragdrop.api.whole_api import query_api

        return query_api(app)

    search = search_router(lambda: app.query.search, authenticated(app.tenants.directory, "reader"))
    return OnDemand(
        create_api(
            [search], allow_origins=app.ports.settings.cors_allow_origins, observe=lambda: app.query.observe_queries
        ),
        ["/search"],
        whole,
    )


class OnDemand:
    """Gives requests to *paths* to *first* and all others to what *make_rest* makes when one comes.

    Declaring a route builds the models of its requests and responses: a function that starts for one kind of
    question should not wait for those of all others.
    """

    def __init__(self, first: ASGIApp, paths: Collection[str], make_rest: Callable[[], ASGIApp]) -> None:
        self._first, self._paths, self._make_rest = first, frozenset(paths), make_rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        scope = decoded_once(scope)
        app = self._first if scope.get("path") in self._paths else self.rest
        await app(scope, receive, send)

    @cached_property
    def rest(self) -> ASGIApp:
        """The other half."""
        return self._make_rest()


def decoded_once(scope: Scope) -> Scope:
    """*scope* with a path that was decoded once, so that `a%20b.md` and `a b.md` stay two names.

    A REST API of AWS hands the path of an event over as it was sent, and Mangum decodes it.  The payload of HTTP APIs,
    which states its `version`, holds it decoded; so do the events of the local emulator, which have that field too.

    >>> event = {"version": "1.0", "path": "/documents/team/a%20b.md"}
    >>> decoded_once({"path": "/documents/team/a b.md", "aws.event": event})["path"]
    '/documents/team/a%20b.md'
    >>> decoded_once({"path": "/documents/team/a b.md", "aws.event": {"path": "/documents/team/a%20b.md"}})["path"]
    '/documents/team/a b.md'
    """
    event = scope.get("aws.event") or {}
    return {**scope, "path": event["path"]} if event.get("version") == "1.0" else scope
