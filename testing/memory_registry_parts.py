"""Parts of the registry for tests: who may ask, what led where, what answered when."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import replace

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import (
    MAX_PATHS_OF_A_NAME,
    Detail,
    Head,
    Name,
    Promoted,
    PromotionLevel,
    name_of,
    nothing_answers_until,
    nothing_is_promoted_until,
)
from ragdrop.domain.history import ChangeCounts, LiveChange, shard_of, slot_of
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import ApiKey


class MemoryKeys:
    """Keys by the hash of their secrets."""

    def __init__(self) -> None:
        self._api_keys: dict[str, ApiKey] = {}

    def api_key(self, sha256: str) -> ApiKey | None:
        with self._call("api_key"):
            return self._api_keys.get(sha256)

    def put_api_key(self, key: ApiKey) -> None:
        with self._call("put_api_key"):
            self._api_keys[key.sha256] = key

    def api_keys(self, tenant: str) -> list[ApiKey]:
        with self._call("api_keys"):
            found = [key for key in self._api_keys.values() if key.tenant == tenant]
            return sorted(found, key=lambda key: (key.created_at, key.sha256))

    def revoke_api_key(self, sha256: str) -> bool:
        with self._call("revoke_api_key"):
            return self._change_key(sha256, revoked=True)

    def expire_api_key(self, sha256: str, expires_at_s: float) -> bool:
        with self._call("expire_api_key"):
            return self._change_key(sha256, expires_at_s=expires_at_s)

    def _change_key(self, sha256: str, **changes: float | bool) -> bool:
        key = self._api_keys.get(sha256)
        if key is not None:
            self._api_keys[sha256] = replace(key, **changes)  # type: ignore[arg-type]
        return key is not None

    def _forget_keys(self, tenant: str) -> int:
        gone = [key.sha256 for key in self._api_keys.values() if key.tenant == tenant]
        for sha256 in gone:
            del self._api_keys[sha256]
        return len(gone)

    def _call(self, name: str) -> AbstractContextManager[None]:
        raise NotImplementedError


class MemoryPointers:
    """Pointers, each with the revision that wrote it."""

    def __init__(self) -> None:
        self._promoted: dict[DocumentKey, tuple[PromotionLevel, int]] = {}
        self._names: dict[Name, dict[str, int]] = {}

    def point(self, detail: Detail, *, known: bool = False) -> None:
        with self._call("point"):
            key, revision, level = detail.key, detail.revision, detail.facts.promotion_level
            paths = self._names.setdefault(name_of(key), {})
            if key.path in paths or len(paths) < MAX_PATHS_OF_A_NAME:
                paths[key.path] = max(revision, paths.get(key.path, 0))
            if level != "standard" and self._promoted.get(key, (level, 0))[1] <= revision:
                self._promoted[key] = level, revision

    def unpoint(self, head: Head) -> None:
        with self._call("unpoint"):
            self._remove_pointers(head)

    def promoted(self, tenant: str, deadline: Deadline) -> list[Promoted]:
        with self._call("promoted"):
            deadline.timeout_s(1.0, stage="registry")
            return sorted(Promoted(key, level) for key, (level, _) in self._promoted.items() if key.tenant == tenant)

    def _paths(self, names: Collection[Name]) -> dict[Name, tuple[str, ...]]:
        return {name: tuple(sorted(self._names.get(name, ()))) for name in names}

    def _remove_pointers(self, head: Head) -> None:
        paths = self._names.get(name_of(head.key), {})
        if paths.get(head.key.path, 1 << 62) <= nothing_answers_until(head):
            del paths[head.key.path]
            if not paths:
                del self._names[name_of(head.key)]
        if self._promoted.get(head.key, ("", 1 << 62))[1] <= nothing_is_promoted_until(head):
            del self._promoted[head.key]

    def _forget_promoted(self, tenant: str) -> int:
        gone = [key for key in self._promoted if key.tenant == tenant]
        for key in gone:
            del self._promoted[key]
        return len(gone)

    def _call(self, name: str) -> AbstractContextManager[None]:
        raise NotImplementedError


class MemoryHistory:
    """Changes by document; nothing expires."""

    def __init__(self) -> None:
        self._changes: dict[DocumentKey, list[LiveChange]] = {}
        self._counts: dict[str, ChangeCounts] = {}

    def change_counts(self, tenant: str, deadline: Deadline) -> ChangeCounts:
        with self._call("change_counts"):
            return self._counts.get(tenant, ChangeCounts())

    def changes(
        self, tenant: str, vault: str, *, after: str, limit: int, before: str | None = None
    ) -> list[LiveChange]:
        with self._call("changes"):
            listed = (
                change
                for key, stored in self._changes.items()
                if (key.tenant, key.vault) == (tenant, vault)
                for change in stored
            )
            between = (each for each in listed if each.id > after and (not before or each.id < before))
            return sorted(between, key=lambda change: change.id, reverse=before is not None)[:limit]

    def changes_of(self, key: DocumentKey, *, before_revision: int | None, limit: int) -> list[LiveChange]:
        with self._call("changes_of"):
            stored = sorted(self._changes.get(key, []), key=lambda change: -change.revision)
            return [change for change in stored if before_revision is None or change.revision < before_revision][:limit]

    def _record(self, change: LiveChange) -> None:
        self._changes.setdefault(change.key, []).append(change)
        if change.before != change.after:
            self._count_change(change.key)

    def _count_change(self, key: DocumentKey) -> None:
        tenant, slot = key.tenant, slot_of(key)
        stored = self._counts.get(tenant, ChangeCounts())
        counts = dict(stored.counts)
        counts[slot] = counts.get(slot, 0) + 1
        begun = list(stored.begun)
        begun[shard_of(slot)] = begun[shard_of(slot)] or secrets.token_hex(4)
        self._counts[tenant] = replace(stored, begun=tuple(begun), counts=counts)

    def _count_settings(self, tenant: str) -> None:
        stored = self._counts.get(tenant, ChangeCounts())
        begun = (stored.begun[0] or secrets.token_hex(4), *stored.begun[1:])
        self._counts[tenant] = replace(stored, begun=begun, settings=stored.settings + 1)

    def _forget_counts(self, tenant: str) -> int:
        return sum(1 for begun in self._counts.pop(tenant, ChangeCounts()).begun if begun)

    def _recorded(self, key: DocumentKey) -> set[int]:
        return {change.revision for change in self._changes.get(key, [])}

    def _forget_changes(self, key: DocumentKey, until: float) -> int:
        changes = self._changes.pop(key, [])
        if left := [change for change in changes if change.revision > until]:
            self._changes[key] = left
        return len(changes) - len(left)

    def _call(self, name: str) -> AbstractContextManager[None]:
        raise NotImplementedError
