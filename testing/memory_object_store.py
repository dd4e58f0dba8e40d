"""A versioned bucket in memory, for tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from threading import RLock
from typing import BinaryIO
from urllib.parse import quote, urlencode

from ragdrop.errors import RagdropError
from ragdrop.ports.object_store import ListedObject, PresignedForm, StoredObject, precondition_error

MODIFIED_AT = "2026-01-01T00:00:00Z"  # time stands still here, so that tests repeat


@dataclass(frozen=True, slots=True)
class _Version:
    version_id: str
    stored: StoredObject | None  # None: a delete marker
    modified_at: str
    body: bytes = b""
    tags: Mapping[str, str] = field(default_factory=dict)

    def listed(self, key: str) -> ListedObject:
        etag, size = ("", 0) if self.stored is None else (self.stored.etag, self.stored.size_bytes)
        return ListedObject(key, self.version_id, self.modified_at, self.stored is None, size, etag)


class MemoryObjectStore:
    """ObjectStore for tests.

    `fail_with` is raised by every call while it is set; `calls` names the calls made, in order; `modified_at` is the
    time of what is written next.
    """

    def __init__(self, bucket: str = "documents") -> None:
        self.bucket = bucket
        self.modified_at = MODIFIED_AT
        self.fail_with: RagdropError | None = None
        self.calls: list[str] = []
        self._lock = RLock()
        self._numbers = count(1)
        self._versions: dict[str, list[_Version]] = {}

    def head(self, key: str, *, version_id: str | None = None) -> StoredObject | None:
        with self._call("head"):
            version = self._current(key) if version_id is None else self._find(key, version_id)
            return version.stored if version else None

    def get(self, key: str, *, version_id: str | None = None, start: int = 0, end: int | None = None) -> bytes | None:
        with self._call("get"):
            version = self._current(key) if version_id is None else self._find(key, version_id)
            if version is None or version.stored is None:
                return None
            return version.body[start : len(version.body) if end is None else max(start, end)]

    def put(
        self,
        key: str,
        body: bytes | BinaryIO,
        *,
        media_type: str,
        metadata: Mapping[str, str] | None = None,
        onto: str | None = None,
    ) -> StoredObject:
        body = body if isinstance(body, bytes) else body.read()
        with self._call("put"):
            version = self._current(key)
            there = version.stored.etag if version and version.stored else ""
            if onto is not None and onto != there:
                raise precondition_error("If-Match" if onto else "If-None-Match", there or None)
            stored = StoredObject(
                key=key,
                version_id=self._next_id(),
                etag=hashlib.md5(body, usedforsecurity=False).hexdigest(),  # as S3 does for a plain PUT
                size_bytes=len(body),
                media_type=media_type,
                modified_at=self.modified_at,
                metadata={name.lower(): value for name, value in (metadata or {}).items()},
            )
            version = _Version(stored.version_id, stored, self.modified_at, body)
            self._versions.setdefault(key, []).append(version)
            return stored

    def tags(self, key: str, *, version_id: str | None = None) -> Mapping[str, str] | None:
        with self._call("tags"):
            version = self._current(key) if version_id is None else self._find(key, version_id)
            return None if version is None or version.stored is None else version.tags

    def copy_version(self, key: str, version_id: str, *, metadata: Mapping[str, str]) -> StoredObject | None:
        with self._call("copy_version"):
            old = self._find(key, version_id)
            if old is None or old.stored is None:
                return None
            merged = {name: text for name, text in {**old.stored.metadata, **metadata}.items() if text}
            tags = {**old.tags, **(self.tags(key) or {})}
            stored = self.put(key, old.body, media_type=old.stored.media_type, metadata=merged)
            self.tag(key, tags)
            return stored

    def delete(self, key: str) -> str | None:
        with self._call("delete"):
            marker = _Version(self._next_id(), None, self.modified_at)
            self._versions.setdefault(key, []).append(marker)
            return marker.version_id

    def versions(self, key: str) -> list[ListedObject]:
        with self._call("versions"):
            versions = reversed(self._versions.get(key, []))
            return [each.listed(key) for each in versions]

    def delete_prefix(self, prefix: str) -> int:
        with self._call("delete_prefix"):
            if not prefix:
                raise ValueError("an empty prefix would remove the whole bucket")
            keys = [key for key in self._versions if key.startswith(prefix)]
            return sum(len(self._versions.pop(key)) for key in keys)

    def entries(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        with self._call("entries"):
            newest = {key: version for key in self._versions if (version := self._current(key))}
        for key in sorted(newest):
            if key.startswith(prefix) and key > start_after:
                yield newest[key].listed(key)

    def purge(self, key: str) -> int:
        with self._call("purge"):
            return len(self._versions.pop(key, []))

    def upload_form(
        self, key: str, *, media_type: str, metadata: Mapping[str, str], max_bytes: int, expires_s: int
    ) -> PresignedForm:
        with self._call("upload_form"):
            policy = f"{max_bytes} bytes, {expires_s} s"
            named = {f"x-amz-meta-{name}": value for name, value in metadata.items()}
            fields = {"key": key, "Content-Type": media_type, **named, "policy": policy}
            return PresignedForm(f"memory://{self.bucket}", fields)

    def download_link(self, key: str, *, version_id: str, media_type: str, disposition: str, expires_s: int) -> str:
        with self._call("download_link"):
            served = {"response-content-type": media_type, "response-content-disposition": disposition}
            asked = urlencode({"versionId": version_id, **served, "expires": expires_s})
            return f"memory://{self.bucket}/{quote(key)}?{asked}"

    def remove_version(self, key: str, version_id: str) -> None:
        with self._call("remove_version"):
            versions = self._versions.get(key, [])
            self._versions[key] = [version for version in versions if version.version_id != version_id]

    def tag(self, key: str, tags: Mapping[str, str]) -> None:
        """Tag the current version, as PutObjectTagging does; it stays the same version."""
        with self._lock:
            self._versions[key][-1] = replace(self._versions[key][-1], tags=dict(tags))

    def decay(self, key: str, at: int) -> None:
        """Flip a byte of the newest version behind the store's back: its ETag, time and version stay."""
        with self._lock:
            version = self._versions[key][-1]
            body = bytearray(version.body)
            body[at] ^= 0xFF
            self._versions[key][-1] = replace(version, body=bytes(body))

    def newest(self, key: str) -> tuple[str, bool] | None:
        """The version on top and whether it is a delete marker; None where there is none."""
        with self._lock:
            version = self._current(key)
            return None if version is None else (version.version_id, version.stored is None)

    def keys(self) -> list[str]:
        """The keys that have a current version, in order."""
        with self._lock:
            return sorted(key for key in self._versions if (version := self._current(key)) and version.stored)

    def _current(self, key: str) -> _Version | None:
        versions = self._versions.get(key)
        return versions[-1] if versions else None

    def _find(self, key: str, version_id: str) -> _Version | None:
        return next((version for version in self._versions.get(key, []) if version.version_id == version_id), None)

    def _next_id(self) -> str:
        return f"version-{next(self._numbers):06d}"

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        with self._lock:
            self.calls.append(name)
            if self.fail_with:
                raise self.fail_with
            yield
