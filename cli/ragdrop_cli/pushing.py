"""Sending files several at once, comparing a vault with a folder, and waiting until every file is indexed."""

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import typer

from ragdrop.client import MAX_BODY_BYTES, RagdropClient
from ragdrop.client.replies import Reply
from ragdrop.client.routes import document_route
from ragdrop.domain.documents import is_mass_delete
from ragdrop.domain.history import STAGE
from ragdrop.domain.keys import SIDECAR_SUFFIX
from ragdrop.errors import DependencyError, DocumentNotFoundError, RagdropError, RateLimitedError
from ragdrop_cli.folder_files import FolderFile, FolderFiles, is_hidden, name_problem
from ragdrop_cli.output import FAILED, USAGE, body_of, code_of, note, progress, stops_all
from ragdrop_cli.session import Session

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
    """The media type that the file's name suggests."""
    if path.lower().endswith((".md", ".markdown")):
        return "text/markdown"  # not in every system's table
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def push_file(client: RagdropClient, vault: str, stage: str | None, file: FolderFile) -> PushOutcome:
    """Send one file live or into *stage*, one over the limit of a request straight into the bucket.

    An error that would meet every other file too is raised, any other is the outcome.
    """
    path = file.path
    try:
        if not file.file.is_file():
            return PushOutcome(path, problem=("UNREADABLE", "it is no regular file"))
        with file.opened() as opened:
            kind = media_type(path)
            if opened.stat().st_size > MAX_BODY_BYTES:
                return PushOutcome(path, client.upload_document(vault, path, opened, media_type=kind, stage=stage))
            body = opened.read_bytes()
            metadata = {} if stage is None else {STAGE: stage}
            reply = client.put_document(vault, path, body, metadata, media_type=kind)
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
    """Code and message of a record; None where the document is indexed or still pending."""
    status = record.get("status", "pending")
    if status in {"pending", "indexed", "staged"}:
        return None
    error = record.get("error") or {}
    if status == "deleted":
        return "DELETED", "it was deleted meanwhile"
    return str(error.get("code") or "FAILED"), str(error.get("message") or f"its status is {status}")


def at_once(client: RagdropClient) -> int:
    """How many requests to send at once: fewer where the API's functions share the cores of this machine.

    The emulator makes a process for every request that meets no idle one, and each start takes seconds of a core.
    """
    return AT_ONCE_HERE if client.is_local else AT_ONCE


def several(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    done: Callable[[Result], None] = lambda _result: None,
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


PAGE_SIZE = 1_000  # documents: the most that the API lists at once
SHOWN = 10

Holdings = Mapping[str, str | None]
"""Paths of a vault with their S3 etags, None where the API does not report it; sidecars too."""


def records(client: RagdropClient, vault: str, prefix: str) -> dict[str, Mapping[str, Any]]:
    """The records of the vault's documents under *prefix*, indexed yet or not, by their paths."""
    pages = client.documents(vault, prefix or None, page_size=PAGE_SIZE)
    return {str(record.get("path")): record for page in pages for record in page.get("documents") or []}


def holdings(found: Mapping[str, Mapping[str, Any]]) -> Holdings:
    """What a vault with these records holds."""
    stored: dict[str, str | None] = {}
    for path, record in found.items():
        stored[path] = record.get("etag")
        if record.get("sidecar_etag"):
            stored[path + SIDECAR_SUFFIX] = record["sidecar_etag"]
    return stored


def is_stored(stored: Holdings, file: FolderFile) -> bool:
    """Whether the vault has this file with the same bytes: its etag is their MD5, as S3 gives for one sent whole."""
    etag = stored.get(file.path)
    if not etag or not file.file.is_file():
        return False
    try:
        return file.md5() == etag
    except OSError:  # whoever sends it reports that
        return False


def surplus_of(stored: Holdings, folder: FolderFiles) -> set[str]:
    """What the folder does not have; hidden names and those of no document, which are never sent, are left alone.

    >>> sorted(surplus_of({"a.md": "x", "b.zip/c.md": "y", ".ragdrop.json": "z"}, FolderFiles()))
    ['a.md', 'b.zip/c.md']
    >>> surplus_of({"b.zip/c.md": "y"}, FolderFiles(unknown={"b.zip"}))
    set()
    >>> surplus_of({"b//c.md": "y"}, FolderFiles())
    set()
    """
    gone = (path for path in stored if not folder.may_hold(path))
    sent = (path for path in gone if not any(map(is_hidden, path.split("/"))))
    return {path for path in sent if name_problem(path) is None}


def renamed(stored: Holdings, surplus: Collection[str], sent: Iterable[PushOutcome]) -> list[tuple[str, str]]:
    """Pairs of a path that the folder does not have and one that was sent with the same bytes."""
    gone = {etag: path for path in surplus if (etag := stored.get(path))}
    return [(gone.pop(each.md5), each.path) for each in sent if each.md5 in gone and not each.problem]


def may_delete(surplus: Collection[str], stored: int, vault: str, *, yes: bool, allow_mass_delete: bool) -> None:
    """Return if *surplus* may be deleted.

    Raises typer.Exit with 1 where it is too much or the answer was no; with 2 where nobody can be asked.
    """
    if not surplus:
        return
    if is_mass_delete(len(surplus), stored) and not allow_mass_delete:
        note(f"REFUSED: {len(surplus)} of {stored} documents of vault {vault} would be deleted; nothing was done")
        note("next: is it the right folder? if it is, run it again with --allow-mass-delete")
        raise typer.Exit(FAILED)
    confirm_deletion(surplus, vault, yes=yes)


def confirm_deletion(paths: Collection[str], vault: str, *, yes: bool) -> None:
    """Return if these documents may be deleted.

    Raises typer.Exit with 1 where the answer was no; with 2 where nobody can be asked.
    """
    if not paths or yes:
        return
    if not sys.stdin.isatty():
        note(f"{len(paths)} documents of vault {vault} would be deleted; nothing was done: --yes says that they may")
        raise typer.Exit(USAGE)
    for path in sorted(paths)[:SHOWN]:
        note(f"  {path}")
    if not typer.confirm(f"delete these {len(paths)} documents of vault {vault}?", err=True):
        raise typer.Exit(FAILED)


def delete_path(client: RagdropClient, vault: str, path: str) -> PushOutcome:
    """Delete one document; one that is gone meanwhile is reported as a failure."""
    try:
        return PushOutcome(path, client.delete_document(vault, path))
    except RagdropError as exc:
        return failed(path, exc)


FIRST_POLL_S, POLL_GROWTH, LONGEST_POLL_S = 0.2, 1.5, 2.0
FILES_A_PAGE = 10  # a page of the list costs about as much as the records of this many files
DONE = ("indexed", "staged")
PASSING = (DependencyError, RateLimitedError)


class Waiting:
    """The files of one push into a vault until each is indexed or has failed.

    A file is settled once the list, one request for up to 1,000 files, shows the version that was sent as indexed, or
    once the record of that version does.  The list also shows whose record is worth asking for.  A dependency that
    fails meanwhile is asked again: ingest may well succeed.

    *sent* is what became of each file when it was sent.  *whole*: the outcome of each file must have its whole record;
    the list has less.
    """

    def __init__(
        self, session: Session, client: RagdropClient, vault: str, sent: Sequence[PushOutcome], *, whole: bool
    ) -> None:
        self._client, self._vault, self._whole = client, vault, whole
        self._sleep, self._clock = session.sleep, session.clock
        self._paths = [outcome.path for outcome in sent]
        self._sent = {outcome.path: outcome.reply for outcome in sent if outcome.reply is not None}
        self._settled = {outcome.path: outcome for outcome in sent if outcome.reply is None or outcome.problem}
        self._open = {outcome.path: outcome for outcome in sent if outcome.path not in self._settled}
        self._claimed: dict[str, int] = {}  # the last revision that was seen to be for the version sent
        self._trouble: RagdropError | None = None

    def wait(self, timeout_s: float, done: Callable[[int, int], None]) -> list[PushOutcome]:
        """What became of the files, in their order; *done* gets how many are settled, and of how many.

        What is open is given up after *timeout_s* seconds without any progress: a file that is settled, or that ingest
        has begun with.  Raises RagdropError if the key may not read.
        """
        delay_s, last_progress_s = FIRST_POLL_S, self._clock()
        while self._open:
            self._sleep(delay_s)
            delay_s = min(delay_s * POLL_GROWTH, LONGEST_POLL_S)
            settled = len(self._settled)
            if self._poll():
                now_s = self._clock()
                delay_s = next_poll_s(now_s - last_progress_s, len(self._settled) - settled, len(self._open), delay_s)
                last_progress_s = now_s
                for count in range(settled + 1, len(self._settled) + 1):
                    done(count, len(self._paths))
            elif self._clock() - last_progress_s >= timeout_s:
                self._give_up()
        return [self._settled[path] for path in self._paths]

    def _poll(self) -> bool:
        """Ask once; whether there was progress."""
        self._trouble = None
        before = len(self._settled), sum(self._claimed.values())
        paths = list(self._open)
        if len(paths) > AT_ONCE:
            paths = self._worth_asking() or ([] if len(self._settled) > before[0] else paths[:AT_ONCE])
        for outcome in several(self._ask, paths, workers=at_once(self._client)):
            del self._open[outcome.path]
            settled = outcome.reply is None or outcome.problem or outcome.status != "pending"
            (self._settled if settled else self._open)[outcome.path] = outcome  # at the end: the others' turn is next
        return before != (len(self._settled), sum(self._claimed.values()))

    def _ask(self, path: str) -> PushOutcome:
        """The outcome of a file as its record shows it; as it was where the record could not be read just now."""
        if path.endswith(SIDECAR_SUFFIX):
            return self._ask_document_of(path)
        try:
            reply = self._client.status(str(self._sent[path].get("status_url")))
        except PASSING as exc:
            self._trouble = exc
            return self._open[path]
        except RagdropError as exc:
            return failed(path, exc)
        self._look(path, reply)
        return PushOutcome(path, reply, problem_of(reply))

    def _ask_document_of(self, sidecar: str) -> PushOutcome:
        """The outcome of a metadata file, which has no record: that of its document, once it was read with it."""
        path, outcome = sidecar.removesuffix(SIDECAR_SUFFIX), self._open[sidecar]
        try:
            record = self._client.get_document(self._vault, path)
        except DocumentNotFoundError:
            is_coming = path in self._open
            return outcome if is_coming else PushOutcome(sidecar, outcome.reply, ("NO_DOCUMENT", f"there is no {path}"))
        except PASSING as exc:
            self._trouble = exc
            return outcome
        except RagdropError as exc:
            return failed(sidecar, exc)
        was_read = record.get("sidecar_etag") == outcome.md5 and record.get("status") != "pending"
        return PushOutcome(sidecar, record, problem_of(record)) if was_read else outcome

    def _worth_asking(self) -> list[str]:
        """Settle what the list shows as indexed; the files whose records are worth asking for.

        These are others that it shows as settled, and those that it was not read far enough to show.
        """
        worth: list[str] = []
        reached, pages_left = "", 1 + len(self._open) // FILES_A_PAGE
        try:
            for page in self._client.documents(self._vault, shared_start(self._open) or None, page_size=PAGE_SIZE):
                for record in page.get("documents") or []:
                    reached = str(record.get("path"))
                    if reached + SIDECAR_SUFFIX in self._open and record.get("status") != "pending":
                        worth.append(reached + SIDECAR_SUFFIX)
                    if reached in self._open and self._look(reached, record):
                        if not self._whole and self._shows_indexed(reached, record):
                            reply = Reply(record, raw=json.dumps(record).encode())
                            self._settled[reached] = PushOutcome(reached, reply)
                            del self._open[reached]
                        else:
                            worth.append(reached)
                pages_left -= 1
                if not pages_left:
                    return worth + [path for path in self._open if path > reached and page.get("cursor")]
        except RagdropError as exc:
            self._trouble = exc
        return worth

    def _look(self, path: str, record: Mapping[str, Any]) -> bool:
        """Note how far ingest is with the version that was sent; whether the record shows it as settled."""
        version_id = self._sent[path].get("version_id")
        if record.get("version_id") == version_id:
            self._claimed[path] = max(self._claimed.get(path, 0), int(record.get("revision") or 0))
        mine = version_id in {record.get("version_id"), record.get("live_version_id")}
        return mine and record.get("status") != "pending"

    def _shows_indexed(self, path: str, record: Mapping[str, Any]) -> bool:
        """Whether *record* is of the version that was sent, and needs no further question."""
        is_sent = record.get("version_id") == self._sent[path].get("version_id")
        return is_sent and record.get("status") in DONE

    def _give_up(self) -> None:
        message = "still pending when the time to wait was over"
        if self._trouble is not None:
            message += f"; the last request failed with {code_of(self._trouble)}: {self._trouble.message}"
        for path, outcome in self._open.items():
            self._settled[path] = PushOutcome(path, outcome.reply, ("TIMEOUT", message))
        self._open = {}


def wait_for(
    session: Session, client: RagdropClient, vault: str, sent: Sequence[PushOutcome], *, timeout_s: float, whole: bool
) -> list[PushOutcome]:
    """The outcomes once each file is indexed or has failed; see Waiting."""
    with progress("indexing", len(sent)) as show:
        return Waiting(session, client, vault, sent, whole=whole).wait(timeout_s, show)


def next_poll_s(elapsed_s: float, settled: int, left: int, longest_s: float) -> float:
    """Seconds until the next poll, once one showed progress: half of the time that the files left should take.

    *settled* files were settled in the *elapsed_s* seconds since the progress before, *left* are not yet.  It is from
    FIRST_POLL_S to *longest_s*, which is the answer where nothing was settled.

    >>> next_poll_s(1.0, 10, 20, 2.0), next_poll_s(1.0, 10, 2, 2.0), next_poll_s(1.0, 0, 2, 1.5)
    (1.0, 0.2, 1.5)
    """
    return min(longest_s, max(FIRST_POLL_S, elapsed_s * left / settled / 2)) if settled else longest_s


def shared_start(paths: Collection[str]) -> str:
    """What all *paths* begin with."""
    first, last = min(paths), max(paths)
    differ = (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(differ, len(first))]
