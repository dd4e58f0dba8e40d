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
from ragdrop_cli.options import AsJson
from ragdrop_cli.output import note, say, say_body, say_object, say_reply, say_table
from ragdrop_cli.progress import progress
from ragdrop_cli.pushing import Outcome, push_file, several, visible_files
from ragdrop_cli.session import session_of
from ragdrop_cli.waiting import Pause, Waiting

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder to send.", exists=True, file_okay=False, show_default=False)
]
Vault = Annotated[str, typer.Option("--vault", help="The vault to put it in: 2 to 63 of a-z, 0-9 and -.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until every file is indexed or has failed.")]
TimeoutS = Annotated[float, typer.Option("--timeout-s", min=0, help="Seconds to wait without any progress.")]


def push(
    context: typer.Context,
    folder: Folder,
    vault: Vault,
    *,
    wait: Wait = False,
    timeout_s: TimeoutS = 120.0,
    as_json: AsJson = False,
) -> None:
    """Send every file under a folder, five at once; files and folders whose name begins with a dot are left out.

    A file keeps its path: DIR/notes/a.md becomes the document notes/a.md of the vault.

    With --json the API's last body about each file is printed, one a line.
    """
    session = session_of(context)
    paths = list(visible_files(folder))
    if not paths:
        note(f"there is no file in {folder} (hidden ones are left out)")
        return
    with session.client() as client:
        outcomes = _send(client, folder, vault, paths)
        if wait:
            waiting = Waiting(client, vault, outcomes, Pause(session.clock, session.sleep))
            with progress("indexing", len(outcomes)) as show:
                outcomes = waiting.wait(timeout_s, show)
    report(outcomes, vault, as_json=as_json)


def _send(client: RagdropClient, folder: Path, vault: str, paths: Sequence[str]) -> list[Outcome]:
    sent = itertools.count(1)
    with progress("sending", len(paths)) as show:
        work = partial(push_file, client, folder, vault)
        return several(work, paths, done=lambda _outcome: show(next(sent), len(paths)))


def report(outcomes: Sequence[Outcome], vault: str, *, as_json: bool) -> None:
    """Print what became of the files.

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
        told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        say(f"{len(outcomes)} {'file' if len(outcomes) == 1 else 'files'} to vault {vault}: {told}")
    if failed:
        rows = [[outcome.path, *(outcome.problem or ())] for outcome in failed]
        say_table(["file", "code", "problem"], rows, error=True)
        raise typer.Exit(FAILED)
