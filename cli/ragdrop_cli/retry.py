"""`ragdrop retry`: let ingest look again at documents that failed, or at what was given up on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ragdrop.client import RagdropClient
from ragdrop.errors import RagdropError
from ragdrop_cli.deployment import packages
from ragdrop_cli.documents import OneVault, split_name
from ragdrop_cli.folder_files import name_problem
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import say, say_object
from ragdrop_cli.push import report
from ragdrop_cli.pushing import PushOutcome, failed, several
from ragdrop_cli.session import Session, session_of

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[VAULT/PATH]...", help="Documents to try again.", show_default=False)
]
AllFailed = Annotated[bool, typer.Option("--failed", help="Every document whose status is failed.")]
DeadLetter = Annotated[
    bool, typer.Option("--dead-letter", help="Every message of the dead-letter queue (operator, AWS credentials).")
]
MAX_MOVES = 100_000  # messages at a time: what dies again at once would otherwise be moved for ever


def retry(
    context: typer.Context,
    name: Names = None,
    vault: OneVault = None,
    *,
    all_failed: AllFailed = False,
    dead_letter: DeadLetter = False,
    as_json: AsObject = False,
) -> None:
    """Try documents again: by name, all that failed, or all that the dead-letter queue holds.

    With --json one object a document is printed, one a line; for the dead-letter queue one in all.
    """
    if bool(name) + all_failed + dead_letter != 1:
        raise typer.BadParameter("give documents, or --failed, or --dead-letter")
    session = session_of(context)
    if dead_letter:
        moved = _redrive(session)
        say_object({"moved": moved}) if as_json else say(f"{moved} messages moved back to the queue")
        return
    with session.client() as client:
        pairs = [split_name(each) for each in name] if name else _failed(client, vault)
        outcomes = several(lambda pair: _retry(client, *pair), pairs)
    what = f"{'document' if len(outcomes) == 1 else 'documents'} tried again"
    report(outcomes, what, as_json=as_json)


def _failed(client: RagdropClient, vault: str | None) -> Sequence[tuple[str, str]]:
    pages = list(client.documents(vault, None, "failed", page_size=1_000))
    found = [(str(each["vault"]), str(each["path"])) for page in pages for each in page.get("documents") or []]
    return [(vault, path) for vault, path in found if name_problem(path) is None]  # no try makes another name of it


def _retry(client: RagdropClient, vault: str, path: str) -> PushOutcome:
    try:
        return PushOutcome(f"{vault}/{path}", client.retry_document(vault, path))
    except RagdropError as error:
        return failed(f"{vault}/{path}", error)


def _redrive(session: Session) -> int:
    deployment = session.deployment()
    with packages():
        queue = deployment.queue
    moved = 0
    while moved < MAX_MOVES and (some := queue.redrive()):
        moved += some
    return moved
