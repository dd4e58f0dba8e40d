"""Telemetry in memory, for tests."""

# ruff: noqa: D102 - the port says what each method does
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ragdrop.domain.chunks import Vector
from ragdrop.domain.hour_counts import Counts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.usage import Usage
from ragdrop.errors import RagdropError


class MemoryTelemetry:
    """Telemetry for tests: `fail_with` is raised by every call while it is set; `calls` names the calls in order."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.calls: list[str] = []
        self._vectors: dict[tuple[str, str], tuple[float, Vector]] = {}
        self._usage: dict[DocumentKey, Usage] = {}
        self._hours: dict[tuple[str, str], Counter[str]] = {}
        self._hash_keys: dict[str, bytes] = {}

    def query_vector(self, tenant: str, name: str, now_s: float) -> Vector | None:
        with self._call("query_vector"):
            held = self._vectors.get((tenant, name))
            return held[1] if held and held[0] > now_s else None

    def put_query_vectors(self, tenant: str, vectors: Mapping[str, Vector], expires_at_s: float) -> None:
        with self._call("put_query_vectors"):
            self._vectors |= {(tenant, name): (expires_at_s, found) for name, found in vectors.items()}

    def add_use(self, key: DocumentKey, count: int, last_retrieved: str) -> None:
        with self._call("add_use"):
            self._usage[key] = Usage(self._usage.get(key, Usage()).query_count + count, last_retrieved)

    def usage(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, Usage]:
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
                hour: dict(held) for (who, hour), held in self._hours.items() if who == tenant and first <= hour <= last
            }

    def hash_key(self, tenant: str, candidate: bytes) -> bytes:
        with self._call("hash_key"):
            return self._hash_keys.setdefault(tenant, candidate)

    def forget_tenant(self, tenant: str) -> int:
        with self._call("forget_tenant"):
            before = len(self._vectors) + len(self._usage) + len(self._hours)
            self._vectors = {key: held for key, held in self._vectors.items() if key[0] != tenant}
            self._usage = {key: held for key, held in self._usage.items() if key.tenant != tenant}
            self._hours = {key: held for key, held in self._hours.items() if key[0] != tenant}
            after = len(self._vectors) + len(self._usage) + len(self._hours)
            return before - after + int(self._hash_keys.pop(tenant, None) is not None)

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        self.calls.append(name)
        if self.fail_with:
            raise self.fail_with
        yield
