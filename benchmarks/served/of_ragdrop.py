"""The program for ragdrop's query function: a server that makes of each request an event, as API Gateway does.

python -m benchmarks.served.of_ragdrop opensearch|bucket
"""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.peers.ragdrop_peer import Ragdrop
from benchmarks.peers.serving import serve

THREADS = 40  # as many as FastAPI's own for plain functions


class ServedRagdrop(Ragdrop):
    """The handler in threads, each of which serves one event at a time, as an execution environment does."""

    def served(self) -> tuple[Any, str]:
        """An ASGI application of a page: no routes, no checks; the handler has these."""
        pool = ThreadPoolExecutor(THREADS)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":  # uvicorn's start and end
                return
            body = b""
            more = True
            while more:
                message = await receive()
                body, more = body + message.get("body", b""), message.get("more_body", False)
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(pool, self.invoke, json.loads(body))
            headers = [(name.encode(), value.encode()) for name, value in answer["headers"].items()]
            await send({"type": "http.response.start", "status": answer["statusCode"], "headers": headers})
            await send({"type": "http.response.body", "body": answer["body"].encode()})

        return app, "/search"


class ServedBucket(ServedRagdrop):
    """The same over the bucket index, in a state bucket in memory."""

    over_opensearch = False


if __name__ == "__main__":
    serve({"opensearch": ServedRagdrop, "bucket": ServedBucket}[sys.argv[1]]())
