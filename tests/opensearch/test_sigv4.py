"""Every request to OpenSearch is signed as AWS's specification says: a domain that checks each one lets it pass."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from ragdrop.domain.chunks import CandidateQuery, ChunkRange, Filters, vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError
from ragdrop.resilience.breakers import Retries, RetryRules
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from tests.contract.opensearch_node import opensearch_url, piece, soon
from tests.sigv4 import signature

ACCESS_KEY, SECRET_KEY, REGION = "AKEXAMPLE", "not/a+real=secret", "eu-central-1"
REF = IndexRef("acme", "ragdrop-v1-signed-2-1", 2)
ODD = "a b/ü+(1)%20.md"  # a path that has to be encoded


@contextmanager
def domain(node: str) -> Iterator[tuple[str, list[str]]]:
    """A domain before *node* that refuses what is not signed for it: its URL, and the requests that passed."""
    passed: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Say nothing."""

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.casefold(): value for name, value in self.headers.items()}
            given = headers.get("authorization", "").rpartition("Signature=")[2]
            if not given or given != signature(self.command, self.path, headers, body, secret=SECRET_KEY):
                self._answer(403, b'{"message":"The request signature we calculated does not match"}')
                return
            passed.append(f"{self.command} {self.path}")
            forwarded = {name: headers[name] for name in ("content-type",) if name in headers}
            reply = httpx.request(
                self.command, node + self.path, content=body, headers=forwarded, trust_env=False, timeout=60
            )
            self._answer(reply.status_code, reply.content)

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else body)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - the names that the server looks for

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", passed
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)


def index_at(url: str) -> OpenSearchChunkIndex:
    once = Retries(RetryRules(attempts=1))
    return OpenSearchChunkIndex.from_url(url, sigv4_region=REGION, shards=1, retries=once)


@pytest.mark.usefixtures("keys")
def test_a_domain_that_checks_signatures_lets_every_kind_of_request_pass() -> None:
    with domain(opensearch_url()) as (url, passed):
        index = index_at(url)
        index.upsert(REF, [piece(ODD, "pump", [1.0, 0.0]), piece("b.md", "valve", [0.0, 1.0])], soon())
        index.refresh([REF], soon())
        [found] = index.candidates(REF, [CandidateQuery("pump", vector([1.0, 0.0]), Filters(), 30)], soon())
        [read] = index.read(REF, [ChunkRange(DocumentKey("acme", "team", ODD), 1, 0, 9)], soon())
        page = index.revisions(REF, cursor=None, limit=1, deadline=soon())
        index.revisions(REF, cursor=page.cursor, limit=1, deadline=soon())
        count = index.count(REF, soon())
        index.verify(REF, soon())
        index.check(soon())
        removed = index.remove(REF, DocumentKey("acme", "team", ODD), before_revision=2, deadline=soon())
        dropped = index.drop(REF, soon())

    assert (found.vector[0].key.path, read[0].key.path) == (ODD, ODD)
    assert (count, removed, dropped) == (2, 1, 1)
    assert {request.partition(" ")[0] for request in passed} >= {"GET", "POST", "PUT"}


@pytest.mark.usefixtures("keys")
def test_a_request_that_was_changed_on_its_way_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")

    with domain(opensearch_url()) as (url, passed), pytest.raises(DatabaseError):
        index_at(url).check(soon())

    assert passed == []
