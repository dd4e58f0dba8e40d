"""`ragdrop invoke`: a function's real handler on an event file, against the running stack, without Docker."""

from __future__ import annotations

import json
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from ragdrop.errors import RagdropError
from ragdrop_cli.failures import FAILED
from ragdrop_cli.local_lambda import (
    LocalContext,
    event_names,
    filled_in,
    find_event,
    find_repository,
    function_names,
    load_handler,
)
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note
from ragdrop_cli.session import Session, session_of

FunctionName = Annotated[str, typer.Argument(metavar="FN", help="A folder of functions/.", show_default=False)]
EventName = Annotated[str, typer.Argument(metavar="EVENT", help="A JSON file, e.g. of events/.", show_default=False)]
TimeoutS = Annotated[float, typer.Option("--timeout-s", min=1, help="Seconds that the context says are left.")]


def invoke(
    context: typer.Context,
    function: FunctionName,
    event: EventName,
    *,
    timeout_s: TimeoutS = 60.0,
    as_json: AsObject = False,
) -> None:
    """Run a function's handler on an event file, with the environment of the running stack, and print the response.

    What the function logs goes to standard error. The exit code is 0 unless the handler raised.
    """
    session = session_of(context)
    repository = find_repository(session.folder)
    if function not in function_names(repository):
        allowed = ", ".join(function_names(repository))
        raise typer.BadParameter(f"{function!r} is no function; there are {allowed}", param_hint="FN")
    given = _event(session, repository, event)
    with redirect_stdout(sys.stderr):  # Powertools logs to standard output, which is the response's here
        try:
            handler = load_handler(repository, function)
            response = handler(given, LocalContext.of(function, timeout_s=timeout_s))
        except RagdropError as exc:  # any other exception ends the command by itself, with the same trace and exit code
            traceback.print_exception(exc)
            raise typer.Exit(FAILED) from exc
    typer.echo(json.dumps(response, ensure_ascii=False, indent=None if as_json else 2))


def _event(session: Session, repository: Path, name: str) -> object:
    path = find_event(repository, session.folder, name)
    if path is None:
        allowed = ", ".join(event_names(repository))
        raise typer.BadParameter(f"{name!r} is no file; the golden events are {allowed}", param_hint="EVENT")
    stack = session.stack()
    session.lay_under(stack)
    text, replaced = filled_in(path.read_text(encoding="utf-8"), api_key=stack.api_key, bucket=stack.bucket)
    if replaced:
        note(f"the event's example {' and '.join(replaced)} became the running stack's")
    try:
        parsed: object = json.loads(text)
    except ValueError as exc:
        raise typer.BadParameter(f"{name} is not JSON: {exc}", param_hint="EVENT") from exc
    return parsed
