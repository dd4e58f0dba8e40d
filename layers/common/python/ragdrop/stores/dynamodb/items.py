"""Convert registry values to DynamoDB items and back; unknown attributes are ignored."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from ragdrop.domain.documents import Detail, Facts, Failure, Head, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import Calibration, Curve, EmbeddingSpace
from ragdrop.domain.tenants import ActiveIndex, ApiKey, ChunkingPlan, RateLimits, StoredSettings, Tenant
from ragdrop.ports.registry import Checkpoint

Item = dict[str, Any]

HEAD_SK = "H"
LISTING_SHARDS = 2  # a partition takes 1,000 writes a second: two let a bulk load of one tenant pass
MAX_LINKS_BYTES = 200_000  # an item holds at most 400 KB
TENANT_SK = "T"
SETS = ("vaults", "doc_types", "restricted")  # of a tenant, which a write can add to
VAULT_DOCUMENTS, VAULT_CHUNKS, VAULT_FIT = (
    "d/",
    "c/",
    "f/",
)  # before the name of a vault: attributes of the tenant's item
STAGE_SK = "G#"  # and vault and stage, while a promoted stage counts
SETTINGS_SK = "S#"  # and the vault: items beside the tenant's, read with it in one query
TENANT_LIST_PK = "TENANTS"  # one item a tenant: listing tenants reads one partition, never the table

_serializer = TypeSerializer()
_deserializer = TypeDeserializer()


def document_pk(key: DocumentKey) -> str:
    """The partition of a document: its head and the details of its revisions.

    >>> document_pk(DocumentKey("acme", "team", "a.md"))
    'D#acme/team/a.md'
    """
    return f"D#{key.s3_key}"


def detail_sk(revision: int) -> str:
    """The sort key of a revision's detail; text order is number order.

    >>> detail_sk(12)
    'R#0000000000000012'
    """
    return f"R#{revision:016d}"


def change_counts_pk(tenant: str) -> str:
    """The partition of a tenant's change counts."""
    return f"LC#{tenant}"


def work_pk(tenant: str) -> str:
    """The partition of a tenant's plans."""
    return f"W#{tenant}"


def listing_pk(tenant: str, status: Status, shard: int) -> str:
    """The partition of the listing for one status and shard."""
    return f"L#{tenant}#{status.value}#{shard}"


def listing_shard(key: DocumentKey) -> int:
    """The shard of the listing a document is in, from 0.

    >>> listing_shard(DocumentKey("acme", "team", "a.md")) in range(LISTING_SHARDS)
    True
    """
    return hashlib.sha256(key.vault_path.encode()).digest()[0] % LISTING_SHARDS


def encode_item(values: Mapping[str, Any]) -> Item:
    """Plain values as typed attributes; None is left out.

    >>> encode_item({"a": 1.5, "b": None})
    {'a': {'N': '1.5'}}
    """
    return {name: _serializer.serialize(_plain(value)) for name, value in values.items() if value is not None}


def decode_item(item: Mapping[str, Any]) -> Item:
    """Typed attributes as plain values; numbers become int or float.

    >>> decode_item({"a": {"N": "1.5"}, "b": {"N": "2"}})
    {'a': 1.5, 'b': 2}
    """
    return {name: _value(typed) for name, typed in item.items()}


def head_of(item: Item) -> Head:
    """The head in a decoded item."""
    tenant, *middle, path = item["PK"].removeprefix("D#").split("/", 2)
    known = _known(Head, item)
    for name in ("version_id", "sidecar_version_id", "live_version_id", "live_sidecar_version_id"):
        known[name] = known.get(name) or None  # an activation copies what is missing as an empty string
    known["lease_until_s"] = float(known.get("lease_until_s", 0))
    if "access" in known:
        known["access"] = tuple(known["access"])
    if error := known.get("error"):
        known["error"] = Failure(**_known(Failure, error))
    return Head(**known | {"key": DocumentKey(tenant, "".join(middle), path), "status": Status(item["status"])})


def detail_item(detail: Detail) -> Item:
    """A detail as plain values; links beyond 200,000 bytes are left out, and a warning says so."""
    links, warnings = _fitting(detail.links), detail.warnings
    if len(links) < len(detail.links):
        warnings = (*warnings, f"only the first {len(links)} of {len(detail.links)} links were stored")
    values = asdict(detail) | {"links": links, "warnings": warnings}
    del values["key"]
    return {"PK": document_pk(detail.key), "SK": detail_sk(detail.revision)} | values


def detail_of(item: Item, key: DocumentKey) -> Detail | None:
    """The detail in a decoded item; None where it holds none, as that of a tombstone."""
    if "facts" not in item:
        return None
    known = _known(Detail, item)
    facts = _known(Facts, item["facts"])
    facts |= {name: tuple(facts[name]) for name in ("tags", "access") if name in facts}
    known |= {"facts": Facts(**facts), "links": tuple(item.get("links", ()))}
    known |= {"warnings": tuple(item.get("warnings", ())), "key": key}
    return Detail(**known)


def checkpoint_attributes(checkpoint: Checkpoint) -> Item:
    """A checkpoint as attributes of its revision's detail; `position` is what a move is conditional on."""
    return {"position": checkpoint.position, "checkpoint": asdict(checkpoint)}


def checkpoint_of(item: Item) -> Checkpoint | None:
    """The checkpoint in the decoded item of a detail; None if there is none."""
    stored = item.get("checkpoint")
    return Checkpoint(**_known(Checkpoint, stored)) if stored else None


def tenant_item(tenant: Tenant) -> Item:
    """A tenant as plain values; vaults and doc_types are sets, which a write can add to."""
    values = asdict(tenant) | {name: set(getattr(tenant, name)) or None for name in SETS}
    del values["settings"], values["promoted"], values["counted"]  # in items, and attributes, of their own
    values["rates"] = values["rates"] if tenant.rates.any else None
    return {"PK": f"T#{tenant.name}", "SK": TENANT_SK} | values


def settings_key(tenant: str, vault: str) -> tuple[str, str]:
    """PK and SK of what a settings file says.

    >>> settings_key("acme", "team")
    ('T#acme', 'S#team')
    """
    return f"T#{tenant}", f"{SETTINGS_SK}{vault}"


def stage_key(tenant: str, stage: str) -> tuple[str, str]:
    """PK and SK of a stage, `vault/stage`, that was promoted.

    >>> stage_key("acme", "team/spring")
    ('T#acme', 'G#team/spring')
    """
    return f"T#{tenant}", f"{STAGE_SK}{stage}"


def settings_changes(settings: StoredSettings) -> Item:
    """What a settings file says as plain values; as JSON, so that what is read is what stood there."""
    values = json.dumps(dict(settings.values), ensure_ascii=False)
    return {"settings": values, "revision": settings.revision, "version_id": settings.version_id}


def tenant_of(item: Item, others: Iterable[Item] = ()) -> Tenant:
    """The tenant in a decoded item, with what the settings files say by the *others* of its partition."""
    known = _known(Tenant, item) | {name: _sorted(item.get(name)) for name in SETS}
    known |= {name: _index_of(known[name]) for name in ("active", "building", "previous") if name in known}
    if "calibration" in known:
        known["calibration"] = _calibration_of(known["calibration"])
    known["fits"] = {
        name.removeprefix(VAULT_FIT): _calibration_of(fit) for name, fit in item.items() if name[:2] == VAULT_FIT
    }
    if "rates" in known:
        known["rates"] = RateLimits(**_known(RateLimits, known["rates"]))
    inside = {name.removeprefix(VAULT_DOCUMENTS): count for name, count in item.items() if name[:2] == VAULT_DOCUMENTS}
    known["counted"] = {vault: (count, item.get(VAULT_CHUNKS + vault, 0)) for vault, count in inside.items()}
    others = list(others)
    known["promoted"] = {
        each["SK"].removeprefix(STAGE_SK): float(each["promoted_at_s"])
        for each in others
        if each["SK"].startswith(STAGE_SK)
    }
    files = (each for each in others if each["SK"].startswith(SETTINGS_SK))
    known["settings"] = {
        each["SK"].removeprefix(SETTINGS_SK): StoredSettings(
            json.loads(each["settings"]), each["revision"], each.get("version_id")
        )
        for each in files
    }
    return Tenant(**known)


def _calibration_of(values: Mapping[str, Any]) -> Calibration:
    known = _known(Calibration, values)
    known["space"] = EmbeddingSpace(**_known(EmbeddingSpace, known["space"]))
    for name in ("vector", "lexical"):
        if name in known:
            known[name] = Curve(**{each: float(value) for each, value in known[name].items()})
    if "separation" in known:
        known["separation"] = float(known["separation"])
    return Calibration(**known)


def _index_of(values: Mapping[str, Any]) -> ActiveIndex:
    known = _known(ActiveIndex, values)
    known["space"] = EmbeddingSpace(**_known(EmbeddingSpace, known["space"]))
    known["chunking"] = ChunkingPlan(**_known(ChunkingPlan, known["chunking"]))
    return ActiveIndex(**known)


def api_key_item(key: ApiKey) -> Item:
    """An API key as plain values."""
    return {"PK": f"K#{key.sha256}", "SK": "K"} | asdict(key)


def api_key_of(item: Item) -> ApiKey:
    """The API key in a decoded item."""
    known = _known(ApiKey, item) | {name: tuple(item.get(name, ())) for name in ("vaults", "groups")}
    if known.get("expires_at_s") is not None:
        known["expires_at_s"] = float(known["expires_at_s"])
    return ApiKey(**known)


def _known(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names and value is not None}


def _sorted(values: set[str] | None) -> tuple[str, ...]:
    return tuple(sorted(values or ()))


def _fitting(links: tuple[str, ...]) -> tuple[str, ...]:
    used = 0
    for position, link in enumerate(links):
        used += len(link.encode()) + 4  # DynamoDB counts a few bytes an element
        if used > MAX_LINKS_BYTES:
            return links[:position]
    return links


def _plain(value: object) -> object:
    if isinstance(value, float):
        return Decimal(repr(value))  # the SDK takes no floats
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, Status) else value


def _value(typed: Mapping[str, Any]) -> object:
    if "S" in typed:  # most are, and the SDK's way to a string takes ten times as long
        return typed["S"]
    return _natural(_deserializer.deserialize(typed))


def _natural(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {name: _natural(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_natural(inner) for inner in value]
    return value
