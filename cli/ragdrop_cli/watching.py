"""`ragdrop watch`: follow the changes of a vault, or keep a vault equal to a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ragdrop.client import RagdropClient
from ragdrop.domain.documents import is_mass_delete
from ragdrop.errors import DependencyError
from ragdrop_cli.failures import code_of
from ragdrop_cli.folder_files import FolderFile, files_of
from ragdrop_cli.history import Since, follow
from ragdrop_cli.options import AsJson
from ragdrop_cli.output import note, say_object
from ragdrop_cli.push import AllowMassDelete, Yes
from ragdrop_cli.pushing import (
    PushOutcome,
    PushTarget,
    delete_path,
    holdings,
    is_held,
    may_delete,
    push_file,
    records,
    several,
    surplus_of,
)
from ragdrop_cli.session import Session, session_of

MAX_PAUSE_S = 60.0
RECHECKS_S = (10.0, 30.0, 90.0, 270.0)  # after the start: until then ingest may show what an ended process sent last
EveryS = Annotated[float, typer.Option("--every-s", min=0.1, help="Seconds between two looks at the folder.")]
Looks = Annotated[int, typer.Option("--looks", min=0, help="End after so many looks; 0 never ends.")]


def sync(
    session: Session,
    folder: Path,
    vault: str,
    *,
    every_s: float,
    looks: int,
    yes: bool,
    allow_mass_delete: bool,
    as_json: bool,
) -> None:
    """Keep *vault* equal to *folder*: look every *every_s* seconds, *looks* times, without end for 0."""
    with session.client() as client:
        syncing = FolderSync(client, folder, vault, allow_mass_delete=allow_mass_delete)
        syncing.report = say_object if as_json else None
        surplus = syncing.begin()
        may_delete(surplus, len(syncing.held), vault, yes=yes, allow_mass_delete=allow_mass_delete)
        note(f"keeping vault {vault} equal to {folder}")
        number, pause_s, rechecks, started_s = 0, every_s, list(RECHECKS_S), session.clock()
        while not looks or number < looks:
            number += 1
            try:
                if rechecks and session.clock() - started_s >= rechecks[0]:
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
    """Compares a folder with what it was at the look before, and with what the vault holds."""

    client: RagdropClient
    folder: Path
    vault: str
    allow_mass_delete: bool = False
    say: Callable[[str], None] = note
    report: Callable[[dict[str, object]], None] | None = None
    held: dict[str, str | None] = field(default_factory=dict)
    _seen: dict[str, FolderFile] = field(default_factory=dict)
    _settled: dict[str, FolderFile] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _own: set[str] = field(default_factory=set)

    def begin(self) -> list[str]:
        """Ask what the vault holds; the paths that the folder has not.

        Raises:
            RagdropError: The API cannot be asked.
        """
        self.held = dict(holdings(records(self.client, self.vault, "")))
        return sorted(surplus_of(self.held, files_of(self.folder)))

    def recheck(self, *, may_delete: bool) -> None:
        """Ask again what the vault holds: a process that was ended may have sent something that appears there late.

        What this process sent or deleted itself is not looked at: the vault may show that late, too.

        Raises:
            RagdropError: The API cannot be asked.
        """
        found, folder = holdings(records(self.client, self.vault, "")), files_of(self.folder)
        changed = {path for path, _ in found.items() ^ self.held.items()}
        surplus = surplus_of(found, folder)
        for path in sorted(changed - self._own):
            if path in surplus and path not in self.held and not may_delete:
                self._tell_once(f"the vault has {path} since the start, the folder has not; --yes says that it may go")
                continue
            self._settled.pop(path, None)
            self.held.pop(path, None)
            if path in found:
                self.held[path] = found[path]

    def look(self) -> None:
        """Send what is new or changed since it was sent, and delete what is gone.

        Raises:
            RagdropError: The API cannot be reached, or the key may not; nothing is lost, the next look goes on.
        """
        try:
            found = files_of(self.folder)
        except OSError as exc:
            self._tell_once(f"the folder cannot be read ({exc.strerror}); nothing is deleted meanwhile")
            return
        found.files = {path: file for path, file in found.files.items() if file.file.is_file()}
        for path, reason in found.left_out:
            self._tell_once(f"left out {path}: {reason}")
        steady = [file for path, file in found.files.items() if self._seen.get(path) == file]
        before, self._seen = self._seen, found.files
        for outcome in several(self._send, [file for file in steady if self._settled.get(file.path) != file]):
            self._tell(outcome, "sent")
        gone = sorted(path for path in surplus_of(self.held, found) if path not in before)
        if is_mass_delete(len(gone), len(self.held)) and not self.allow_mass_delete:
            self._tell_once(f"{len(gone)} of {len(self.held)} documents are gone from the folder; none is deleted")
            return
        for outcome in several(partial(delete_path, self.client, self.vault), gone):
            if outcome.problem is None or outcome.problem[0] == "DOCUMENT_NOT_FOUND":
                self.held.pop(outcome.path, None)
                self._settled.pop(outcome.path, None)
                self._own.add(outcome.path)
                outcome = replace(outcome, problem=None)  # noqa: PLW2901 - what is gone already is as good
            self._tell(outcome, "deleted")

    def _send(self, file: FolderFile) -> PushOutcome | None:
        """Send a file unless the vault has it; one that was refused is sent again when it changes."""
        if is_held(self.held, file):
            self._settled[file.path] = file
            return None
        outcome = push_file(self.client, PushTarget(self.vault), file)
        if outcome.problem is None:
            self.held[file.path] = outcome.md5
            self._own.add(file.path)
            self._settled[file.path] = file
        elif outcome.problem[0] in {"INVALID_PARAMS", "DOCUMENT_TOO_LARGE"}:
            self._settled[file.path] = file
        return outcome

    def _tell(self, outcome: PushOutcome | None, done: str) -> None:
        if outcome is not None:
            code, message = outcome.problem or ("", "")
            if self.report is not None:
                error = {"code": code, "message": message} if code else None
                self.report({"path": outcome.path, "done": None if code else done, "error": error})
                return
            self.say(f"{outcome.path}: {code} {message}" if code else f"{done} {outcome.path}")

    def _tell_once(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self.say(line)


What = Annotated[str, typer.Argument(metavar="VAULT|DIR", help="A vault to follow; with --vault a folder to send.")]
Into = Annotated[
    str | None, typer.Option("--vault", help="Keep this vault equal to the folder DIR.", show_default="follow VAULT")
]


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

    `ragdrop watch DIR --vault VAULT` sends what changes in the folder and deletes what goes.  It keeps no file of its
    own: at its start it compares the folder with the vault, so it may be ended and started at any time.  It compares
    again in its first minutes, as what an ended process sent last may appear late.  What the vault has and the folder
    has not is deleted at the start too, after it has asked or with --yes.  A file is sent once two
    looks in a row find it the same.  Where over 20 % and over 20 documents vanish at once, nothing is deleted until
    they are back, or without end with --allow-mass-delete.

    With --json each change is printed as one object a line.
    """
    if vault is None:
        follow(session_of(context), what, since=since, as_json=as_json)
        return
    folder = Path(what)
    if not folder.is_dir():
        raise typer.BadParameter(f"{what} is no folder; without --vault it names a vault to follow")
    if since is not None:
        raise typer.BadParameter("--since goes with a vault to follow, not with a folder")
    sync(
        session_of(context),
        folder,
        vault,
        every_s=every_s,
        looks=looks,
        yes=yes,
        allow_mass_delete=allow_mass_delete,
        as_json=as_json,
    )
