"""What is printed: text that a document may have written, tables, plots, progress, the API's bodies, and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ragdrop.client.replies import API_SERVICE
from ragdrop.errors import (
    ConfigurationError,
    DependencyError,
    ForbiddenError,
    ProjectNotActivatedError,
    RagdropError,
    UnauthenticatedError,
)


def clean(text: object) -> str:
    r"""*text* for a terminal: control characters, which could move the cursor or hide words, become spaces.

    >>> clean("a\x1b[2Jb\tc")
    'a [2Jb\tc'
    """
    return "".join(mark if mark.isprintable() or mark in "\n\t" else " " for mark in str(text))


def one_line(text: object, *, limit: int = 300) -> str:
    r"""*text* on one line of at most *limit* characters.

    >>> one_line("a  b\n\nc", limit=5)
    'a b c'
    >>> one_line("abcdef", limit=3)
    'ab…'
    """
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


STATUS_STYLES = {"indexed": "green", "pending": "yellow", "staged": "cyan", "failed": "bold red", "deleted": "dim"}


def console(*, error: bool = False) -> Console:
    """Standard output or error; colours only on a terminal, nothing in a text is taken for markup."""
    return Console(stderr=error, highlight=False, markup=False, emoji=False)


def say(text: str = "", *, style: str = "", indent: int = 0) -> None:
    """Print *text*: styled and wrapped on a terminal, as it is in a pipe."""
    shown = "\n".join(" " * indent + line for line in clean(text).split("\n"))
    out = console()
    if out.is_terminal:
        out.print(Text(shown, style=style))
    else:
        typer.echo(shown)


def note(text: str) -> None:
    """Print *text* on standard error, where it is in nobody's way."""
    typer.echo(clean(text), err=True)


def say_body(body: bytes) -> None:
    """Print a body as received, and one line end."""
    typer.echo(body.rstrip(b"\r\n"))


def say_object(fields: Mapping[str, Any]) -> None:
    """Print a JSON object that no API sent, on one line."""
    typer.echo(json.dumps(dict(fields), ensure_ascii=False))


def say_table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, error: bool = False) -> None:
    """Print rows: a table on a terminal, its `status` coloured; tab-separated lines without a head in a pipe."""
    out = console(error=error)
    if not out.is_terminal:
        for row in rows:
            typer.echo("\t".join(one_line(cell) for cell in row), err=error)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        cells = zip(columns, row, strict=True)
        table.add_row(
            *(
                Text(one_line(cell), STATUS_STYLES.get(str(cell), "") if name == "status" else "")
                for name, cell in cells
            )
        )
    out.print(table)


LINE_EVERY = 100  # files or documents, where there is no terminal to draw a bar on


@contextmanager
def progress(what: str, total: int, *, unit: str = "files") -> Iterator[Callable[[int, int], None]]:
    """Shows *what* while the block runs; yields what to tell: how many are done, and of how many.

    A count that begins at 1 again is a further pass over the same things, and is shown as one.
    """
    shown = _bar(what, total) if console(error=True).is_terminal else _lines(unit)
    with shown as show:
        last, passes = 0, 1

        def tell(done: int, of: int) -> None:
            nonlocal last, passes
            passes += int(done <= last)
            last = done
            show(f"{what}, pass {passes}" if passes > 1 else what, done, of)

        yield tell


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[str, int, int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(error=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda label, done, of: bar.update(task, description=label, completed=done, total=of)


@contextmanager
def _lines(unit: str) -> Iterator[Callable[[str, int, int], None]]:
    def line(label: str, done: int, of: int) -> None:
        if done % LINE_EVERY == 0:
            note(f"{label}: {done} of {of} {unit}")

    yield line


BARS = "▁▂▃▄▅▆▇█"


def bars(values: Sequence[float | None], *, width: int = 60) -> str:
    """A bar for each of *values*, in at most *width* columns; the largest is a full one, nothing is a blank.

    Where there are more values than columns, neighbours share one, which shows the largest of them.

    >>> bars([0, 1, 8, None, 4])
    '▁▁█ ▄'
    >>> bars([1, 2, 3, 4], width=2)
    '▄█'
    """
    shown = _grouped(values, width)
    most = max((value for value in shown if value is not None), default=0) or 1
    return "".join(
        " " if value is None else BARS[max(0, min(len(BARS) - 1, round(value / most * len(BARS)) - 1))]
        for value in shown
    )


def _grouped(values: Sequence[float | None], width: int) -> list[float | None]:
    size = -(-len(values) // width) if values else 1
    groups = (values[start : start + size] for start in range(0, len(values), size))
    return [max((value for value in group if value is not None), default=None) for group in groups]


FAILED, USAGE, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130

NEXT_STEPS = {
    "UNAUTHENTICATED": "check RAGDROP_API_KEY, or make a key: ragdrop key create TENANT --role reader",
    "PROJECT_NOT_ACTIVATED": "ask your operator to enable the tenant",
    "FORBIDDEN": "use a key with that right: ragdrop key create TENANT --role writer",
    "INVALID_PARAMS": "mend the field named above; ragdrop COMMAND --help shows an example",
    "DOCUMENT_NOT_FOUND": "ragdrop ls shows what is there",
    "DOCUMENT_TOO_LARGE": "split the file: a document has at most 50 MB",
    "NOT_FOUND": "is this the address of a ragdrop API? check RAGDROP_API_URL or .local/stack.json",
    "CONFLICT": "something is in the way, named above; ragdrop COMMAND --help shows the options that accept or end it",
    "RATE_LIMITED": "wait and run it again",
    "CIRCUIT_OPEN": "wait and run it again",
    "MODEL_NOT_FOUND": "install the model named above, or set another one",
    "API_UNREACHABLE": "see that it runs, and that RAGDROP_API_URL or .local/stack.json names the right one",
    "CONFIGURATION": "mend what the line above names; `make up` starts a local stack",
}
DEPENDENCY_STEP = "run it again in a moment; if it stays, look at the service named above"
INTERNAL_STEP = "tell your operator the request id; the cause is in the function's log"


def code_of(error: RagdropError) -> str:
    """The code to show: the API's, or one of this side's own where no API answered."""
    if isinstance(error, ConfigurationError):
        return "CONFIGURATION"
    if type(error) is DependencyError:
        return "API_UNREACHABLE" if error.service == API_SERVICE else error.code
    return str(error.details.get("code", error.code))


def exit_code(error: RagdropError) -> int:
    """1 the request failed, 2 the settings are wrong, 3 a service could not be reached."""
    if isinstance(error, ConfigurationError):
        return USAGE
    return UNREACHABLE if isinstance(error, DependencyError) else FAILED


def describe(error: RagdropError) -> list[str]:
    """The lines for standard error."""
    code = code_of(error)
    request_id = error.details.get("request_id")
    request = f" (request {request_id})" if request_id and exit_code(error) != USAGE else ""
    step = NEXT_STEPS.get(code) or (DEPENDENCY_STEP if isinstance(error, DependencyError) else INTERNAL_STEP)
    wait_s = error.details.get("retry_after_s")
    return [f"error {code}: {error.message}{request}", f"next: {step}" + (f" (after {wait_s} s)" if wait_s else "")]


def stops_all(error: RagdropError) -> bool:
    """Whether the next request would meet the same error: no API, or a key that may not."""
    if isinstance(error, UnauthenticatedError | ForbiddenError | ProjectNotActivatedError):
        return True
    return type(error) is DependencyError and error.service == API_SERVICE and "status" not in error.details


def own_body(error: RagdropError) -> dict[str, Any]:
    """A body in the API's shape for an error that no API answered with."""
    details = {name: value for name, value in error.details.items() if isinstance(value, str | int | float | bool)}
    return {"error": {"code": code_of(error), "message": error.message, "details": details, "request_id": None}}


def body_of(error: RagdropError) -> bytes | None:
    """The API's error body as received; None where no API answered."""
    cause = error.__cause__
    return cause.response.content if isinstance(cause, httpx.HTTPStatusError) else None
