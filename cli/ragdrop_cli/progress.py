"""How far a long command is: a bar on a terminal, a line every 100 off it, both on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ragdrop_cli.output import console, note

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
