"""The engines of the contract suites: memory, AWS in process (moto), the emulator of a running stack, witnesses."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import boto3
import yaml
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.core.models import botocore_stubber

from ragdrop.ports.answer_services import Receipts
from ragdrop.ports.indexes import ManifestStore
from ragdrop.ports.message_queue import Delivery, MessageQueue, deliveries, look_at
from ragdrop.ports.object_store import ObjectStore
from ragdrop.ports.registry import Registry, RequestCounts
from ragdrop.ports.search_services import VisitedCache
from ragdrop.ports.shared_state import BreakerStore, StoredReplies
from ragdrop.ports.telemetry import Telemetry
from ragdrop.ports.work_ledger import WorkLedger
from ragdrop.stores.aws.clients import read_answers_plainly
from ragdrop.stores.dynamodb.ledger_items import DynamoDbWorkLedger
from ragdrop.stores.dynamodb.receipts_table import DynamoDbReceipts
from ragdrop.stores.dynamodb.registry_table import DynamoDbManifests, DynamoDbRegistry
from ragdrop.stores.dynamodb.telemetry_table import (
    DynamoDbBreakers,
    DynamoDbRequestCounts,
    DynamoDbStoredReplies,
    DynamoDbTelemetry,
    DynamoDbVisitedCache,
)
from ragdrop.stores.s3_objects import S3ObjectStore
from ragdrop.stores.sqs_queue import SqsMessageQueue
from testing.memory_breakers import MemoryBreakers
from testing.memory_ledger import MemoryWorkLedger
from testing.memory_manifests import MemoryManifests
from testing.memory_message_queue import MemoryMessageQueue
from testing.memory_object_store import MemoryObjectStore
from testing.memory_registry import MemoryRegistry
from testing.memory_telemetry import (
    MemoryReceipts,
    MemoryRequestCounts,
    MemoryStoredReplies,
    MemoryTelemetry,
    MemoryVisitedCache,
)
from tests.aws.call_shapes import SHAPES
from tests.aws.witnesses import endpoint_of
from tests.simulation.dynamodb import SimulatedDynamoDb
from tests.simulation.services import SimulatedBucket, SimulatedQueue
from tests.stacks import shared_stack

ENGINES = ("memory", "aws", "emulator", "witness")
SIMULATED = "simulated"  # the services of tests/simulation
STORE_ENGINES = ("memory", "aws", "emulator")  # nothing else speaks S3 as these two do: they are each other's witness
REGION = "eu-central-1"
TURN = threading.Lock()
SESSION = boto3.Session()  # keeps the services' descriptions, which take most of the time of making a client
TEMPLATE = Path(__file__).parents[2] / "template.yaml"


class _Loader(yaml.SafeLoader):
    """Reads a CloudFormation template; what its short functions give is of no interest here."""


_Loader.add_multi_constructor("!", lambda _loader, _suffix, _node: None)


def table_definition(resource: str) -> dict[str, Any]:
    """A table as the template defines it, as CreateTable takes it."""
    properties = _resources()[resource]["Properties"]
    names = ("BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
    return {name: properties[name] for name in names if name in properties}


@functools.cache
def _resources() -> dict[str, Any]:
    """The template's resources: reading them takes half a second."""
    template = yaml.load(TEMPLATE.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a safe loader
    resources: dict[str, Any] = template["Resources"]
    return resources


@dataclass
class StoreEngine:
    store: ObjectStore
    remove_version: Callable[[str, str], None]
    tag: Callable[[str, Mapping[str, str]], None]  # the current version of a key


@dataclass
class QueueEngine:
    queue: MessageQueue
    receive: Callable[[], list[tuple[str, str]]]  # receipt handle and key of what is visible now
    deliver: Callable[[], list[Delivery]]  # the same as ingest reads it
    give_up: Callable[[str], None]  # a key into the dead-letter queue


def stack() -> Mapping[str, Any]:
    """What the process's running stack says of itself."""
    return shared_stack().fields


def answered_in_turn(event_name: str, request: Any, **others: Any) -> Any:
    """Moto's answer, one at a time: it checks a condition and writes in two steps, which DynamoDB does in one."""
    with TURN:
        return botocore_stubber(event_name, request, **others)


@contextmanager
def clients(engine: str) -> Iterator[Callable[[str], Any]]:
    """Makes low-level clients of moto, of the stack's emulator, or of a server that has nothing to do with either."""
    with ExitStack() as cleanup:
        credentials = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": REGION}
        if engine == "aws":
            cleanup.enter_context(mock_aws())
        elif engine == "emulator":
            running = stack()
            environment = running.get("environment", {})
            credentials["endpoint_url"] = running["endpoint_url"]
            credentials["region_name"] = (
                environment.get("AWS_DEFAULT_REGION") or environment.get("AWS_REGION") or REGION
            )
            credentials["aws_access_key_id"] = environment.get("AWS_ACCESS_KEY_ID", "test")
            credentials["aws_secret_access_key"] = environment.get("AWS_SECRET_ACCESS_KEY", "test")
        config = Config(connect_timeout=2, read_timeout=20)

        def make(service: str) -> Any:
            if engine == "witness":
                credentials["endpoint_url"] = endpoint_of(service)
            SHAPES.engines[urlsplit(credentials.get("endpoint_url", "")).netloc] = engine
            made = SESSION.client(service, config=config, **credentials)
            if engine == "aws":
                made.meta.events.unregister("before-send", botocore_stubber)
                made.meta.events.register("before-send", answered_in_turn)
            if service == "dynamodb":
                read_answers_plainly(made)
            cleanup.callback(made.close)
            return made

        yield make


@contextmanager
def table_engine(engine: str, resource: str) -> Iterator[tuple[str, Any]]:
    """Name and client of a table that is as the template defines *resource*; on the emulator the stack's own."""
    if engine == SIMULATED:
        yield resource, SimulatedDynamoDb(time.time)
        return
    with clients(engine) as make:
        client = make("dynamodb")
        if engine == "emulator":
            yield stack()["environment"][f"{resource.removesuffix('Table').upper()}_TABLE"], client
            return
        name = f"{resource}-{uuid4().hex[:12]}"
        client.create_table(TableName=name, **table_definition(resource))
        yield name, client
        client.delete_table(TableName=name)


@contextmanager
def registry_engine(engine: str) -> Iterator[Registry]:
    """A registry; on the emulator the stack's own table, so tests take a new tenant, which is removed at the end."""
    if engine == "memory":
        yield MemoryRegistry()
        return
    with table_engine(engine, "RegistryTable") as (name, client):
        registry = DynamoDbRegistry(name, client)
        before = {tenant.name for tenant in registry.tenants()}
        yield registry
        for made in {tenant.name for tenant in registry.tenants()} - before:
            registry.forget_tenant(made)  # a tenant with counts and no index is a fault that `doctor` reports


@contextmanager
def manifests_engine(engine: str) -> Iterator[ManifestStore]:
    """Manifests; on the emulator the stack's own registry table, so tests take a tenant of their own."""
    if engine == "memory":
        yield MemoryManifests()
        return
    with table_engine(engine, "RegistryTable") as (name, client):
        yield DynamoDbManifests(name, client)


@contextmanager
def work_ledger_engine(engine: str) -> Iterator[WorkLedger]:
    """Plans; on the emulator in the stack's own registry table, so tests take a tenant of their own."""
    if engine == "memory":
        yield MemoryWorkLedger()
        return
    with table_engine(engine, "RegistryTable") as (name, client):
        yield DynamoDbWorkLedger(name, client)


@contextmanager
def telemetry_engine(engine: str) -> Iterator[Telemetry]:
    """Telemetry; on the emulator the stack's own table, so tests take a tenant of their own."""
    if engine == "memory":
        yield MemoryTelemetry()
        return
    with table_engine(engine, "TelemetryTable") as (name, client):
        yield DynamoDbTelemetry(name, client)


@contextmanager
def receipts_engine(engine: str) -> Iterator[Receipts]:
    """Receipts; on the emulator the stack's own table, so tests take a tenant of their own."""
    if engine == "memory":
        yield MemoryReceipts()
        return
    with table_engine(engine, "TelemetryTable") as (name, client):
        yield DynamoDbReceipts(name, client)


@contextmanager
def request_counts_engine(engine: str) -> Iterator[RequestCounts]:
    """Counters; on the emulator the stack's own table, so tests take a tenant of their own."""
    if engine == "memory":
        yield MemoryRequestCounts()
        return
    with table_engine(engine, "TelemetryTable") as (name, client):
        yield DynamoDbRequestCounts(name, client)


@contextmanager
def stored_replies_engine(engine: str) -> Iterator[StoredReplies]:
    """Kept replies; on the emulator the stack's own table, so tests take a tenant of their own."""
    if engine == "memory":
        yield MemoryStoredReplies()
        return
    with table_engine(engine, "TelemetryTable") as (name, client):
        yield DynamoDbStoredReplies(name, client)


@contextmanager
def breakers_engine(engine: str) -> Iterator[BreakerStore]:
    """Breakers; on the emulator the stack's own table, so tests take dependencies of their own."""
    if engine == "memory":
        yield MemoryBreakers()
        return
    with table_engine(engine, "TelemetryTable") as (name, client):
        yield DynamoDbBreakers(name, client)


@contextmanager
def visited_engine(engine: str) -> Iterator[VisitedCache]:
    """Visits; on the emulator the stack's own table, so tests take a tenant of their own."""
    if engine == "memory":
        yield MemoryVisitedCache()
        return
    with table_engine(engine, "VisitedTable") as (name, client):
        yield DynamoDbVisitedCache(name, client)


@contextmanager
def store_engine(engine: str, *, versioned: bool = True) -> Iterator[StoreEngine]:
    """A bucket of its own; the stack's would start ingest."""
    if engine in {"memory", SIMULATED}:
        memory = (
            MemoryObjectStore() if engine == "memory" else SimulatedBucket("documents", time.time, lambda _key: None)
        )
        yield StoreEngine(memory, memory.remove_version, memory.tag)
        return
    with clients(engine) as make:
        client = make("s3")
        bucket = f"ragdrop-contract-{uuid4().hex[:12]}"
        client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
        if versioned:
            client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        store = S3ObjectStore(bucket, client)
        try:
            yield StoreEngine(
                store,
                lambda key, version: client.delete_object(Bucket=bucket, Key=key, VersionId=version),
                lambda key, tags: client.put_object_tagging(
                    Bucket=bucket, Key=key, Tagging={"TagSet": [{"Key": k, "Value": v} for k, v in tags.items()]}
                ),
            )
        finally:
            for prefix in ("acme/", "other/"):
                store.delete_prefix(prefix)
            with suppress(ClientError):
                client.delete_bucket(Bucket=bucket)


@contextmanager
def queue_engine(engine: str) -> Iterator[QueueEngine]:
    """A queue of its own; the stack's is read by ingest."""
    if engine == "memory":
        memory = MemoryMessageQueue()
        yield QueueEngine(memory, memory.receive, lambda: deliveries(memory.event()), memory.dead.append)
        return
    if engine == SIMULATED:
        simulated = SimulatedQueue(time.time, visibility_s=0.0, max_receives=100)

        def taken() -> list[Delivery]:
            waiting = [*simulated.visible(bulk=False), *simulated.visible(bulk=True)]
            return deliveries(simulated.batch(waiting[:10]))

        yield QueueEngine(
            simulated,
            lambda: [(each.receipt_handle, json.loads(each.body)["key"]) for each in taken()],
            taken,
            simulated.give_up,
        )
        return
    with clients(engine) as make:
        client = make("sqs")
        name = f"contract-{uuid4().hex[:12]}"
        dead_url = client.create_queue(QueueName=f"{name}-dead")["QueueUrl"]
        answer = client.get_queue_attributes(QueueUrl=dead_url, AttributeNames=["QueueArn"])
        redrive = {"deadLetterTargetArn": answer["Attributes"]["QueueArn"], "maxReceiveCount": 100}
        attributes = {"VisibilityTimeout": "0", "RedrivePolicy": json.dumps(redrive)}
        url = client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]

        def messages() -> list[dict[str, Any]]:
            found = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=0)
            return list(found.get("Messages", []))

        def receive() -> list[tuple[str, str]]:
            return [(one["ReceiptHandle"], json.loads(one["Body"])["key"]) for one in messages()]

        def deliver() -> list[Delivery]:
            names = {"messageId": "MessageId", "receiptHandle": "ReceiptHandle", "body": "Body"}
            return deliveries({"Records": [{name: one[of] for name, of in names.items()} for one in messages()]})

        try:
            yield QueueEngine(
                SqsMessageQueue(url, client),
                receive,
                deliver,
                lambda key: client.send_message(QueueUrl=dead_url, MessageBody=look_at(key)),
            )
        finally:
            client.delete_queue(QueueUrl=url)
            client.delete_queue(QueueUrl=dead_url)
