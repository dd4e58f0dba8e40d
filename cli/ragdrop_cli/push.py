"""`ragdrop push`: a folder into a vault."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ragdrop.client import RagdropClient
from ragdrop_cli.failures import FAILED
from ragdrop_cli.folder_files import FolderFile, files_of
from ragdrop_cli.mirroring import Holdings, delete_path, holdings, is_held, may_delete, surplus_of
from ragdrop_cli.options import AsJson
from ragdrop_cli.output import note, say, say_body, say_object, say_reply, say_table
from ragdrop_cli.progress import progress
from ragdrop_cli.pushing import PushOutcome, PushTarget, at_once, push_file, several
from ragdrop_cli.session import session_of
from ragdrop_cli.waiting import Pause, Waiting, shared_start

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder to send.", exists=True, file_okay=False, show_default=False)
]
Vault = Annotated[str, typer.Option("--vault", help="The vault to put it in: 2 to 63 of a-z, 0-9 and -.")]
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
    folder: Folder,
    vault: Vault,
    stage: StageName = None,
    *,
    wait: Wait = False,
    send_all: SendAll = False,
    delete: Delete = False,
    yes: Yes = False,
    allow_mass_delete: AllowMassDelete = False,
    timeout_s: TimeoutS = 120.0,
    as_json: AsJson = False,
) -> None:
    """Send every file under a folder, five at once, to a local stack as many as there are cores.

    Files and folders whose name begins with a dot are left out, and so is what a .ragdropignore names, in the syntax of
    .gitignore.  Links are followed to files within the folder.  An archive a.zip is sent as a folder a.zip.

    A file keeps its path: DIR/notes/a.md becomes the document notes/a.md of the vault.  What the vault has already, by
    MD5, is not sent again, so a push that was cut off goes on where it was.

    With --delete the vault becomes a mirror of the folder, once all was sent.

    With --json the API's last body about each file is printed, one a line.
    """
    if stage is not None and delete:
        raise typer.BadParameter("--delete works on what is live: a stage holds files alone")
    session = session_of(context)
    found = files_of(folder)
    for path, reason in found.left_out:
        note(f"left out {path}: {reason}")
    paths = list(found.files)
    if not paths:
        note(f"there is no file in {folder} (hidden and ignored ones are left out)")
        return
    with session.client() as client:
        held = holdings(client, vault, "" if delete else shared_start(paths)) if delete or not send_all else {}
        surplus = sorted(surplus_of(held, found)) if delete else []
        may_delete(surplus, len(held), vault, yes=yes, allow_mass_delete=allow_mass_delete)
        outcomes = _send(client, PushTarget(vault, stage), list(found.files.values()), {} if send_all else held)
        sent = len(outcomes)
        gone = []
        if not any(outcome.problem for outcome in outcomes):
            gone = several(partial(delete_path, client, vault), surplus)
        if wait and outcomes:
            waiting = Waiting(client, vault, outcomes, Pause(session.clock, session.sleep), whole=as_json)
            with progress("indexing", len(outcomes)) as show:
                outcomes = waiting.wait(timeout_s, show)
    same = len(paths) - sent
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
