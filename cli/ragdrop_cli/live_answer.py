"""An answer as it comes: plain text on a terminal and in a pipe alike, then its sources."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from ragdrop.client.events import AnswerEvent, Done, Said
from ragdrop_cli.answers import show_answer, show_sources
from ragdrop_cli.output import clean, say


def show_stream(events: Iterator[AnswerEvent]) -> None:
    """Print the pieces of an answer, then what stands under it; an abstention that comes last stands by itself."""
    said = False
    try:
        for event in events:
            if isinstance(event, Said):
                typer.echo(clean(event.text), nl=False)
                said = True
            elif isinstance(event, Done):
                if said:
                    typer.echo()
                said, told = False, said
                _finish(event, told=told)
    finally:
        if said:
            typer.echo()  # an error's line is a line of its own


def _finish(event: Done, *, told: bool) -> None:
    if told and not event.answer.get("abstained"):
        show_sources(event.answer)
        return
    if told:
        say()
    show_answer(event.answer)
