"""Where random histories happen: on the real adapters over moto."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import boto3

from ragdrop.stores.dynamodb.registry_table import DynamoDbManifests, DynamoDbRegistry
from ragdrop.stores.s3_objects import S3ObjectStore
from testing.memory_object_store import MemoryObjectStore
from tests.contract.aws_fixtures import table_definition

REGION = "us-east-1"


class InMoto:
    """The real adapters on one moto, over the bucket index; each history has a tenant of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.s3 = boto3.client("s3", region_name=REGION)
        self._dynamodb = boto3.client("dynamodb", region_name=REGION)
        self._histories = itertools.count(1)
        for bucket in ("documents", "state"):
            self.s3.create_bucket(Bucket=bucket)
            self.s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        self._ports = {
            "documents": S3ObjectStore("documents", self.s3),
            "state": MemoryObjectStore("state"),  # where nothing but RevisionStore and the bucket index write
        }

    def ports(self) -> dict[str, Any]:
        """The same set for all histories, but for the table: a query of moto takes as long as its table is large."""
        name = f"registry-{next(self._histories)}"
        self._dynamodb.create_table(TableName=name, **table_definition("RegistryTable"))
        manifests = DynamoDbManifests(name, self._dynamodb)
        return {**self._ports, "registry": DynamoDbRegistry(name, self._dynamodb), "manifests": manifests}

    def newest(self, key: str) -> tuple[str, bool] | None:
        """The newest version of a key and whether it is a delete marker."""
        listed = self.s3.list_object_versions(Bucket="documents", Prefix=key)
        for kind in ("Versions", "DeleteMarkers"):
            for version in listed.get(kind, []):
                if version["Key"] == key and version["IsLatest"]:
                    return version["VersionId"], kind == "DeleteMarkers"
        return None

    def purge(self, key: str, version_id: str) -> None:
        """Remove a version for good."""
        self.s3.delete_object(Bucket="documents", Key=key, VersionId=version_id)
