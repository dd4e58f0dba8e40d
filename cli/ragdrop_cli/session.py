"""What the commands work with: environment, folder, and how to reach the service; tests hand in another one."""

from __future__ import annotations

import os
import time
import webbrowser
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import typer

from ragdrop.client import RagdropClient
from ragdrop.ports.wiring import DeployedStack
from ragdrop_cli.deployment import Deployment, deployed, stack_named
from ragdrop_cli.stack import Stack, api_of, find_stack, read_stack, running_stack


@dataclass(frozen=True)
class Session:
    """One run of the command line.  `environ` is the process's own environment in earnest, a dict in tests."""

    environ: MutableMapping[str, str] = field(default_factory=lambda: os.environ)
    folder: Path = field(default_factory=Path.cwd)
    connect: Callable[[str, str], RagdropClient] = RagdropClient
    deploy: Callable[[Mapping[str, str]], Deployment] = deployed
    find: Callable[[str], DeployedStack] = stack_named
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    browse: Callable[[str], bool] = webbrowser.open

    def client(self) -> RagdropClient:
        """A client of the API; ConfigurationError where it cannot be found."""
        return self.connect(*api_of(self.environ, self.folder))

    def deployment(self) -> Deployment:
        """The deployment, with the stack file's environment laid under the real one, if there is a file."""
        path = find_stack(self.environ, self.folder)
        if path is not None:
            self.lay_under(read_stack(path))
        return self.deploy(self.environ)

    def stack(self) -> Stack:
        """The running stack; ConfigurationError where there is none."""
        return running_stack(self.environ, self.folder)

    def lay_under(self, stack: Stack) -> None:
        """Set what the stack's functions run with, wherever the environment does not say otherwise."""
        for name, value in stack.environment.items():
            self.environ.setdefault(name, value)


def session_of(context: typer.Context) -> Session:
    """The session that a command was started in."""
    session = context.find_object(Session)
    if session is None:
        raise AssertionError("the root command sets a session")
    return session


def vault_list(vaults: Sequence[str] | None) -> list[str] | None:
    """The `--vault` options as the API's `vaults`; none given means all, which is no field at all.

    >>> vault_list(["team"]), vault_list([])
    (['team'], None)
    """
    return list(vaults) if vaults else None
