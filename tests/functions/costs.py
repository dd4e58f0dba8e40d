"""One of each operation over moto, counted: what docs/cost.md shows and tests/functions/test_costs.py counts again."""

from __future__ import annotations

import json
import random
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest
from moto import mock_aws
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType

from ragdrop.domain.deadlines import Deadline
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from tests.functions.conftest import EXAMPLE_BUCKET, REGION, Deployment
from tests.functions.request_counter import Item, RequestCounter, Usage
from tests.functions.roles import IN_FORCE

DOCUMENTS = 24
CHUNKS = 50  # of a long document
ACCOUNT = "123456789012"
WORDS = [
    f"{kind}{part}" for kind in ("steel", "copper", "rubber") for part in ("valve", "pump", "tank", "seal", "hose")
]
WORDS += ["valve", "pump", "gauge", "seal", "motor", "sensor", "relay", "fuse", "panel", "clamp", "cable", "burner"]


class CountedDeployment(Deployment):
    """A deployment whose clock stands still unless it is moved: what an environment holds for seconds is no chance."""

    def __init__(self, folder: Path, environ: pytest.MonkeyPatch, **changes: str) -> None:
        self.now_s = datetime.now(UTC).timestamp()
        self._environments = 0
        super().__init__(folder, environ, **changes)
        self.counter = RequestCounter(_read)
        self.usages: dict[str, Usage] = {}

    def _load(self, name: str) -> ModuleType:
        module = super()._load(name)
        module.app.ports.clock = lambda: self.now_s
        for held in (module.app.tenants.directory._keys, module.app.tenants.directory._tenants):
            held._clock = module.app.ports.clock  # they were made while the module was read
        return module

    def new_environment(self, name: str) -> None:
        """Begin an execution environment of a function: it holds nothing, and its disk is empty."""
        self._environments += 1
        self.index_folder = self.index_folder.with_name(f"index-{self._environments}")
        self.handlers[name] = self._load(name)

    @contextmanager
    def counted(self, operation: str, *, at_once: bool = False) -> Iterator[None]:
        """Count the block as one *operation*, ten seconds after what was before unless it is *at_once*."""
        self.now_s += 0 if at_once else 10
        with self.counter.counting() as usage:
            embedded, asked = self.embedder.calls, len(self.chat.asked)
            yield
        usage.calls += Counter(
            {"model embedding": self.embedder.calls - embedded, "model chat": len(self.chat.asked) - asked}
        )
        self.usages[operation] = usage

    def write(self, path: str, text: str, stage: str | None = None) -> str:
        """Put a version of a document, which nobody counts: the caller does; its S3 key."""
        key = f"demo/{path}"
        metadata = {} if stage is None else {"ragdrop-stage": stage}
        self.s3.put_object(Bucket=EXAMPLE_BUCKET, Key=key, Body=text.encode(), Metadata=metadata)
        return key

    def arrive(self, *keys: str) -> None:
        """Let a message of its own name the keys."""
        assert self.reconcile(*keys, message_id=str(uuid4())) == {"batchItemFailures": []}

    def search(self, text: str, **fields: Any) -> list[str]:
        """The paths found."""
        status, body = self.post("query", {"query": text, **fields})
        assert status == 200, body
        return [each["path"] for each in body["results"]]

    def request(self, path: str, body: Mapping[str, Any]) -> None:
        """A POST to the query function."""
        status, told = self.call("query", self.event("search", path=path, body=json.dumps(body)))
        assert status in {200, 202}, told

    def moment(self) -> str:
        """The time now; then a minute passes."""
        now = datetime.fromtimestamp(self.now_s, UTC).isoformat(timespec="milliseconds")
        self.now_s += 60
        return now


def _read(table: str, key: Mapping[str, Any]) -> Item | None:
    """An item of moto's table, read beside its API."""
    held = dynamodb_backends[ACCOUNT][REGION].get_table(table)
    found = held.get_item(DynamoType(key["PK"]), DynamoType(key["SK"]))
    return None if found is None else found.to_json()["Attributes"]


def count_operations(service: CountedDeployment) -> dict[str, Usage]:
    """Do one of each over 24 documents, and count it."""
    keys = [service.write(f"team/{n}.md", page(n)) for n in range(DOCUMENTS)]
    service.arrive(*keys)
    service.now_s += 60
    before = service.moment()
    service.arrive(service.write("team/5.md", page(5).replace("valve", "tap")))
    _count_questions(service)
    _count_documents(service)
    _count_past(service, before)
    return service.usages


def page(number: int) -> str:
    """A document of its own words, so that no two hits have the same score, that links to two others."""
    pick = random.Random(number)
    links = " ".join(f"[part {other}]({other}.md)" for other in ((number + 1) % DOCUMENTS, (number + 7) % DOCUMENTS))
    steps = "\n\n".join(f"## Step {step}\n\n" + " ".join(pick.choices(WORDS, k=40 + number)) for step in range(4))
    return f"# Part {number}\n\nSee {links}.\n\n{steps}"


def _count_questions(service: CountedDeployment) -> None:
    service.new_environment("query")
    service.new_environment("generate")
    with service.counted("search, the first of an environment"):
        service.search("Where is the valve of the pump?")
    service.now_s += 10
    service.search("Which panel?")  # it writes the vector of the first
    with service.counted("search"):
        service.search("Which gauge has a seal?")
    for question in (
        "Where is the motor?",
        "Which clamp is on the hose?",
        "Is there a fuse?",
        "Which tank has a burner?",
    ):
        service.now_s += 10
        service.search(question)  # so that the environment knows all documents, and the names that they link to
    with service.counted("search, steady"):
        service.search("Which cable goes to the relay?")
    with service.counted("search, at once after another", at_once=True):
        service.search("Does the motor need a sensor and a fuse?")
    with service.counted("search, the same again", at_once=True):
        service.search("Does the motor need a sensor and a fuse?")
    for _ in range(2):
        service.now_s += 10
        service.post("generate", {"query": "Is there a filter?"})
    with service.counted("ask"):
        status, answer = service.post("generate", {"query": "Which relay is behind the panel?"})
    assert (status, answer["sources"] != []) == (200, True), answer


def _count_documents(service: CountedDeployment) -> None:
    with service.counted("new document, one chunk"):
        service.arrive(service.write("team/small.md", "# Tap\n\nThe tap drips."))
    with service.counted(f"new document, {CHUNKS} chunks"):
        text = "\n\n".join(f"## Part {n}\n\n" + f"The valve {n} of the plant stays shut. " * 40 for n in range(CHUNKS))
        service.arrive(service.write("team/long.md", text))
    status, listed = service.send("GET", "/documents/team/long.md")
    assert (status, listed["chunk_count"]) == (200, CHUNKS), listed
    with service.counted("changed document, one chunk"):
        service.arrive(service.write("team/small.md", "# Tap\n\nThe tap drips no more."))
    with service.counted("unchanged document, its event again"):
        service.arrive("demo/team/small.md")
    with service.counted("deletion"):
        service.s3.delete_object(Bucket=EXAMPLE_BUCKET, Key="demo/team/small.md")
        service.arrive("demo/team/small.md")


def _count_past(service: CountedDeployment, then: str) -> None:
    service.search("Which panel?")
    with service.counted("search `as_of`, the first of a moment"):
        service.search("Which clamp holds the cable?", as_of=then)
    with service.counted("search `as_of`"):
        service.search("Where are the burner and the boiler?", as_of=then)
    service.now_s += 60
    back_to = service.moment()
    service.arrive(service.write("team/3.md", "# Pump 3\n\nIt is out of order."))
    with service.counted("rollback of one document"):
        service.request("/vaults/team/rollback", {"to": back_to})
        service.arrive("demo/team/3.md")
    with service.counted("staged document, one chunk"):
        service.arrive(service.write("team/4.md", "# Pump 4\n\nIt is new.", stage="spring"))
    service.search("Which panel?")
    with service.counted("search with `stage`"):
        service.search("Which motor is new?", stage="spring")
    with service.counted("promotion of one document"):
        service.request("/stages/team/spring/promote", {})
        service.now_s += 80
        service.arrive("demo/team/4.md")


@contextmanager
def counted_service(folder: Path, environ: pytest.MonkeyPatch, **changes: str) -> Iterator[CountedDeployment]:
    """A deployment in moto to count in, and what OpenSearch holds for it removed in the end."""
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        environ.delenv(name, raising=False)
    with mock_aws():
        made = CountedDeployment(folder, environ, EMBEDDING_DIMENSION="384", **changes)
        IN_FORCE.append(made.roles)
        try:
            yield made
        finally:
            IN_FORCE.remove(made.roles)
            if "INDEX_URL" in changes:
                tenant = made.handlers["query"].app.ports.registry.tenant("demo")
                OpenSearchChunkIndex.from_url(changes["INDEX_URL"]).drop(tenant.index, Deadline.after(60))


def opensearch_settings(url: str) -> dict[str, str]:
    """The changes of a deployment over OpenSearch, with an index of its own."""
    return {"INDEX_URL": url, "EMBEDDING_MODEL": f"hashing-{secrets.token_hex(4)}"}
