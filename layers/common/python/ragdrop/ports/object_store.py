"""Buckets: objects, versions, preconditions."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from ragdrop.errors import InvalidParamsError, PreconditionFailedError


@dataclass(frozen=True, slots=True)
class ListedObject:
    """One key of a listing: its newest version, or that a delete marker is on top (`deleted`).

    `etag` and `size_bytes` are of that version, empty and 0 of a delete marker.
    """

    key: str
    version_id: str
    modified_at: str
    deleted: bool = False
    size_bytes: int = 0
    etag: str = ""


@dataclass(frozen=True, slots=True)
class PresignedForm:
    """Where a form is posted to, and the fields that must stand in it before the file."""

    url: str
    fields: Mapping[str, str]


ANY = frozenset({"*"})
NOTHING_THERE = ""
_TAG = re.compile(r'\s*(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*')


@dataclass(frozen=True, slots=True)
class Precondition:
    """`If-Match` and `If-None-Match` (RFC 9110, 13.1) as sets of ETags, ANY for `*`, None if not given."""

    match: frozenset[str] | None = None
    none_match: frozenset[str] | None = None

    def onto(self, current: str | None) -> str | None:
        """What a write must find: an ETag, NOTHING_THERE, or None for whatever is there.

        Args:
            current: The ETag of what is there now; None if nothing is.

        Raises:
            PreconditionFailedError: What is there now is not what was asked for.

        >>> Precondition(match=frozenset({"a"})).onto("a"), Precondition(none_match=ANY).onto(None)
        ('a', '')
        """
        if self.match is None and self.none_match is None:
            return None
        if self.match is not None and (current is None or not (self.match == ANY or current in self.match)):
            raise precondition_error("If-Match", current)
        if (
            self.none_match is not None
            and current is not None
            and (self.none_match == ANY or current in self.none_match)
        ):
            raise precondition_error("If-None-Match", current)
        return NOTHING_THERE if current is None else current


NO_PRECONDITION = Precondition()


def precondition_error(field: str, current: str | None) -> PreconditionFailedError:
    """The error of a precondition that does not hold."""
    said = "there is no such document" if current is None else f"the document's ETag is {current}"
    return PreconditionFailedError(f"{field}: {said}", field=field, value=current, allowed=None)


def tags_of(field: str, header: str | None) -> frozenset[str] | None:
    """The ETags of a header of that name, without their quotes.

    Raises:
        InvalidParamsError: It is no list of ETags.

    >>> sorted(tags_of("If-Match", '"a", W/"b"')), tags_of("If-Match", None)
    (['a', 'b'], None)
    """
    if header is None:
        return None
    if header.strip() == "*":
        return ANY
    found = [_TAG.fullmatch(part) for part in header.split(",")]
    if any(each is None for each in found):
        message = f"{field}: {header[:80]!r} is no list of ETags, which stand in double quotes, and no *"
        raise InvalidParamsError(message, field=field, value=ascii(header[:80]), allowed='"ETAG", … or *')
    return frozenset(each[1] for each in found if each is not None)


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

    def head(self, key: str, *, version_id: str | None = None) -> StoredObject | None:
        """A version, or the current one (strongly consistent); None if there is none, or a delete marker."""

    def versions(self, key: str) -> list[ListedObject]:
        """The newest 1,000 versions and delete markers of one key, the newest first.

        A delete marker of the same second as a version counts as the newer one.
        """

    def get(self, key: str, *, version_id: str | None = None, start: int = 0, end: int | None = None) -> bytes | None:
        """Bytes *start* to *end* (exclusive) of a version, or of the current one; None if it does not exist."""

    def put(
        self,
        key: str,
        body: bytes | BinaryIO,
        *,
        media_type: str,
        metadata: Mapping[str, str] | None = None,
        onto: str | None = None,
    ) -> StoredObject:
        """Write a new version; with *onto* only where the current one has that ETag, with "" only where there is none.

        Raises PreconditionFailedError where that is not so.
        """

    def tags(self, key: str, *, version_id: str | None = None) -> Mapping[str, str] | None:
        """The tags of a version, or of the current one (strongly consistent); None as for `head`."""

    def copy_version(self, key: str, version_id: str, *, metadata: Mapping[str, str]) -> StoredObject | None:
        """Write a version once more, as the newest, with *metadata* over its own; None if there is no such version.

        An empty value takes the name out.  Its tags are those of the current version, over its own.
        """

    def delete(self, key: str) -> str | None:
        """Put a delete marker on top; its version id, None if the bucket keeps no versions.  No error if absent."""

    def remove_version(self, key: str, version_id: str) -> None:
        """Remove one version for good; the one under it is the current one then.  No error if absent."""

    def delete_prefix(self, prefix: str) -> int:
        """Remove every version of every key under *prefix* for good; how many versions went."""

    def entries(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        """Every key under *prefix* behind *start_after* by its code points, read page by page as they are taken."""

    def purge(self, key: str) -> int:
        """Remove every version and delete marker of one key for good; how many went."""

    def upload_form(
        self, key: str, *, media_type: str, metadata: Mapping[str, str], max_bytes: int, expires_s: int
    ) -> PresignedForm:
        """A form by which anyone may write one object of 1 to *max_bytes* bytes to *key* in the next *expires_s* s.

        The object gets this metadata, which must be plain ASCII, and no other.
        """

    def download_link(self, key: str, *, version_id: str, media_type: str, disposition: str, expires_s: int) -> str:
        """An address by which anyone may read this version in the next *expires_s* s, with these two headers."""
