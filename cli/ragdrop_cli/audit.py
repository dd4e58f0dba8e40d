"""`ragdrop audit export` and `audit verify`: receipts in files whose every byte can be checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import typer

from ragdrop.domain.deadlines import duration_s
from ragdrop.errors import ConfigurationError, DependencyError, InvalidParamsError
from ragdrop_cli.audit_files import AuditFile, Position, check_audit, file_name, file_numbers
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import FAILED, note, say, say_object
from ragdrop_cli.session import packages, session_of

SHOWN = 20  # findings; the others are counted
S3 = "s3://"

Destination = Annotated[str, typer.Argument(help="A folder, or a bucket: s3://BUCKET/PREFIX.")]
Retain = Annotated[
    str | None,
    typer.Option(
        "--retain", help="How long S3 must refuse to delete each file, such as 365d.", show_default="the bucket's rule"
    ),
]
LockMode = Annotated[
    Literal["governance", "compliance"],
    typer.Option("--lock-mode", help="With compliance nobody can shorten it, not even the account's owner."),
]
Head = Annotated[
    str | None,
    typer.Option(
        "--head",
        help="The hash that the last export printed, so that missing last files are found.",
        show_default="not compared",
    ),
]


class ExportPlace(Protocol):
    """Where the files of an audit lie.  A file is written once, whole, and never replaced."""

    def numbers(self) -> list[int]:
        """The numbers of the files that are there, in order."""

    def read(self, number: int) -> bytes:
        """A file, by its number."""

    def write(self, number: int, data: bytes) -> None:
        """Write a new file. Raises ConfigurationError: there is one already."""


def export(
    context: typer.Context,
    destination: Destination,
    *,
    retain: Retain = None,
    lock_mode: LockMode = "governance",
    as_json: AsObject = False,
) -> None:
    """Write all receipts of the tenant to numbered files, each line chained to the one before (role admin).

    The next export continues behind the last file; so does one that was cut off.  Run it at least every 30 days, after
    which receipts expire.  A bucket is written with your own AWS credentials.
    """
    session = session_of(context)
    if retain is not None and not destination.startswith(S3):
        raise InvalidParamsError("--retain needs a bucket with Object Lock", field="retain", value=retain)
    until = None if retain is None else session.now().astimezone(UTC) + timedelta(seconds=duration_s(retain))
    place = _place_of(destination, session.folder, until, lock_mode)
    receipts = files = purged = 0
    with session.client() as client:
        numbers = place.numbers()
        position = Position.at_end_of(numbers[-1], place.read(numbers[-1])) if numbers else Position()
        current: AuditFile | None = None
        for page in client.receipts(position.last):
            current = current or AuditFile(position, page["tenant"])
            for receipt in page["receipts"]:
                current.add(receipt)
                receipts += 1
                purged += receipt["record"] is None
            if current.is_full or (not page["cursor"] and current.receipts):
                data, position = current.closed(str(page["at"]))
                place.write(position.number, data)
                files, current = files + 1, None
    found = {"receipts": receipts, "purged": purged, "files": files, "head": position.hash}
    if as_json:
        say_object(found)
        return
    say(f"{receipts} receipts in {files} new files, {purged} of them purged")
    say(f"head {position.hash}")


def verify(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="The folder with the files; copy a bucket to one first.")],
    *,
    head: Head = None,
    as_json: AsObject = False,
) -> None:
    """Find what was altered, removed or reordered in the files of an export; ends with 1 if something was.

    A purged receipt leaves its link, and one that expired before it could be exported leaves a gap that its successor
    dates.  Both are counted, neither is a fault.
    """
    report = check_audit(session_of(context).folder / path, head=head)
    if as_json:
        say_object(asdict(report))
    else:
        for each in report.findings[:SHOWN]:
            receipt = f" (receipt {each.receipt})" if each.receipt else ""
            say(f"{each.file}, line {each.line}: {each.problem}{receipt}", style="bold red")
        if len(report.findings) > SHOWN:
            note(f"and {len(report.findings) - SHOWN} more; --json lists all")
        say(
            f"{report.receipts} receipts in {report.files} files and {report.chains} chains; "
            f"{report.purged} purged, {report.expired} expired before they were exported"
        )
        say(f"head {report.head}")
    if report.findings:
        raise typer.Exit(FAILED)


def _place_of(destination: str, folder: Path, until: datetime | None, mode: str) -> ExportPlace:
    if not destination.startswith(S3):
        return ExportFolder(folder / destination)
    bucket, _, prefix = destination.removeprefix(S3).partition("/")
    return ExportBucket(bucket, prefix, retain_until=until, mode=mode)


class ExportFolder:
    """A folder, which is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def numbers(self) -> list[int]:
        """None where the folder is not there yet."""
        return file_numbers(path.name for path in self._folder.iterdir()) if self._folder.is_dir() else []

    def read(self, number: int) -> bytes:
        """The file's bytes."""
        return (self._folder / file_name(number)).read_bytes()

    def write(self, number: int, data: bytes) -> None:
        """Write it under another name, then give it its own, so that it is whole."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / file_name(number)
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(data)
        try:
            path.hardlink_to(unfinished)
        except FileExistsError as exc:
            raise _taken(number) from exc
        finally:
            unfinished.unlink()


class ExportBucket:
    """A bucket, over the SDK's own search for credentials.

    Args:
        bucket: Its name.
        prefix: What every key begins with; a slash is put behind it.
        retain_until: Until when Object Lock must hold each file; None leaves it to the bucket's own rule.
        mode: `governance` or `compliance`.
        client: A low-level S3 client.

    Raises ConfigurationError: the SDK is not installed, or a date is given and the bucket has no Object Lock.
    """

    def __init__(
        self, bucket: str, prefix: str, *, retain_until: datetime | None, mode: str, client: Any = None
    ) -> None:
        with packages():
            import boto3  # late: the bare wheel has no SDK, and exports to a folder

            self._client: Any = client or boto3.client("s3")
        self._bucket, self._prefix = bucket, f"{prefix.rstrip('/')}/" if prefix else ""
        self._lock: dict[str, Any] = {}
        if retain_until is not None:
            self._lock = {"ObjectLockMode": mode.upper(), "ObjectLockRetainUntilDate": retain_until}
            with _bucket_errors(bucket):
                self._client.get_object_lock_configuration(Bucket=bucket)

    def numbers(self) -> list[int]:
        """Those under the prefix."""
        with _bucket_errors(self._bucket):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
            keys = [each["Key"] for page in pages for each in page.get("Contents", ())]
        return file_numbers(key.removeprefix(self._prefix) for key in keys)

    def read(self, number: int) -> bytes:
        """The object's bytes."""
        with _bucket_errors(self._bucket):
            answer = self._client.get_object(Bucket=self._bucket, Key=self._prefix + file_name(number))
            return bytes(answer["Body"].read())

    def write(self, number: int, data: bytes) -> None:
        """Put the object on the condition that there is none, locked where a date was given."""
        with _bucket_errors(self._bucket, number):
            self._client.put_object(
                Bucket=self._bucket,
                Key=self._prefix + file_name(number),
                Body=data,
                ContentType="application/x-ndjson",
                ChecksumAlgorithm="SHA256",
                IfNoneMatch="*",
                **self._lock,
            )


def _taken(number: int) -> ConfigurationError:
    return ConfigurationError(f"{file_name(number)} is there already: another export runs, or this one ran before")


@contextmanager
def _bucket_errors(bucket: str, number: int = 0) -> Iterator[None]:
    """Turn the SDK's errors within the block into ragdrop's; they have codes, never the request."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as exc:
        code = str(exc.response.get("Error", {}).get("Code", ""))
        if code in {"PreconditionFailed", "ConditionalRequestConflict"}:
            raise _taken(number) from exc
        if code in {"NoSuchBucket", "ObjectLockConfigurationNotFoundError"}:
            what = "does not exist" if code == "NoSuchBucket" else "has no Object Lock: leave out --retain"
            raise ConfigurationError(f"bucket {bucket} {what}") from exc
        raise DependencyError(f"bucket {bucket} answered {code}", service="s3", retryable=False) from exc
    except BotoCoreError as exc:
        raise DependencyError(f"bucket {bucket} did not answer ({type(exc).__name__})", service="s3") from exc
