"""The restore drill: a stack loses its tables, then its state bucket too; documents and answers come back the same."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from ragdrop.generate.answering import NOT_COMPARED, NOT_READ
from tests.document_files import docx, paragraph, pdf
from tests.integration.commands import PATIENCE_S, RAGDROP, Tenant, environment, operate, run, within
from tests.integration.golden_vault import GOLDEN, VAULT
from tests.integration.stub_embeddings import StubEmbeddings
from tests.office_files import xlsx
from tests.stacks import LocalStack, running_stack

pytestmark = pytest.mark.long

SETTLED_S = 600.0
CLOSED_S = 95.0  # a breaker opens for 60 s, and its trial ends within 30
CACHED_S = 6.0  # until every environment has read the tenant's settings and calibration
ASKED = 50
TOP = 3  # documents of each question that are compared
QUESTIONS = [json.loads(line)["question"] for line in GOLDEN.read_text("utf-8").splitlines()][:ASKED]
ADMISSION = {"admission": {"questions": [{"question": "colour of the gate", "text": "gate is grey"}]}}
VAULTS = ("golden", "mixed", "guarded")
LONGEST_TITLE = 150  # characters; a chunk of the sample vault has more
RECORD = ("path", "status", "stage", "version_id", "live_version_id", "etag")


@pytest.fixture(scope="module")
def embeddings() -> Iterator[StubEmbeddings]:
    service = StubEmbeddings()
    service.start()
    yield service
    service.stop()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, embeddings: StubEmbeddings) -> Iterator[LocalStack]:
    """A stack of this module alone, as its tables are emptied."""
    models = {
        "EMBEDDING_URL": embeddings.url,
        "EMBEDDING_MODEL": embeddings.model.name,
        "EMBEDDING_DIMENSION": str(embeddings.model.dimension),
    }
    with running_stack(tmp_path_factory.mktemp("restore-stack"), **models) as running:
        yield running


@dataclass(frozen=True)
class Seen:
    """What a tenant's documents are, and what its questions are answered with."""

    documents: dict[str, list[dict[str, Any]]]
    found: dict[str, list[str]]
    quotes: dict[str, list[tuple[str, str]]]
    staged: dict[str, str]

    @classmethod
    def by(cls, tenant: Tenant) -> Seen:
        """Look at everything and ask all questions."""
        documents = {
            vault: [{name: each.get(name) for name in RECORD} for each in tenant.listed(vault)] for vault in VAULTS
        }
        found, quotes = {}, {}
        for question in QUESTIONS:
            results = whole(tenant, "/search", query=question, min_relevance=0, limit=TOP)["results"]
            found[question] = [f"{each['vault']}/{each['path']}" for each in results]
            answer = whole(tenant, "/ask", query=question, min_relevance=0)
            quotes[question] = [(each["path"], each["quote"]) for each in answer["citations"]]
        body = {"query": "pump tap", "vaults": ["mixed"], "limit": 20, "min_relevance": 0}
        found["live"] = texts(whole(tenant, "/search", **body))
        staged = {each["path"]: each["text"] for each in whole(tenant, "/search", **body, stage="autumn")["results"]}
        return cls(documents, found, quotes, staged)

    def differences(self, other: Seen) -> dict[str, Any]:
        """What is not the same, by its name: here and in *other*."""
        pairs = [(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)]
        return {
            name: (here.get(name), there.get(name))
            for here, there in pairs
            for name in here | there
            if here.get(name) != there.get(name)
        }


def posted(tenant: Tenant, route: str, **body: Any) -> dict[str, Any]:
    headers = {"x-api-key": tenant.key}
    url = tenant.stack.api_url + route
    answer = httpx.post(url, json=body, headers=headers, timeout=PATIENCE_S, trust_env=False)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def whole(tenant: Tenant, route: str, **body: Any) -> dict[str, Any]:
    """The reply once nothing was missing: what is degraded may differ, and a busy machine opens breakers."""
    replies: list[dict[str, Any]] = []

    def is_whole() -> bool:
        replies.append(posted(tenant, route, **body))
        return not (replies[-1]["degraded"] or {NOT_READ, NOT_COMPARED}.intersection(replies[-1]["warnings"]))

    within(CLOSED_S, is_whole, every_s=1.0)
    return replies[-1]


def texts(answer: dict[str, Any]) -> list[str]:
    return sorted(f"{each['path']}: {each['text']}" for each in answer["results"])


def put(tenant: Tenant, name: str, body: bytes, **metadata: str) -> None:
    tenant.stack.client("s3").put_object(
        Bucket=tenant.stack.bucket, Key=f"{tenant.name}/{name}", Body=body, Metadata=metadata
    )


def has(tenant: Tenant, name: str, status: str) -> bool:
    vault, _, path = name.partition("/")
    return any(each["path"] == path for each in tenant.listed(vault, status))


def filled(tenant: Tenant) -> None:
    """Documents of several formats and every state that a document can be in."""
    assert tenant.ragdrop("push", str(VAULT), "--vault", "golden", "--wait", timeout_s=900).returncode == 0
    put(tenant, "mixed/pump.md", b"The pump is red.")
    put(tenant, "mixed/tap.md", b"The tap is old.")
    put(tenant, "mixed/back.md", b"The valve is first.")
    put(tenant, "mixed/gone.md", b"The pump is gone.")
    put(tenant, "mixed/purged.md", b"The pump is purged.")
    put(tenant, "mixed/empty.md", b" ")
    put(tenant, "mixed/manual.docx", docx(paragraph("The manual of the crane has 12 pages.")))
    put(tenant, "mixed/plan.pdf", pdf(["The plan of the cellar shows a drain."]))
    put(tenant, "mixed/parts.xlsx", xlsx({"Parts": [["part", "price"], ["seal", "12"]]}))
    put(tenant, "mixed/page.html", b"<html><body><h1>Lift</h1><p>The lift carries 800 kg.</p></body></html>")
    put(tenant, "guarded/gate.md", b"The colour: the gate is grey.")
    within(SETTLED_S, lambda: has(tenant, "guarded/gate.md", "indexed"))
    within(SETTLED_S, lambda: len(tenant.listed("mixed", "indexed")) == 9)
    time.sleep(1)
    then = datetime.now(UTC).isoformat(timespec="milliseconds")
    put(tenant, "guarded/.ragdrop.json", json.dumps(ADMISSION).encode())
    within(SETTLED_S, lambda: has(tenant, "guarded/.ragdrop.json", "indexed"))
    time.sleep(CACHED_S)
    put(tenant, "mixed/pump.md", b"The pump is blue.", **{"ragdrop-stage": "spring"})
    within(SETTLED_S, lambda: has(tenant, "mixed/pump.md", "staged"))
    assert tenant.ragdrop("promote", "mixed", "spring").returncode == 0
    put(tenant, "mixed/back.md", b"The valve is second.")
    assert tenant.ragdrop("rm", "mixed/gone.md").returncode == 0
    assert tenant.ragdrop("rm", "mixed/purged.md", "--purge").returncode == 0
    within(SETTLED_S, lambda: len(tenant.get("/documents/mixed/back.md/history")["versions"]) == 2)
    assert tenant.ragdrop("rollback", "mixed/back.md", "--to", then, "--yes").returncode == 0
    within(SETTLED_S, lambda: len(tenant.get("/documents/mixed/back.md/history")["versions"]) == 3)
    within(SETTLED_S, lambda: has(tenant, "mixed/pump.md", "indexed"))
    for options in ("--outdated", "--drop-old"):  # replaced chunks would count in the statistics of words until a merge
        operate(tenant.stack, "reindex", "--tenant", tenant.name, options)
    time.sleep(CACHED_S)
    put(tenant, "guarded/gate.md", b"The colour: the gate is green.")
    put(tenant, "mixed/tap.md", b"The tap is new.", **{"ragdrop-stage": "autumn"})
    put(tenant, "mixed/hose.md", b"The tap has a hose.", **{"ragdrop-stage": "autumn"})
    waiting = ("mixed/tap.md", "mixed/hose.md", "guarded/gate.md")
    within(SETTLED_S, lambda: all(has(tenant, name, "staged") for name in waiting))
    operate(tenant.stack, "calibrate", "--tenant", tenant.name)
    time.sleep(CACHED_S)


def lose_tables(stack: LocalStack) -> None:
    """Remove every item of every table."""
    dynamodb = stack.client("dynamodb")
    for table in dynamodb.list_tables()["TableNames"]:
        for page in dynamodb.get_paginator("scan").paginate(TableName=table):
            for item in page["Items"]:
                dynamodb.delete_item(TableName=table, Key={name: item[name] for name in ("PK", "SK")})


def lose_state(stack: LocalStack) -> None:
    """Remove every object of the state bucket: texts, vectors, segments."""
    s3, bucket = stack.client("s3"), stack.environment["STATE_BUCKET"]
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for each in page.get("Contents", []):
            s3.delete_object(Bucket=bucket, Key=each["Key"])


def restored(tenant: Tenant) -> tuple[Tenant, dict[str, Any]]:
    """Restore the stack; the tenant with a new key, and what the command reported."""
    began = time.monotonic()
    done = run(tenant.stack, "restore", "--tenant", tenant.name, "--json", timeout_s=1_200)
    assert done.returncode == 0, done.stdout + done.stderr
    print(f"restored in {time.monotonic() - began:.0f} s: {done.stdout}")
    time.sleep(CACHED_S)
    key = json.loads(operate(tenant.stack, "key", "create", tenant.name, "--role", "admin", "--json"))["api_key"]
    return replace(tenant, key=key), json.loads(done.stdout)


@pytest.fixture(scope="module")
def before(stack: LocalStack) -> tuple[Tenant, Seen]:
    tenant = Tenant.created(stack, "restore")
    filled(tenant)
    seen = Seen.by(tenant)
    assert sum(bool(quotes) for quotes in seen.quotes.values()) > ASKED / 2
    assert seen.staged["tap.md"] == "The tap is new."
    return tenant, seen


def test_with_the_tables_lost_nothing_is_embedded_again_and_answers_are_the_same(
    before: tuple[Tenant, Seen], embeddings: StubEmbeddings
) -> None:
    tenant, seen = before
    lose_tables(tenant.stack)
    embedded = embeddings.texts

    tenant, report = restored(tenant)

    assert report["embedded"] == 0
    given = embeddings.model.given[embedded:]  # titles and questions, by which scores are calibrated
    assert [text for text in given if len(text) > LONGEST_TITLE] == []
    assert (report["created"], report["staged"], report["deleted"]) == (True, 3, 1)
    assert report["failed"] == {"EMPTY_DOCUMENT": 1}
    assert Seen.by(tenant).differences(seen) == {}


def test_with_the_state_bucket_lost_too_a_killed_restore_continues_and_answers_are_the_same(
    before: tuple[Tenant, Seen],
) -> None:
    tenant, seen = before
    lose_tables(tenant.stack)
    lose_state(tenant.stack)
    command = [str(RAGDROP), "restore", "--tenant", tenant.name]
    with subprocess.Popen(command, env=environment(tenant.stack), stdout=subprocess.DEVNULL) as first:
        within(SETTLED_S, lambda: documents_of(tenant) >= 3)
        first.kill()

    tenant, report = restored(tenant)

    assert (report["reused"] < report["embedded"], report["staged"], report["deleted"]) == (True, 3, 1)
    assert Seen.by(tenant).differences(seen) == {}


def documents_of(tenant: Tenant) -> int:
    lines = operate(tenant.stack, "tenant", "list", "--json").splitlines()
    return sum(each["documents"] for each in map(json.loads, lines) if each["tenant"] == tenant.name)
