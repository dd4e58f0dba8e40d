"""Servers on free ports of the loopback: the real API under uvicorn, over a World of fakes, and a handler's."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import uvicorn
from fastapi import Request
from starlette.types import ASGIApp

from ragdrop.api.edge import GivenSecret, create_api
from ragdrop.api.knowledge_bases import KnowledgeBases
from ragdrop.api.openai import chat_router
from ragdrop.api.openai_responses import responses_router
from ragdrop.api.routes.ask_routes import ask_router
from ragdrop.domain.tenants import Caller
from tests.world import World


def answering_api(world: World) -> ASGIApp:
    """What the generate function serves; every request is the world's own caller's."""

    async def caller(_request: Request, _secret: GivenSecret) -> Caller:
        return world.caller

    app = world.app
    routers = [
        ask_router(lambda: app.generate.ask, lambda: app.generate.condense_conversation, caller),
        chat_router(
            lambda: app.generate.ask, lambda: app.generate.condense_conversation, app.tenants.directory, caller
        ),
        responses_router(
            lambda: app.generate.ask,
            lambda: app.generate.condense_conversation,
            lambda: app.generate.store_receipts,
            KnowledgeBases(app.tenants.directory, "documents"),
            app.tenants.directory,
            caller,
        ),
    ]
    return create_api(routers)


@contextmanager
def served(api: ASGIApp) -> Iterator[str]:
    """The base URL of *api* while the block runs."""
    server = uvicorn.Server(
        uvicorn.Config(api, host="127.0.0.1", port=0, log_level="critical", lifespan="off", ws="none")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < until, "uvicorn did not start"
        time.sleep(0.01)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def handled_by(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The base URL of a server of *handler* while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
