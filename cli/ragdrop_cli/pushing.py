"""Sending files, several at once, and what became of each."""

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from ragdrop.client import MAX_BODY_BYTES, RagdropClient
from ragdrop.client.replies import Reply
from ragdrop.client.routes import document_route
from ragdrop.domain.history import STAGE
from ragdrop.errors import RagdropError
from ragdrop_cli.failures import body_of, code_of, stops_all
from ragdrop_cli.folder_files import FolderFile

Item = TypeVar("Item")
Result = TypeVar("Result")

AT_ONCE = 5
AT_ONCE_HERE = min(AT_ONCE, max(2, os.cpu_count() or 2))  # as many processes as functions of ingest run at once


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """What became of one file: the last body about it, or why there is none.

    `problem` is code and message, `md5` that of the bytes that were sent where nothing can have changed them meanwhile.
    `unchanged` files were in the vault before, with the same bytes.
    """

    path: str
    reply: Reply | None = None
    problem: tuple[str, str] | None = None
    error_body: bytes | None = None
    md5: str | None = None
    unchanged: bool = False

    @property
    def status(self) -> str:
        """The status that the API reported last, `pending` too; `failed` where it reported none."""
        status = str(self.reply.get("status", "pending")) if self.reply else "failed"
        return f"still {status}" if self.unchanged and self.problem else status

    @classmethod
    def known(cls, vault: str, path: str, record: Mapping[str, Any]) -> PushOutcome:
        """The outcome of a file that is in the vault, by its record or by its path and version alone."""
        url = f"{document_route(vault, path)}?version={quote(str(record.get('version_id') or ''))}"
        fields = {"status": "pending", **record, "status_url": url}
        reply = Reply(fields, raw=json.dumps(dict(record)).encode())
        return cls(path, reply, problem_of(record), unchanged=True)


def media_type(path: str) -> str:
    """The media type that the file's name suggests.

    >>> media_type("notes/a.md"), media_type("a.unknown-suffix")
    ('text/markdown', 'application/octet-stream')
    """
    if path.lower().endswith((".md", ".markdown")):
        return "text/markdown"  # not in every system's table
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


@dataclass(frozen=True, slots=True)
class PushTarget:
    """Where files go: a vault, and the stage that they wait in, None where they go live."""

    vault: str
    stage: str | None = None

    @property
    def metadata(self) -> dict[str, str]:
        """What is sent with each file.

        >>> PushTarget("team", "spring").metadata, PushTarget("team").metadata
        ({'ragdrop-stage': 'spring'}, {})
        """
        return {} if self.stage is None else {STAGE: self.stage}


def push_file(client: RagdropClient, target: PushTarget, held: FolderFile) -> PushOutcome:
    """Send one file, one over the limit of a request straight into the bucket.

    An error that would meet every other file too is raised, any other is the outcome.
    """
    path = held.path
    try:
        if not held.file.is_file():
            return PushOutcome(path, problem=("UNREADABLE", "it is no regular file"))
        with held.opened() as file:
            kind = media_type(path)
            if file.stat().st_size > MAX_BODY_BYTES:
                reply = client.upload_document(target.vault, path, file, media_type=kind, stage=target.stage)
                return PushOutcome(path, reply)
            body = file.read_bytes()
            reply = client.put_document(target.vault, path, body, target.metadata, media_type=kind)
            return PushOutcome(path, reply, md5=hashlib.md5(body, usedforsecurity=False).hexdigest())
    except OSError as exc:
        return PushOutcome(path, problem=("UNREADABLE", exc.strerror or type(exc).__name__))
    except RagdropError as exc:
        return failed(path, exc)


def failed(path: str, error: RagdropError) -> PushOutcome:
    """The outcome of a file that *error* ended; raises it where it would meet every other file too."""
    if stops_all(error):
        raise error
    return PushOutcome(path, problem=(code_of(error), error.message), error_body=body_of(error))


def problem_of(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """Code and message of a record; None where the document is indexed or still pending.

    >>> problem_of({"status": "failed", "error": {"code": "EMPTY_DOCUMENT", "message": "there is no text in it"}})
    ('EMPTY_DOCUMENT', 'there is no text in it')
    """
    status = record.get("status", "pending")
    if status in {"pending", "indexed", "staged"}:
        return None
    error = record.get("error") or {}
    if status == "deleted":
        return "DELETED", "it was deleted meanwhile"
    return str(error.get("code") or "FAILED"), str(error.get("message") or f"its status is {status}")


def _nothing(_result: object) -> None:
    """Tell nobody."""


def at_once(client: RagdropClient) -> int:
    """How many requests to send at once: fewer where the API's functions share the cores of this machine.

    The emulator makes a process for every request that meets no idle one, and each start takes seconds of a core.
    """
    return AT_ONCE_HERE if client.is_local else AT_ONCE


def several(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    done: Callable[[Result], None] = _nothing,
    workers: int = AT_ONCE,
) -> list[Result]:
    """*work* on every item, *workers* at a time, results in the order of the items; *done* gets each as it comes.

    The first exception, Ctrl-C too, drops what has not begun and is raised.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="push")
    try:
        futures = [pool.submit(work, item) for item in items]
        for future in as_completed(futures):
            done(future.result())
        return [future.result() for future in futures]
    finally:  # after Ctrl-C nobody waits for the answers that are still out
        pool.shutdown(wait=not isinstance(sys.exception(), KeyboardInterrupt), cancel_futures=True)
