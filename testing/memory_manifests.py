"""ManifestStore in memory."""

from __future__ import annotations

from threading import Lock


class MemoryManifests:
    """A ManifestStore for tests."""

    def __init__(self) -> None:
        self._stored: dict[tuple[str, str], tuple[int, str]] = {}
        self._lock = Lock()

    def read(self, tenant: str, index: str) -> str | None:
        stored = self._stored.get((tenant, index))
        return None if stored is None else stored[1]

    def write(self, tenant: str, index: str, body: str, sequence: int, before: int) -> bool:
        with self._lock:
            if self._stored.get((tenant, index), (0, ""))[0] != before:
                return False
            self._stored[tenant, index] = (sequence, body)
            return True

    def delete(self, tenant: str, index: str) -> None:
        with self._lock:
            self._stored.pop((tenant, index), None)
