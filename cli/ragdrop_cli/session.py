"""What the commands work with: environment, folder, stack file, API and deployment; tests pass in another one."""

from __future__ import annotations

import json
import os
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from ragdrop.client import RagdropClient
from ragdrop.errors import ConfigurationError
from ragdrop.ports.message_queue import DeployedStack

if TYPE_CHECKING:  # not at run time: `ragdrop ask` starts without it
    from ragdrop.app.operate import OperateParts

Deployment: TypeAlias = "OperateParts"
"""The parts of ragdrop that operator commands use."""

STACK_FILE = Path(".local") / "stack.json"
URL_NAME, KEY_NAME, STACK_NAME = "RAGDROP_API_URL", "RAGDROP_API_KEY", "RAGDROP_STACK"


@dataclass(frozen=True, slots=True)
class Stack:
    """A running stack, by its file.  `environment` is what its functions run with; the key is never shown."""

    path: Path
    api_url: str
    api_key: str = field(repr=False)
    bucket: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


def find_stack(environ: Mapping[str, str], folder: Path) -> Path | None:
    """The stack file: the one that RAGDROP_STACK names, else the nearest `.local/stack.json` from *folder* upwards.

    Raises ConfigurationError if RAGDROP_STACK names no file.
    """
    named = environ.get(STACK_NAME)
    if named:
        if not (path := folder / Path(named).expanduser()).is_file():
            raise ConfigurationError(f"{STACK_NAME} names {named}, which is no file; `make up` writes one")
        return path
    return next((each / STACK_FILE for each in (folder, *folder.parents) if (each / STACK_FILE).is_file()), None)


def read_stack(path: Path) -> Stack:
    """Read a stack file; keys that are not known here are left alone, an unfinished stack may lack some.

    Raises ConfigurationError if it cannot be read as a JSON object with an `environment` of strings.
    """
    try:
        fields: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ConfigurationError(f"{path} cannot be read ({exc}); `make up` writes it again") from exc
    environment = fields.get("environment", {}) if isinstance(fields, dict) else None
    if not isinstance(environment, dict):
        raise ConfigurationError(f"{path} is no stack file; `make up` writes it again")
    return Stack(
        path=path,
        api_url=str(fields.get("api_url") or ""),
        api_key=str(fields.get("api_key") or ""),
        bucket=str(fields.get("bucket") or ""),
        environment={str(name): str(value) for name, value in environment.items()},
    )


def write_stack(path: Path, stack: Stack) -> None:
    """Write a stack file in one step, readable by its owner alone: a key is in it.

    Raises ConfigurationError if it cannot be written.
    """
    fields = {"api_url": stack.api_url, "api_key": stack.api_key, "bucket": stack.bucket}
    draft = path.with_name(path.name + ".draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({**fields, "environment": dict(stack.environment)}, file, indent=2)
            file.write("\n")
        draft.replace(path)
    except OSError as exc:
        raise ConfigurationError(f"{path} cannot be written: {exc.strerror}") from exc


def api_of(environ: Mapping[str, str], folder: Path) -> tuple[str, str]:
    """URL and key of the API, both from the environment or both from the stack file: a key goes only where it belongs.

    Raises ConfigurationError if only one of the two is set, or neither and no stack is found.
    """
    url, key = environ.get(URL_NAME, ""), environ.get(KEY_NAME, "")
    if url and key:
        return url, key
    if url or key:
        there, missing = (URL_NAME, KEY_NAME) if url else (KEY_NAME, URL_NAME)
        raise ConfigurationError(f"{there} is set but {missing} is not; set both, or neither to use {STACK_FILE}")
    path = find_stack(environ, folder)
    if path is None:
        raise ConfigurationError(
            f"where is the API? {URL_NAME} and {KEY_NAME} are not set, and there is no {STACK_FILE} here or in a "
            "parent folder; `make up` starts a stack and writes it"
        )
    stack = read_stack(path)
    if not (stack.api_url and stack.api_key):
        raise ConfigurationError(f"{path} has no api_url and api_key yet; `make up` finishes it")
    return stack.api_url, stack.api_key


def deployed(environ: Mapping[str, str]) -> Deployment:
    """The deployment that *environ* names.

    Raises ConfigurationError if settings are missing, or this is the bare wheel without the AWS packages.
    """
    with packages():
        from ragdrop.app import build_app  # late: `ragdrop ask` from the bare wheel has no boto3

        app = build_app(environ=environ)
        _ = app.ports.registry  # so that a missing package is reported before anything is done
    return app.operate


def stack_named(name: str) -> DeployedStack:
    """The deployed stack *name*, as AWS reports it.

    Raises ConfigurationError if there is none, or this is the bare wheel without the AWS packages, and DependencyError
    if AWS did not answer.
    """
    with packages():
        from ragdrop.app import deployed_stack

        return deployed_stack(name)


def aws_client(service: str, region: str | None) -> Any:
    """A low-level client of AWS, over the SDK's own search for credentials.

    Raises ConfigurationError if the AWS packages are not installed, or no region is set.
    """
    with packages():
        import boto3
        from botocore.exceptions import NoRegionError

        try:
            return boto3.client(service, region_name=region)
        except NoRegionError as exc:
            raise ConfigurationError("no AWS region is set: give --region, or set AWS_DEFAULT_REGION") from exc


@contextmanager
def packages() -> Iterator[None]:
    """Where the operator's packages are first needed. Raises ConfigurationError if one of them is not installed."""
    try:
        yield
    except ModuleNotFoundError as exc:
        message = f"operator commands need the package {exc.name}; `pip install 'ragdrop[operator]'` brings it"
        raise ConfigurationError(message) from exc


@dataclass(frozen=True)
class Session:
    """One run of the command line.  `environ` is the process's own environment in earnest, a dict in tests."""

    environ: MutableMapping[str, str] = field(default_factory=lambda: os.environ)
    folder: Path = field(default_factory=Path.cwd)
    connect: Callable[[str, str], RagdropClient] = RagdropClient
    deploy: Callable[[Mapping[str, str]], Deployment] = deployed
    find: Callable[[str], DeployedStack] = stack_named
    aws: Callable[[str, str | None], Any] = aws_client
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    browse: Callable[[str], bool] = webbrowser.open

    def client(self) -> RagdropClient:
        """A client of the API; ConfigurationError where it cannot be found."""
        return self.connect(*api_of(self.environ, self.folder))

    def deployment(self) -> Deployment:
        """The deployment, with the stack file's environment laid under the real one, if there is a file."""
        if (path := find_stack(self.environ, self.folder)) is not None:
            self.lay_under(read_stack(path))
        return self.deploy(self.environ)

    def stack(self) -> Stack:
        """The stack that can be found from the folder; ConfigurationError if there is none, or its file is broken."""
        if (path := find_stack(self.environ, self.folder)) is None:
            message = f"no {STACK_FILE} here or in a parent folder; `make up` starts a stack and writes it"
            raise ConfigurationError(message)
        return read_stack(path)

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
    """The `--vault` options as the API's `vaults`; none given means all, which is no field at all."""
    return list(vaults) if vaults else None
