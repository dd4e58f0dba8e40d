"""A versioned bucket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ragdrop.domain.objects import ListedObject, UploadForm


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One version of an object.  `metadata` holds `x-amz-meta-*` without that prefix; `modified_at` is RFC 3339 UTC."""

    key: str
    version_id: str
    etag: str
    size_bytes: int
    media_type: str
    modified_at: str
    metadata: Mapping[str, str] = field(default_factory=dict)


class ObjectStore(Protocol):
    """One versioned bucket.  All methods raise ObjectStoreError when S3 does not answer."""

    bucket: str

    def head(self, key: str) -> StoredObject | None:
        """The current version (strongly consistent); None where there is none or a delete marker is on top."""

    def get(self, key: str, *, version_id: str | None = None, start: int = 0, end: int | None = None) -> bytes | None:
        """Bytes *start* to *end* (exclusive) of a version, or of the current one; None where it does not exist."""

    def put(
        self,
        key: str,
        body: bytes,
        *,
        media_type: str,
        metadata: Mapping[str, str] | None = None,
        onto: str | None = None,
    ) -> StoredObject:
        """Write a new version; with *onto* only where the current one has that ETag, with "" only where there is none.

        Raises PreconditionFailedError where that is not so.
        """

    def delete(self, key: str) -> str | None:
        """Put a delete marker on top; its version id, None where the bucket keeps no versions.  No error if absent."""

    def delete_prefix(self, prefix: str) -> int:
        """Remove every version of every key under *prefix* for good; how many versions went."""

    def entries(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        """Every key under *prefix* behind *start_after* by its code points, read page by page as they are taken."""

    def purge(self, key: str) -> int:
        """Remove every version and delete marker of one key for good; how many went."""

    def upload_form(self, key: str, *, media_type: str, max_bytes: int, expires_s: int) -> UploadForm:
        """A form by which anyone may write one object of 1 to *max_bytes* bytes to *key* in the next *expires_s* s."""
