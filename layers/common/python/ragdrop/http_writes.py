"""Responses that end when the writes of their request are over."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragdrop.observability import logger
from ragdrop.usecases.before_reply import collected_writes


class WaitForWrites:
    """Holds the end of a response back until the writes that its request began are over, well or badly."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        with collected_writes() as begun:

            async def waited(message: Message) -> None:
                if begun and message["type"] == "http.response.body" and not message.get("more_body"):
                    found = await asyncio.gather(*map(asyncio.wrap_future, begun), return_exceptions=True)
                    for exc in filter(None, found):
                        logger.error("a write beside a reply failed", extra={"error": type(exc).__name__})
                await send(message)

            await self._app(scope, receive, waited)
