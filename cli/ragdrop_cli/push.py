"""`ragdrop push`: a folder or a file into a vault."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ragdrop.client import RagdropClient
from ragdrop_cli.failures import FAILED
from ragdrop_cli.folder_files import FolderFile, files_of
from ragdrop_cli.options import AsJson
from ragdrop_cli.output import note, progress, say, say_body, say_object, say_reply, say_table
from ragdrop_cli.pushing import (
    Holdings,
    Pause,
    PushOutcome,
    PushTarget,
    Waiting,
    at_once,
    delete_path,
    holdings,
    is_held,
    may_delete,
    push_file,
    records,
    renamed,
    several,
    shared_start,
    surplus_of,
)
from ragdrop_cli.session import Session, session_of

Source = Annotated[
    Path, typer.Argument(metavar="PATH", help="The folder, or the file, to send.", exists=True, show_default=False)
]
Vault = Annotated[str, typer.Option("--vault", help="The vault to put it in: 2 to 63 of a-z, 0-9 and -.")]
Under = Annotated[
    str, typer.Option("--prefix", help="The folder of the vault to put it under: notes/2026.", show_default="none")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until every file is indexed or has failed.")]
SendAll = Annotated[bool, typer.Option("--all", help="Send every file, those that did not change too.")]
Delete = Annotated[bool, typer.Option("--delete", help="Delete documents of the vault that the folder does not have.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before deleting.")]
AllowMassDelete = Annotated[
    bool, typer.Option("--allow-mass-delete", help="Accept that over 20 % and over 20 documents are deleted.")
]
StageName = Annotated[
    str | None,
    typer.Option(
        "--stage", help="Let the files wait in this stage, unseen, until `ragdrop promote`.", show_default="live"
    ),
]
TimeoutS = Annotated[float, typer.Option("--timeout-s", min=0, help="Seconds to wait without any progress.")]


def push(
    context: typer.Context,
    source: Source,
    vault: Vault,
    stage: StageName = None,
    prefix: Under = "",
    *,
    wait: Wait = False,
    send_all: SendAll = False,
    delete: Delete = False,
    yes: Yes = False,
    allow_mass_delete: AllowMassDelete = False,
    timeout_s: TimeoutS = 120.0,
    as_json: AsJson = False,
) -> None:
    """Send a file, or every file under a folder, five at once, to a local stack as many as there are cores.

    Files and folders whose name begins with a dot are left out, and so is what a .ragdropignore names, in the syntax of
    .gitignore.  Links are followed to files within the folder.  An archive a.zip is sent as a folder a.zip.

    A file keeps its path: PATH/notes/a.md becomes the document notes/a.md of the vault.  What the vault has already, by
    MD5, is not sent again, so a push that was cut off continues where it was.  A file that failed before and has not
    changed is reported again, and the push ends with 1; `ragdrop retry` tries it again.

    With --delete the vault, or its folder --prefix, becomes a mirror of the folder, once all was sent.

    With --json the API's last body about each file is printed, one a line.
    """
    if stage is not None and delete:
        raise typer.BadParameter("--delete works on what is live: a stage holds files alone")
    if delete and not source.is_dir():
        raise typer.BadParameter("--delete mirrors a folder: a file alone says nothing of the others")
    session = session_of(context)
    below = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    found = files_of(source).under(below)
    for path, reason in found.left_out:
        note(f"left out {path}: {reason}")
    paths = list(found.files)
    if not paths:
        note(f"there is no file in {source} (hidden and ignored ones are left out)")
        return
    with session.client() as client:
        start = below if delete else shared_start(paths) if len(paths) == 1 and source.is_file() else _folder_of(paths)
        listed = records(client, vault, start) if delete or not send_all else {}
        held = holdings(listed)
        surplus = sorted(surplus_of(held, found)) if source.is_dir() and stage is None else []
        if delete:
            may_delete(surplus, len(held), vault, yes=yes, allow_mass_delete=allow_mass_delete)
        outcomes = _send(client, PushTarget(vault, stage), list(found.files.values()), {} if send_all else held)
        for old, new in renamed(held, surplus, outcomes):
            stays = "" if delete else f": both are in the vault now; --delete would delete {old}"
            note(f"renamed: {old} is {new} now{stays}")
        gone = []
        if delete and not any(outcome.problem for outcome in outcomes):
            gone = several(partial(delete_path, client, vault), surplus)
        outcomes += _unsettled(vault, listed, set(paths) - {outcome.path for outcome in outcomes}, wait=wait)
        if wait and outcomes:
            outcomes = wait_for(session, client, vault, outcomes, timeout_s=timeout_s, whole=as_json)
    same = len(paths) - len(outcomes)
    what = f"{'file' if len(outcomes + gone) == 1 else 'files'} to vault {vault}"
    report(outcomes + gone, what, as_json=as_json, more=f"{same} unchanged" if same else "")


def _send(client: RagdropClient, target: PushTarget, files: Sequence[FolderFile], held: Holdings) -> list[PushOutcome]:
    """Send the files that the vault has not; each is compared only when its turn comes."""

    def send(file: FolderFile) -> PushOutcome | None:
        return None if is_held(held, file) else push_file(client, target, file)

    looked_at = itertools.count(1)
    with progress("sending", len(files)) as show:
        outcomes = several(
            send, files, done=lambda _outcome: show(next(looked_at), len(files)), workers=at_once(client)
        )
    return [outcome for outcome in outcomes if outcome is not None]


def _folder_of(paths: Sequence[str]) -> str:
    """The folder of the vault that holds all *paths*, empty for the vault itself.

    >>> _folder_of(["notes/a.md", "notes/ab.md"]), _folder_of(["a.md"])
    ('notes/', '')
    """
    folder, slash, _ = shared_start(paths).rpartition("/")
    return folder + slash


def _unsettled(
    vault: str, listed: Mapping[str, Mapping[str, Any]], unsent: Collection[str], *, wait: bool
) -> list[PushOutcome]:
    """Files that the vault had already and that failed, with *wait* also those that are not indexed yet."""
    found = (PushOutcome.known(vault, path, listed[path]) for path in sorted(unsent) if path in listed)
    return [outcome for outcome in found if outcome.problem or (wait and outcome.status == "pending")]


def wait_for(
    session: Session,
    client: RagdropClient,
    vault: str,
    outcomes: Sequence[PushOutcome],
    *,
    timeout_s: float,
    whole: bool,
) -> list[PushOutcome]:
    """The outcomes once each file is indexed or has failed; *timeout_s* is the patience without any progress."""
    waiting = Waiting(client, vault, outcomes, Pause(session.clock, session.sleep), whole=whole)
    with progress("indexing", len(outcomes)) as show:
        return waiting.wait(timeout_s, show)


def report(outcomes: Sequence[PushOutcome], what: str, *, as_json: bool, more: str = "") -> None:
    """Print what became of the files: *what* names them after their number, *more* follows the counts.

    Raises:
        typer.Exit: With 1 where a file failed.
    """
    failed = [outcome for outcome in outcomes if outcome.problem]
    for outcome in outcomes if as_json else ():
        if outcome.error_body:
            say_body(outcome.error_body)
        elif outcome.reply is not None:
            say_reply(outcome.reply)
        elif outcome.problem:
            code, message = outcome.problem
            say_object({"error": {"code": code, "message": message, "details": {"path": outcome.path}}})
    if not as_json:
        counts: dict[str, int] = {}
        for outcome in outcomes:
            counts[outcome.status] = counts.get(outcome.status, 0) + 1
        told = [f"{count} {status}" for status, count in sorted(counts.items())]
        say(f"{len(outcomes)} {what}: {', '.join([*told, more] if more else told) or 'nothing to do'}")
    if failed:
        rows = [[outcome.path, *(outcome.problem or ())] for outcome in failed]
        say_table(["file", "code", "problem"], rows, error=True)
        raise typer.Exit(FAILED)
