"""The folder of a local stack and the files in it, and the lines that the launcher shows."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress as Spinners
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY / ".local"  # the environments, whichever stack uses them
BUILD = REPOSITORY / ".aws-sam"
TEMPLATE = REPOSITORY / "template.yaml"
STACKS = "stacks"


@dataclass(frozen=True)
class Home:
    """One stack's folder, `base/stacks/name`; all stacks of this machine share environments and build.

    A tenant stays on the index that it began with, until `ragdrop reindex` moves it.  So each index has its own
    stack, named after it: changing the index changes the stack, and never mixes two.
    """

    base: Path
    name: str

    @property
    def root(self) -> Path:
        """The folder of all that this stack has."""
        return self.base / STACKS / self.name

    @property
    def is_default(self) -> bool:
        """Whether this is a stack of ``make up``, which takes the usual ports where they are free."""
        return self.base == SHARED

    @property
    def logs(self) -> Path:
        """One file a process, and those of sam."""
        return self.root / "logs"

    @property
    def emulator(self) -> Path:
        """What the emulator stores: objects, tables, queues, the deployed stack."""
        return self.root / "emulator"

    @property
    def stack_file(self) -> Path:
        """What callers read of this stack: addresses, names, the demo key."""
        return self.root / "stack.json"

    @property
    def published_file(self) -> Path:
        """The same of the stack that was brought up last: here callers look."""
        return self.base / "stack.json"

    @property
    def attached_file(self) -> Path:
        """Which emulator that was already running this stack is on; missing where it started its own."""
        return self.root / "attached.json"

    def make(self) -> None:
        """Make the folders; what holds keys and documents is readable by its owner alone."""
        # Others may pass through the stack's own folder, not list it: a root user's OpenSearch runs as another user.
        self.root.mkdir(mode=0o711, parents=True, exist_ok=True)
        for folder in (self.logs, self.emulator):
            folder.mkdir(mode=0o700, exist_ok=True)


def homes(base: Path) -> list[Home]:
    """Every stack that was ever brought up below *base*."""
    return [Home(base, folder.name) for folder in sorted((base / STACKS).glob("*")) if folder.is_dir()]


def read_json(path: Path) -> dict[str, Any]:
    """The object in *path*, or an empty one where there is none."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return content


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Replace *path* by *content*; see write_private."""
    write_private(path, json.dumps(content, indent=2) + "\n")


def write_private(path: Path, text: str) -> None:
    """Replace *path* in one step, readable by its owner alone."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file *path*: two launchers never build, or change one stack, at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
