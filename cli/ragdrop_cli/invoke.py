"""`ragdrop invoke`: a function's real handler on an event file, against the running stack, without Docker or Lambda."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from ragdrop.errors import ConfigurationError, RagdropError
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import FAILED, note
from ragdrop_cli.session import Session, session_of

EXAMPLE_KEY = "rd_local_example_key"
EXAMPLE_BUCKET = "ragdrop-documents-example"
Handler = Callable[[object, "LocalContext"], object]


@dataclass(frozen=True, slots=True)
class LocalContext:
    """What Lambda hands a handler as its context; `ends_at_s` is a moment of the monotonic clock."""

    function_name: str
    ends_at_s: float
    memory_limit_in_mb: int = 512
    function_version: str = "$LATEST"
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    log_stream_name: str = "local"

    @property
    def log_group_name(self) -> str:
        """Where Lambda would log to."""
        return f"/aws/lambda/{self.function_name}"

    @property
    def invoked_function_arn(self) -> str:
        """An ARN with the emulator's account."""
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the invocation would be ended, never under 0."""
        return max(0, int((self.ends_at_s - time.monotonic()) * 1000))


def find_repository(folder: Path) -> Path:
    """The nearest folder from *folder* upwards that has a template and functions.

    Raises ConfigurationError if there is none.
    """
    for each in (folder, *folder.parents):
        if (each / "template.yaml").is_file() and (each / "functions").is_dir():
            return each
    raise ConfigurationError(f"{folder} is not inside ragdrop's repository; invoke runs the code that is there")


def filled_in(event: str, *, api_key: str, bucket: str) -> tuple[str, list[str]]:
    """The event's text with the example key and bucket replaced by real ones, and what was replaced."""
    replaced: list[str] = []
    for what, example, real in (("API key", EXAMPLE_KEY, api_key), ("bucket", EXAMPLE_BUCKET, bucket)):
        if real and example in event:
            event = event.replace(example, real)
            replaced.append(what)
    return event, replaced


def load_handler(repository: Path, name: str) -> Handler:
    """Import `functions/<name>/app.py` by its path and give its `handler`; its folder never hides a package so.

    Raises ConfigurationError if the module has no `handler`. What the import itself raises is passed on.
    """
    module_name = f"ragdrop_function_{name}"
    spec = importlib.util.spec_from_file_location(module_name, repository / "functions" / name / "app.py")
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"functions/{name}/app.py cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # annotations are looked up there
    spec.loader.exec_module(module)
    handler: Handler | None = getattr(module, "handler", None)
    if handler is None:
        raise ConfigurationError(f"functions/{name}/app.py has no handler")
    return handler


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
    functions = sorted(path.parent.name for path in (repository / "functions").glob("*/app.py"))
    if function not in functions:
        raise typer.BadParameter(f"{function!r} is no function; there are {', '.join(functions)}", param_hint="FN")
    given = _event(session, repository, event)
    with redirect_stdout(sys.stderr):  # Powertools logs to standard output, which is the response's here
        try:
            handler = load_handler(repository, function)
            response = handler(given, LocalContext(f"ragdrop-{function}", time.monotonic() + timeout_s))
        except RagdropError as exc:  # any other exception ends the command too, with the same trace and exit code
            traceback.print_exception(exc)
            raise typer.Exit(FAILED) from exc
    typer.echo(json.dumps(response, ensure_ascii=False, indent=None if as_json else 2))


def _event(session: Session, repository: Path, name: str) -> object:
    """An event by its path from the folder or the repository, or by its name in `events/` without the suffix."""
    events = repository / "events"
    places = (session.folder / name, repository / name, events / name, events / f"{name}.json")
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        allowed = ", ".join(sorted(each.relative_to(repository).as_posix() for each in events.rglob("*.json")))
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
