"""A Registry in memory, for tests: the same steps and refusals as DynamoDB's, and failures on request."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import Any

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Failure, Head, Heads, Name, Page, Status
from ragdrop.domain.golden import GoldenRun
from ragdrop.domain.history import LiveChange, change_of, milliseconds
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import Calibration
from ragdrop.domain.tenants import ActiveIndex, RateLimits, StoredSettings, Tenant
from ragdrop.errors import DatabaseError, RagdropError
from ragdrop.ports.registry import MAX_FOLDERS, Checkpoint, Claim
from ragdrop.stores import registry_rules
from ragdrop.stores.registry_rules import Changes, Listing
from testing.memory_registry_parts import MemoryHistory, MemoryKeys, MemoryPointers

MAX_ITEMS = 100


class MemoryRegistry(MemoryPointers, MemoryHistory, MemoryKeys):
    """Registry for tests.

    `fail_with` is raised by every call while it is set; the heads of `unreadable` are `unread`; `calls` names the
    calls made, in order.
    """

    def __init__(self) -> None:
        MemoryPointers.__init__(self)
        MemoryHistory.__init__(self)
        MemoryKeys.__init__(self)
        self.fail_with: RagdropError | None = None
        self.unreadable: set[DocumentKey] = set()
        self.calls: list[str] = []
        self._lock = RLock()
        self._heads: dict[DocumentKey, Head] = {}
        self._details: dict[DocumentKey, dict[int, Detail]] = {}  # by revision
        self._checkpoints: dict[tuple[DocumentKey, int], Checkpoint] = {}
        self._tenants: dict[str, Tenant] = {}
        self._folders: dict[str, frozenset[str]] = {}
        self._canary_runs: dict[str, dict[str, GoldenRun]] = {}

    def head(self, key: DocumentKey) -> Head | None:
        with self._call("head"):
            return self._heads.get(key)

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        with self._call("heads"):
            return self._batch((), keys)[1]

    def named_and_heads(
        self, names: Collection[Name], keys: Collection[DocumentKey], deadline: Deadline
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        with self._call("named_and_heads"):
            return self._batch(names, keys)

    def _batch(
        self, names: Collection[Name], keys: Collection[DocumentKey]
    ) -> tuple[dict[Name, tuple[str, ...]], Heads]:
        asked = set(keys)
        if len(asked) + len(set(names)) > MAX_ITEMS:
            raise ValueError(f"{len(asked) + len(set(names))} items asked for at once, at most {MAX_ITEMS}")
        unread = frozenset(asked & self.unreadable)
        if asked and unread == asked and not names:
            raise DatabaseError("no head could be read", service="registry")
        stored = {key: self._heads[key] for key in asked - unread if key in self._heads}
        return self._paths(names), Heads(stored, unread)

    def detail(self, key: DocumentKey, revision: int) -> Detail | None:
        with self._call("detail"):
            return self._details.get(key, {}).get(revision)

    def details(self, revisions: Collection[tuple[DocumentKey, int]], deadline: Deadline) -> list[Detail]:
        with self._call("details"):
            if len(revisions) > MAX_ITEMS:
                raise ValueError(f"{len(revisions)} items asked for at once, at most {MAX_ITEMS}")
            found = (self._details.get(key, {}).get(revision) for key, revision in set(revisions))
            return [detail for detail in found if detail is not None]

    def begin(self, detail: Detail, checkpoint: Checkpoint) -> None:
        with self._call("begin"):
            self._details.setdefault(detail.key, {})[detail.revision] = detail
            self._checkpoints[detail.key, detail.revision] = checkpoint

    def checkpoint(self, key: DocumentKey, revision: int) -> Checkpoint | None:
        with self._call("checkpoint"):
            return self._checkpoints.get((key, revision))

    def advance(self, key: DocumentKey, revision: int, before: Checkpoint, after: Checkpoint) -> bool:
        with self._call("advance"):
            stored = self._checkpoints.get((key, revision))
            if stored is None or stored.position != before.position:
                return stored is not None and stored == after
            self._checkpoints[key, revision] = after
            return True

    def renew(self, key: DocumentKey, revision: int, message_id: str, lease_until_s: float) -> bool:
        with self._call("renew"):
            head = self._heads.get(key)
            if head is None or head.revision != revision or head.status is not Status.PENDING:
                return False
            self._heads[key] = replace(head, message_id=message_id, lease_until_s=lease_until_s)
            return True

    def claim(self, key: DocumentKey, seen: Head | None, claim: Claim) -> Head | None:
        with self._call("claim"):
            changes = registry_rules.claimed(seen, claim)
            head, tenant = self._heads.get(key), self._tenants.get(key.tenant)
            waits = seen is not None and seen.status is Status.STAGED and f"{key.vault}/{seen.stage}"
            if tenant is not None and waits in tenant.promoted:
                return None
            return self._take(key, changes, free=(head and head.revision) == (seen and seen.revision))

    def retag(self, seen: Head, version_id: str, tag: str) -> bool:
        with self._call("retag"):
            head = self._heads.get(seen.key)
            if head is None or (head.revision, head.status) != (seen.revision, seen.status):
                return False
            self._heads[seen.key] = replace(head, **registry_rules.retagged(seen, version_id, tag))
            self._count_change(seen.key)
            self._count_settings(seen.key.tenant)
            return True

    def give_back(self, key: DocumentKey, revision: int) -> None:
        with self._call("give_back"):
            head = self._heads.get(key)
            if head and head.revision == revision and head.status is Status.PENDING:
                self._heads[key] = replace(head, lease_until_s=0.0)

    def activate(self, detail: Detail, now_s: float) -> Head | None:
        with self._call("activate"):
            head = self._heads.get(detail.key)
            if head is None:
                return None
            changes = registry_rules.activated(detail, now_s) | registry_rules.live_versions(head)
            size, by = detail.size_bytes, detail.written_by
            record = change_of(head, "activated", changes, at_ms=round(now_s * 1_000), size_bytes=size, written_by=by)
            if self._may_end(head, detail.revision):
                self._details.setdefault(detail.key, {})[detail.revision] = detail
                self._checkpoints.pop((detail.key, detail.revision), None)
            return self._finish(head, detail.revision, changes, record)

    def put_in_stage(self, detail: Detail, now_s: float) -> Head | None:
        with self._call("put_in_stage"):
            head, key = self._heads.get(detail.key), detail.key
            if head is None or (head.revision, head.status) != (detail.revision, Status.PENDING):
                return head if head and registry_rules.waits_as(head, detail) else None
            tenant = self._tenants.get(key.tenant)
            if tenant is not None and f"{key.vault}/{detail.stage}" in tenant.promoted:
                raise DatabaseError(f"stage {detail.stage} is being promoted", service="registry")
            self._details.setdefault(key, {})[detail.revision] = detail
            self._checkpoints.pop((key, detail.revision), None)
            self._heads[key] = replace(head, **registry_rules.staged(head, detail, now_s))
            return head

    def fail(self, key: DocumentKey, revision: int, failure: Failure, *, keep_live: bool) -> Head | None:
        with self._call("fail"):
            head = self._heads.get(key)
            if head is None:
                return None
            changes = registry_rules.failed(failure, keep_live=keep_live)
            record = change_of(head, "failed", changes, at_ms=milliseconds(failure.at))
            if self._may_end(head, revision):
                self._details.get(key, {}).pop(revision, None)
                self._checkpoints.pop((key, revision), None)
            return self._finish(head, revision, changes, record)

    def tombstone(
        self, key: DocumentKey, seen: Head, sequencer: str | None, now_s: float, *, by: str | None = None
    ) -> Head | None:
        with self._call("tombstone"):
            changes = registry_rules.tombstoned(seen, sequencer, now_s)
            head = self._heads.get(key)
            free = head is not None and (head.revision, head.status) == (seen.revision, seen.status)
            if free:
                self._record(change_of(seen, "deleted", changes, at_ms=round(now_s * 1_000), written_by=by))
            return self._take(key, changes, free=free)

    def forget(self, key: DocumentKey, before_revision: int) -> None:
        with self._call("forget"):
            stored, recorded = self._details.get(key, {}), self._recorded(key)
            for revision in sorted({*stored, *recorded}, reverse=True):
                if revision >= before_revision:
                    continue
                if revision in recorded:
                    return
                del stored[revision]
                self._checkpoints.pop((key, revision), None)

    def forget_document(self, key: DocumentKey, *, last: int | None = None) -> int:
        with self._call("forget_document"):
            head, until = self._heads.get(key), math.inf if last is None else last
            revisions = {each for each in (*self._details.get(key, {}), *self._recorded(key)) if each <= until}
            gone = len(revisions) + self._forget_changes(key, until)
            for revision in revisions:
                self._details.get(key, {}).pop(revision, None)
                self._checkpoints.pop((key, revision), None)
            if head is None or head.revision > until:
                return gone
            self._remove_pointers(head)
            self._details.pop(key, None)
            del self._heads[key]
            return gone + 1

    def page(
        self,
        tenant: str,
        *,
        vault: str | None,
        prefix: str,
        status: Status | None,
        cursor: str | None,
        limit: int,
        after: str = "",
    ) -> Page:
        with self._call("page"):
            listing = Listing(tenant, vault, prefix, status)
            after = after or listing.position(cursor)
            listed = sorted(
                (
                    head
                    for key, head in self._heads.items()
                    if key.tenant == tenant and head.status in listing.statuses
                    if key.vault_path > after and listing.admits(key.vault, key.path)
                ),
                key=lambda head: head.key.vault_path,
            )
            more = len(listed) > limit
            return Page(listed[:limit], listing.cursor_after(listed[limit - 1].key.vault_path) if more else None)

    def tenant(self, name: str, *, consistent: bool = True) -> Tenant | None:
        with self._call("tenant"):
            return self._tenants.get(name)

    def create_tenant(self, tenant: Tenant) -> bool:
        with self._call("create_tenant"):
            return self._tenants.setdefault(tenant.name, tenant) is tenant

    def tenants(self) -> list[Tenant]:
        with self._call("tenants"):
            return [self._tenants[name] for name in sorted(self._tenants)]

    def move_indexes(
        self, before: Tenant, *, active: ActiveIndex, building: ActiveIndex | None, previous: ActiveIndex | None
    ) -> bool:
        with self._call("move_indexes"):
            now = self._tenants[before.name]
            if now.moves != before.moves:
                return False
            moved = replace(now, active=active, building=building, previous=previous, moves=now.moves + 1)
            self._tenants[before.name] = moved
            return True

    def put_calibration(self, name: str, calibration: Calibration, *, vault: str = "") -> bool:
        with self._call("put_calibration"):
            tenant = self._tenants.get(name)
            if tenant is not None:
                generation = tenant.generation + 1
                fits = {"fits": {**tenant.fits, vault: calibration}} if vault else {"calibration": calibration}
                self._tenants[name] = replace(tenant, generation=generation, **fits)
            return tenant is not None

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
        with self._call("add_to_tenant"):
            if tenant := self._tenants.get(name):
                before = tenant.counted.get(vault, (0, 0))
                self._tenants[name] = replace(
                    tenant,
                    documents=tenant.documents + documents,
                    chunks=tenant.chunks + chunks,
                    generation=tenant.generation + 1,
                    vaults=tuple(sorted({*tenant.vaults, vault})),
                    counted={**tenant.counted, vault: (before[0] + documents, before[1] + chunks)},
                    doc_types=tuple(sorted({*tenant.doc_types, *([f"{vault}/{doc_type}"] if doc_type else [])})),
                    restricted=tuple(sorted({*tenant.restricted, *([vault] if restricted else [])})),
                )

    def keep_settings(self, name: str, vault: str, settings: StoredSettings) -> bool:
        with self._call("keep_settings"):
            tenant = self._tenants[name]
            earlier = tenant.settings.get(vault)
            if earlier is not None and earlier.revision > settings.revision:
                return False
            self._tenants[name] = replace(tenant, settings={**tenant.settings, vault: settings})
            self._count_settings(name)
            return True

    def set_enabled(self, name: str, *, enabled: bool) -> bool:
        with self._call("set_enabled"):
            return self._change_tenant(name, enabled=enabled)

    def set_rates(self, name: str, rates: RateLimits) -> bool:
        with self._call("set_rates"):
            return self._change_tenant(name, rates=rates)

    def forget_tenant(self, name: str) -> int:
        with self._call("forget_tenant"):
            gone = self._forget_keys(name) + self._forget_promoted(name) + self._forget_counts(name)
            gone += int(self._folders.pop(name, None) is not None) + len(self._canary_runs.pop(name, {}))
            tenant = self._tenants.pop(name, None)
            return gone if tenant is None else gone + 1 + len(tenant.settings)

    def golden_runs(self, name: str) -> dict[str, GoldenRun]:
        with self._call("golden_runs"):
            return dict(self._canary_runs.get(name, {}))

    def put_golden_run(self, name: str, run: GoldenRun) -> None:
        with self._call("put_golden_run"):
            self._canary_runs.setdefault(name, {})[run.vault] = run

    def promote_stage(self, name: str, stage: str, now_s: float) -> bool:
        with self._call("promote_stage"):
            tenant = self._tenants.get(name)
            if tenant is None or stage in tenant.promoted:
                return False
            return self._change_tenant(name, promoted={**tenant.promoted, stage: now_s})

    def end_stage(self, name: str, stage: str) -> None:
        with self._call("end_stage"):
            if tenant := self._tenants.get(name):
                self._change_tenant(name, promoted={each: at for each, at in tenant.promoted.items() if each != stage})

    def folders(self, tenant: str) -> frozenset[str]:
        with self._call("folders"):
            return self._folders.get(tenant, frozenset())

    def note_folder(self, tenant: str, folder: str) -> None:
        with self._call("note_folder"):
            known = self._folders.get(tenant, frozenset())
            if len(known) < MAX_FOLDERS:
                self._folders[tenant] = known | {folder}

    def _change_tenant(self, name: str, **changes: Any) -> bool:
        tenant = self._tenants.get(name)
        if tenant is not None:
            self._tenants[name] = replace(tenant, **changes)
        return tenant is not None

    def _take(self, key: DocumentKey, changes: Changes, *, free: bool) -> Head | None:
        head = self._heads.get(key)
        if not free:
            return head if head and registry_rules.taken_by(head, changes) else None
        base = head or Head(key, Status.PENDING, 0)
        self._heads[key] = replace(base, **changes)
        return self._heads[key]

    def _may_end(self, head: Head, revision: int) -> bool:
        return head.revision == revision and head.status in {Status.PENDING, Status.STAGED}

    def _finish(self, head: Head, revision: int, changes: Changes, record: LiveChange) -> Head | None:
        if self._may_end(head, revision):
            self._heads[head.key] = replace(head, **changes)
            self._record(record)
            return head
        return head if registry_rules.finished_as(head, revision, changes) else None

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        with self._lock:
            self.calls.append(name)
            if self.fail_with:
                raise self.fail_with
            yield
