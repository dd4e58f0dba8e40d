"""A state bucket and its manifests in a folder that processes share, and one that is only as fast as S3."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from ragdrop.ports.object_store import ListedObject, PresignedForm, StoredObject

COPY_BYTES = 1 << 20


class FolderObjectStore:
    """An ObjectStore without versions and forms; each object is a file."""

    bucket = "state"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def head(self, key: str, *, version_id: str | None = None) -> StoredObject | None:
        path = self.folder / key
        return self._stored(key, path) if path.exists() else None

    def get(self, key: str, *, version_id: str | None = None, start: int = 0, end: int | None = None) -> bytes | None:
        try:
            with (self.folder / key).open("rb") as file:
                file.seek(start)
                return file.read(-1 if end is None else max(0, end - start))
        except FileNotFoundError:
            return None

    def put(
        self,
        key: str,
        body: bytes | BinaryIO,
        *,
        media_type: str,
        metadata: Mapping[str, str] | None = None,
        onto: str | None = None,
    ) -> StoredObject:
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            if isinstance(body, bytes):
                file.write(body)
            else:
                while block := body.read(COPY_BYTES):
                    file.write(block)
        return self._stored(key, path)

    def entries(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        for path in sorted(self.folder.rglob("*")):
            key = path.relative_to(self.folder).as_posix()
            if path.is_file() and key.startswith(prefix) and key > start_after:
                yield ListedObject(key, "v1", self._stored(key, path).modified_at)

    def versions(self, key: str) -> list[ListedObject]:
        raise NotImplementedError

    def purge(self, key: str) -> int:
        with suppress(FileNotFoundError):
            (self.folder / key).unlink()
            return 1
        return 0

    def delete(self, key: str) -> str | None:
        self.purge(key)
        return None

    def delete_prefix(self, prefix: str) -> int:
        return sum(self.purge(each.key) for each in list(self.entries(prefix)))

    def tags(self, key: str, *, version_id: str | None = None) -> Mapping[str, str] | None:
        return {} if (self.folder / key).exists() else None

    def copy_version(self, key: str, version_id: str, *, metadata: Mapping[str, str]) -> StoredObject | None:
        raise NotImplementedError

    def remove_version(self, key: str, version_id: str) -> None:
        raise NotImplementedError

    def upload_form(
        self, key: str, *, media_type: str, metadata: Mapping[str, str], max_bytes: int, expires_s: int
    ) -> PresignedForm:
        raise NotImplementedError

    def download_link(self, key: str, *, version_id: str, media_type: str, disposition: str, expires_s: int) -> str:
        raise NotImplementedError

    def _stored(self, key: str, path: Path) -> StoredObject:
        reported = path.stat()
        modified_at = datetime.fromtimestamp(reported.st_mtime, UTC).isoformat()
        return StoredObject(key, "v1", "", reported.st_size, "", modified_at)


class FolderManifests:
    """A ManifestStore whose texts are files; one process at a time writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, tenant: str, index: str) -> str | None:
        path = self._path(tenant, index)
        return path.read_text("utf-8").partition("\n")[2] if path.exists() else None

    def write(self, tenant: str, index: str, body: str, sequence: int, before: int) -> bool:
        path = self._path(tenant, index)
        values = int(path.read_text("utf-8").partition("\n")[0]) if path.exists() else 0
        if values != before:
            return False
        path.write_text(f"{sequence}\n{body}", "utf-8")
        return True

    def delete(self, tenant: str, index: str) -> None:
        self._path(tenant, index).unlink(missing_ok=True)

    def _path(self, tenant: str, index: str) -> Path:
        return self._folder / f"{tenant}-{index}.manifest"


class PacedObjectStore(FolderObjectStore):
    """A folder read as S3 is: each request waits, and all requests at once share one rate."""

    def __init__(self, folder: Path, *, bytes_a_second: float, request_s: float) -> None:
        super().__init__(folder)
        self._bytes_a_second, self._request_s = bytes_a_second, request_s
        self._lock = threading.Lock()
        self._busy_until_s = 0.0
        self.requests = 0
        self.bytes_read = 0

    def get(self, key: str, *, version_id: str | None = None, start: int = 0, end: int | None = None) -> bytes | None:
        asked_s = time.monotonic()
        body = super().get(key, version_id=version_id, start=start, end=end)
        size = len(body or b"")
        with self._lock:
            begins_s = max(asked_s + self._request_s, self._busy_until_s)
            self._busy_until_s = ends_s = begins_s + size / self._bytes_a_second
            self.requests += 1
            self.bytes_read += size
        time.sleep(max(0.0, ends_s - time.monotonic()))
        return body
