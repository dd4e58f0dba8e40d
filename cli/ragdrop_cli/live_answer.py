"""An answer as it comes: plain text on a terminal and in a pipe alike, then its sources."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from ragdrop.client.events import AnswerEvent, Done, Said
from ragdrop_cli.answers import show_answer, show_sources
from ragdrop_cli.output import clean, say


def show_stream(events: Iterator[AnswerEvent], *, sentences: bool = False) -> None:
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
                said, printed = False, said
                _finish(event, printed=printed, sentences=sentences)
    finally:
        if said:
            typer.echo()  # an error's line is a line of its own


def _finish(event: Done, *, printed: bool, sentences: bool) -> None:
    if printed and not event.answer.get("abstained"):
        show_sources(event.answer, sentences=sentences)
        return
    if printed:
        say()
    show_answer(event.answer, sentences=sentences)
