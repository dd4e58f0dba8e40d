"""ManifestStore in memory."""

from __future__ import annotations

from threading import Lock


class MemoryManifests:
    """A ManifestStore for tests."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[int, str]] = {}
        self._lock = Lock()

    def read(self, tenant: str, index: str) -> str | None:
        held = self._held.get((tenant, index))
        return None if held is None else held[1]

    def write(self, tenant: str, index: str, body: str, sequence: int, before: int) -> bool:
        with self._lock:
            if self._held.get((tenant, index), (0, ""))[0] != before:
                return False
            self._held[tenant, index] = (sequence, body)
            return True

    def delete(self, tenant: str, index: str) -> None:
        with self._lock:
            self._held.pop((tenant, index), None)
