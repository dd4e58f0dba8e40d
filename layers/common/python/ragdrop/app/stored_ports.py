"""The ports of buckets, tables and queues: each is built, and its package imported, when it is first used."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ragdrop.config import Settings

if TYPE_CHECKING:
    from ragdrop.ports.answer_services import Receipts
    from ragdrop.ports.indexes import ManifestStore
    from ragdrop.ports.message_queue import MessageQueue
    from ragdrop.ports.object_store import ObjectStore
    from ragdrop.ports.registry import Registry, RequestCounts
    from ragdrop.ports.search_services import VisitedCache
    from ragdrop.ports.shared_state import BreakerStore, StoredReplies
    from ragdrop.ports.telemetry import Telemetry
    from ragdrop.ports.work_ledger import WorkLedger


class StoredPorts:
    """What AWS stores, by the names in the settings."""

    settings: Settings

    @cached_property
    def documents(self) -> ObjectStore:
        from ragdrop.stores.s3_objects import S3ObjectStore

        return S3ObjectStore(self.settings.document_bucket)

    @cached_property
    def state(self) -> ObjectStore:
        from ragdrop.stores.s3_objects import S3ObjectStore

        return S3ObjectStore(self.settings.state_bucket)

    @cached_property
    def registry(self) -> Registry:
        from ragdrop.stores.dynamodb.registry_table import DynamoDbRegistry

        return DynamoDbRegistry(self.settings.registry_table)

    @cached_property
    def manifests(self) -> ManifestStore:
        from ragdrop.stores.dynamodb.registry_table import DynamoDbManifests

        return DynamoDbManifests(self.settings.registry_table)

    @cached_property
    def work_ledger(self) -> WorkLedger:
        from ragdrop.stores.dynamodb.ledger_items import DynamoDbWorkLedger

        return DynamoDbWorkLedger(self.settings.registry_table)

    @cached_property
    def telemetry(self) -> Telemetry:
        from ragdrop.stores.dynamodb.telemetry_table import DynamoDbTelemetry

        return DynamoDbTelemetry(self.settings.telemetry_table)

    @cached_property
    def receipts(self) -> Receipts:
        from ragdrop.stores.dynamodb.receipts_table import DynamoDbReceipts

        return DynamoDbReceipts(self.settings.telemetry_table)

    @cached_property
    def stored_replies(self) -> StoredReplies:
        from ragdrop.stores.dynamodb.telemetry_table import DynamoDbStoredReplies

        return DynamoDbStoredReplies(self.settings.telemetry_table)

    @cached_property
    def request_counts(self) -> RequestCounts:
        from ragdrop.stores.dynamodb.telemetry_table import DynamoDbRequestCounts

        return DynamoDbRequestCounts(self.settings.telemetry_table)

    @cached_property
    def visited(self) -> VisitedCache:
        from ragdrop.stores.dynamodb.telemetry_table import DynamoDbVisitedCache

        return DynamoDbVisitedCache(self.settings.visited_table)

    @cached_property
    def breaker_store(self) -> BreakerStore:
        from ragdrop.stores.dynamodb.telemetry_table import DynamoDbBreakers

        return DynamoDbBreakers(self.settings.telemetry_table)

    @cached_property
    def queue(self) -> MessageQueue:
        from ragdrop.stores.sqs_queue import SqsMessageQueue

        return SqsMessageQueue(self.settings.queue_url, bulk_url=self.settings.bulk_queue_url)
