"""Server-sent events as a response that ends its source: who leaves stops the model."""

from __future__ import annotations

from collections.abc import Generator

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

EVENT_STREAM = "text/event-stream"


class EventStream(StreamingResponse):
    """Sends the events of *told* as they come, and closes it, whether it came to its end or the listener left."""

    def __init__(self, told: Generator[str, None, None]) -> None:
        super().__init__(told, media_type=EVENT_STREAM, headers={"cache-control": "no-cache"})
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._told.close()
