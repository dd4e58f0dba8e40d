"""The telemetry table, and the table of visited links, whose items expire.

`V#tenant` holds vectors of questions, `U#tenant` counts of documents, `H#tenant` hours, `L#tenant` requests a minute,
`I#tenant` replies by idempotency key.  Receipts and threads are explained in receipts_table.py.

`BREAKERS` holds the shared breakers, its attributes flat so that counts of several writers add up.  `index.c.29` and
`index.f.29` are calls and failures of part 29 of the window; `index.opened_at`, `index.closed_at`, `index.trial` and
`index.trial_until` are the rest of a Breaker.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from boto3.dynamodb.types import Binary

from ragdrop.domain.chunks import Vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import WINDOW_S
from ragdrop.ports.shared_state import Breaker, Counted, StoredReply, WindowCounts
from ragdrop.ports.telemetry import COUNTS_TTL_S, HOUR_S, Counts, DocumentUsage
from ragdrop.stores.aws.clients import AwsClient, quick_client
from ragdrop.stores.dynamodb.items import Item, encode_item
from ragdrop.stores.dynamodb.table import DynamoDbTable, ItemKey, Update, WriteOutcome

HASH_KEY_SK = "key"  # behind every hour, so no range of hours holds it
NOT_COUNTS = frozenset({"PK", "SK", "expires_at"})
CREDENTIAL = "c/"  # an attribute a credential; without it one could be called PK
STORED_WINDOWS = 10
TTL_S = 3_600
MAX_DIGESTS = 5_000  # 64 characters each, so that the item stays under 400 KB
_BEGUN = "fingerprint = :fingerprint, lease_until = :lease, expires_at = :expires"
_FREE = "attribute_not_exists(PK) OR expires_at <= :now"
_LEFT = "(fingerprint = :fingerprint AND attribute_not_exists(reply) AND lease_until <= :now)"
BREAKERS = ("BREAKERS", "-")


class TelemetryTable:
    """The telemetry table, by default over a client that gives up quickly, as a request waits for it."""

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._name = table
        self._given = client

    @property
    def _table(self) -> DynamoDbTable:
        return DynamoDbTable(self._name, self._given or quick_client("dynamodb"), service="telemetry")

    @property
    def _patient(self) -> DynamoDbTable:
        return DynamoDbTable(self._name, self._given, service="telemetry")


class DynamoDbTelemetry(TelemetryTable):
    """Telemetry in one table."""

    def query_vector(self, tenant: str, name: str, now_s: float) -> Vector | None:
        """The vector of a question; one whose time has passed may still be in the table, for two days at most.

        A vector is never changed, so the read is eventually consistent: one that was shared a moment ago may be missed.
        """
        item = self._table.get((f"V#{tenant}", name), consistent=False)
        if item is None or item["expires_at"] <= now_s:
            return None
        return _vector(item["vector"])

    def put_query_vectors(self, tenant: str, vectors: Mapping[str, Vector], expires_at_s: float) -> None:
        """Keep vectors, in one request; what the table does not take at once is lost."""
        self._table.batch_put([_vector_item(tenant, name, found, expires_at_s) for name, found in vectors.items()])

    def add_use(self, key: DocumentKey, count: int, last_retrieved: str) -> None:
        update = Update({"last_retrieved": last_retrieved}, additions={"query_count": count}, whatever_is_there=True)
        self._table.update(_usage_key(key), update, returning="NONE")

    def usage(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, DocumentUsage]:
        """The counts of up to 100 documents; those that the table does not give at once are left out."""
        by_item = {_usage_key(key): key for key in keys}
        items = self._table.batch_get(list(by_item))[0] if by_item else []
        return {
            by_item[(item["PK"], item["SK"])]: DocumentUsage(item.get("query_count", 0), item.get("last_retrieved"))
            for item in items
        }

    def forget_use(self, key: DocumentKey) -> None:
        self._table.delete(_usage_key(key))

    def add_counts(self, tenant: str, hour: str, counts: Counts) -> None:
        ends_at = int(datetime.fromisoformat(f"{hour.rpartition('/')[2]}:00:00+00:00").timestamp()) + HOUR_S
        self._table.add((f"H#{tenant}", hour), counts, ends_at + COUNTS_TTL_S, returning="NONE")

    def counts(self, tenant: str, first: str, last: str) -> dict[str, Counts]:
        """The hours of a range by one query, patiently: 30 days are a megabyte, and an operator waits for them."""
        items = self._patient.query(f"H#{tenant}", between=(first, last))
        return {
            item["SK"]: {name: int(count) for name, count in item.items() if name not in NOT_COUNTS} for item in items
        }

    def hash_key(self, tenant: str, candidate: bytes) -> bytes:
        """The tenant's key of digests, by one UpdateItem that makes it where there is none."""
        place, update = (f"H#{tenant}", HASH_KEY_SK), "SET #key = if_not_exists(#key, :key)"
        item = self._table.conditional(place, update, values={":key": candidate}, names={"#key": "key"}).item
        return bytes(item["key"]) if item else candidate

    def forget_tenant(self, tenant: str) -> int:
        """Remove its partitions, requests a minute too, patiently."""
        table = self._patient
        items = [item for kind in "VUHL" for item in table.query(f"{kind}#{tenant}")]
        for item in items:
            table.delete((item["PK"], item["SK"]))
        return len(items)


def _usage_key(key: DocumentKey) -> tuple[str, str]:
    return f"U#{key.tenant}", key.vault_path


def _vector_item(tenant: str, name: str, found: Vector, expires_at_s: float) -> Item:
    raw = array("f", found)
    if sys.byteorder == "big":
        raw.byteswap()
    return {"PK": f"V#{tenant}", "SK": name, "vector": raw.tobytes(), "expires_at": int(expires_at_s)}


def _vector(stored: Binary) -> Vector:
    raw = array("f", bytes(stored))
    if sys.byteorder == "big":
        raw.byteswap()
    return raw


class DynamoDbRequestCounts(TelemetryTable):
    """RequestCounts in one table."""

    def add_requests(self, tenant: str, window: int, counts: Mapping[str, int]) -> dict[str, int]:
        named = {f"{CREDENTIAL}{credential}": count for credential, count in counts.items()}
        item = self._table.add((f"L#{tenant}", str(window)), named, (window + STORED_WINDOWS) * WINDOW_S)
        return {
            name.removeprefix(CREDENTIAL): int(count) for name, count in item.items() if name.startswith(CREDENTIAL)
        }


class DynamoDbVisitedCache:
    """A VisitedCache.  DynamoDB may keep an expired item for days, so the reader looks at the time too."""

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._table = DynamoDbTable(table, client)

    def visited(self, tenant: str, session: str, now_s: float) -> frozenset[str]:
        item = self._table.get(_session_key(tenant, session))
        if item is None or item["expires_at"] <= now_s:
            return frozenset()
        return frozenset(item["digests"])

    def note(self, tenant: str, session: str, digests: Collection[str], now_s: float) -> None:
        stored = set(sorted(digests)[:MAX_DIGESTS])
        if stored:
            partition, sort = _session_key(tenant, session)
            self._table.put({"PK": partition, "SK": sort, "digests": stored, "expires_at": int(now_s) + TTL_S})


def _session_key(tenant: str, session: str) -> ItemKey:
    # a tenant's name has no "#", and the hash bounds the length of what a caller sends
    return f"V#{tenant}#{hashlib.sha256(session.encode('utf-8', 'replace')).hexdigest()}", "V"


class DynamoDbStoredReplies(TelemetryTable):
    """StoredReplies in one table."""

    def begin(
        self, tenant: str, key: str, fingerprint: str, *, now_s: float, lease_s: float, keep_s: float
    ) -> StoredReply | None:
        """One UpdateItem; where its condition fails the item in the way comes with the refusal."""
        values = {
            ":fingerprint": fingerprint,
            ":now": int(now_s),
            ":lease": int(now_s + lease_s),
            ":expires": int(now_s + keep_s),
        }
        update, condition = f"SET {_BEGUN} REMOVE reply", f"{_FREE} OR {_LEFT}"
        outcome = self._patient.conditional(_reply_key(tenant, key), update, condition, values=values)
        if outcome.won:
            return None
        return _stored_reply(outcome.item or {})

    def find(self, tenant: str, key: str, *, now_s: float) -> StoredReply | None:
        item = self._patient.get(_reply_key(tenant, key))
        return _stored_reply(item) if item and int(item.get("expires_at", 0)) > now_s else None

    def finish(self, tenant: str, key: str, body: Mapping[str, Any]) -> None:
        update, values = "SET reply = :reply", {":reply": json.dumps(body)}
        self._patient.conditional(_reply_key(tenant, key), update, "attribute_exists(PK)", values=values)

    def forget(self, tenant: str, key: str) -> None:
        self._patient.delete(_reply_key(tenant, key))


def _stored_reply(item: Mapping[str, Any]) -> StoredReply:
    body = item.get("reply")
    return StoredReply(str(item.get("fingerprint", "")), None if body is None else json.loads(body))


def _reply_key(tenant: str, key: str) -> ItemKey:
    return f"I#{tenant}", hashlib.sha256(key.encode()).hexdigest()


class DynamoDbBreakers(TelemetryTable):
    """A BreakerStore."""

    def __init__(self, table: str, client: AwsClient = None) -> None:
        super().__init__(table, client)
        self._old: tuple[str, ...] = ()  # attributes that the next write removes

    def add(self, counts: WindowCounts, *, oldest: int) -> dict[str, Breaker]:
        """Add and read, by one UpdateItem; by one GetItem where there is nothing to add or remove."""
        added = {
            f"{dependency}.{kind}.{bucket}": number
            for dependency, buckets in counts.items()
            for bucket, each in buckets.items()
            for kind, number in (("c", each.calls), ("f", each.failures))
            if number
        }
        old = tuple(name for name in self._old if name not in added)
        item = self._update(adds=added, removes=old).item if added or old else self._table.get(BREAKERS)
        self._old = tuple(name for name in item or {} if _bucket(name) < oldest)
        return breakers_of(item or {})

    def open(self, dependency: str, at_s: float, *, reopens_before_s: float) -> Breaker:
        outcome = self._update(
            sets={f"{dependency}.opened_at": at_s},
            removes=(f"{dependency}.trial", f"{dependency}.trial_until"),
            condition="attribute_not_exists(#n0) OR #n0 < :before",
            values={":before": reopens_before_s},
        )
        return breakers_of(outcome.item or {}).get(dependency, Breaker(opened_at_s=at_s))

    def claim(self, dependency: str, opened_at_s: float, trial: str, *, now_s: float, until_s: float) -> bool:
        return self._update(
            sets={f"{dependency}.trial_until": until_s, f"{dependency}.trial": trial},
            condition="#opened = :opened AND (attribute_not_exists(#n0) OR #n0 <= :now)",
            values={":opened": opened_at_s, ":now": now_s},
            names={"#opened": f"{dependency}.opened_at"},
        ).won

    def settle(self, dependency: str, trial: str, *, closed: bool, at_s: float) -> bool:
        ended, other = ("closed_at", "opened_at") if closed else ("opened_at", "closed_at")
        return self._update(
            sets={f"{dependency}.{ended}": at_s},
            removes=(f"{dependency}.{other}", f"{dependency}.trial", f"{dependency}.trial_until"),
            condition="#trial = :trial",
            values={":trial": trial},
            names={"#trial": f"{dependency}.trial"},
        ).won

    def _update(
        self,
        *,
        sets: Mapping[str, Any] | None = None,
        adds: Mapping[str, int] | None = None,
        removes: Sequence[str] = (),
        condition: str | None = None,
        values: Mapping[str, Any] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> WriteOutcome:
        """One UpdateItem; `#n0` names the first attribute that is set."""
        placeholders: dict[str, str] = {}

        def name(attribute: str) -> str:
            return placeholders.setdefault(attribute, f"#n{len(placeholders)}")

        given: dict[str, Any] = {}

        def value(number: Any) -> str:
            given[f":v{len(given)}"] = number
            return f":v{len(given) - 1}"

        clauses = {
            "SET": [f"{name(each)} = {value(number)}" for each, number in (sets or {}).items()],
            "ADD": [f"{name(each)} {value(number)}" for each, number in (adds or {}).items()],
            "REMOVE": [name(each) for each in removes],
        }
        request: dict[str, Any] = {
            "UpdateExpression": " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts),
            "ExpressionAttributeNames": {short: each for each, short in placeholders.items()} | dict(names or {}),
        }
        typed = encode_item({**given, **(values or {})})
        request |= {"ExpressionAttributeValues": typed} if typed else {}
        request |= {"ConditionExpression": condition} if condition else {}
        return self._table.update_item(BREAKERS, request, returning="ALL_NEW")


def breakers_of(item: Item) -> dict[str, Breaker]:
    """The breakers that an item holds.

    >>> breakers_of({"PK": "BREAKERS", "SK": "-", "index.c.7": 2, "index.f.7": 1})["index"].counts
    {7: Counted(calls=2, failures=1)}
    """
    found: dict[str, dict[str, Any]] = {}
    for name, value in item.items():
        dependency, _, rest = name.partition(".")
        if rest:
            found.setdefault(dependency, {})[rest] = value
    return {dependency: _breaker(attributes) for dependency, attributes in sorted(found.items())}


def _breaker(attributes: Mapping[str, Any]) -> Breaker:
    buckets = sorted({int(name[2:]) for name in attributes if name[:2] in {"c.", "f."}})
    opened = attributes.get("opened_at")
    return Breaker(
        counts={at: Counted(int(attributes.get(f"c.{at}", 0)), int(attributes.get(f"f.{at}", 0))) for at in buckets},
        opened_at_s=None if opened is None else float(opened),
        closed_at_s=float(attributes.get("closed_at", 0.0)),
        trial=str(attributes.get("trial", "")),
        trial_until_s=float(attributes.get("trial_until", 0.0)),
    )


def _bucket(name: str) -> float:
    """The part of the window that an attribute counts; infinite for any other attribute."""
    parts = name.split(".")
    return int(parts[2]) if len(parts) == 3 and parts[1] in {"c", "f"} else float("inf")
