"""One S3 bucket as an ObjectStore."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.header import decode_header
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO
from urllib.parse import urlencode

from botocore.exceptions import ClientError

from ragdrop.errors import ObjectStoreError
from ragdrop.ports.object_store import ListedObject, PresignedForm, StoredObject, precondition_error
from ragdrop.stores.aws.clients import AwsClient, aws_errors, error_code, form_client, http_status
from ragdrop.stores.aws.clients import client as aws_client

UNVERSIONED = "null"  # S3's own word for the version of an object in a bucket without versioning
FILENAME = "${filename}"
DELETE_PAGE = 1000  # keys that DeleteObjects takes

_NO_SUCH_VERSION = frozenset({"NoSuchKey", "NoSuchVersion", "404", "NotFound"})
_NOT_THIS_VERSION = frozenset({400, 404, 405})  # malformed, gone, a delete marker
_DELETE_MARKER = frozenset({"MethodNotAllowed", "405"})  # asked for by its own version id
_NOT_AS_ASKED = frozenset({404, 409, 412})  # of a conditional write; 409: another one was under way
_BEYOND_THE_END = frozenset({"InvalidRange", "416"})


class S3ObjectStore:
    """An ObjectStore over a low-level S3 client, by default that of the environment, made at the first call."""

    def __init__(self, bucket: str, client: AwsClient = None) -> None:
        self.bucket = bucket
        self._given = client
        self._seen = False

    def head(self, key: str, *, version_id: str | None = None) -> StoredObject | None:
        """A version, or the current one; None if there is none, or a delete marker.

        Raises ConfigurationError: the bucket does not exist: were that taken for a missing key, all would be deleted.
        """
        with self._translated():
            try:
                answer = self._client.head_object(**_of_version(self.bucket, key, version_id))
            except ClientError as exc:
                if version_id is not None and http_status(exc) in _NOT_THIS_VERSION:
                    return None
                if http_status(exc) != 404 and error_code(exc) not in _NO_SUCH_VERSION:
                    raise
                self._bucket_must_exist()
                return None
        self._seen = True
        return StoredObject(
            key=key,
            version_id=answer.get("VersionId", UNVERSIONED),
            etag=answer["ETag"].strip('"'),
            size_bytes=answer["ContentLength"],
            media_type=answer.get("ContentType", "binary/octet-stream"),
            modified_at=_rfc3339(answer["LastModified"]),
            metadata=decoded_metadata(answer.get("Metadata", {})),
        )

    def get(self, key: str, *, version_id: str | None = None, start: int = 0, end: int | None = None) -> bytes | None:
        request = _of_version(self.bucket, key, version_id)
        empty = end is not None and end <= start
        if empty:  # a range holds a byte at least; whether the object exists is asked all the same
            request["Range"] = f"bytes={start}-{start}"
        elif start or end is not None:
            request["Range"] = f"bytes={start}-{'' if end is None else end - 1}"
        with self._translated():
            try:
                answer = self._client.get_object(**request)
                body: bytes = answer["Body"].read()
            except ClientError as exc:
                code = error_code(exc)
                if code in _BEYOND_THE_END:
                    return b""
                malformed = code == "InvalidArgument" and version_id is not None
                if code in _NO_SUCH_VERSION or code in _DELETE_MARKER or malformed:
                    return None
                raise
        return b"" if empty else body

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

        Raises PreconditionFailedError: that is not so.
        """
        condition = {} if onto is None else {"IfMatch": f'"{onto}"'} if onto else {"IfNoneMatch": "*"}
        with self._translated():
            try:
                answer = self._client.put_object(
                    Bucket=self.bucket,
                    Key=key,
                    Body=body,
                    ContentType=media_type,
                    Metadata=encoded_metadata(metadata or {}),
                    **condition,
                )
            except ClientError as exc:
                if condition and http_status(exc) in _NOT_AS_ASKED:
                    raise precondition_error("If-Match" if onto else "If-None-Match", None) from exc
                raise
        date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        return StoredObject(
            key=key,
            version_id=answer.get("VersionId", UNVERSIONED),
            etag=answer["ETag"].strip('"'),
            size_bytes=len(body) if isinstance(body, bytes) else body.tell(),
            media_type=media_type,
            modified_at=_rfc3339(parsedate_to_datetime(date) if date else datetime.now(UTC)),
            metadata={name.lower(): value for name, value in (metadata or {}).items()},
        )

    def tags(self, key: str, *, version_id: str | None = None) -> Mapping[str, str] | None:
        with self._translated():
            try:
                answer = self._client.get_object_tagging(**_of_version(self.bucket, key, version_id))
            except ClientError as exc:
                malformed = error_code(exc) == "InvalidArgument" and version_id is not None
                if error_code(exc) in _NO_SUCH_VERSION | _DELETE_MARKER or malformed:
                    return None
                raise
        return {each["Key"]: each["Value"] for each in answer["TagSet"]}

    def copy_version(self, key: str, version_id: str, *, metadata: Mapping[str, str]) -> StoredObject | None:
        with self._translated():
            try:
                old = self._client.head_object(Bucket=self.bucket, Key=key, VersionId=version_id)
                media_type = old.get("ContentType", "binary/octet-stream")
                tags = {**(self.tags(key, version_id=version_id) or {}), **(self.tags(key) or {})}
                merged = {
                    name: text
                    for name, text in {**decoded_metadata(old.get("Metadata", {})), **metadata}.items()
                    if text
                }
                answer = self._client.copy_object(
                    Bucket=self.bucket,
                    Key=key,
                    CopySource={"Bucket": self.bucket, "Key": key, "VersionId": version_id},
                    MetadataDirective="REPLACE",
                    TaggingDirective="REPLACE",
                    Tagging=urlencode(tags),
                    ContentType=media_type,
                    Metadata=encoded_metadata(merged),
                )
            except ClientError as exc:
                if error_code(exc) in _NO_SUCH_VERSION | _DELETE_MARKER | {"400", "404", "405", "InvalidArgument"}:
                    return None
                raise
        result = answer["CopyObjectResult"]
        return StoredObject(
            key=key,
            version_id=answer.get("VersionId", UNVERSIONED),
            etag=result["ETag"].strip('"'),
            size_bytes=old["ContentLength"],
            media_type=media_type,
            modified_at=_rfc3339(result["LastModified"]),
            metadata=merged,
        )

    def delete(self, key: str) -> str | None:
        with self._translated():
            answer = self._client.delete_object(Bucket=self.bucket, Key=key)
        marker: str | None = answer.get("VersionId") if answer.get("DeleteMarker") else None
        return marker

    def remove_version(self, key: str, version_id: str) -> None:
        with self._translated():
            self._client.delete_object(Bucket=self.bucket, Key=key, VersionId=version_id)

    def versions(self, key: str) -> list[ListedObject]:
        found = [each for each in self._versions(key) if each["Key"] == key]
        found.sort(key=lambda each: (each["IsLatest"], each["LastModified"].replace(microsecond=0)), reverse=True)
        return [_listed(each, deleted="ETag" not in each) for each in found]

    def delete_prefix(self, prefix: str) -> int:
        """Raise ObjectStoreError if some could not be removed, and ValueError for an empty prefix: it is the bucket."""
        if not prefix:
            raise ValueError("an empty prefix would remove the whole bucket")
        removed = 0
        while objects := self._versions(prefix):  # from the start again each time: what was there is gone
            removed += self._remove(objects)
        return removed

    def entries(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        """Every key under *prefix* behind *start_after*; S3 gives up to 1,000 versions a request, old ones too."""
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix}
        if start_after:
            request["KeyMarker"] = start_after
        while True:
            with self._translated():
                answer = self._client.list_object_versions(**request)
            found = [_listed(entry, deleted=False) for entry in answer.get("Versions", []) if entry["IsLatest"]]
            found += [_listed(entry, deleted=True) for entry in answer.get("DeleteMarkers", []) if entry["IsLatest"]]
            # a marker is exclusive where no version stands beside it; not everything that speaks S3 knows that
            yield from sorted((each for each in found if each.key > start_after), key=lambda each: each.key)
            if not answer.get("IsTruncated"):
                return
            request["KeyMarker"] = answer["NextKeyMarker"]
            if marker := answer.get("NextVersionIdMarker"):
                request["VersionIdMarker"] = marker
            else:
                request.pop("VersionIdMarker", None)

    def purge(self, key: str) -> int:
        """Remove every version and delete marker of one key for good.

        Raises ObjectStoreError: some could not be removed; the others are gone.
        """
        removed = 0
        # versions come in order of their keys, so those of the shortest key under the prefix, *key* itself, come first
        while objects := [each for each in self._versions(key) if each["Key"] == key]:
            removed += self._remove(objects)
        return removed

    def upload_form(
        self, key: str, *, media_type: str, metadata: Mapping[str, str], max_bytes: int, expires_s: int
    ) -> PresignedForm:
        """A presigned POST for this key, type, metadata and size; valid as long as the signer's own credentials.

        Raises ValueError: s3 would put the file's name into the key in place of `${filename}`.
        """
        if FILENAME in key:
            raise ValueError("a key with ${filename} would not be exact")
        fixed = {"Content-Type": media_type, **{f"x-amz-meta-{name}": value for name, value in metadata.items()}}
        with self._translated():
            form = (self._given or form_client()).generate_presigned_post(
                self.bucket,
                key,
                Fields=fixed,
                Conditions=[*({name: value} for name, value in fixed.items()), ["content-length-range", 1, max_bytes]],
                ExpiresIn=expires_s,
            )
        return PresignedForm(form["url"], form["fields"])

    def download_link(self, key: str, *, version_id: str, media_type: str, disposition: str, expires_s: int) -> str:
        """A presigned GET of this version; valid as long as the signer's own credentials at most."""
        request = _of_version(self.bucket, key, version_id)
        request |= {"ResponseContentType": media_type, "ResponseContentDisposition": disposition}
        with self._translated():
            link: str = (self._given or form_client()).generate_presigned_url(
                "get_object", Params=request, ExpiresIn=expires_s
            )
        return link

    @property
    def _client(self) -> AwsClient:
        return self._given or aws_client("s3")

    def _versions(self, prefix: str) -> list[dict[str, Any]]:
        """Up to 1,000 delete markers and versions under *prefix*; only a version has an ETag."""
        with self._translated():
            answer = self._client.list_object_versions(Bucket=self.bucket, Prefix=prefix, MaxKeys=DELETE_PAGE)
        return [*answer.get("DeleteMarkers", []), *answer.get("Versions", [])]

    def _remove(self, entries: list[dict[str, Any]]) -> int:
        objects = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in entries]
        with self._translated():
            answer = self._client.delete_objects(Bucket=self.bucket, Delete={"Objects": objects})
        errors = answer.get("Errors", [])
        if errors or len(answer.get("Deleted", [])) < len(objects):
            codes = sorted({error.get("Code", "unknown") for error in errors})
            missing = len(objects) - len(answer.get("Deleted", []))
            raise ObjectStoreError(
                f"{missing} of {len(objects)} versions in {self.bucket} could not be removed ({', '.join(codes)})",
                service="object_store",
                retryable="AccessDenied" not in codes,
            )
        return len(objects)

    def _bucket_must_exist(self) -> None:
        """A missing bucket and a missing key look the same to HeadObject: ask once, before the first is believed."""
        if not self._seen:
            try:
                self._client.head_bucket(Bucket=self.bucket)
            except ClientError as exc:
                if http_status(exc) == 404:
                    exc.response["Error"] = {"Code": "NoSuchBucket"}
                raise
            self._seen = True

    @contextmanager
    def _translated(self) -> Iterator[None]:
        with aws_errors(ObjectStoreError, service="object_store", resource=f"bucket {self.bucket}"):
            try:
                yield
            except ClientError as exc:
                if http_status(exc) != 403:
                    raise
                raise ObjectStoreError(
                    f"bucket {self.bucket} answered 403: without s3:ListBucket a missing key is answered so, "
                    "else the permission for this action is missing",
                    service="object_store",
                    retryable=False,
                ) from exc


def _of_version(bucket: str, key: str, version_id: str | None) -> dict[str, Any]:
    return {"Bucket": bucket, "Key": key} | ({} if version_id is None else {"VersionId": version_id})


def _listed(entry: Mapping[str, Any], *, deleted: bool) -> ListedObject:
    etag, size = entry.get("ETag", "").strip('"'), int(entry.get("Size", 0))
    return ListedObject(entry["Key"], entry["VersionId"], _rfc3339(entry["LastModified"]), deleted, size, etag)


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def encoded_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """Metadata as it may stand in headers; names in lower case, as S3 gives them back.

    >>> encoded_metadata({"Title": "Überlauf"})
    {'title': '=?utf-8?b?w5xiZXJsYXVm?='}
    """
    return {name.lower(): value if _is_plain(value) else _word(value) for name, value in metadata.items()}


def decoded_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """Metadata as S3 gave it back, in words; what cannot be decoded_metadata stays as it is.

    >>> decoded_metadata({"title": "=?UTF-8?Q?=C3=9Cberlauf?="})
    {'title': 'Überlauf'}
    """
    return {name.lower(): _text(value) for name, value in metadata.items()}


def _is_plain(value: str) -> bool:
    # S3 trims values, and would take what looks like an encoded_metadata word for one
    return value.isascii() and value.isprintable() and value == value.strip() and "=?" not in value


def _word(value: str) -> str:
    return f"=?utf-8?b?{b64encode(value.encode()).decode()}?="


def _text(value: str) -> str:
    if "=?" not in value:
        return value
    try:
        parts = decode_header(value)
        return "".join(part.decode(charset or "ascii") if isinstance(part, bytes) else part for part, charset in parts)
    except (HeaderParseError, LookupError, ValueError):
        return value
