"""A loopback proxy for one dependency that passes requests on, or fails them in the way that is set."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, TypeVar

from localstack.processes import HOST, choose_port

Fault = Literal["pass", "refuse", "hang", "slow", "401", "429", "500", "garbage"]
SLOW_S = 0.4
PIECE = 65_536
CANNED = {
    "401": b"HTTP/1.1 401 Unauthorized",
    "429": b"HTTP/1.1 429 Too Many Requests",
    "500": b"HTTP/1.1 500 Internal Server Error",
    "garbage": b"HTTP/1.1 200 OK",
}
GARBAGE = b"\x00\x9f<<<%PDF-1.4 {]" * 20
REFUSAL = b'{"error":{"message":"the drill says no"},"__type":"InternalServerError"}'
CONNECTION = re.compile(rb"\r\nconnection:[^\r\n]*", re.IGNORECASE)
LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
T = TypeVar("T")


class FaultProxies:
    """A thread with the loop that all proxies run on; closes them all."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxies")
        self._thread.start()
        self._proxies: list[FaultProxy] = []

    def __enter__(self) -> FaultProxies:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all proxies and end the thread."""
        for proxy in self._proxies:
            proxy.set("refuse")
        self._run(asyncio.sleep(0.05))  # connections that were cut off end
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def before(self, port: int) -> FaultProxy:
        """A proxy before the server on *port*, on its own port; it passes everything on."""
        proxy = FaultProxy(port, self._run)
        proxy.set("pass")
        self._proxies.append(proxy)
        return proxy

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)


class FaultProxy:
    """One proxy.  Each connection carries one request, so a new fault holds from the next request on.

    `port` is where it listens, `arrivals` when each request had come (seconds since 1970).
    """

    def __init__(self, upstream: int, run: Any) -> None:
        self.port = choose_port()
        self.arrivals: list[float] = []
        self.fault: Fault = "refuse"
        self._upstream = upstream
        self._run = run
        self._server: asyncio.Server | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    @property
    def requests(self) -> int:
        """How many it has taken."""
        return len(self.arrivals)

    def set(self, fault: Fault) -> None:
        """Fail in another way from now on; what hangs is cut off."""
        self._run(self._set(fault))

    def lead_to(self, port: int) -> None:
        """Pass requests on to another port from now on."""
        self._upstream = port

    async def _set(self, fault: Fault) -> None:
        self.fault = fault
        for task in tuple(self._under_way):
            task.cancel()
        if fault == "refuse" and self._server is not None:
            self._server.close()
            self._server = None
        elif fault != "refuse" and self._server is None:
            self._server = await asyncio.start_server(self._serve, HOST, self.port, limit=2**20)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._under_way.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._answer(reader, writer)
        self._under_way.discard(task)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(head)
        body = await reader.readexactly(int(length[1])) if length else b""
        self.arrivals.append(time.time())
        if self.fault == "hang":
            await asyncio.Event().wait()
        if self.fault in CANNED:
            canned = GARBAGE if self.fault == "garbage" else REFUSAL
            headers = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d" % len(canned)
            writer.write(CANNED[self.fault] + b"\r\n" + headers + b"\r\n\r\n" + canned)
            await writer.drain()
            return
        if self.fault == "slow":
            await asyncio.sleep(SLOW_S)
        await self._pass_on(CONNECTION.sub(b"", head[:-2]) + b"connection: close\r\n\r\n" + body, writer)

    async def _pass_on(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        answers, upstream = await asyncio.open_connection(HOST, self._upstream)
        try:
            upstream.write(request)
            await upstream.drain()
            while piece := await answers.read(PIECE):
                writer.write(piece)
                await writer.drain()
        finally:
            upstream.close()
