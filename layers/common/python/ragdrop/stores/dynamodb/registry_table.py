"""The registry in one DynamoDB table (docs/architecture.md): documents, tenants, keys, folders and manifests."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ragdrop.domain.golden import GoldenOutcome, GoldenRun
from ragdrop.domain.models import Calibration
from ragdrop.domain.tenants import ActiveIndex, ApiKey, RateLimits, StoredSettings, Tenant
from ragdrop.ports.registry import MAX_FOLDERS
from ragdrop.stores.aws.clients import AwsClient
from ragdrop.stores.dynamodb.document_items import DynamoDbDocuments, settings_count
from ragdrop.stores.dynamodb.items import (
    TENANT_LIST_PK,
    TENANT_SK,
    VAULT_CHUNKS,
    VAULT_DOCUMENTS,
    VAULT_FIT,
    Item,
    api_key_item,
    api_key_of,
    change_counts_pk,
    settings_changes,
    settings_key,
    stage_key,
    tenant_item,
    tenant_of,
    work_pk,
)
from ragdrop.stores.dynamodb.table import DynamoDbTable, Update


class DynamoDbManifests:
    """A ManifestStore in the registry table."""

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._table = DynamoDbTable(table, client)

    def read(self, tenant: str, index: str) -> str | None:
        item = self._table.get(_manifest_key(tenant, index))
        return None if item is None else str(item["body"])

    def write(self, tenant: str, index: str, body: str, sequence: int, before: int) -> bool:
        changes = {"body": body, "sequence": sequence}
        update = Update(changes, {"sequence": before}) if before else Update(changes, only_new=True)
        return self._table.update(_manifest_key(tenant, index), update, returning="NONE").won

    def delete(self, tenant: str, index: str) -> None:
        self._table.delete(_manifest_key(tenant, index))


def _manifest_key(tenant: str, index: str) -> tuple[str, str]:
    return f"T#{tenant}", f"I#{index}"


def _key(sha256: str) -> tuple[str, str]:
    return f"K#{sha256}", "K"


def _list(tenant: str) -> str:
    return f"KT#{tenant}"


def _canaries(tenant: str) -> str:
    return f"Q#{tenant}"


def _run(item: Item) -> GoldenRun:
    body = json.loads(item["body"])
    return GoldenRun(**body | {"outcomes": tuple(GoldenOutcome(**each) for each in body["outcomes"])})


class DynamoDbRegistry(DynamoDbDocuments):
    """A Registry; *sleep* waits between two tries of a batch read, in seconds."""

    def __init__(self, table: str, client: AwsClient = None, sleep: Callable[[float], None] = time.sleep) -> None:
        DynamoDbDocuments.__init__(self, DynamoDbTable(table, client), sleep)

    def api_key(self, sha256: str) -> ApiKey | None:
        item = self._table.get(_key(sha256))
        return api_key_of(item) if item else None

    def put_api_key(self, key: ApiKey) -> None:
        """Write a key; its entry in the tenant's list first, as a key that nobody can list could not be revoked."""
        self._table.put({"PK": _list(key.tenant), "SK": key.sha256})
        self._table.put(api_key_item(key))

    def api_keys(self, tenant: str) -> list[ApiKey]:
        found = (self.api_key(entry["SK"]) for entry in self._table.query(_list(tenant)))
        return sorted((key for key in found if key), key=lambda key: (key.created_at, key.sha256))

    def revoke_api_key(self, sha256: str) -> bool:
        return self._table.update(_key(sha256), Update({"revoked": True}), returning="NONE").won

    def expire_api_key(self, sha256: str, expires_at_s: float) -> bool:
        return self._table.update(_key(sha256), Update({"expires_at_s": expires_at_s}), returning="NONE").won

    def _forget_keys(self, tenant: str) -> int:
        """Remove a tenant's keys, each before its entry, so that what is cut off in between is found again."""
        gone = 0
        for entry in list(self._table.query(_list(tenant))):
            self._table.delete(_key(entry["SK"]))
            self._table.delete((entry["PK"], entry["SK"]))
            gone += 1
        return gone

    def folders(self, tenant: str) -> frozenset[str]:
        item = self._table.get((f"T#{tenant}", "F"))
        return frozenset(item.get("folders") or ()) if item else frozenset()

    def note_folder(self, tenant: str, folder: str) -> None:
        update = Update(additions={"folders": {folder}}, fewer_than={"folders": MAX_FOLDERS})
        self._table.update((f"T#{tenant}", "F"), update, returning="NONE")

    def tenant(self, name: str, *, consistent: bool = True) -> Tenant | None:
        found = {item["SK"]: item for item in self._table.query(f"T#{name}", consistent=consistent)}
        item = found.pop(TENANT_SK, None)
        return tenant_of(item, found.values()) if item else None

    def create_tenant(self, tenant: Tenant) -> bool:
        # the entry of the list first: one without its tenant is passed over, a tenant without one would be invisible
        self._table.put({"PK": TENANT_LIST_PK, "SK": tenant.name})
        return self._table.put(tenant_item(tenant), only_new=True)

    def tenants(self) -> list[Tenant]:
        names = [item["SK"] for item in self._table.query(TENANT_LIST_PK)]
        found = (self.tenant(name) for name in names)
        return [tenant for tenant in found if tenant]

    def move_indexes(
        self, before: Tenant, *, active: ActiveIndex, building: ActiveIndex | None, previous: ActiveIndex | None
    ) -> bool:
        indexes = {"active": active, "building": building, "previous": previous}
        changes = {name: asdict(index) if index else None for name, index in indexes.items()}
        update = Update(changes | {"moves": before.moves + 1}, expected={"moves": before.moves})
        return self._table.update((f"T#{before.name}", "T"), update, returning="NONE").won

    def put_calibration(self, name: str, calibration: Calibration, *, vault: str = "") -> bool:
        update = Update({"calibration": asdict(calibration)}, additions={"generation": 1})
        request = update.request()
        if vault:
            request["ExpressionAttributeNames"]["#calibration"] = f"{VAULT_FIT}{vault}"
        return self._table.update_item((f"T#{name}", "T"), request, returning="NONE").won

    def add_to_tenant(
        self,
        name: str,
        *,
        vault: str,
        documents: int,
        chunks: int,
        doc_type: str | None = None,
        restricted: bool = False,
    ) -> None:
        """Add to the counters, note vault and doc_type, raise the generation by one; nothing for an unknown tenant."""
        added: dict[str, Any] = {"documents": documents, "chunks": chunks, "generation": 1, "vaults": {vault}}
        if restricted:
            added["restricted"] = {vault}
        if doc_type is not None:
            added["doc_types"] = {f"{vault}/{doc_type}"}
        request = Update(additions=added).request()
        request["UpdateExpression"] += ", #in_vault :documents, #of_vault :chunks"
        request["ExpressionAttributeNames"] |= {
            "#in_vault": f"{VAULT_DOCUMENTS}{vault}",
            "#of_vault": f"{VAULT_CHUNKS}{vault}",
        }
        self._table.update_item((f"T#{name}", "T"), request, returning="NONE")

    def keep_settings(self, name: str, vault: str, settings: StoredSettings) -> bool:
        """Store it in an item of the tenant's partition, which every search reads, and count it in one transaction."""
        stored = settings_key(name, vault), Update(settings_changes(settings), rising="revision")
        return self._table.transact([stored, settings_count(name)])

    def promote_stage(self, name: str, stage: str, now_s: float) -> bool:
        """Put an item beside the tenant's, which every search reads with it; False if it is there."""
        partition, sort = stage_key(name, stage)
        return self._table.put({"PK": partition, "SK": sort, "promoted_at_s": now_s}, only_new=True)

    def end_stage(self, name: str, stage: str) -> None:
        self._table.delete(stage_key(name, stage))

    def golden_runs(self, name: str) -> dict[str, GoldenRun]:
        """The items of the tenant's canaries; they are not beside the tenant's, as a search reads those."""
        return {item["SK"]: _run(item) for item in self._table.query(_canaries(name))}

    def put_golden_run(self, name: str, run: GoldenRun) -> None:
        self._table.put({"PK": _canaries(name), "SK": run.vault, "body": json.dumps(asdict(run), ensure_ascii=False)})

    def set_enabled(self, name: str, *, enabled: bool) -> bool:
        return self._table.update((f"T#{name}", TENANT_SK), Update({"enabled": enabled}), returning="NONE").won

    def set_rates(self, name: str, rates: RateLimits) -> bool:
        update = Update({"rates": asdict(rates) if rates.any else None})
        return self._table.update((f"T#{name}", TENANT_SK), update, returning="NONE").won

    def forget_tenant(self, name: str) -> int:
        """Remove keys, old pointers, counts, canaries, settings, folders; then the tenant, and its entry."""
        gone = self._forget_keys(name)
        partitions = (f"C#{name}", change_counts_pk(name), _canaries(name), work_pk(name))
        others = [item for partition in partitions for item in self._table.query(partition)]
        items = list(self._table.query(f"T#{name}"))
        for item in [*others, *sorted(items, key=lambda each: bool(each["SK"] == TENANT_SK))]:
            self._table.delete((item["PK"], item["SK"]))
        self._table.delete((TENANT_LIST_PK, name))
        return gone + len(others) + len(items)
