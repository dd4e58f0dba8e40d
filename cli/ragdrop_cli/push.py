"""`ragdrop push`: a folder into a vault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ragdrop_cli.failures import FAILED
from ragdrop_cli.options import AsJson
from ragdrop_cli.output import console, note, say, say_body, say_object, say_reply, say_table
from ragdrop_cli.pushing import Outcome, Pause, push_file, several, visible_files, wait_for_file
from ragdrop_cli.session import session_of

LINE_EVERY = 100  # files, where there is no terminal to draw a bar on

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder to send.", exists=True, file_okay=False, show_default=False)
]
Vault = Annotated[str, typer.Option("--vault", help="The vault to put it in: 2 to 63 of a-z, 0-9 and -.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until every file is indexed or has failed.")]
TimeoutS = Annotated[float, typer.Option("--timeout-s", min=0, help="Seconds to wait after the last file was sent.")]


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
    pause = Pause(session.clock, session.sleep)
    with session.client() as client:
        with progress("sending", len(paths)) as done:
            outcomes = several(partial(push_file, client, folder, vault), paths, done=done)
        if wait:
            deadline_s = session.clock() + timeout_s
            waited = partial(wait_for_file, client, deadline_s=deadline_s, pause=pause)
            with progress("indexing", len(outcomes)) as done:
                outcomes = several(waited, outcomes, done=done)
    report(outcomes, vault, as_json=as_json)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, else a line every 100 files, on standard error; yields what to call after each file."""
    err = console(error=True)
    if err.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=err, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda: bar.advance(task)
        return
    count = 0

    def done() -> None:
        nonlocal count
        count += 1
        if count % LINE_EVERY == 0:
            note(f"{what}: {count} of {total} files")

    yield done


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
