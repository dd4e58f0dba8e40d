"""The fault proxy of the drill does what its faults say, and passes on what it should."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.faults.proxy import SLOW_S, FaultProxies, FaultProxy


class Echo(BaseHTTPRequestHandler):
    """Gives back what it was sent."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    with FaultProxies() as proxies:
        yield proxies.before(server.server_port)
    server.shutdown()
    thread.join()
    server.server_close()


def post(proxy: FaultProxy, body: bytes = b"hello", timeout_s: float = 5.0) -> httpx.Response:
    return httpx.post(f"http://127.0.0.1:{proxy.port}/", content=body, timeout=timeout_s, trust_env=False)


def test_a_request_is_passed_on_whole_and_counted(proxy: FaultProxy) -> None:
    body = b"x" * 300_000

    assert post(proxy, body).content == body
    assert proxy.requests == 1


@pytest.mark.parametrize(("fault", "status"), [("429", 429), ("500", 500)])
def test_a_refusal_comes_from_the_proxy(proxy: FaultProxy, fault: str, status: int) -> None:
    proxy.set(fault)  # type: ignore[arg-type]

    assert post(proxy).status_code == status


def test_garbage_is_no_json(proxy: FaultProxy) -> None:
    proxy.set("garbage")
    response = post(proxy)

    assert response.status_code == 200
    with pytest.raises(ValueError):  # noqa: PT011 - the parser says what it met, whatever that is
        response.json()


def test_what_is_cut_off_refuses_connections_and_comes_back(proxy: FaultProxy) -> None:
    proxy.set("refuse")
    with pytest.raises(httpx.ConnectError):
        post(proxy)
    proxy.set("pass")

    assert post(proxy).content == b"hello"


def test_what_hangs_never_answers_until_the_fault_is_gone(proxy: FaultProxy) -> None:
    proxy.set("hang")
    with pytest.raises(httpx.ReadTimeout):
        post(proxy, timeout_s=0.5)
    proxy.set("pass")

    assert post(proxy).content == b"hello"


def test_what_is_slow_answers_late(proxy: FaultProxy) -> None:
    proxy.set("slow")

    assert post(proxy).elapsed.total_seconds() >= SLOW_S
