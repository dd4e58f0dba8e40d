"""Shared breakers: one item of the telemetry table, its attributes flat so that counts of several writers add up.

`index.c.29`, `index.f.29`: calls and failures of part 29 of the window; `index.opened_at`, `index.closed_at`,
`index.trial`, `index.trial_until`: the rest of what a Breaker is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragdrop.ports.shared_state import Breaker, Counted, Counts
from ragdrop.stores.aws.clients import AwsClient
from ragdrop.stores.dynamodb.items import Item, encode_item
from ragdrop.stores.dynamodb.table import WriteOutcome
from ragdrop.stores.dynamodb.telemetry_table import TelemetryTable

KEY = ("BREAKERS", "-")


class DynamoDbBreakers(TelemetryTable):
    """A BreakerStore."""

    def __init__(self, table: str, client: AwsClient = None) -> None:
        super().__init__(table, client)
        self._old: tuple[str, ...] = ()  # attributes that the next write removes

    def add(self, counts: Counts, *, oldest: int) -> dict[str, Breaker]:
        """Add and read, by one UpdateItem; by one GetItem where there is nothing to add or remove."""
        added = {
            f"{dependency}.{kind}.{bucket}": number
            for dependency, buckets in counts.items()
            for bucket, each in buckets.items()
            for kind, number in (("c", each.calls), ("f", each.failures))
            if number
        }
        old = tuple(name for name in self._old if name not in added)
        item = self._update(adds=added, removes=old).item if added or old else self._table.get(KEY)
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
        return self._table.update_item(KEY, request, returning="ALL_NEW")


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
