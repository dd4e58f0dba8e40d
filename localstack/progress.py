"""What the launcher shows: a line a step, with a spinner where somebody watches."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Spinners
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn


class Progress:
    """Steps that may run side by side.  Plain lines where the output is no terminal, nothing where *quiet*."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(quiet=quiet, highlight=False, soft_wrap=True)
        self._spinners = Spinners(
            SpinnerColumn(finished_text="[green]✓[/]"),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=quiet or not self.console.is_terminal,
        )

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the spinners of all steps inside."""
        with self._spinners:
            yield

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """One step: shown while it runs, one line with its seconds when it is done."""
        task = self._spinners.add_task(text, total=None)
        begun = time.monotonic()
        try:
            yield
        finally:
            self._spinners.remove_task(task)
        self.console.print(f"[green]✓[/] {text} [dim]({time.monotonic() - begun:.1f} s)[/]")

    def say(self, text: str) -> None:
        """A line that is no step."""
        self.console.print(text)
