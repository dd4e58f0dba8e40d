"""Two processes and one breaker: what one sees fail, both leave alone, and one call of all is the trial."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.contract.aws_fixtures import table_definition
from tests.stacks import REPOSITORY, LocalStack

pytestmark = pytest.mark.long

OPEN_S = 3
SPACE = 8
ANSWER_S = 1.5  # long enough for all others to ask meanwhile


class Service:
    """An embedding service that fails until it is well, and counts what reaches it."""

    def __init__(self) -> None:
        self.well = False
        self.requests = 0
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                service.requests += 1
                if service.well:
                    time.sleep(ANSWER_S)
                body = json.dumps({"data": [{"index": 0, "embedding": [1.0] + [0.0] * (SPACE - 1)}]}).encode()
                self.send_response(200 if service.well else 503)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Caller:
    """One process."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.breaker_caller"],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, times: int) -> None:
        """Let it ask so often at once."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{times}\n")
        self._process.stdin.flush()

    def outcomes(self) -> list[str]:
        """What that came to."""
        assert self._process.stdout is not None
        return list(json.loads(self._process.stdout.readline()))

    def ask(self, times: int) -> list[str]:
        self.begin(times)
        return self.outcomes()

    def close(self) -> None:
        self._process.communicate(timeout=20)


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.close()


@pytest.fixture
def callers(stack: LocalStack, service: Service) -> Iterator[tuple[Caller, Caller]]:
    """Two processes that share a telemetry table of their own."""
    table = f"breakers-{uuid.uuid4().hex[:8]}"
    dynamodb = stack.client("dynamodb")
    dynamodb.create_table(TableName=table, **table_definition("TelemetryTable"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= stack.environment | {
        "TELEMETRY_TABLE": table,
        "EMBEDDING_URL": service.url,
        "EMBEDDING_DIMENSION": str(SPACE),
        "BREAKER_OPEN_S": str(OPEN_S),
        "RETRY_ATTEMPTS": "1",
    }
    made = Caller(environment), Caller(environment)
    yield made
    for each in made:
        each.close()
    dynamodb.delete_table(TableName=table)


def test_five_failures_open_it_for_both_and_twenty_callers_of_both_make_one_trial(
    callers: tuple[Caller, Caller], service: Service
) -> None:
    here, there = callers
    assert there.ask(1) == here.ask(1) == ["EMBEDDING_SERVICE_ERROR"]
    for _ in range(3):
        assert here.ask(1) == ["EMBEDDING_SERVICE_ERROR"]
    time.sleep(1.0)  # a second after what turned out to be too much
    here.ask(1)
    reached = service.requests

    for each in callers:
        assert each.ask(5) == ["CIRCUIT_OPEN"] * 5
    assert service.requests == reached

    service.well = True
    time.sleep(OPEN_S)
    for each in callers:
        each.begin(10)
    outcomes = [outcome for each in callers for outcome in each.outcomes()]

    assert (outcomes.count("OK"), outcomes.count("CIRCUIT_OPEN")) == (1, 19)
    assert service.requests == reached + 1
    time.sleep(1.0)
    assert [each.ask(1) for each in callers] == [["OK"], ["OK"]]
