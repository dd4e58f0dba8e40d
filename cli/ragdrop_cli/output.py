"""What is printed: text that a document may have written, tables, and the API's bodies as received."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragdrop.client.replies import Reply


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


def say_reply(reply: Reply) -> None:
    """Print the API's body as received."""
    say_body(reply.raw)


def say_object(fields: Mapping[str, Any]) -> None:
    """Print a JSON object that no API sent, on one line."""
    typer.echo(json.dumps(dict(fields), ensure_ascii=False))


def status_style(status: object) -> str:
    """The style in which a terminal shows a document's status.

    >>> status_style("failed"), status_style("unheard of")
    ('bold red', '')
    """
    return STATUS_STYLES.get(str(status), "")


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
        table.add_row(*(Text(one_line(cell), status_style(cell) if name == "status" else "") for name, cell in cells))
    out.print(table)
