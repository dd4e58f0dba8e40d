"""The sweep on the live stack, as an operator runs it: it mends what was lost, and does not believe half a listing."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from tests.integration.commands import Tenant, run, within
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

DOCUMENTS = 100
VAULT = "hundred"
WITHIN_S = 300.0


@pytest.fixture(scope="module")
def tenant(counted_stack: LocalStack) -> Tenant:
    """A tenant whose one vault has 100 documents, all indexed."""
    made = Tenant.created(counted_stack, "sweep")
    for number in range(DOCUMENTS):
        made.put(f"{VAULT}/{number:03}.md", f"# Locker {number}\n\nLocker {number} holds item {number * 37}.")
    within(WITHIN_S, lambda: len(made.listed(VAULT, "indexed")) == DOCUMENTS, every_s=0.5)
    return made


def sweep(tenant: Tenant, **named: Any) -> subprocess.CompletedProcess[str]:
    """`ragdrop sweep` that leaves nothing out because it is young."""
    return run(tenant.stack, "sweep", "--tenant", tenant.name, SWEEP_MIN_AGE_S="0", **named)


@contextmanager
def half_listed(endpoint_url: str) -> Iterator[str]:
    """An S3 endpoint that leaves every second version out of its listings."""

    class Forgetful(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with httpx.Client(trust_env=False, timeout=30) as http:
                answer = http.get(endpoint_url + self.path, headers=dict(self.headers.items()))
            body = answer.content
            if "versions" in self.path:
                versions = iter(range(10**6))
                body = re.sub(rb"<Version>.*?</Version>", lambda one: one[0] if next(versions) % 2 else b"", body)
            self._answer(answer, body)

        def do_PUT(self) -> None:
            sent = self.rfile.read(int(self.headers.get("content-length", "0")))
            with httpx.Client(trust_env=False, timeout=30) as http:
                answer = http.put(endpoint_url + self.path, headers=dict(self.headers.items()), content=sent)
            self._answer(answer, answer.content)

        def _answer(self, answer: httpx.Response, body: bytes) -> None:
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name.lower() not in {"content-length", "transfer-encoding", "connection", "content-encoding"}:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def no_events(stack: LocalStack) -> Iterator[None]:
    """Whatever happens to the bucket within the block, nobody is told."""
    s3, bucket = stack.client("s3"), stack.bucket
    kept = s3.get_bucket_notification_configuration(Bucket=bucket)
    del kept["ResponseMetadata"]
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
    try:
        yield
        time.sleep(1)  # the emulator sends events a moment later
    finally:
        s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=kept)


def test_a_listing_that_misses_half_of_a_vault_makes_the_sweep_refuse_loudly(tenant: Tenant) -> None:
    with half_listed(str(tenant.stack.fields["endpoint_url"])) as endpoint_url:
        done = sweep(tenant, AWS_ENDPOINT_URL_S3=endpoint_url)

    assert done.returncode == 1
    assert f"REFUSED: 50 of 100 documents of vault {VAULT} are gone" in done.stderr
    assert "; 0 are rechecked" in done.stdout
    assert len(tenant.listed(VAULT, "indexed")) == DOCUMENTS
    assert "item 0." in tenant.search("Locker 0 holds item", VAULT)


def test_truly_lost_events_of_a_new_a_changed_and_a_deleted_file_are_repaired(tenant: Tenant) -> None:
    with no_events(tenant.stack):
        tenant.put("lost/new.md", "The gate code is Heliotrope.")
        tenant.put(f"{VAULT}/001.md", "Locker 1 holds the Vermilion file.")
        tenant.stack.client("s3").delete_object(Bucket=tenant.stack.bucket, Key=f"{tenant.name}/{VAULT}/002.md")
    assert tenant.listed("lost") == []
    assert "Vermilion" not in tenant.search("Locker 1 holds the Vermilion file", VAULT)

    done = sweep(tenant)

    assert done.returncode == 0, done.stderr
    for told in ("1 new", "1 changed", "1 gone"):
        assert told in done.stdout
    within(WITHIN_S, lambda: len(tenant.listed("lost", "indexed")) == 1)
    within(WITHIN_S, lambda: "Vermilion" in tenant.search("Locker 1 holds the Vermilion file", VAULT))
    within(WITHIN_S, lambda: len(tenant.listed(VAULT, "indexed")) == DOCUMENTS - 1)
    assert "Heliotrope" in tenant.search("gate code", "lost")


def test_with_the_registrys_document_items_removed_a_sweep_brings_the_bucket_back_whole(tenant: Tenant) -> None:
    there = {
        (record["vault"], record["path"], record["version_id"])
        for record in tenant.get("/documents", limit="1000")["documents"]
    }
    assert len(there) >= DOCUMENTS - 1
    removed = forget_documents(tenant)
    assert removed >= len(there)
    assert tenant.get("/documents")["documents"] == []
    assert tenant.search("Locker 37 holds item", VAULT) == ""  # no head, no answer

    done = sweep(tenant)

    assert done.returncode == 0, done.stderr
    assert f"{len(there)} new" in done.stdout

    def back() -> set[tuple[str, str, str]]:
        found = tenant.get("/documents", limit="1000", status="indexed")["documents"]
        return {(record["vault"], record["path"], record["version_id"]) for record in found}

    within(WITHIN_S, lambda: back() == there, every_s=0.5)
    assert "item 1369" in tenant.search("Locker 37 holds item", VAULT)


def forget_documents(tenant: Tenant) -> int:
    """Remove every item of the tenant's documents from the registry, and their change counts, as a loss would.

    How many of documents.
    """
    dynamodb, table = tenant.stack.client("dynamodb"), tenant.stack.environment["REGISTRY_TABLE"]
    start: dict[str, object] = {}
    removed = 0
    while True:
        page = dynamodb.scan(TableName=table, ProjectionExpression="PK, SK", **start)
        for item in page["Items"]:
            of_document = item["PK"]["S"].startswith(f"D#{tenant.name}/")
            if of_document or item["PK"]["S"] == f"LC#{tenant.name}":
                dynamodb.delete_item(TableName=table, Key=item)
                removed += of_document
        if "LastEvaluatedKey" not in page:
            return removed
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
