"""The registry in one DynamoDB table (docs/architecture.md): heads, details, tenants and keys, and a listing index."""

from __future__ import annotations

import time
from collections.abc import Callable

from ragdrop.stores.aws.clients import AwsClient
from ragdrop.stores.dynamodb.documents import DynamoDbDocuments
from ragdrop.stores.dynamodb.listing import DynamoDbListing
from ragdrop.stores.dynamodb.table import DynamoDbTable
from ragdrop.stores.dynamodb.tenants import DynamoDbFolders, DynamoDbTenants


class DynamoDbRegistry(DynamoDbDocuments, DynamoDbListing, DynamoDbTenants, DynamoDbFolders):
    """A Registry; every read but `page` is consistent.

    Args:
        table: The table's name.
        client: A low-level DynamoDB client; by default the environment's own, made at the first call.
        sleep: Waits between two tries of a batch read, in seconds.
    """

    def __init__(self, table: str, client: AwsClient = None, sleep: Callable[[float], None] = time.sleep) -> None:
        DynamoDbDocuments.__init__(self, DynamoDbTable(table, client), sleep)
