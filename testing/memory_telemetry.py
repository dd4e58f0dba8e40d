"""Telemetry in memory, for tests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ragdrop.domain.answers import MAX_ANSWERS, Feedback, Receipt, Thread
from ragdrop.domain.chunks import Vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import RagdropError
from ragdrop.ports.shared_state import StoredReply
from ragdrop.ports.telemetry import Counts, DocumentUsage


class MemoryTelemetry:
    """Telemetry for tests: `fail_with` is raised by every call while it is set; `calls` names the calls in order."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.calls: list[str] = []
        self._vectors: dict[tuple[str, str], tuple[float, Vector]] = {}
        self._usage: dict[DocumentKey, DocumentUsage] = {}
        self._hours: dict[tuple[str, str], Counter[str]] = {}
        self._hash_keys: dict[str, bytes] = {}

    def query_vector(self, tenant: str, name: str, now_s: float) -> Vector | None:
        with self._call("query_vector"):
            stored = self._vectors.get((tenant, name))
            return stored[1] if stored and stored[0] > now_s else None

    def put_query_vectors(self, tenant: str, vectors: Mapping[str, Vector], expires_at_s: float) -> None:
        with self._call("put_query_vectors"):
            self._vectors |= {(tenant, name): (expires_at_s, found) for name, found in vectors.items()}

    def add_use(self, key: DocumentKey, count: int, last_retrieved: str) -> None:
        with self._call("add_use"):
            self._usage[key] = DocumentUsage(self._usage.get(key, DocumentUsage()).query_count + count, last_retrieved)

    def usage(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, DocumentUsage]:
        with self._call("usage"):
            return {key: self._usage[key] for key in keys if key in self._usage}

    def forget_use(self, key: DocumentKey) -> None:
        with self._call("forget_use"):
            self._usage.pop(key, None)

    def add_counts(self, tenant: str, hour: str, counts: Counts) -> None:
        with self._call("add_counts"):
            self._hours.setdefault((tenant, hour), Counter()).update(counts)

    def counts(self, tenant: str, first: str, last: str) -> dict[str, Counts]:
        with self._call("counts"):
            return {
                hour: dict(stored)
                for (who, hour), stored in self._hours.items()
                if who == tenant and first <= hour <= last
            }

    def hash_key(self, tenant: str, candidate: bytes) -> bytes:
        with self._call("hash_key"):
            return self._hash_keys.setdefault(tenant, candidate)

    def forget_tenant(self, tenant: str) -> int:
        with self._call("forget_tenant"):
            before = len(self._vectors) + len(self._usage) + len(self._hours)
            self._vectors = {key: stored for key, stored in self._vectors.items() if key[0] != tenant}
            self._usage = {key: stored for key, stored in self._usage.items() if key.tenant != tenant}
            self._hours = {key: stored for key, stored in self._hours.items() if key[0] != tenant}
            after = len(self._vectors) + len(self._usage) + len(self._hours)
            return before - after + int(self._hash_keys.pop(tenant, None) is not None)

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        self.calls.append(name)
        if self.fail_with:
            raise self.fail_with
        yield


@dataclass(slots=True)
class _Item:
    fingerprint: str
    lease_until_s: float
    expires_at_s: float
    body: Mapping[str, Any] | None = None


class MemoryStoredReplies:
    """StoredReplies for tests: `fail_with` is raised by every call while it is set."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self._items: dict[tuple[str, str], _Item] = {}

    def begin(
        self, tenant: str, key: str, fingerprint: str, *, now_s: float, lease_s: float, keep_s: float
    ) -> StoredReply | None:
        self._fail()
        there = self._items.get((tenant, key))
        if there is not None and there.expires_at_s > now_s:
            left = there.body is None and there.fingerprint == fingerprint and there.lease_until_s <= now_s
            if not left:
                return StoredReply(there.fingerprint, there.body)
        self._items[tenant, key] = _Item(fingerprint, now_s + lease_s, now_s + keep_s)
        return None

    def find(self, tenant: str, key: str, *, now_s: float) -> StoredReply | None:
        self._fail()
        there = self._items.get((tenant, key))
        return StoredReply(there.fingerprint, there.body) if there is not None and there.expires_at_s > now_s else None

    def finish(self, tenant: str, key: str, body: Mapping[str, Any]) -> None:
        self._fail()
        if (tenant, key) in self._items:
            self._items[tenant, key].body = body

    def forget(self, tenant: str, key: str) -> None:
        self._fail()
        self._items.pop((tenant, key), None)

    def _fail(self) -> None:
        if self.fail_with:
            raise self.fail_with


class MemoryReceipts:
    """Receipts for tests: `fail_with` is raised by every call while it is set; `stored` has the receipts."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.stored: dict[tuple[str, str], Receipt] = {}
        self.threads: dict[tuple[str, str], Thread] = {}

    def put_receipt(self, receipt: Receipt) -> None:
        self._called()
        body = json.loads(json.dumps(receipt.body))
        self.stored[receipt.tenant, receipt.id] = replace(receipt, body=body)

    def receipt(self, tenant: str, receipt_id: str, now_s: float) -> Receipt | None:
        self._called()
        found = self.stored.get((tenant, receipt_id))
        return found if found is not None and found.expires_at_s > now_s and not found.purged else None

    def put_feedback(self, receipt: Receipt, credential: str, feedback: Feedback) -> bool:
        self._called()
        stored = self.stored.get((receipt.tenant, receipt.id))
        if stored is None or stored.purged:
            return False
        self.stored[receipt.tenant, receipt.id] = replace(stored, feedback={**stored.feedback, credential: feedback})
        return True

    def receipts_with_feedback(
        self, tenant: str, *, after: str, limit: int, now_s: float
    ) -> tuple[list[Receipt], str | None]:
        self._called()
        listed = sorted((each for each in self.stored.values() if each.tenant == tenant), key=lambda each: each.id)
        found = [each for each in listed if each.feedback and each.id > after][:limit]
        live = [each for each in found if each.expires_at_s > now_s]
        return live, found[-1].id if len(found) == limit else None

    def chained_receipts(
        self, tenant: str, *, after: str, before: str, limit: int, now_s: float
    ) -> tuple[list[Receipt], str | None]:
        self._called()
        listed = sorted((each for each in self.stored.values() if each.tenant == tenant), key=lambda each: each.id)
        found = [each for each in listed if after < each.id <= before][:limit]
        live = [each for each in found if each.link is not None and each.expires_at_s > now_s]
        return live, found[-1].id if len(found) == limit else None

    def forget_receipts(self, key: DocumentKey) -> int:
        gone = [each for each in self.stored.values() if key in each.documents]
        for each in gone:
            self.delete_receipt(each)
        return len(gone)

    def forget_all_receipts(self, tenant: str) -> int:
        self.threads = {place: thread for place, thread in self.threads.items() if thread.tenant != tenant}
        return self._forget(lambda receipt: receipt.tenant == tenant)

    def delete_receipt(self, receipt: Receipt) -> None:
        self._called()
        if self.stored.pop((receipt.tenant, receipt.id), None) is not None and receipt.link is not None:
            left = Receipt(receipt.id, receipt.tenant, (), (), receipt.expires_at_s, {}, link=receipt.link, purged=True)
            self.stored[receipt.tenant, receipt.id] = left

    def put_thread(self, thread: Thread) -> None:
        self._called()
        self.threads[thread.tenant, thread.id] = thread

    def thread(self, tenant: str, thread_id: str, now_s: float) -> Thread | None:
        self._called()
        found = self.threads.get((tenant, thread_id))
        return found if found is not None and found.expires_at_s > now_s else None

    def threads_of(self, tenant: str, owner: str, now_s: float) -> list[Thread]:
        self._called()
        own = [one for one in self.threads.values() if (one.tenant, one.owner) == (tenant, owner)]
        live = [one for one in own if one.expires_at_s > now_s]
        return sorted(live, key=lambda each: (each.updated_at, each.id), reverse=True)

    def add_to_thread(self, thread: Thread, answer_id: str, updated_at: str, expires_at_s: int) -> Thread | None:
        answers = self.threads[thread.tenant, thread.id].answers if (thread.tenant, thread.id) in self.threads else ()
        if len(answers) >= MAX_ANSWERS:
            return None
        return self._changed(thread, answers=(*answers, answer_id), updated_at=updated_at, expires_at_s=expires_at_s)

    def change_thread(self, thread: Thread, *, name: str | None = None, shared: bool | None = None) -> Thread | None:
        named = {} if name is None else {"name": name, "named": True}
        return self._changed(thread, **named, **({} if shared is None else {"shared": shared}))

    def _changed(self, thread: Thread, **fields: Any) -> Thread | None:
        self._called()
        place = (thread.tenant, thread.id)
        if place not in self.threads:
            return None
        self.threads[place] = replace(self.threads[place], **fields)
        return self.threads[place]

    def delete_thread(self, thread: Thread) -> None:
        self._called()
        self.threads.pop((thread.tenant, thread.id), None)

    def _forget(self, goes: Callable[[Receipt], bool]) -> int:
        self._called()
        gone = [place for place, receipt in self.stored.items() if goes(receipt)]
        return sum(not self.stored.pop(place).purged for place in gone)

    def _called(self) -> None:
        if self.fail_with is not None:
            raise self.fail_with


class MemoryRequestCounts:
    """RequestCounts for tests: `fail_with` is raised by every call while it is set; `writes` counts the calls."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.writes = 0
        self._counts: dict[tuple[str, int], Counter[str]] = {}

    def add_requests(self, tenant: str, window: int, counts: Mapping[str, int]) -> dict[str, int]:
        self.writes += 1
        if self.fail_with:
            raise self.fail_with
        stored = self._counts.setdefault((tenant, window), Counter())
        stored.update(counts)
        return dict(stored)


TTL_S = 3_600


class MemoryVisitedCache:
    """VisitedCache for tests."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.calls: list[str] = []
        self._stored: dict[tuple[str, str], tuple[frozenset[str], float]] = {}

    def visited(self, tenant: str, session: str, now_s: float) -> frozenset[str]:
        self._called("visited")
        digests, expires_at = self._stored.get((tenant, session), (frozenset(), 0.0))
        return digests if expires_at > now_s else frozenset()

    def note(self, tenant: str, session: str, digests: Collection[str], now_s: float) -> None:
        self._called("note")
        if digests:
            self._stored[tenant, session] = frozenset(digests), int(now_s) + TTL_S

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.fail_with is not None:
            raise self.fail_with
