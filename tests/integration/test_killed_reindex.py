"""Workers of a planned reindex die twenty times: ledger, index and registry agree, and nothing stored is made again."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from localstack.home import SHARED
from localstack.processes import HOST, choose_port
from ragdrop.app import App, build_app
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import ChunkingPlan
from ragdrop.operate.planned_reindex import JOURNALED
from ragdrop.ports.message_queue import Change, Delivery
from ragdrop.ports.registry import head_pages
from ragdrop.ports.work_ledger import WorkSummary
from ragdrop.stores.aws.clients import client
from tests.contract.aws_fixtures import table_definition
from tests.integration.stub_embeddings import DIMENSION, StubEmbeddings

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

FILES = 120
WORKERS = 3
KILLS = 20
TENANT = "acme"
VISIBLE_S = 8  # an SQS message whose worker died comes back after this
ROOT = Path(__file__).parents[2]
EMULATOR = SHARED / "env/ministack/bin/ministack"


@pytest.fixture
def embeddings() -> Iterator[StubEmbeddings]:
    service = StubEmbeddings()
    service.start()
    yield service
    service.stop()


@pytest.fixture
def environ(embeddings: StubEmbeddings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Buckets, tables and queues on an emulator of our own, without functions."""
    if not EMULATOR.exists():
        pytest.skip("`make up` installs the emulator")
    url = f"http://{HOST}:{choose_port()}"
    aws = {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in aws.items():
        monkeypatch.setenv(name, value)
    with emulator(url, tmp_path):
        made = {**aws, **_made(), "EMBEDDING_URL": embeddings.url}
        for name, value in made.items():
            monkeypatch.setenv(name, value)
        yield made
        for service in ("s3", "sqs", "dynamodb"):
            client(service).close()
    with warnings.catch_warnings(action="ignore"):
        gc.collect()  # connections to the model go with the application


@contextmanager
def emulator(url: str, folder: Path) -> Iterator[None]:
    named = {"GATEWAY_PORT": url.rpartition(":")[2], "BIND_HOST": HOST, "MINISTACK_HOST": HOST, "LOG_LEVEL": "WARNING"}
    apart = {"SFTP_ENABLED": "0", "IOT_MTLS_ENABLED": "0", "TMPDIR": str(folder), "HOME": str(folder)}
    process = subprocess.Popen([str(EMULATOR)], env={**os.environ, **named, **apart}, cwd=folder)
    until = time.monotonic() + 60
    try:
        while True:
            with suppress(httpx.TransportError):
                if httpx.get(f"{url}/_ministack/health").is_success:
                    break
            assert time.monotonic() < until, "the emulator did not start"
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(20)


def _made() -> dict[str, str]:
    s3, sqs, dynamodb = client("s3"), client("sqs"), client("dynamodb")
    for bucket in ("documents", "state"):
        s3.create_bucket(Bucket=bucket)
    s3.put_bucket_versioning(Bucket="documents", VersioningConfiguration={"Status": "Enabled"})
    for table in ("Registry", "Visited", "Telemetry"):
        dynamodb.create_table(TableName=table.lower(), **table_definition(f"{table}Table"))
    attributes = {"VisibilityTimeout": str(VISIBLE_S)}
    urls = [sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"] for name in ("ingest", "bulk")]
    return {
        "INDEX_URL": "s3://",
        "EMBEDDING_MODEL": "counting",
        "EMBEDDING_DIMENSION": str(DIMENSION),
        "CHAT_URL": f"http://{HOST}:1",
        "CHAT_MODELS": "none",
        "DOCUMENT_BUCKET": "documents",
        "STATE_BUCKET": "state",
        "REGISTRY_TABLE": "registry",
        "VISITED_TABLE": "visited",
        "TELEMETRY_TABLE": "telemetry",
        "QUEUE_URL": urls[0],
        "BULK_QUEUE_URL": urls[1],
        "ITEM_DOCUMENTS": "5",
    }


class Workers:
    """Processes of ingest, each replaced when it dies."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ = {**os.environ, **environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.processes = [self._start() for _ in range(WORKERS)]
        self.killed = 0

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.integration.plan_worker"]
        return subprocess.Popen(command, cwd=ROOT, env=self._environ)

    def kill_one(self, source: random.Random) -> None:
        """End one as a crash would."""
        place = source.randrange(WORKERS)
        self.processes[place].send_signal(signal.SIGKILL)
        self.processes[place].wait(10)
        self.processes[place] = self._start()
        self.killed += 1

    def stop(self) -> None:
        for each in self.processes:
            each.kill()
            each.wait(10)


@contextmanager
def dying_workers(environ: dict[str, str]) -> Iterator[Workers]:
    """Workers of which one dies every second or so, until twenty have."""
    workers, over, source = Workers(environ), threading.Event(), random.Random(7)

    def kill() -> None:
        time.sleep(3.0)  # until they have started
        while workers.killed < KILLS and not over.is_set():
            time.sleep(source.uniform(0.4, 1.2))
            workers.kill_one(source)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        yield workers
    finally:
        over.set()
        killer.join(10)
        workers.stop()


def filled(app: App) -> None:
    app.operate.operator.create_tenant(TENANT)
    for first in range(0, FILES, 40):
        keys = [f"{TENANT}/team/file-{n:03}.md" for n in range(first, first + 40)]
        for key in keys:
            lines = [f"Line {n} of {key} is about item {n * 7}, and of nothing else in {key}." for n in range(30)]
            app.ports.documents.put(key, "\n\n".join(lines).encode(), media_type="text/markdown")
        changes = tuple(Change(key) for key in keys)
        assert app.ingest.reconcile([Delivery(f"m-{first}", "r", 1, changes)], Deadline.after(120)) == []


def test_a_planned_reindex_survives_twenty_kills(environ: dict[str, str], embeddings: StubEmbeddings) -> None:
    app = build_app(environ=environ)
    filled(app)
    before = len(embeddings.model.given)
    tenant = app.ports.registry.tenant(TENANT)
    assert tenant is not None
    requested = replace(tenant.active, chunking=ChunkingPlan(32, 0, 32, 0))
    summaries: list[WorkSummary] = []
    planned = replace(app.ingest.planned_reindex, item_documents=5, wait=lambda s: time.sleep(min(s, 0.2)))

    def note(_done: int, _of: int) -> None:
        building = getattr(app.ports.registry.tenant(TENANT), "building", None)
        found = planned.ledger.summary(TENANT, building.name) if building else None
        summaries.extend([found] if found is not None else [])

    with dying_workers(environ) as workers:
        report = planned.run(TENANT, requested, note)
        while workers.killed < KILLS:
            time.sleep(0.1)

    assert report is not None
    ledger, now = summaries[-1], app.ports.registry.tenant(TENANT)
    assert now is not None
    heads = [head for page in head_pages(app.ports.registry, TENANT, size=100) for head in page]
    chunks = sum(_chunks(app, head, report.to_index) for head in heads)
    assert (ledger.is_done, ledger.planned, ledger.listed) == (True, FILES // 5, FILES)
    assert ledger.counts.documents == report.documents == len(heads) == FILES
    assert ledger.counts.chunks == report.chunks == chunks
    assert now.active.name == report.to_index
    assert app.ports.index.count(now.index, Deadline.after(30)) == chunks
    given = Counter(embeddings.model.given[before:])
    again = sum(count - 1 for count in given.values())
    assert 0 < ledger.counts.embedded == len(given) < chunks, "passages that stay as they were have their vectors"
    assert again <= KILLS * JOURNALED, "only what a worker had asked for and not stored when it died"
    print(f"{workers.killed} kills, {len(given)} texts, {again} embedded again")


def _chunks(app: App, head: Any, index: str) -> int:
    return app.ports.revisions.chunk_count(head.key, head.live_revision or 0, index) or 0
