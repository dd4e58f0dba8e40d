"""An API in two halves: the routes that most calls need are there at once, the others from their first call on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property

from starlette.types import ASGIApp, Receive, Scope, Send


class OnDemand:
    """Gives requests to *paths* to *first* and all others to what *make_rest* makes when one comes.

    Declaring a route builds the models of its requests and responses: a function that starts for one kind of
    question should not wait for those of all others.
    """

    def __init__(self, first: ASGIApp, paths: Collection[str], make_rest: Callable[[], ASGIApp]) -> None:
        self._first, self._paths, self._make_rest = first, frozenset(paths), make_rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        app = self._first if scope.get("path") in self._paths else self.rest
        await app(scope, receive, send)

    @cached_property
    def rest(self) -> ASGIApp:
        """The other half."""
        return self._make_rest()
