"""The real handlers over moto and the bucket index; the models are answered by a transport, not by a network."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, quote_plus

import boto3
import pytest
from moto import mock_aws

from testing.models import HashingEmbedder, ScriptedChatModel
from tests.contract.aws_fixtures import table_definition
from tests.functions.roles import IN_FORCE, Roles
from tests.world import ENVIRONMENT

ROOT = Path(__file__).parents[2]
EVENTS = ROOT / "events"
EXAMPLE_KEY = "rd_local_example_key"
EXAMPLE_BUCKET = "ragdrop-documents-example"
REGION = "us-east-1"
LOGICAL = {
    EXAMPLE_BUCKET: "DocumentBucket",
    "state": "StateBucket",
    "registry": "RegistryTable",
    "visited": "VisitedTable",
    "telemetry": "TelemetryTable",
    "ingest": "IngestQueue",
    "bulk": "IngestBulkQueue",
    "dead-letters": "IngestDeadLetterQueue",
}
"""What the template calls the buckets, tables and the queue of a Deployment."""


@dataclass(frozen=True)
class LocalContext:
    """What Powertools and ragdrop read of a Lambda context."""

    function_name: str = "test"
    memory_limit_in_mb: int = 1024
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:123456789012:function:test"
    aws_request_id: str = "00000000-0000-4000-8000-000000000000"
    remaining_ms: int = 60_000

    def get_remaining_time_in_millis(self) -> int:
        """A whole minute, unless told otherwise."""
        return self.remaining_ms


def rest_event(method: str, path: str, headers: Mapping[str, str], body: object = None) -> dict[str, Any]:
    """The REST API's event of a request; *path* may have a query, *body* is a text or becomes JSON."""
    route, _, query = path.partition("?")
    return {
        "resource": "/{proxy+}",
        "path": route,
        "httpMethod": method,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "multiValueQueryStringParameters": parse_qs(query, keep_blank_values=True),
        "requestContext": {"identity": {"sourceIp": "127.0.0.1"}, "stage": "prod"},
        "body": body if isinstance(body, str | None) else json.dumps(body),
        "isBase64Encoded": False,
    }


class Deployment:
    """What `sam deploy` would make, in moto: buckets, tables, queue, tenant and key, and handlers in their roles.

    *changes* are settings in place of the usual ones.
    """

    def __init__(self, folder: Path, environ: pytest.MonkeyPatch, **changes: str) -> None:
        self.roles = Roles(LOGICAL)
        self.s3, self.sqs = boto3.client("s3", region_name=REGION), boto3.client("sqs", region_name=REGION)
        for bucket in (EXAMPLE_BUCKET, "state"):
            self.s3.create_bucket(Bucket=bucket)
            self.s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        dynamodb = boto3.client("dynamodb", region_name=REGION)
        for table in ("registry", "visited", "telemetry"):
            dynamodb.create_table(TableName=table, **table_definition(LOGICAL[table]))
        self.dead_letters_url = self.sqs.create_queue(QueueName="dead-letters")["QueueUrl"]
        [dead] = self.sqs.get_queue_attributes(QueueUrl=self.dead_letters_url, AttributeNames=["QueueArn"])[
            "Attributes"
        ].values()
        redrive = json.dumps({"deadLetterTargetArn": dead, "maxReceiveCount": 5})
        queue_url = self.sqs.create_queue(QueueName="ingest", Attributes={"RedrivePolicy": redrive})["QueueUrl"]
        bulk_url = self.sqs.create_queue(QueueName="bulk", Attributes={"RedrivePolicy": redrive})["QueueUrl"]
        settings = {
            **ENVIRONMENT,
            "DOCUMENT_BUCKET": EXAMPLE_BUCKET,
            "QUEUE_URL": queue_url,
            "BULK_QUEUE_URL": bulk_url,
            "AWS_DEFAULT_REGION": REGION,
            **changes,
        }
        for name, value in settings.items():
            environ.setenv(name, value)
        self.index_folder = folder / "index"
        self.embedder = HashingEmbedder(dimension=int(settings["EMBEDDING_DIMENSION"]))
        self.chat = ScriptedChatModel("It is so. [1]")
        self.handlers = {name: self._load(name) for name in ("ingest", "query", "generate", "mcp", "sweep")}
        operator = self.handlers["query"].app.operate.operator
        operator.create_tenant("demo")
        self.key, _ = operator.create_key("demo", "admin")

    def _load(self, name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"function_{name}", ROOT / "functions" / name / "app.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.app.ports.embedder = self.embedder
        module.app.ports.chat = self.chat
        module.app.ports.index_folder = self.index_folder / name  # as each execution environment has its own /tmp
        module.handler = self.roles.acting(name, module.handler)  # type: ignore[attr-defined]
        return module

    def event(self, name: str, **changes: Any) -> dict[str, Any]:
        """A golden event with the deployment's own key, and *changes* laid over it."""
        text = (EVENTS / f"{name}.json").read_text("utf-8").replace(EXAMPLE_KEY, self.key)
        return {**json.loads(text), **changes}

    def routed(self, event: dict[str, Any]) -> tuple[int, str]:
        """The status and the body of a request to whichever function has its route."""
        response = self.response(event)
        return int(response["statusCode"]), str(response["body"])

    def response(self, event: dict[str, Any]) -> dict[str, Any]:
        """The response to a request of whichever function has its route."""
        path = event["path"]
        stored = path.startswith(("/v1/files", "/v1/vector_stores"))
        generated = path.startswith(("/ask", "/v1/", "/retrieveAndGenerate")) and not stored
        function = "generate" if generated else "mcp" if path == "/mcp" else "query"
        found: dict[str, Any] = self.handlers[function].handler(event, LocalContext())
        return found

    def call(self, function: str, event: dict[str, Any]) -> tuple[int, Any]:
        """The status and the parsed body of a request."""
        response = self.handlers[function].handler(event, LocalContext())
        return response["statusCode"], json.loads(response["body"])

    def post(self, function: str, body: Any, **changes: Any) -> tuple[int, Any]:
        """POST /search to query, or /ask to generate."""
        name = "search" if function == "query" else "ask"
        text = body if isinstance(body, str) else json.dumps(body)
        return self.call(function, self.event(name, body=text, **changes))

    def send(
        self, method: str, path: str, body: str | None = None, *, key: str | None = None, **query: str
    ) -> tuple[int, Any]:
        """Any request to query, with the deployment's key or another one."""
        many = {name: [value] for name, value in query.items()}
        event = self.event("search", httpMethod=method, path=path, body=body)
        event |= {"queryStringParameters": query or None, "multiValueQueryStringParameters": many or None}
        if key is not None:
            event["headers"]["x-api-key"] = key
            event["multiValueHeaders"]["x-api-key"] = [key]
        return self.call("query", event)

    def put_object(self, key: str, text: str) -> None:
        """Put an object and let its event arrive."""
        self.s3.put_object(Bucket=EXAMPLE_BUCKET, Key=key, Body=text.encode())
        self.reconcile(key)

    def reconcile(self, *keys: str, remaining_ms: int = 60_000, message_id: str | None = None) -> Any:
        """Let one message with an event of each key arrive; the handler's response."""
        event = self.event("ingest-put")
        [record] = event["Records"]
        record["messageId"] = message_id or record["messageId"]
        [change] = json.loads(record["body"])["Records"]
        del change["s3"]["object"]["sequencer"]
        told = [{**change["s3"]["object"], "key": quote_plus(key, safe="/")} for key in keys]
        changes = [{**change, "s3": {**change["s3"], "object": each}} for each in told]
        record["body"] = json.dumps({"Records": changes})
        return self.handlers["ingest"].handler(event, LocalContext(remaining_ms=remaining_ms))


@contextmanager
def deployed(folder: Path, environ: pytest.MonkeyPatch, **changes: str) -> Iterator[Deployment]:
    """A fresh deployment in moto; an error at the end where a function asked for what its role may not."""
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        environ.delenv(name, raising=False)
    with mock_aws():
        made = Deployment(folder, environ, **changes)
        IN_FORCE.append(made.roles)
        try:
            yield made
        finally:
            IN_FORCE.remove(made.roles)
    assert made.roles.denied == set()


@pytest.fixture
def deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """A fresh deployment in moto."""
    with deployed(tmp_path, monkeypatch) as made:
        yield made
