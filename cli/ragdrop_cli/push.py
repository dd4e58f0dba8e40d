"""`ragdrop push` and `ragdrop watch`: a folder or a file into a vault, once or while it changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ragdrop.client import RagdropClient
from ragdrop.domain.documents import is_mass_delete
from ragdrop.errors import DependencyError
from ragdrop_cli.folder_files import FolderFile, FolderFiles, composed, files_of
from ragdrop_cli.history import Since, follow
from ragdrop_cli.options import AllowMassDelete, AsJson, TimeoutS, Yes
from ragdrop_cli.output import FAILED, code_of, note, progress, say, say_body, say_object, say_table
from ragdrop_cli.pushing import (
    Holdings,
    PushOutcome,
    at_once,
    delete_path,
    holdings,
    is_stored,
    may_delete,
    push_file,
    records,
    renamed,
    several,
    shared_start,
    surplus_of,
    wait_for,
)
from ragdrop_cli.session import session_of

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
StageName = Annotated[
    str | None,
    typer.Option(
        "--stage", help="Let the files wait in this stage, unseen, until `ragdrop promote`.", show_default="live"
    ),
]
What = Annotated[str, typer.Argument(metavar="VAULT|DIR", help="A vault to follow; with --vault a folder to send.")]
Into = Annotated[
    str | None, typer.Option("--vault", help="Keep this vault equal to the folder DIR.", show_default="follow VAULT")
]
MAX_PAUSE_S = 60.0
RECHECKS_S = (10.0, 30.0, 90.0, 270.0)  # after the start: until then ingest may show what an ended process sent last
EveryS = Annotated[float, typer.Option("--every-s", min=0.1, help="Seconds between two looks at the folder.")]
Looks = Annotated[int, typer.Option("--looks", min=0, help="End after so many looks; 0 never ends.")]


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

    What a .ragdropignore names, in the syntax of .gitignore, is left out, and so are names that begin with a dot or ~$,
    Thumbs.db and desktop.ini.  An ignore file that cannot be understood stops the push before anything is sent.  Links
    are followed to files within the folder.  An archive a.zip is sent as a folder a.zip.

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
    below = f"{composed(prefix.strip('/'))}/" if prefix.strip("/") else ""
    found = _readable(source).under(below)
    for path, reason in found.left_out:
        note(f"left out {path}: {reason}")
    paths = list(found.files)
    if not paths:
        note(f"there is no file in {source} (hidden and ignored ones are left out)")
        return
    with session.client() as client:
        start = below if delete else shared_start(paths)
        if not delete and not (source.is_file() and len(paths) == 1):
            start = start[: start.rfind("/") + 1]  # the folder that has all of them
        listed = records(client, vault, start) if delete or not send_all else {}
        stored = holdings(listed)
        surplus = sorted(surplus_of(stored, found)) if source.is_dir() and stage is None else []
        if delete:
            may_delete(surplus, len(stored), vault, yes=yes, allow_mass_delete=allow_mass_delete)
        outcomes = _send(client, vault, stage, list(found.files.values()), {} if send_all else stored)
        for old, new in renamed(stored, surplus, outcomes):
            stays = "" if delete else f": both are in the vault now; --delete would delete {old}"
            note(f"renamed: {old} is {new} now{stays}")
        gone = []
        if delete and not any(outcome.problem for outcome in outcomes):
            gone = several(partial(delete_path, client, vault), surplus)
        unsent = sorted(listed.keys() & set(paths) - {outcome.path for outcome in outcomes})
        before = (PushOutcome.known(vault, path, listed[path]) for path in unsent)  # failed, or not indexed yet
        outcomes += [each for each in before if each.problem or (wait and each.status == "pending")]
        if wait and outcomes:
            outcomes = wait_for(session, client, vault, outcomes, timeout_s=timeout_s, whole=as_json)
    same = len(paths) - len(outcomes)
    what = f"{'file' if len(outcomes + gone) == 1 else 'files'} to vault {vault}"
    report(outcomes + gone, what, as_json=as_json, more=f"{same} unchanged" if same else "")


def _readable(source: Path) -> FolderFiles:
    """The files of *source*. Raises typer.BadParameter: it, or one of its ignore files, cannot be read."""
    try:
        return files_of(source)
    except OSError as exc:
        raise typer.BadParameter(f"{source} cannot be read: {exc.strerror}") from exc


def _send(
    client: RagdropClient, vault: str, stage: str | None, files: Sequence[FolderFile], stored: Holdings
) -> list[PushOutcome]:
    """Send the files that the vault has not; each is compared only when its turn comes."""

    def send(file: FolderFile) -> PushOutcome | None:
        return None if is_stored(stored, file) else push_file(client, vault, stage, file)

    looked_at = itertools.count(1)
    with progress("sending", len(files)) as show:
        outcomes = several(
            send, files, done=lambda _outcome: show(next(looked_at), len(files)), workers=at_once(client)
        )
    return [outcome for outcome in outcomes if outcome is not None]


def report(outcomes: Sequence[PushOutcome], what: str, *, as_json: bool, more: str = "") -> None:
    """Print what became of the files: *what* names them after their number, *more* follows the counts.

    Raises typer.Exit with 1 where a file failed.
    """
    failed = [outcome for outcome in outcomes if outcome.problem]
    for outcome in outcomes if as_json else ():
        if outcome.error_body:
            say_body(outcome.error_body)
        elif outcome.reply is not None:
            say_body(outcome.reply.raw)
        elif outcome.problem:
            code, message = outcome.problem
            say_object({"error": {"code": code, "message": message, "details": {"path": outcome.path}}})
    if not as_json:
        counts: dict[str, int] = {}
        for outcome in outcomes:
            counts[outcome.status] = counts.get(outcome.status, 0) + 1
        shown = [f"{count} {status}" for status, count in sorted(counts.items())]
        say(f"{len(outcomes)} {what}: {', '.join([*shown, more] if more else shown) or 'nothing to do'}")
    if failed:
        rows = [[outcome.path, *(outcome.problem or ())] for outcome in failed]
        say_table(["file", "code", "problem"], rows, error=True)
        raise typer.Exit(FAILED)


def watch(
    context: typer.Context,
    what: What,
    *,
    vault: Into = None,
    since: Since = None,
    every_s: EveryS = 2.0,
    looks: Looks = 0,
    yes: Yes = False,
    allow_mass_delete: AllowMassDelete = False,
    as_json: AsJson = False,
) -> None:
    """Follow a vault, or keep a vault equal to a folder, until Ctrl-C.

    `ragdrop watch VAULT` prints each change of the vault as it happens, from now on or from --since.

    `ragdrop watch DIR --vault VAULT` sends what changes in the folder and deletes what goes.  It writes no
    file: at its start it compares the folder with the vault, so it may be ended and started at any time.  It compares
    again in its first minutes, as what an ended process sent last may appear late.  What the vault has and the folder
    has not is deleted at the start too, after it has asked or with --yes.  A file is sent once two
    looks in a row find it the same.  Where over 20 % and over 20 documents vanish at once, nothing is deleted until
    they are back, or without end with --allow-mass-delete.

    With --json each change is printed as one object a line.
    """
    session = session_of(context)
    if vault is None:
        follow(session, what, since=since, as_json=as_json)
        return
    folder = Path(what)
    if not folder.is_dir():
        raise typer.BadParameter(f"{what} is no folder; without --vault it names a vault to follow")
    if since is not None:
        raise typer.BadParameter("--since goes with a vault to follow, not with a folder")
    with session.client() as client:
        syncing = FolderSync(
            client, folder, vault, say_object if as_json else None, allow_mass_delete=allow_mass_delete
        )
        surplus = syncing.begin()
        may_delete(surplus, len(syncing.stored), vault, yes=yes, allow_mass_delete=allow_mass_delete)
        note(f"keeping vault {vault} equal to {folder}")
        number, pause_s, rechecks, started_s = 0, every_s, list(RECHECKS_S), session.clock()
        while not looks or number < looks:
            number += 1
            try:
                if rechecks and session.clock() - started_s >= rechecks[0]:
                    with suppress(OSError):  # the look at the folder reports it
                        syncing.recheck(may_delete=yes)
                        del rechecks[0]
                syncing.look()
                pause_s = every_s
            except DependencyError as exc:
                pause_s = min(pause_s * 2, MAX_PAUSE_S)
                note(f"{code_of(exc)}: {exc.message}; trying again in {pause_s:g} s")
            if not looks or number < looks:
                session.sleep(pause_s)


@dataclass(slots=True)
class FolderSync:
    """Compares a folder with what it was at the look before, and with what the vault has."""

    client: RagdropClient
    folder: Path
    vault: str
    report: Callable[[dict[str, object]], None] | None
    allow_mass_delete: bool
    stored: dict[str, str | None] = field(default_factory=dict)
    _seen: dict[str, FolderFile] = field(default_factory=dict)
    _settled: dict[str, FolderFile] = field(default_factory=dict)
    _noted: set[str] = field(default_factory=set)
    _own: set[str] = field(default_factory=set)

    def begin(self) -> list[str]:
        """Ask what the vault has; the paths that the folder lacks. Raises RagdropError if the API cannot be asked."""
        self.stored = dict(holdings(records(self.client, self.vault, "")))
        return sorted(surplus_of(self.stored, _readable(self.folder)))

    def recheck(self, *, may_delete: bool) -> None:
        """Ask again what the vault holds: a process that was ended may have sent something that appears there late.

        What this process sent or deleted itself is not looked at: the vault may show that late, too.

        Raises RagdropError if the API cannot be asked.
        """
        found, folder = holdings(records(self.client, self.vault, "")), files_of(self.folder)
        changed = {path for path, _ in found.items() ^ self.stored.items()}
        surplus = surplus_of(found, folder)
        for path in sorted(changed - self._own):
            if path in surplus and path not in self.stored and not may_delete:
                self._note_once(f"the vault has {path} since the start, the folder has not; --yes says that it may go")
                continue
            self._settled.pop(path, None)
            self.stored.pop(path, None)
            if path in found:
                self.stored[path] = found[path]

    def look(self) -> None:
        """Send what is new or changed since it was sent, and delete what is gone.

        Raises RagdropError if the API cannot be reached, or the key may not; nothing is lost, the next look continues.
        """
        try:
            found = files_of(self.folder)
        except OSError as exc:
            self._note_once(f"the folder cannot be read ({exc.strerror}); nothing is deleted meanwhile")
            return
        found.files = {path: file for path, file in found.files.items() if file.file.is_file()}
        for path, reason in found.left_out:
            self._note_once(f"left out {path}: {reason}")
        steady = [file for path, file in found.files.items() if self._seen.get(path) == file]
        before, self._seen = self._seen, found.files
        for outcome in several(self._send, [file for file in steady if self._settled.get(file.path) != file]):
            self._report(outcome, "sent")
        gone = sorted(path for path in surplus_of(self.stored, found) if path not in before)
        if is_mass_delete(len(gone), len(self.stored)) and not self.allow_mass_delete:
            self._note_once(f"{len(gone)} of {len(self.stored)} documents are gone from the folder; none is deleted")
            return
        for outcome in several(partial(delete_path, self.client, self.vault), gone):
            if outcome.problem is None or outcome.problem[0] == "DOCUMENT_NOT_FOUND":
                self.stored.pop(outcome.path, None)
                self._settled.pop(outcome.path, None)
                self._own.add(outcome.path)
                outcome = replace(outcome, problem=None)  # noqa: PLW2901 - what is gone already is as good
            self._report(outcome, "deleted")

    def _send(self, file: FolderFile) -> PushOutcome | None:
        """Send a file unless the vault has it; one that was refused is sent again when it changes."""
        if is_stored(self.stored, file):
            self._settled[file.path] = file
            return None
        outcome = push_file(self.client, self.vault, None, file)
        if outcome.problem is None:
            self.stored[file.path] = outcome.md5
            self._own.add(file.path)
            self._settled[file.path] = file
        elif outcome.problem[0] in {"INVALID_PARAMS", "DOCUMENT_TOO_LARGE"}:
            self._settled[file.path] = file
        return outcome

    def _report(self, outcome: PushOutcome | None, done: str) -> None:
        if outcome is not None:
            code, message = outcome.problem or ("", "")
            if self.report is None:
                note(f"{outcome.path}: {code} {message}" if code else f"{done} {outcome.path}")
                return
            error = {"code": code, "message": message} if code else None
            self.report({"path": outcome.path, "done": None if code else done, "error": error})

    def _note_once(self, line: str) -> None:
        if line not in self._noted:
            self._noted.add(line)
            note(line)
