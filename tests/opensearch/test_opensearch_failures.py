"""How OpenSearchChunkIndex fails: against a tiny server that answers what a test says."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ragdrop.app.ports import Ports
from ragdrop.config import Settings
from ragdrop.domain.chunks import CandidateQuery, ChunkRange, Filters, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import ConfigurationError, DatabaseError, DeadlineError
from ragdrop.resilience.breakers import Retries
from ragdrop_opensearch.client import RepeatableCalls, connect
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from ragdrop_opensearch.mapping import source_of
from tests.contract.chunk_index_suite import bucket_index
from tests.contract.opensearch_node import piece, soon
from tests.world import ENVIRONMENT

REF = IndexRef("acme", "ragdrop-v1-stub-4-1", 4)
Answer = tuple[int, Any]


class Stub:
    """A server on the loopback interface; `answer` turns method, path and the body's lines into status and JSON."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answer: Callable[[str, str, list[Any]], Answer] = lambda *_: (200, {})
        self.requests: list[tuple[str, str, list[Any]]] = []
        self.pauses_s: list[float] = []

    def index(self) -> OpenSearchChunkIndex:
        caller = RepeatableCalls(connect(self.url), retries=Retries(sleep=self.pauses_s.append, jitter=lambda: 1.0))
        return OpenSearchChunkIndex(caller)


@pytest.fixture
def stub() -> Iterator[Stub]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            size = int(self.headers.get("content-length", 0))
            body = [json.loads(line) for line in self.rfile.read(size).splitlines()]
            made.requests.append((self.command, self.path, body))
            status, content = made.answer(self.command, self.path, body)
            encoded = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_POST = do_PUT = do_GET  # noqa: N815 the names that the server looks for

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: object) -> None:
            pass  # a client that gave up waiting closes its connection

    server = Server(("127.0.0.1", 0), Handler)
    made = Stub(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


FAILED_SEARCH = {"error": {"type": "search_phase_execution_exception", "reason": "x"}, "status": 503}


def bulk_answer(statuses: list[tuple[int, str | None]]) -> Answer:
    items = [
        {
            "index": {"_id": "x", "status": status}
            | ({"error": {"type": kind, "reason": "secret words"}} if kind else {})
        }
        for status, kind in statuses
    ]
    return 200, {"errors": any(kind for _, kind in statuses), "items": items}


def write(stub: Stub, count: int) -> None:
    stub.index().upsert(REF, [piece("a.md", f"text {i}", [1, 0, 0, 0], ordinal=i) for i in range(count)], soon())


def test_items_that_were_refused_for_a_while_are_sent_again_alone_and_with_growing_pauses(stub: Stub) -> None:
    answers = [
        bulk_answer([(201, None), (429, "rejected_execution_exception"), (503, "unavailable_shards_exception")]),
        bulk_answer([(429, "rejected_execution_exception"), (201, None)]),
        bulk_answer([(201, None)]),
    ]
    stub.answer = lambda *_: answers.pop(0)

    write(stub, 3)

    assert [[line["text"] for line in body[1::2]] for _, _, body in stub.requests] == [
        ["text 0", "text 1", "text 2"],
        ["text 1", "text 2"],
        ["text 1"],
    ]
    assert stub.pauses_s == [0.1, 0.2]


def test_items_that_stay_refused_are_a_database_error_that_may_be_retried(stub: Stub) -> None:
    stub.answer = lambda *_: bulk_answer([(429, "rejected_execution_exception")])

    with pytest.raises(DatabaseError, match="too busy to take 1 chunks") as raised:
        write(stub, 1)

    assert (raised.value.service, raised.value.retryable, len(stub.requests)) == ("index", True, 3)


def test_an_item_that_can_never_be_written_fails_the_write_without_its_text(stub: Stub) -> None:
    stub.answer = lambda *_: bulk_answer([(201, None), (400, "mapper_parsing_exception")])

    with pytest.raises(DatabaseError, match="1 of 2 chunks: 400 mapper_parsing_exception") as raised:
        write(stub, 2)

    assert raised.value.retryable is False
    assert "secret" not in str(raised.value)
    assert len(stub.requests) == 1


def test_a_busy_server_is_asked_again_and_then_named(stub: Stub) -> None:
    stub.answer = lambda *_: (429, {"error": {"type": "circuit_breaking_exception", "reason": "secret"}, "status": 429})

    with pytest.raises(DatabaseError, match="429 circuit_breaking_exception") as raised:
        stub.index().count(REF, soon())

    assert (raised.value.retryable, len(stub.requests), stub.pauses_s) == (True, 3, [0.1, 0.2])
    assert raised.value.__cause__ is not None


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_not_tried_again(stub: Stub, status: int) -> None:
    stub.answer = lambda *_: (status, {"error": {"type": "security_exception"}, "status": status})

    with pytest.raises(DatabaseError, match="refused the credentials") as raised:
        stub.index().count(REF, soon())

    assert (raised.value.retryable, len(stub.requests)) == (False, 1)


def test_an_index_that_is_blocked_by_a_full_disk_may_recover(stub: Stub) -> None:
    stub.answer = lambda *_: (403, {"error": {"type": "cluster_block_exception"}, "status": 403})

    with pytest.raises(DatabaseError, match="takes no writes") as raised:
        stub.index().remove(REF, piece("a.md", "", [0] * 4).key, before_revision=2, deadline=soon())

    assert raised.value.retryable is True


def test_one_failed_search_of_several_is_an_error_of_its_query_and_the_others_answer(stub: Stub) -> None:
    stub.answer = lambda *_: (200, {"responses": [{"hits": {"hits": []}}, FAILED_SEARCH]})
    queries = [CandidateQuery("a", None, Filters(), 5), CandidateQuery("b", None, Filters(), 5)]

    one, other = stub.index().candidates(REF, queries, soon())

    assert (one.lexical_error, one.vector_error, other.vector_error) == (None, None, None)
    assert "503 search_phase_execution_exception" in str(other.lexical_error)


def test_searches_that_all_failed_fail_the_request(stub: Stub) -> None:
    stub.answer = lambda *_: (200, {"responses": [FAILED_SEARCH, FAILED_SEARCH]})
    queries = [CandidateQuery("a", None, Filters(), 5), CandidateQuery("b", None, Filters(), 5)]

    with pytest.raises(DatabaseError, match="503 search_phase_execution_exception"):
        stub.index().candidates(REF, queries, soon())


def test_a_server_that_does_not_know_the_newer_lexical_query_gets_the_older_one_from_then_on(stub: Stub) -> None:
    cause = {"type": "parsing_exception", "reason": "unknown query [combined_fields]"}
    unknown = (400, {"error": {"type": "x_content_parse_exception", "caused_by": cause}, "status": 400})
    fine: Any = (200, {"responses": [{"hits": {"hits": []}}]})
    stub.answer = lambda _m, _p, body: unknown if "combined_fields" in json.dumps(body) else fine
    index = stub.index()

    for _ in range(2):
        assert index.candidates(REF, [CandidateQuery("a", None, Filters(), 5)], soon())[0].lexical == []

    assert len(stub.requests) == 3


def test_another_tenants_chunk_never_passes_whatever_the_server_answers(stub: Stub) -> None:
    source = json.loads(source_of(piece("a.md", "x", [1, 0, 0, 0], tenant="other")))
    stub.answer = lambda *_: (200, {"responses": [{"hits": {"hits": [{"_score": 1.0, "_source": source}]}}]})

    with pytest.raises(DatabaseError, match="another tenant"):
        stub.index().candidates(REF, [CandidateQuery("a", None, Filters(), 5)], soon())


@pytest.mark.parametrize(
    ("version", "plugins", "message"),
    [
        ({"distribution": "opensearch", "number": "2.17.1"}, ["opensearch-knn"], "2.17.1 is too old, 2.19"),
        ({"distribution": "opensearch", "number": "3.6.0"}, ["analysis-icu"], "no k-NN plugin"),
        ({"number": "8.17.0", "build_flavor": "default"}, ["opensearch-knn"], "not OpenSearch"),
    ],
)
def test_a_server_that_cannot_do_it_is_named_before_an_index_is_made(
    stub: Stub, version: dict[str, str], plugins: list[str], message: str
) -> None:
    def answer(method: str, path: str, _body: list[Any]) -> Answer:
        if path.endswith("_bulk"):
            return bulk_answer([(404, "index_not_found_exception")])
        assert method == "GET"
        return 200, {"version": version} if path == "/" else [{"component": name} for name in plugins]

    stub.answer = answer

    with pytest.raises(ConfigurationError, match=message):
        stub.index().check(soon())
    with pytest.raises(ConfigurationError, match=message):
        write(stub, 1)


def test_a_server_that_is_not_there_is_a_database_error_with_its_cause() -> None:
    nobody = OpenSearchChunkIndex(RepeatableCalls(connect("http://127.0.0.1:9"), retries=Retries(sleep=lambda _: None)))

    with pytest.raises(DatabaseError, match="could not be reached") as raised:
        nobody.check(soon())

    assert raised.value.retryable is True
    assert raised.value.__cause__ is not None


def test_a_server_that_is_too_slow_is_given_up_at_the_deadline(stub: Stub) -> None:
    waiting = threading.Event()
    stub.answer = lambda *_: (200, {"waited": waiting.wait(5)})

    with pytest.raises(DatabaseError, match="did not answer in time"):
        stub.index().check(Deadline.after(0.2))
    waiting.set()

    assert len(stub.requests) == 1


def test_no_request_leaves_after_the_deadline(stub: Stub) -> None:
    with pytest.raises(DeadlineError):
        stub.index().count(REF, Deadline.after(-1))

    assert stub.requests == []


def test_neither_documents_nor_questions_are_logged_at_any_level(stub: Stub, caplog: pytest.LogCaptureFixture) -> None:
    stub.answer = lambda *_: (400, {"error": {"type": "x", "reason": "confidential"}, "status": 400})
    caplog.set_level(logging.DEBUG)

    with pytest.raises(DatabaseError):
        stub.index().upsert(REF, [piece("a.md", "confidential", [1, 0, 0, 0])], soon())

    assert "confidential" not in caplog.text
    assert "_bulk" in caplog.text


SHAPES: Any = (
    [],
    None,
    {},
    {"message": "ok"},
    {"responses": None},
    {"responses": []},
    {"responses": [{}] * 3},
    {"responses": [{"hits": {"hits": [{"_score": 1.0}]}}] * 3},
)


@pytest.mark.parametrize("shape", SHAPES, ids=json.dumps)
@pytest.mark.parametrize(
    "call",
    [
        lambda index: index.candidates(REF, [CandidateQuery("pump", vector([1, 0, 0, 0]), Filters(), 5)], soon()),
        lambda index: index.count(REF, soon()),
        lambda index: index.read(REF, [ChunkRange(DocumentKey("acme", "team", "a.md"), 1, 0, 0)], soon()),
        lambda index: index.nearest_of(REF, None, [(DocumentKey("acme", "team", "a.md"), 1)], soon()),
        lambda index: index.revisions(REF, cursor=None, limit=5, deadline=soon()),
        lambda index: index.drop(REF, soon()),
        lambda index: index.upsert(REF, [piece("a.md", "text", [1, 0, 0, 0])], soon()),
    ],
    ids=["candidates", "count", "read", "nearest_of", "revisions", "drop", "upsert"],
)
def test_json_of_another_shape_is_an_answer_that_cannot_be_read(
    stub: Stub, call: Callable[[OpenSearchChunkIndex], object], shape: object
) -> None:
    stub.answer = lambda *_: (200, shape)

    with pytest.raises(DatabaseError, match="could not be read") as raised:
        call(stub.index())

    assert (raised.value.service, raised.value.details["reason"]) == ("index", "unreadable")


@pytest.mark.parametrize(("chosen", "shards"), [({}, 6), ({"INDEX_SHARDS": "3"}, 3)])
def test_a_new_index_has_as_many_shards_as_the_setting_says(
    stub: Stub, tmp_path: Path, chosen: dict[str, str], shards: int
) -> None:
    made: list[Any] = []

    def answer(_method: str, path: str, body: list[Any]) -> Answer:
        if path.endswith("/_bulk"):
            return bulk_answer([(201, None) if made else (404, "index_not_found_exception")])
        if path == f"/{REF.name}":
            made.extend(body)
            return 200, {}
        version = {"distribution": "opensearch", "number": "3.6.0"}
        return 200, {"version": version} if path == "/" else [{"component": "opensearch-knn"}]

    stub.answer = answer
    ports = Ports(Settings.from_environment({**ENVIRONMENT, "INDEX_URL": stub.url, **chosen}))
    ports.bucket_index = bucket_index(tmp_path)

    ports.index.upsert(REF, [piece("a.md", "text", [1, 0, 0, 0])], soon())

    assert [each["settings"]["index"]["number_of_shards"] for each in made] == [shards]
